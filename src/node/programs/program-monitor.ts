/**
 * A program that prints what changes for as long as it is listened to. It ends with whoever reads its output, is started again when it
 * ends, and what happened in between counts as unknown.
 */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { spawnPiped } from '../../store/spawn-piped.ts';
import type { Argv } from './program.ts';

export interface ProgramMonitorOptions {
  /** As people call it. */
  readonly name: string;
  readonly program: Argv;
  /** Number of the netlink protocol that it subscribes to (linux/netlink.h), for a program that prints nothing then. */
  readonly netlink?: string;
  readonly onLines: (lines: readonly string[]) => void;
  /** What it prints as errors. */
  readonly onError?: (text: string) => void;
  /** Anything may be another than before: it is subscribed from now on, or it ended. */
  readonly onUnknown: () => void;
  /** Called with what went wrong, in words. */
  readonly onTrouble?: ((text: string) => void) | undefined;
}

/**
 * The program ends with whoever reads its output, also when that is killed: the shell ends it when standard input closes. The first line
 * is its process id.
 */
const BOUND = `(sh -c 'echo $PPID'; exec "$@") & exec 1>&- 2>&-; cat > /dev/null; kill $!`;

const RESTART_AFTER = 200;
/** Where it can't be, everything is compared from time to time anyway. */
const LONGEST_RESTART = 15_000;
/** After this time it counts as having been there. */
const WAS_THERE = 5000;
const LISTENING_WITHIN = 5000;
const LISTENING_POLL = 2;

export class ProgramMonitor implements Disposable {
  readonly #options: ProgramMonitorOptions;
  #child: ChildProcessWithoutNullStreams | undefined;
  #restart: NodeJS.Timeout | undefined;
  #isClosed = false;
  #pause = RESTART_AFTER;

  constructor(options: ProgramMonitorOptions) {
    this.#options = options;
  }

  /** Resolves when it is subscribed: what happens from then on is not missed. */
  async start(): Promise<void> {
    const { name, program, netlink, onLines, onError, onUnknown, onTrouble } = this.#options;
    const child = spawnPiped('sh', ['-c', BOUND, name, ...program], {
      env: { ...process.env, LC_ALL: 'C' },
    });
    this.#child = child;
    const began = performance.now();
    const started = Promise.withResolvers<number>();
    let rest = '';
    let pid: number | undefined;
    child.stdin.on('error', () => undefined);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      if (pid === undefined && lines.length > 0) {
        pid = Number(lines.shift());
        started.resolve(pid);
      }
      if (lines.length > 0) onLines(lines);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => onError?.(text.trim()));
    child.on('error', (error) => started.reject(error));
    child.stdout.on('close', () => {
      started.reject(new Error(`${name} ended at once`));
      child.stdin.end();
      if (this.#isClosed || this.#child !== child) return;
      onTrouble?.(`${name} ended`);
      onUnknown();
      this.#startAgain(performance.now() - began >= WAS_THERE);
    });
    try {
      const found = await started.promise;
      if (netlink !== undefined) await isListening(name, found, netlink);
    } catch (error) {
      child.stdin.end();
      throw error;
    }
    onUnknown();
  }

  #startAgain(wasThere: boolean): void {
    clearTimeout(this.#restart);
    if (wasThere) this.#pause = RESTART_AFTER;
    this.#restart = setTimeout(() => {
      this.start().catch((error: unknown) => {
        this.#options.onTrouble?.(`${this.#options.name} can't be started: ${String(error)}`);
        if (!this.#isClosed) this.#startAgain(false);
      });
    }, this.#pause);
    if (!wasThere) this.#pause = Math.min(2 * this.#pause, LONGEST_RESTART);
    this.#restart.unref();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearTimeout(this.#restart);
    this.#child?.stdin.end();
  }
}

/** Waits until the process has a netlink socket that is subscribed to something: nothing else shows it. */
async function isListening(name: string, pid: number, netlink: string): Promise<void> {
  const end = performance.now() + LISTENING_WITHIN;
  for (;;) {
    const sockets = netlinkSockets(name, pid);
    const isSubscribed = sockets.some((line) => {
      const [, protocol, owner, groups = '0'] = line.trim().split(/\s+/);
      return protocol === netlink && owner === String(pid) && parseInt(groups, 16) !== 0;
    });
    if (isSubscribed) return;
    if (performance.now() > end)
      throw new Error(
        `${name} (process ${pid}) does not listen within ${LISTENING_WITHIN / 1000} s`,
      );
    await new Promise((resolve) => {
      setTimeout(resolve, LISTENING_POLL);
    });
  }
}

/** Lines of the kernel's list, of the namespace that the process is in. Throws when it has ended. */
function netlinkSockets(name: string, pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/net/netlink`, 'utf8').split('\n');
  } catch (error) {
    throw new Error(`${name} ended at once`, { cause: error });
  }
}
