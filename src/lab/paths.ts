/** Where a lab keeps what: caches, state folders, sockets. */
import { homedir } from 'node:os';
import { extname, join, resolve } from 'node:path';

export type LabKind = 'host' | 'vm';
/** Open vSwitch's names for its kernel module and its userspace datapath. */
export type Datapath = 'system' | 'netdev';

export class LabError extends Error {
  /** What was asked for can't be: a name, a number, a lab that there is not. */
  readonly isUsage: boolean = false;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LabError';
  }
}

export class LabUsageError extends LabError {
  override readonly isUsage = true;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The checkout that this program runs from. */
export const checkout = resolve(import.meta.dirname, '../..');

/** The `heddle` command: compiled where this is, else its sources. Tests name the compiled one. */
export const program =
  process.env['HEDDLE_TEST_PROGRAM'] ??
  resolve(import.meta.dirname, '../cli', `main${extname(import.meta.filename)}`);

const DAEMONS: readonly (string | undefined)[] = ['cluster', 'node'];

/**
 * Of Node.js, for daemons, which rest most of the time; the image's command has them. Megabytes of the young generation's half: V8 lets it grow to 16
 * for the sake of throughput and rarely gives it back. And the rest of the heap is given back, too, although something is looked at every few seconds.
 */
export const DAEMON_OPTIONS = ['--max-semi-space-size=2', '--optimize-for-size'];

/** Arguments of Node.js for a command of `heddle`. */
export const nodeArguments = (args: readonly string[]): string[] => [
  ...(DAEMONS.includes(args[0]) ? DAEMON_OPTIONS : []),
  program,
  ...args,
];

/** Folder of the scripts that build and start labs. */
export const labScripts = join(checkout, 'lab');

/** `$HEDDLE_CACHE`, else `heddle` in the user's cache folder; root file systems, kernels. */
export function cacheFolder(environment: Environment = process.env): string {
  const own = environment['HEDDLE_CACHE'];
  if (own !== undefined && own !== '') return resolve(own);
  const shared = environment['XDG_CACHE_HOME'];
  return join(shared !== undefined && shared !== '' ? shared : join(homedir(), '.cache'), 'heddle');
}

/** Debian suite of the nodes' root file system. */
const suite = (environment: Environment = process.env): string =>
  environment['HEDDLE_LAB_SUITE'] ?? 'trixie';

/** Root file system of the nodes, as `lab/build` makes it. */
export const rootFileSystem = (environment: Environment = process.env): string =>
  join(cacheFolder(environment), suite(environment), 'root');

/** What `lab/build-runtime` adds to it: a container runtime. */
export const runtimeLayer = (environment: Environment = process.env): string =>
  join(cacheFolder(environment), suite(environment), 'runtime');

/**
 * Longest name of a lab. A unix socket's path has at most 107 bytes, and the longest one below the state folder is
 * `/run/heddle-lab/<name>/n99/ovs/ovs-vswitchd.<pid>.ctl`.
 */
export const LONGEST_NAME = 32;

/** Checks the name of a lab, which becomes part of paths. */
export function labName(text: string): string {
  if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(text) || text.length > LONGEST_NAME)
    throw new LabUsageError(
      `a lab can't be named '${text}': use at most ${LONGEST_NAME} lower-case letters, digits and dashes, such as 'default'`,
    );
  return text;
}

/** Where all labs of this machine have their state. */
export const LABS_FOLDER = '/run/heddle-lab';

export const stateFolder = (name: string): string => join(LABS_FOLDER, labName(name));

/** Sockets of one node, the same path inside the lab and on the host. */
export interface NodeSockets {
  readonly nb: string;
  readonly sb: string;
  readonly ovs: string;
}

/** Sockets of node `node` of the lab whose state is in `folder`. */
export const nodeSockets = (folder: string, node: string): NodeSockets => ({
  nb: join(folder, node, 'ovn/ovnnb_db.sock'),
  sb: join(folder, node, 'ovn/ovnsb_db.sock'),
  ovs: join(folder, node, 'ovs/db.sock'),
});

/** OVSDB remote of a unix socket, as OVN's programs and `heddle --nb` take it. */
export const remote = (socket: string): string => `unix:${socket}`;

/** How many nodes one lab can have: their addresses are 172.18.0.11 to .99. */
const MOST_NODES = 89;

export function nodeCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > MOST_NODES)
    throw new LabUsageError(
      `a lab can't have '${text}' nodes: give a number from 1 to ${MOST_NODES}`,
    );
  return count;
}

export const nodeNames = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `n${index + 1}`);
