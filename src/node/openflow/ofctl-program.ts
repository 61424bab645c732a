/** The way to OpenFlow: `ovs-ofctl`, a process per dump or bundle. A bundle is applied as a whole or not at all. */
import { join } from 'node:path';
import { Program, type ProgramOptions, type Argv } from '../programs/program.ts';

export interface OfctlProgramOptions extends ProgramOptions {
  /** Folder of the bridges' sockets; default is that of the program. */
  readonly folder?: string;
}

/** `ovs-ofctl` could not be run, or the switch refused. */
export class OfctlError extends Error {
  readonly code = 'OFCTL_FAILED';
}

/** What was to be done can't be: the switch, or the program that reads it, says what is wrong with it. Other errors say nothing of what was sent. */
export class FlowsRefused extends OfctlError {}

/** Errors of the protocol have names such as OFPFMFC_TABLE_FULL; of a line that is none the program names the number. */
const REFUSAL = /\bOFP[A-Z]+_\w+|^ovs-ofctl: -:\d+: /m;

const VERSION = ['-O', 'OpenFlow13'];
/** Later versions do not know ports that are not flooded. */
const PORT_VERSION = ['-O', 'OpenFlow10'];
/** Nothing that could be read as an option or a socket. */
const BRIDGE_NAME = /^\w[\w.-]*$/;

/** That nothing matched is no error of grep. */
const COUNTING = [
  'sh',
  '-c',
  'pattern=$1; shift; "$@" | { grep -E -- "$pattern" || [ $? = 1 ]; }',
  'count',
];
/** Milliseconds: a bridge with hundreds of networks takes some seconds. */
const LONGEST_COUNT = 60_000;

export class OfctlProgram {
  readonly program: Argv;
  readonly #program: Program;
  readonly #counting: Program;
  readonly #folder: string | undefined;

  /** Default: `ovs-ofctl` of the PATH. */
  constructor({ program = ['ovs-ofctl'], folder, ...options }: OfctlProgramOptions = {}) {
    this.program = program;
    this.#program = new Program(program, options, 'openvswitch-switch', OfctlError);
    this.#counting = new Program(COUNTING, { timeout: LONGEST_COUNT }, 'grep', OfctlError);
    this.#folder = folder;
  }

  /** How the program calls the bridge. Throws for a name that no bridge can have. */
  target(bridge: string): string {
    if (!BRIDGE_NAME.test(bridge))
      throw new OfctlError(`${JSON.stringify(bridge)} can't be the name of a bridge`);
    return this.#folder === undefined ? bridge : `unix:${join(this.#folder, `${bridge}.mgmt`)}`;
  }

  /** Lines of flows; only those of a cookie, if one is given with its mask. */
  async flows(bridge: string, cookie?: string): Promise<readonly string[]> {
    const filter = cookie === undefined ? [] : [`cookie=${cookie}`];
    const text = await this.#run([
      ...VERSION,
      '--no-stats',
      '--no-names',
      'dump-flows',
      this.target(bridge),
      ...filter,
    ]);
    return text.split('\n').filter((line) => line.includes('actions='));
  }

  /** Packets that flows of a table with this priority have met; `match` narrows them down. */
  async packets(
    bridge: string,
    { table, match, priority }: { table: number; match: string; priority: number },
  ): Promise<number> {
    const text = await this.#run([
      ...VERSION,
      '--no-names',
      'dump-flows',
      this.target(bridge),
      `table=${table},${match}`,
    ]);
    return text
      .split('\n')
      .filter((line) => line.includes(` priority=${priority},`))
      .reduce((sum, line) => sum + Number(/ n_packets=(\d+)/.exec(line)?.[1] ?? 0), 0);
  }

  /**
   * Lines of flows that have met packets and match an extended regular expression, with what they count. grep(1) leaves out the others on the way: a bridge
   * may have a million, of which few count. Throws OfctlError.
   */
  async counters(bridge: string, pattern: string): Promise<readonly string[]> {
    const ended = await this.#counting.run([
      ` n_packets=[1-9].*(${pattern})`,
      ...this.program,
      ...VERSION,
      '--no-names',
      'dump-flows',
      this.target(bridge),
    ]);
    const message = ended.stderr.trim();
    if (message !== '') throw new OfctlError(message);
    return ended.stdout.split('\n').filter((line) => line.includes('actions='));
  }

  /** What the switch says of its ports. */
  ports(bridge: string): Promise<string> {
    return this.#run([...PORT_VERSION, '--no-names', 'dump-ports-desc', this.target(bridge)]);
  }

  /** Applies lines of `add` and `delete_strict`, all or none. Throws FlowsRefused for what can't be, OfctlError when nobody answers in time. */
  async bundle(bridge: string, lines: readonly string[]): Promise<void> {
    const input = `${lines.join('\n')}\n`;
    await this.#run([...VERSION, '--bundle', 'add-flows', this.target(bridge), '-'], input);
  }

  /** Has the bridge switch a frame, in hexadecimal, that comes from none of its ports. */
  async sendFrame(bridge: string, frame: string): Promise<void> {
    const packet = `in_port=controller packet=${frame} actions=normal`;
    await this.#run([...VERSION, 'packet-out', this.target(bridge), packet]);
  }

  /** Has the tables of the bridge decide on a frame, in hexadecimal, as if it had come by that port. */
  async sendFrameFrom(bridge: string, port: number, frame: string): Promise<void> {
    const packet = `in_port=${port} packet=${frame} actions=resubmit(,0)`;
    await this.#run([...VERSION, 'packet-out', this.target(bridge), packet]);
  }

  async noFlood(bridge: string, port: string): Promise<void> {
    await this.#run([...PORT_VERSION, 'mod-port', this.target(bridge), port, 'no-flood']);
  }

  async #run(args: Argv, input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.#program.run(args, input);
    if (code === 0) return stdout;
    const message = stderr.trim();
    const Failure = REFUSAL.test(message) ? FlowsRefused : OfctlError;
    throw new Failure(message === '' ? `ended with ${code}` : message);
  }
}
