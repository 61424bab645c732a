/**
 * The way to nftables: the program nft. It lists as JSON and takes changes as text, all or nothing: as JSON nft 1.1 takes no rules by
 * cgroup, and 1.0.6 crashes (docs/host.md).
 */
import { spawn } from 'node:child_process';
import { NFT_TABLE } from '../nft-rows.ts';

export interface NftProgramOptions {
  /** Program and first arguments; default `nft` of the PATH. */
  readonly program?: readonly string[];
  /** Milliseconds after which a process that has not ended is killed. */
  readonly timeout?: number;
}

/** `nft` could not be run, or gave what can't be understood. */
export class NftError extends Error {
  readonly code = 'NFT_FAILED';
}

const TIMEOUT = 20_000;
const NOT_THERE = /No such file or directory/;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class NftProgram {
  readonly program: readonly string[];
  readonly #timeout: number;

  constructor({ program = ['nft'], timeout = TIMEOUT }: NftProgramOptions = {}) {
    this.program = program;
    this.#timeout = timeout;
  }

  /** What our table holds; undefined while there is none. Throws NftError. */
  async list(): Promise<readonly unknown[] | undefined> {
    const { family, name } = NFT_TABLE;
    const { code, stdout, stderr } = await this.#run(['-j', 'list', 'table', family, name], '');
    if (code !== 0) {
      if (NOT_THERE.test(stderr)) return undefined;
      throw new NftError(`nft can't list table ${family} ${name}: ${stderr.trim()}`);
    }
    try {
      const { nftables } = JSON.parse(stdout) as { nftables?: unknown };
      if (Array.isArray(nftables)) return nftables as readonly unknown[];
    } catch (error) {
      throw new NftError(`nft listed what is no JSON: ${stdout.slice(0, 200)}`, { cause: error });
    }
    throw new NftError(`nft listed what is no table: ${stdout.slice(0, 200)}`);
  }

  /** Runs commands as one transaction; returns why it was refused, or undefined. */
  async change(commands: readonly string[]): Promise<string | undefined> {
    const { code, stderr } = await this.#run(['-f', '-'], `${commands.join('\n')}\n`);
    if (code === 0) return undefined;
    const [first] = stderr.split('\n').filter((line) => line.trim() !== '');
    return first?.replace(/^\S*:\d+:\d+-\d+: /, '') ?? `nft ended with ${code}`;
  }

  #run(args: readonly string[], input: string): Promise<Ended> {
    const [command = 'nft', ...first] = this.program;
    return new Promise((resolve, reject) => {
      const child = spawn(command, [...first, ...args], {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { ...process.env, LC_ALL: 'C' },
      });
      const texts: { stdout: string[]; stderr: string[] } = { stdout: [], stderr: [] };
      for (const name of ['stdout', 'stderr'] as const)
        child[name].setEncoding('utf8').on('data', (text: string) => texts[name].push(text));
      const timer = setTimeout(() => child.kill('SIGKILL'), this.#timeout);
      child.on('error', (error) => {
        clearTimeout(timer);
        reject(
          new NftError(
            `${command} can't be run: ${error.message}; install nftables 1.0.6 or newer`,
            {
              cause: error,
            },
          ),
        );
      });
      child.on('close', (code, signal) => {
        clearTimeout(timer);
        if (signal === null)
          resolve({ code, stdout: texts.stdout.join(''), stderr: texts.stderr.join('') });
        else
          reject(
            new NftError(
              `nft did not end within ${this.#timeout / 1000} s, or was killed (${signal})`,
            ),
          );
      });
      child.stdin.on('error', () => undefined); // nft ended before it read everything: its exit code says so
      child.stdin.end(input);
    });
  }
}
