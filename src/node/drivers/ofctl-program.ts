/** The way to OpenFlow: `ovs-ofctl`, a process per dump or bundle. A bundle is applied as a whole or not at all. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';

export interface OfctlProgramOptions {
  /** Program and first arguments; default `ovs-ofctl` of the PATH. */
  readonly program?: readonly string[];
  /** Folder of the bridges' sockets; default is that of the program. */
  readonly folder?: string;
  /** Milliseconds after which a process that has not ended is killed. */
  readonly timeout?: number;
}

/** `ovs-ofctl` could not be run, or the switch refused. */
export class OfctlError extends Error {
  readonly code = 'OFCTL_FAILED';
}

const TIMEOUT = 20_000;
const VERSION = ['-O', 'OpenFlow13'];
/** Later versions do not know ports that are not flooded. */
const PORT_VERSION = ['-O', 'OpenFlow10'];
/** Nothing that could be read as an option or a socket. */
const BRIDGE_NAME = /^\w[\w.-]*$/;

export class OfctlProgram {
  readonly program: readonly string[];
  readonly #folder: string | undefined;
  readonly #timeout: number;

  constructor({ program = ['ovs-ofctl'], folder, timeout = TIMEOUT }: OfctlProgramOptions = {}) {
    this.program = program;
    this.#folder = folder;
    this.#timeout = timeout;
  }

  /** How the program calls the bridge. Throws for a name that no bridge can have. */
  target(bridge: string): string {
    if (!BRIDGE_NAME.test(bridge))
      throw new OfctlError(`${JSON.stringify(bridge)} can't be the name of a bridge`);
    return this.#folder === undefined ? bridge : `unix:${join(this.#folder, `${bridge}.mgmt`)}`;
  }

  /** Lines of flows; only those of a cookie, if one is given. */
  async flows(bridge: string, cookie?: string): Promise<readonly string[]> {
    const filter = cookie === undefined ? [] : [`cookie=${cookie}/-1`];
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

  /** What the switch says of its ports. */
  ports(bridge: string): Promise<string> {
    return this.#run([...PORT_VERSION, '--no-names', 'dump-ports-desc', this.target(bridge)]);
  }

  /** Applies lines of `add` and `delete_strict`, all or none. */
  async bundle(bridge: string, lines: readonly string[]): Promise<void> {
    const input = `${lines.join('\n')}\n`;
    await this.#run([...VERSION, '--bundle', 'add-flows', this.target(bridge), '-'], input);
  }

  async noFlood(bridge: string, port: string): Promise<void> {
    await this.#run([...PORT_VERSION, 'mod-port', this.target(bridge), port, 'no-flood']);
  }

  #run(args: readonly string[], input = ''): Promise<string> {
    const [command = 'ovs-ofctl', ...first] = this.program;
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
          new OfctlError(`${command} can't be run: ${error.message}; install openvswitch-switch`, {
            cause: error,
          }),
        );
      });
      child.on('close', (code, signal) => {
        clearTimeout(timer);
        const said = texts.stderr.join('').trim();
        if (signal !== null)
          reject(
            new OfctlError(
              `ovs-ofctl did not end within ${this.#timeout / 1000} s, or was killed (${signal})`,
            ),
          );
        else if (code !== 0) reject(new OfctlError(said === '' ? `ended with ${code}` : said));
        else resolve(texts.stdout.join(''));
      });
      child.stdin.on('error', () => undefined); // it ended before it read everything: its exit code says so
      child.stdin.end(input);
    });
  }
}
