/** Hears of changes of our nftables table from `nft monitor`. What it prints is a trigger alone. */
import { spawn, type ChildProcess } from 'node:child_process';
import { NFT_TABLE } from '../nft-rows.ts';
import { BOUND, isListening, NETLINK_NETFILTER } from './ip-monitor.ts';

export interface NftMonitorOptions {
  readonly program: readonly string[];
  readonly onChange: () => void;
  /** Called with what went wrong: an overrun, an end. */
  readonly onTrouble?: (text: string) => void;
}

const RESTART_AFTER = 200;
const OURS = ` ${NFT_TABLE.family} ${NFT_TABLE.name}`;
/** As nft says that events were lost. */
const LOST = /lost|No buffer space/;

export class NftMonitor implements Disposable {
  readonly #options: NftMonitorOptions;
  #child: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: NftMonitorOptions) {
    this.#options = options;
  }

  /** Resolves when it hears: what happens from then on is not missed. */
  async start(): Promise<void> {
    const { program, onChange, onTrouble } = this.#options;
    const child = spawn('sh', ['-c', BOUND, 'nft-monitor', ...program, 'monitor'], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, LC_ALL: 'C' },
    });
    this.#child = child;
    const started = Promise.withResolvers<number>();
    let rest = '';
    let pid: number | undefined;
    child.stdin.on('error', () => undefined);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      if (pid === undefined) {
        pid = Number(lines.shift());
        started.resolve(pid);
      }
      // Lines of other tables are nothing to us, however many there are.
      if (lines.some((line) => line.includes(OURS) || LOST.test(line))) onChange();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      onTrouble?.(`nft monitor: ${text.trim()}`);
      onChange();
    });
    child.on('error', (error) => started.reject(error));
    child.stdout.on('close', () => {
      started.reject(new Error('nft monitor ended at once'));
      child.stdin.end();
      if (this.#isClosed || this.#child !== child) return;
      onTrouble?.('nft monitor ended');
      this.#startAgain();
    });
    await isListening(await started.promise, NETLINK_NETFILTER);
    onChange();
  }

  #startAgain(): void {
    this.#restart = setTimeout(() => {
      this.start().catch((error: unknown) => {
        this.#options.onTrouble?.(`nft monitor can't be started: ${String(error)}`);
        if (!this.#isClosed) this.#startAgain();
      });
    }, RESTART_AFTER);
    this.#restart.unref();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearTimeout(this.#restart);
    this.#child?.stdin?.end();
  }
}
