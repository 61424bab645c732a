/** The way to ovn-trace(8): what the logical flows of a Southbound database make of a packet. A process per packet; it changes nothing. */
import { Program, type Argv, type ProgramOptions } from './program.ts';

export interface OvnTraceOptions extends ProgramOptions {
  /** Remotes of the Southbound database, as Open vSwitch's programs take them. */
  readonly remotes: string;
  readonly tls: {
    readonly privateKey?: string;
    readonly certificate?: string;
    readonly caCert?: string;
  };
}

/** `ovn-trace` could not be run, or could not trace. */
class OvnTraceError extends Error {
  readonly code = 'OVN_TRACE_FAILED';
}

/** Milliseconds: it reads the whole database first, which of hundreds of networks takes some seconds. */
const LONGEST_TRACE = 60_000;
/** Looks at connection tracking on one way; further ones would count as established (ovn-trace(8), --ct). */
const MOST_LOOKS = 32;

/** `new` of the first packet of a connection, `reply` of an answer to it. */
export type ConnectionState = 'new' | 'reply';
const STATES: Readonly<Record<ConnectionState, string>> = {
  new: '--ct=new',
  reply: '--ct=est,rpl',
};

export class OvnTrace {
  readonly #program: Program;
  readonly #database: Argv;

  /** Default: `ovn-trace` of the PATH. */
  constructor({ program = ['ovn-trace'], remotes, tls, ...options }: OvnTraceOptions) {
    const timeout = { timeout: LONGEST_TRACE, ...options };
    this.#program = new Program(program, timeout, 'ovn-common', OvnTraceError);
    const { privateKey, certificate, caCert } = tls;
    this.#database = [
      `--db=${remotes}`,
      ...(privateKey === undefined ? [] : [`--private-key=${privateKey}`]),
      ...(certificate === undefined ? [] : [`--certificate=${certificate}`]),
      ...(caCert === undefined ? [] : [`--ca-cert=${caCert}`]),
    ];
  }

  /** What it prints in detail of a packet (microflow.ts). Throws OvnTraceError. */
  async trace(packet: string, state: ConnectionState): Promise<string> {
    const looks = Array.from({ length: MOST_LOOKS }, () => STATES[state]);
    const { code, stdout, stderr } = await this.#program.run([
      ...this.#database,
      '--detailed',
      ...looks,
      '--',
      packet,
    ]);
    // Of a packet that it does not understand it says so on standard output, and ends well.
    if (code === 0 && stdout.startsWith('#')) return stdout;
    const message = (stderr.trim() || stdout.trim()).split('\n').at(-1) ?? '';
    throw new OvnTraceError(`ovn-trace: ${message === '' ? `ended with ${code}` : message}`);
  }
}
