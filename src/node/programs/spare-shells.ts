/**
 * Shells that wait to become programs. A fork copies the page tables of its parent, and stops a daemon of some hundred megabytes for ten
 * milliseconds and more: done beforehand, nobody waits for it.
 */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Socket } from 'node:net';
import { spawnPiped } from '../../store/spawn-piped.ts';
import { shellQuoted } from '../../process/shell-quoted.ts';

export type Child = ChildProcessWithoutNullStreams;

/** As many as the change of a pod takes. */
const SPARES = 4;
/** Milliseconds after the last run until one is made: what is under way comes first. */
const IDLE = 5;
/** The first line is the command, what follows is its input. No line at all: the parent has ended. */
const BECOME = 'IFS= read -r command && eval "exec $command"';
/** What the shell says of a program that can't be started. */
const NOT_STARTED = /^\/bin\/sh: (?:line )?\d+: exec: (?:.*: )?(.*)$/m;

/** Why a program that ended could not even be started; undefined when it was. */
export const notStarted = (code: number, stderr: string): string | undefined =>
  code === 126 || code === 127 ? NOT_STARTED.exec(stderr)?.[1] : undefined;

/** Whether this process keeps running for it. */
function hold(child: Child, isHeld: boolean): void {
  for (const one of [child, child.stdin, child.stdout, child.stderr] as (Child | Socket)[])
    if (isHeld) one.ref();
    else one.unref();
}

export class SpareShells {
  readonly #environment: () => NodeJS.ProcessEnv;
  /** With the environment of when they were made. */
  readonly #spares: Child[] = [];
  #running = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(environment: () => NodeJS.ProcessEnv) {
    this.#environment = environment;
  }

  /** Starts a program; its input follows. Throws where none can be started, and for a word with an end of line, which would end the command, or a NUL. */
  start(argv: readonly string[]): Child {
    if (argv.some((argument) => argument.includes('\n') || argument.includes('\0')))
      throw new Error(`an argument of ${argv[0]} has an end of line or a NUL`);
    clearTimeout(this.#timer);
    const child = this.#spares.pop() ?? this.#shell();
    this.#running += 1;
    hold(child, true);
    child.once('close', () => {
      this.#running -= 1;
      this.#refill();
    });
    child.stdin.write(`${argv.map(shellQuoted).join(' ')}\n`);
    return child;
  }

  #refill(): void {
    clearTimeout(this.#timer);
    if (this.#running > 0 || this.#spares.length >= SPARES) return;
    this.#timer = setTimeout(() => {
      let child: Child;
      try {
        child = this.#shell();
      } catch {
        return; // whoever needs one is told why there is none
      }
      hold(child, false);
      const drop = (): void => {
        const at = this.#spares.indexOf(child);
        if (at !== -1) this.#spares.splice(at, 1);
      };
      child.once('close', drop).once('error', drop);
      this.#spares.push(child);
      this.#refill();
    }, IDLE);
    this.#timer.unref();
  }

  #shell(): Child {
    return spawnPiped('/bin/sh', ['-c', BECOME], { env: this.#environment() });
  }
}
