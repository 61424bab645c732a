/**
 * Hears of changes of the network stack from `ip monitor`. What it prints is a trigger alone: it says what to read again. After an overrun
 * of its socket, which it survives, and after its end everything is read again.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Words } from './ip-program.ts';

/** What has to be read again. */
export type Stale =
  | { readonly kind: 'link' | 'sysctls'; readonly dev: string }
  | { readonly kind: 'routes'; readonly table: number }
  | { readonly kind: 'rules' | 'neighbours' | 'all' };

const LINE = /^\[(LINK|ADDR|ROUTE|RULE|NEIGH|NETCONF)\](.*)$/;
const MAIN = 254;
/** A route that the kernel made for an address of a management port, and that somebody removes. */
const KERNELS_OF_OURS = /^Deleted .* dev ovn-k8s-mp.* proto 2 /;

/** What a line of `ip -N -d monitor label` means for somebody whose routes and neighbours have `protocol`; undefined: nothing. */
export function staleAfter(line: string, protocol: number): Stale | undefined {
  const [, label, text = ''] = LINE.exec(line) ?? [];
  const isMarked = text.includes(` proto ${protocol} `) || text.endsWith(` proto ${protocol}`);
  switch (label) {
    case 'LINK':
    case 'ADDR': {
      const dev = /^(?:Deleted )?\d+: ([^:@\s]+)/.exec(text)?.[1];
      return dev === undefined ? undefined : { kind: 'link', dev };
    }
    case 'ROUTE':
      // A route of somebody else is nothing to us, however many there are.
      if (!isMarked && !KERNELS_OF_OURS.test(text)) return undefined;
      return { kind: 'routes', table: Number(/ table (\d+)/.exec(text)?.[1] ?? MAIN) };
    case 'RULE':
      return { kind: 'rules' };
    case 'NEIGH':
      return isMarked ? { kind: 'neighbours' } : undefined;
    case 'NETCONF': {
      const dev = /^(?:Deleted )?inet6? (\S+)/.exec(text)?.[1];
      return dev === undefined ? undefined : { kind: 'sysctls', dev };
    }
    default:
      return undefined;
  }
}

/** True for a line about a default route of the main table, whoever made it. */
export const isOfDefaultRoute = (line: string): boolean =>
  /^\[ROUTE\](?:Deleted )?(?:\d+ )?default /.test(line) &&
  (!line.includes(' table ') || line.includes(` table ${MAIN} `));

/** Bytes of the socket's buffer, of which the kernel gives as many as `net.core.rmem_max` allows. */
const RECEIVE_BUFFER = 16 * 1024 * 1024;
const OVERRUN = /No buffer space|netlink receive error/;
const LISTENING_WITHIN = 5000;
const LISTENING_POLL = 2;
const RESTART_AFTER = 200;
/** Numbers of netlink protocols (linux/netlink.h). */
const NETLINK_ROUTE = '0';
export const NETLINK_NETFILTER = '12';

/**
 * The program ends with whoever reads its output, also when that is killed: the shell ends it when standard input closes. The first line is its process id.
 */
export const BOUND = `(sh -c 'echo $PPID'; exec "$@") & exec 1>&- 2>&-; cat > /dev/null; kill $!`;

export interface IpMonitorOptions {
  readonly program: Words;
  readonly protocol: number;
  readonly onStale: (stale: Stale) => void;
  /** Called when a way out of the host comes or goes. */
  readonly onDefaultRoute?: () => void;
  /** Called with what went wrong: an overrun, an end. */
  readonly onTrouble?: (text: string) => void;
}

export class IpMonitor implements Disposable {
  readonly #options: IpMonitorOptions;
  #child: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  #isClosed = false;
  #overruns = 0;

  constructor(options: IpMonitorOptions) {
    this.#options = options;
  }

  /** How often events were lost. */
  get overruns(): number {
    return this.#overruns;
  }

  /** Resolves when it hears: what happens from then on is not missed. */
  async start(): Promise<void> {
    const { program, onStale, onDefaultRoute, onTrouble } = this.#options;
    const child = spawn(
      'sh',
      [
        '-c',
        BOUND,
        'ip-monitor',
        ...program,
        '-Numeric',
        '-details',
        '-rcvbuf',
        String(RECEIVE_BUFFER),
      ].concat(['monitor', 'label', 'link', 'address', 'route', 'rule', 'neigh', 'netconf']),
      { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, LC_ALL: 'C' } },
    );
    this.#child = child;
    const started = Promise.withResolvers<number>();
    let rest = '';
    let pid: number | undefined;
    const onLine = (line: string): void => {
      if (pid === undefined) {
        pid = Number(line);
        started.resolve(pid);
        return;
      }
      const stale = staleAfter(line, this.#options.protocol);
      if (stale !== undefined) onStale(stale);
      if (onDefaultRoute !== undefined && isOfDefaultRoute(line)) onDefaultRoute();
    };
    child.stdin.on('error', () => undefined);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onLine(line);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (!OVERRUN.test(text)) return;
      this.#overruns += 1;
      onTrouble?.(`events of the kernel were lost: ${text.trim()}`);
      onStale({ kind: 'all' });
    });
    child.on('error', (error) => started.reject(error));
    child.stdout.on('close', () => {
      started.reject(new Error('ip monitor ended at once'));
      child.stdin.end();
      if (this.#isClosed || this.#child !== child) return;
      onTrouble?.('ip monitor ended');
      this.#startAgain();
    });
    await isListening(await started.promise, NETLINK_ROUTE);
    onStale({ kind: 'all' });
  }

  #startAgain(): void {
    this.#restart = setTimeout(() => {
      this.start().catch((error: unknown) => {
        this.#options.onTrouble?.(`ip monitor can't be started: ${String(error)}`);
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

/** Waits until the process has a netlink socket that is subscribed to something: nothing else says that it hears. */
export async function isListening(pid: number, netlink: string): Promise<void> {
  const end = performance.now() + LISTENING_WITHIN;
  for (;;) {
    // In the namespace that the process is in.
    const sockets = readFileSync(`/proc/${pid}/net/netlink`, 'utf8').split('\n');
    const hears = sockets.some((line) => {
      const [, protocol, owner, groups = '0'] = line.trim().split(/\s+/);
      return protocol === netlink && owner === String(pid) && parseInt(groups, 16) !== 0;
    });
    if (hears) return;
    if (performance.now() > end)
      throw new Error(
        `the monitor (process ${pid}) does not listen within ${LISTENING_WITHIN / 1000} s`,
      );
    await new Promise((resolve) => {
      setTimeout(resolve, LISTENING_POLL);
    });
  }
}
