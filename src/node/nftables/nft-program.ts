/**
 * The way to nftables: the program nft. It lists as JSON and takes changes as text, all or nothing: as JSON nft 1.1 takes no rules by
 * cgroup, and 1.0.6 crashes (docs/host.md).
 */
import { NFT_TABLE } from './nft-rows.ts';
import { Program, type ProgramOptions, type Argv } from '../programs/program.ts';

/** `nft` could not be run, or gave what can't be understood. */
export class NftError extends Error {
  readonly code = 'NFT_FAILED';
}

export interface NftTable {
  readonly family: string;
  readonly name: string;
}

const NOT_THERE = /No such file or directory/;

export class NftProgram {
  readonly program: Argv;
  readonly #program: Program;

  /** Default: `nft` of the PATH. */
  constructor({ program = ['nft'], ...options }: ProgramOptions = {}) {
    this.program = program;
    this.#program = new Program(program, options, 'nftables 1.0.6 or newer', NftError);
  }

  /** What a table holds, ours if none is named; undefined while there is none. Throws NftError. */
  async list({ family, name }: NftTable = NFT_TABLE): Promise<readonly unknown[] | undefined> {
    const { code, stdout, stderr } = await this.#program.run(['-j', 'list', 'table', family, name]);
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
    const { code, stderr } = await this.#program.run(['-f', '-'], `${commands.join('\n')}\n`);
    if (code === 0) return undefined;
    const [first] = stderr.split('\n').filter((line) => line.trim() !== '');
    return first?.replace(/^\S*:\d+:\d+-\d+: /, '') ?? `nft ended with ${code}`;
  }
}
