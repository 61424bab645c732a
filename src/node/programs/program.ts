/** A program that is run once for one purpose: its input, what it printed, and how it ended. */
import { notStarted, SpareShells, type Child } from './spare-shells.ts';

/** A program and its first arguments. */
export type Argv = readonly string[];

export interface ProgramOptions {
  /** Program and first arguments. */
  readonly program?: Argv;
  /** Milliseconds after which a process that has not ended is killed. */
  readonly timeout?: number;
}

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A kind of error that says which program failed. */
type Failure = new (message: string) => Error;

const TIMEOUT = 20_000;
/** Messages are matched in English. */
const ENVIRONMENT = { LC_ALL: 'C' };

/** One for all programs of this process. */
const shells = new SpareShells(() => ({ ...process.env, ...ENVIRONMENT }));

export class Program {
  readonly argv: Argv;
  readonly #timeout: number;
  readonly #failure: Failure;
  readonly #install: string;

  /** `install`: what to install where the program is missing. `failure`: thrown when it can't be run, or does not end. */
  constructor(
    argv: Argv,
    { timeout = TIMEOUT }: ProgramOptions,
    install: string,
    failure: Failure,
  ) {
    this.argv = argv;
    this.#timeout = timeout;
    this.#install = install;
    this.#failure = failure;
  }

  /** Runs it to its end, whatever its exit code. */
  run(args: Argv, input = ''): Promise<Ended> {
    const [command = ''] = this.argv;
    return new Promise((resolve, reject) => {
      let child: Child;
      try {
        child = shells.start([...this.argv, ...args]);
      } catch (error) {
        reject(new this.#failure(`${command} can't be run: ${(error as Error).message}`));
        return;
      }
      const texts: { stdout: string[]; stderr: string[] } = { stdout: [], stderr: [] };
      for (const name of ['stdout', 'stderr'] as const)
        child[name].setEncoding('utf8').on('data', (text: string) => texts[name].push(text));
      const timer = setTimeout(() => child.kill('SIGKILL'), this.#timeout);
      child.on('error', (error) => {
        clearTimeout(timer);
        reject(
          new this.#failure(`${command} can't be run: ${error.message}; install ${this.#install}`),
        );
      });
      child.on('close', (code, killedBy) => {
        clearTimeout(timer);
        const stderr = texts.stderr.join('');
        const why = code === null ? undefined : notStarted(code, stderr);
        if (why !== undefined)
          reject(new this.#failure(`${command} can't be run: ${why}; install ${this.#install}`));
        else if (code !== null) resolve({ code, stdout: texts.stdout.join(''), stderr });
        else
          reject(
            new this.#failure(
              `${command} did not end within ${this.#timeout / 1000} s, or was killed (${killedBy})`,
            ),
          );
      });
      child.stdin.on('error', () => undefined); // it ended before it read everything: its exit code says so
      child.stdin.end(input);
    });
  }
}
