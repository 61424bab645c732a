import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { rootFileSystem } from '../../../src/lab/paths.ts';
import { bound, ownFolder } from '../run/left-behind.ts';
import { ovsProgram } from '../host/ovs-programs.ts';
import { until } from '../run/until.ts';

const execute = promisify(execFile);

export const SCHEMAS = resolve(import.meta.dirname, '../../../schemas');
/** A folder with the schemas of another release of OVN, if a test is to take them. */
export const OTHER_SCHEMAS = process.env['HEDDLE_TEST_OVN_SCHEMAS'];
export const NORTHBOUND_SCHEMA = join(SCHEMAS, 'ovn-nb.ovsschema');

/** A schema of the checkout as it is in the Debian release whose programs are asked for: those don't work on an older one. */
function inSuite(schema: string): string {
  const { HEDDLE_LAB_SUITE: suite = '' } = process.env;
  if (suite === '' || dirname(schema) !== SCHEMAS) return schema;
  const name = basename(schema);
  const folder = name.startsWith('ovn-') ? 'ovn' : 'openvswitch';
  return join(rootFileSystem(), 'usr/share', folder, name);
}

/** Runs a program of the lab to its end; rejects with its messages when it fails. */
export async function runOvs(name: string, args: readonly string[]): Promise<string> {
  const program = ovsProgram(name);
  const { stdout } = await execute(program.command, [...program.args, ...args], {
    maxBuffer: 512 * 1024 * 1024,
  });
  return stdout;
}

/** A folder that goes away with the test. */
export function temporaryFolder(): { readonly path: string } & Disposable {
  const path = ownFolder('ovsdb');
  return {
    path,
    [Symbol.dispose]() {
      rmSync(path, { recursive: true, force: true });
    },
  };
}

export interface ServerOptions {
  /** A .ovsschema file, or a database file that is there already. */
  readonly schema?: string;
  /** Databases in place of a new one with `schema`. */
  readonly databases?: readonly string[];
  readonly folder?: string;
  readonly name?: string;
  readonly args?: readonly string[];
  /** Further `--remote` values. */
  readonly remotes?: readonly string[];
}

/** A real ovsdb-server on a unix socket in a folder of its own. `await using` it. */
export class OvsdbServer implements AsyncDisposable {
  readonly folder: string;
  readonly socket: string;
  readonly #ownFolder: Disposable | undefined;
  readonly #args: readonly string[];
  readonly #control: string;
  #process: ChildProcess | undefined;

  private constructor(
    folder: string,
    name: string,
    args: readonly string[],
    own: Disposable | undefined,
  ) {
    this.folder = folder;
    this.socket = join(folder, `${name}.sock`);
    this.#control = join(folder, `${name}.ctl`);
    this.#ownFolder = own;
    this.#args = [
      `--remote=punix:${this.socket}`,
      `--unixctl=${this.#control}`,
      `--log-file=${join(folder, `${name}.log`)}`,
      '--verbose=off',
      '--verbose=file:info',
      ...args,
    ];
  }

  /** Remote of this server for a client. */
  get remote(): string {
    return `unix:${this.socket}`;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  static async start(options: ServerOptions = {}): Promise<OvsdbServer> {
    const own = options.folder === undefined ? temporaryFolder() : undefined;
    const folder = options.folder ?? own?.path ?? '';
    const name = options.name ?? 'server';
    let databases = options.databases;
    if (databases === undefined) {
      const database = join(folder, `${name}.db`);
      if (!existsSync(database)) {
        await runOvs('ovsdb-tool', [
          'create',
          database,
          inSuite(options.schema ?? NORTHBOUND_SCHEMA),
        ]);
      }
      databases = [database];
    }
    const remotes = (options.remotes ?? []).map((remote) => `--remote=${remote}`);
    const server = new OvsdbServer(
      folder,
      name,
      [...remotes, ...(options.args ?? []), ...databases],
      own,
    );
    await server.launch();
    return server;
  }

  /** Starts the process (again). */
  async launch(): Promise<void> {
    const program = ovsProgram('ovsdb-server');
    for (const file of [this.socket, this.#control]) rmSync(file, { force: true });
    const child = spawn(...bound(program.command, [...program.args, ...this.#args]), {
      stdio: ['ignore', 'ignore', 'pipe'],
      cwd: this.folder,
    });
    let messages = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      messages += text;
    });
    this.#process = child;
    await until('ovsdb-server to listen', () => {
      if (child.exitCode !== null) throw new Error(`ovsdb-server ended: ${messages}`);
      return existsSync(this.socket) && existsSync(this.#control);
    });
  }

  /** Runs a command of the server's control socket, e.g. `ovsdb-server/compact`. */
  control(...command: readonly string[]): Promise<string> {
    return runOvs('ovs-appctl', ['-t', this.#control, ...command]);
  }

  /** Ends the process; the database stays. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    // A stopped process only ends once it goes on.
    child.kill('SIGCONT');
    await ended;
  }

  /** Stops (`SIGSTOP`) or continues the process without ending it. */
  suspend(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process?.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGKILL');
    this.#ownFolder?.[Symbol.dispose]();
  }
}
