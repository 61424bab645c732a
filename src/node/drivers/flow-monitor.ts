/** Hears of changed flows of a bridge from `ovs-ofctl monitor`. What it prints is a trigger alone; after its end everything is read again. */
import { spawn, type ChildProcess } from 'node:child_process';
import { FLOW_TABLES } from '../numbers.ts';
import type { OfctlProgram } from './ofctl-program.ts';

const RESTART_AFTER = 500;
/** Where it can't be, everything is compared from time to time anyway. */
const LONGEST_RESTART = 15_000;
/** After this time it counts as having been there. */
const WAS_THERE = 5000;
/** Changes of what the bridge learns by itself are none. */
const IS_LEARNED = new RegExp(`\\btable=${FLOW_TABLES.neighbours}\\b`);
const IS_EVENT = /\bevent=(ADDED|DELETED|MODIFIED)\b/;

/** It ends with whoever reads its output, also when that is killed: the shell ends it when standard input closes. */
const BOUND = `"$@" & exec 1>&- 2>&-; cat > /dev/null; kill $!`;

export class FlowMonitor implements Disposable {
  readonly #program: OfctlProgram;
  readonly #bridge: string;
  readonly #onStale: () => void;
  #child: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  #isClosed = false;
  #pause = RESTART_AFTER;
  #began = 0;

  constructor(program: OfctlProgram, bridge: string, onStale: () => void) {
    this.#program = program;
    this.#bridge = bridge;
    this.#onStale = onStale;
    this.#start();
  }

  #start(): void {
    this.#began = performance.now();
    const words = [
      ...this.#program.program,
      'monitor',
      this.#program.target(this.#bridge),
      'watch:!initial',
    ];
    const child = spawn('sh', ['-c', BOUND, 'flow-monitor', ...words], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { ...process.env, LC_ALL: 'C' },
    });
    this.#child = child;
    let rest = '';
    child.stdin.on('error', () => undefined);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      if (lines.some((line) => IS_EVENT.test(line) && !IS_LEARNED.test(line))) this.#onStale();
    });
    child.on('error', () => this.#startAgain());
    child.stdout.on('close', () => {
      child.stdin.end();
      this.#startAgain();
    });
  }

  /** The switch restarts, or the bridge is gone: what was found counts no more. */
  #startAgain(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#restart);
    const wasThere = performance.now() - this.#began >= WAS_THERE;
    if (wasThere) this.#pause = RESTART_AFTER;
    this.#restart = setTimeout(() => {
      this.#start();
      this.#onStale();
    }, this.#pause);
    if (!wasThere) this.#pause = Math.min(2 * this.#pause, LONGEST_RESTART);
    this.#restart.unref();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearTimeout(this.#restart);
    this.#child?.stdin?.end();
  }
}
