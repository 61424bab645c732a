import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';
import { spawnPiped } from '../spawn-piped.ts';
import { StoreError } from '../store.ts';

/**
 * Holds the lock in a shell that ends when its input does: a killed process releases what it held, whatever namespaces the
 * competitors live in (pids and abstract sockets would not do). `flock -w` bounds how long an orphan can wait.
 */
const HOLDER = `
exec 9>>"$1" || exit 70
while read -r word seconds; do
  case $word in
    lock) if flock -w "$seconds" 9; then echo held; else echo busy; fi ;;
    free) flock -u 9 && echo free ;;
  esac
done`;

/** A lock on a file, shared by every process that can open it. */
export class FileLock implements Disposable {
  readonly #path: string;
  #holder: Holder | undefined;
  #disposed = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** True when the lock is now ours, false when somebody kept it for `seconds` (a whole number). */
  async acquire(seconds: number): Promise<boolean> {
    if (this.#disposed) throw new StoreError('unavailable', `${this.#path}: was closed`);
    this.#holder ??= new Holder(this.#path, () => {
      this.#holder = undefined;
    });
    return (await this.#holder.ask(`lock ${seconds}`)) === 'held';
  }

  async release(): Promise<void> {
    await this.#holder?.ask('free');
  }

  /** Calls `lost` if the lock's holder ends without having been asked to. */
  onLost(lost: (error: StoreError) => void): void {
    if (this.#holder === undefined) lost(new StoreError('unavailable', `${this.#path}: not held`));
    else this.#holder.lost = lost;
  }

  /** True as long as the process that holds the lock for us lives. */
  get isAlive(): boolean {
    return this.#holder !== undefined;
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    this.#holder?.end();
    this.#holder = undefined;
  }
}

class Holder {
  readonly #path: string;
  readonly #child: ChildProcessWithoutNullStreams;
  /** One for each question that was asked; answers come in the same order. */
  #answers: PromiseWithResolvers<string>[] = [];
  #ending = false;
  #complaint = '';
  #failure: StoreError | undefined;
  lost: (error: StoreError) => void = () => undefined;

  constructor(path: string, onEnd: () => void) {
    this.#path = path;
    try {
      // A Ctrl-C at the terminal is for us, who may still be writing.
      this.#child = spawnPiped('sh', ['-c', HOLDER, 'lock', path], { detached: true });
    } catch (error) {
      throw new StoreError('unavailable', `${path}: can't be locked: ${(error as Error).message}`);
    }
    this.#child.unref();
    const { stdin, stdout, stderr } = this.#child;
    for (const stream of [stdin, stdout, stderr])
      (stream as unknown as { unref?(): void }).unref?.();
    stdin.on('error', () => undefined); // its end is reported by 'exit'
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#complaint = (this.#complaint + text).slice(-500);
    });
    createInterface({ input: stdout }).on('line', (line) => {
      this.#answers.shift()?.resolve(line);
    });
    const ended = (why: string): void => {
      if (this.#failure !== undefined) return;
      onEnd();
      this.#failure = new StoreError(
        'unavailable',
        `${this.#path}: can't be locked: ${this.#complaint.trim() || why}; the programs sh and flock (util-linux) and a writable directory are needed`,
      );
      for (const answer of this.#answers.splice(0)) answer.reject(this.#failure);
      if (!this.#ending) this.lost(this.#failure);
    };
    this.#child.on('error', (error) => ended(error.message));
    this.#child.on('close', (code, signal) => ended(`sh ended with ${signal ?? code ?? ''}`));
  }

  async ask(line: string): Promise<string> {
    if (this.#failure !== undefined) throw this.#failure;
    const answer = Promise.withResolvers<string>();
    this.#answers.push(answer);
    // While somebody waits for an answer, the process must not end for want of anything else to do.
    const keepAlive = setInterval(() => undefined, 60_000);
    try {
      this.#child.stdin.write(`${line}\n`);
      return await answer.promise;
    } finally {
      clearInterval(keepAlive);
    }
  }

  end(): void {
    this.#ending = true;
    this.#child.stdin.end();
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    try {
      process.kill(-pid, 'SIGKILL'); // and with the shell an attempt under way
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }
}
