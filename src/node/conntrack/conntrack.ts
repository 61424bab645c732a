/** Connections that the kernel tracks: those of an address or of services that go are forgotten, by `conntrack`. */
import { familyOf, type Family } from '../../allocators/addresses.ts';
import type { StaleConnections } from './service-connections.ts';
import { Program, type ProgramOptions, type Argv } from '../programs/program.ts';

/** `conntrack` could not be run, or refused. */
export class ConntrackError extends Error {
  readonly code = 'CONNTRACK_FAILED';
}

/** As who began a connection, and as who answers it, before and after NAT. */
const ENDS = ['--orig-src', '--reply-src'] as const;

/** The program ends with an error when there was none, too. */
const NOTHING = /\b0 flow entries have been deleted/;
/** A connection ended by itself between its being found and its being forgotten. */
const ENDED = /such conntrack doesn't exist/;
const MOST_TRIES = 5;

/** The kernel goes through all connections for each filter: of more than so many, those that have any are looked for first. */
const FEW = 16;
/** Filters of one process, which ends soon when the daemon does. */
const AT_ONCE = 64;

/** A line of the program: protocol, destination and its port, as who began the connection sent them. */
const CONNECTION = /^(tcp|udp|sctp) .*? dst=(\S+) sport=\d+ dport=(\d+) /;

const INSTALL = 'conntrack 1.4.7 or newer';

export class Conntrack {
  readonly #program: Program;
  /** Takes commands from a file that can be opened by name, which what a daemon writes to is not. */
  readonly #loader: Program;

  /** Default: `conntrack` of the PATH. */
  constructor({ program = ['conntrack'], ...options }: ProgramOptions = {}) {
    this.#program = new Program(program, options, INSTALL, ConntrackError);
    const loader = ['sh', '-c', 'cat | "$@" --load-file -', 'sh', ...program];
    this.#loader = new Program(loader, options, INSTALL, ConntrackError);
  }

  /** Forgets the connections of addresses, without prefix length. Throws ConntrackError. */
  async forget(addresses: readonly string[]): Promise<void> {
    await Promise.all(
      addresses.flatMap((address) => ENDS.map((end) => this.#delete(address, [end, address]))),
    );
  }

  /** Forgets connections that went to services, with few processes one after the other. Throws ConntrackError. */
  async forgetServices(stale: readonly StaleConnections[], signal: AbortSignal): Promise<void> {
    const lines: string[] = [];
    for (const [family, all] of Map.groupBy(stale, ({ destination }) => destination.family)) {
      const there = all.length > FEW ? await this.#destinations(family, signal) : undefined;
      for (const one of all)
        if (there === undefined || there.has(destinationOf(one))) lines.push(deleteLine(one));
    }
    for (let at = 0; at < lines.length; at += AT_ONCE)
      await this.#load(lines.slice(at, at + AT_ONCE), signal);
  }

  /** Where connections of a family go, as `destinationOf` writes it. */
  async #destinations(family: Family, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    let rest = '';
    const onOutput = (text: string): void => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const [, protocol, address, port] = CONNECTION.exec(line) ?? [];
        if (protocol !== undefined) found.add(`${protocol} ${address} ${port}`);
      }
    };
    const args = ['--dump', '--family', nameOf(family)];
    const { code, stderr } = await this.#program.run(args, '', { signal, onOutput });
    if (code !== 0) throw new ConntrackError(`conntrack ${args.join(' ')}: ${stderr.trim()}`);
    return found;
  }

  async #load(lines: readonly string[], signal: AbortSignal): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const { code, stderr } = await this.#loader.run([], `${lines.join('\n')}\n`, {
        signal,
        onOutput: () => undefined,
      });
      if (code === 0) return;
      if (!ENDED.test(stderr) || tries === MOST_TRIES)
        throw new ConntrackError(`conntrack ${lines[0]}: ${stderr.trim()}`);
    }
  }

  async #delete(of: string, filter: Argv): Promise<void> {
    const args = ['--delete', '--family', nameOf(familyOf(of)), ...filter];
    const { code, stderr } = await this.#program.run(args);
    if (code !== 0 && !NOTHING.test(stderr))
      throw new ConntrackError(`conntrack ${args.join(' ')}: ${stderr.trim()}`);
  }
}

const nameOf = (family: Family): string => (family === 'v6' ? 'ipv6' : 'ipv4');

const destinationOf = ({ protocol, destination }: StaleConnections): string =>
  `${protocol} ${destination.address} ${destination.port}`;

const deleteLine = ({ protocol, destination, endpoint }: StaleConnections): string =>
  [
    `--delete --family ${nameOf(destination.family)} --proto ${protocol}`,
    `--orig-dst ${destination.address} --orig-port-dst ${destination.port}`,
    ...(endpoint === undefined ? [] : [`--reply-src ${endpoint}`]),
  ].join(' ');
