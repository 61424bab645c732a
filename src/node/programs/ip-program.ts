/**
 * The way to rtnetlink: `ip -batch`, a process per set of commands or dumps (docs/host.md says why). A mistake of one command harms that
 * one alone; an inconsistent dump is made again.
 */
import { Program, type Ended, type ProgramOptions, type Argv } from './program.ts';
import { errorText } from '../../api/error-text.ts';

/** `any` for what has no family, or shows both. */
export type IpFamily = 'inet' | 'inet6' | 'any';

/** `ip` could not be run, or gave what can't be understood. */
class IpError extends Error {
  readonly code = 'IP_FAILED';
}

/** A dump during which the kernel's tables changed is made again this often. */
const DUMP_ATTEMPTS = 8;
const INTERRUPTED = /Dump was interrupted/;
const FAILED = /^Command failed .*:(\d+)$/;
/** What arguments are made of: names, addresses, numbers. */
const PLAIN = /^[\w.:/@+%=-]+$/;
/** As PLAIN, with the blanks of a mark. */
const QUOTABLE = /^[\w .:/@+%=-]+$/;

/** True for a text that is one word of a command, and nothing else. */
export const isWord = (text: string): boolean => PLAIN.test(text);

/** A line of a batch file. Throws for a word that could be read as anything but itself. */
export const batchLine = (args: Argv): string =>
  args
    .map((word) => {
      if (PLAIN.test(word)) return word;
      if (QUOTABLE.test(word)) return `"${word}"`;
      throw new IpError(`${JSON.stringify(word)} can't be a word of an ip command`);
    })
    .join(' ');

/** Why a command can't be run, or undefined. */
function unusable(args: Argv): string | undefined {
  try {
    batchLine(args);
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

/** Messages by the number of the command that failed, counted from 0. */
export function failures(stderr: string): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  let message: string[] = [];
  for (const line of stderr.split('\n')) {
    const failed = FAILED.exec(line);
    if (failed === null) {
      const text = line.replace(/^(RTNETLINK answers|Error): /, '').trim();
      if (text !== '') message.push(text);
      continue;
    }
    found.set(Number(failed[1]) - 1, message.join('; ') || 'failed without a reason');
    message = [];
  }
  return found;
}

export interface IpProgramOptions extends ProgramOptions {
  /** Path of the network namespace that the program works in; that of the process, if none is named. */
  readonly namespace?: string;
}

export class IpProgram {
  readonly program: Argv;
  readonly namespace: string | undefined;
  readonly #program: Program;

  /** Default: `ip` of the PATH. */
  constructor({ program = ['ip'], namespace, ...options }: IpProgramOptions = {}) {
    this.program = program;
    this.namespace = namespace;
    this.#program = new Program(program, options, 'iproute2', IpError);
  }

  /** Throws IpError with what to do when this program can't mark addresses as ours. */
  async check(): Promise<void> {
    const { stderr, stdout } = await this.#program.run(['address', 'help']);
    if (!`${stdout}${stderr}`.includes('proto '))
      throw new IpError(
        `${this.program.join(' ')} can't give addresses a protocol, by which ours are known: install iproute2 6.3 or newer`,
      );
  }

  /** Runs commands in order; each that fails leaves the others as they are. Returns why each failed, or undefined. */
  async change(
    family: IpFamily,
    commands: readonly Argv[],
  ): Promise<readonly (string | undefined)[]> {
    const errors = commands.map(unusable);
    const usable = commands.filter((_, index) => errors[index] === undefined);
    if (usable.length === 0) return errors;
    const ended = await this.#batch(family, [], usable);
    const failed = failures(ended.stderr);
    if (ended.code !== 0 && failed.size === 0)
      throw new IpError(`ip -batch ended with ${ended.code}: ${ended.stderr.trim()}`);
    let next = 0;
    return errors.map((error) => error ?? failed.get(next++));
  }

  /** The objects that each command shows; undefined for one that failed, as that for a device that is not there. */
  async read(
    family: IpFamily,
    commands: readonly Argv[],
  ): Promise<readonly (readonly unknown[] | undefined)[]> {
    if (commands.length === 0) return [];
    for (let attempt = 0; attempt < DUMP_ATTEMPTS; attempt += 1) {
      const ended = await this.#batch(family, ['-json', '-details', '-Numeric'], commands);
      if (INTERRUPTED.test(ended.stderr)) continue;
      const failed = failures(ended.stderr);
      if (ended.code !== 0 && failed.size === 0)
        throw new IpError(`ip -batch ended with ${ended.code}: ${ended.stderr.trim()}`);
      const lines = ended.stdout.split('\n').filter((line) => line.trim() !== '');
      if (lines.length !== commands.length - failed.size)
        throw new IpError(
          `${commands.length} dumps of ip gave ${lines.length} answers and ${failed.size} errors: ${ended.stderr.trim()}`,
        );
      let next = 0;
      return commands.map((_, index) => {
        if (failed.has(index)) return undefined;
        const found: unknown = JSON.parse(lines[next] ?? '[]');
        next += 1;
        return Array.isArray(found) ? (found as readonly unknown[]) : [];
      });
    }
    throw new IpError(`what ip dumps changed while it was read, ${DUMP_ATTEMPTS} times`);
  }

  async #batch(family: IpFamily, flags: Argv, commands: readonly Argv[]): Promise<Ended> {
    const input = `${commands.map(batchLine).join('\n')}\n`;
    const families = family === 'any' ? [] : ['-family', family];
    return this.#program.run([...families, ...flags, '-force', '-batch', '-'], input);
  }
}
