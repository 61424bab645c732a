/** Connections that the kernel tracks: those of an address or a service that goes are forgotten, by `conntrack`. */
import { familyOf } from '../../allocators/addresses.ts';
import type { StaleConnections } from '../service-connections.ts';
import { Program, type ProgramOptions, type Words } from './program.ts';

/** `conntrack` could not be run, or refused. */
export class ConntrackError extends Error {
  readonly code = 'CONNTRACK_FAILED';
}

/** As who began a connection, and as who answers it, before and after NAT. */
const ENDS = ['--orig-src', '--reply-src'] as const;

/** The program ends with an error when there was none, too. */
const NOTHING = /\b0 flow entries have been deleted/;

export class Conntrack {
  readonly #program: Program;

  /** Default: `conntrack` of the PATH. */
  constructor({ program = ['conntrack'], ...options }: ProgramOptions = {}) {
    this.#program = new Program(program, options, 'conntrack', ConntrackError);
  }

  /** Forgets the connections of addresses, without prefix length. Throws ConntrackError. */
  async forget(addresses: readonly string[]): Promise<void> {
    await Promise.all(
      addresses.flatMap((address) => ENDS.map((end) => this.#delete(address, [end, address]))),
    );
  }

  /** Forgets connections that went to a service. Throws ConntrackError. */
  async forgetService({ protocol, destination, endpoint }: StaleConnections): Promise<void> {
    const { address, port } = destination;
    const filter = ['--proto', protocol, '--orig-dst', address, '--orig-port-dst', String(port)];
    if (endpoint !== undefined) filter.push('--reply-src', endpoint);
    await this.#delete(address, filter);
  }

  async #delete(of: string, filter: Words): Promise<void> {
    const args = ['--delete', '--family', familyOf(of) === 'v6' ? 'ipv6' : 'ipv4', ...filter];
    const { code, stderr } = await this.#program.run(args);
    if (code !== 0 && !NOTHING.test(stderr))
      throw new ConntrackError(`conntrack ${args.join(' ')}: ${stderr.trim()}`);
  }
}
