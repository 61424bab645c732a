/** The lifecycle of a lab: up, found again, down. */
import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { outputInside } from './exec.ts';
import { programsFolder } from './kubernetes/programs.ts';
import { noteCgroups, removeCgroups } from './cgroups.ts';
import { lock } from './lock.ts';
import { sharedFolders } from './shared-folders.ts';
import { writeNodeManifests, type Families } from './node-facts.ts';
import {
  checkout,
  labName,
  LabError,
  LABS_FOLDER,
  labScripts,
  program,
  rootFileSystem,
  runtimeLayer,
  stateFolder,
  type Datapath,
  type LabKind,
} from './paths.ts';
import {
  command,
  firstChild,
  identify,
  isAlive,
  processesInNamespaceOf,
  waitFor,
  type ProcessIdentity,
} from './processes.ts';
import { LabUsageError } from './paths.ts';
import { labState, readRecord, writeRecord, type LabRecord } from './state-file.ts';
import { labStatus } from './status.ts';
import { prepare } from './build.ts';
import { objectsState } from './daemons.ts';
import { writeManifestSettings } from './objects.ts';
import { telling } from '../process/waiting.ts';
import { shellQuoted } from '../process/shell-quoted.ts';

/** Longest time for all nodes to answer. */
const START_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 20_000;

export interface UpOptions {
  readonly name: string;
  readonly kind: LabKind;
  readonly nodes: number;
  /** Of the networks; the underlay always has both. */
  readonly families?: Families;
  /** Called with each line of progress. */
  readonly progress: (line: string) => void;
}

/** Folders that are visible inside under the path they have outside; on the host's kernel also what Kubernetes is started from, whether or not that comes. */
function shares(kind: LabKind): string[] {
  const found = sharedFolders(checkout);
  if (kind === 'vm') return found;
  mkdirSync(programsFolder(), { recursive: true });
  return [...found, realpathSync(programsFolder())];
}

export function requireRoot(): void {
  if (process.getuid?.() !== 0)
    throw new LabError(
      'a lab makes namespaces, links and mounts: run it as root, for example with sudo',
    );
}

/** Brings a lab up and resolves when all its nodes answer. A lab that is up already is checked and repaired. */
export async function up(options: UpOptions): Promise<LabRecord> {
  const { kind, nodes, progress } = options;
  const name = labName(options.name);
  requireRoot();
  await using _ = await lock(`lab-${name}`, () => {
    progress(`another command works on lab '${name}', waiting for it`);
  });
  const found = labState(name);
  if (found.state === 'running') {
    const { record } = found;
    if (record.kind !== kind || record.nodes !== nodes)
      throw new LabError(
        `lab '${name}' is up with ${record.nodes} nodes, kind ${record.kind}: end it first (heddle lab down --name ${name}), or give the new one another --name`,
      );
    if (record.checkout !== checkout)
      throw new LabError(
        `lab '${name}' was started from ${record.checkout}, and ${checkout} is not visible in it: end it first (heddle lab down --name ${name}), or give the new one another --name`,
      );
    await repair(record, progress);
    return record;
  }
  if (found.state === 'stale') {
    progress(`removing what an earlier lab '${name}' left`);
    await remove(name);
  }
  await prepare(kind, progress);
  return await start(name, options);
}

async function start(name: string, options: UpOptions): Promise<LabRecord> {
  const folder = stateFolder(name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  mkdirSync(objectsState(name), { recursive: true });
  writeNodeManifests(name, options.nodes);
  return startProcess(name, folder, options);
}

/** The kernel's datapath where this machine's kernel has it; HEDDLE_LAB_DATAPATH = system or netdev decides otherwise. */
async function hostDatapath(): Promise<Datapath> {
  const asked = process.env['HEDDLE_LAB_DATAPATH'];
  if (asked === 'system' || asked === 'netdev') return asked;
  if (asked !== undefined && asked !== '')
    throw new LabError(`HEDDLE_LAB_DATAPATH is '${asked}': it can be system or netdev`);
  const modprobe = ['-c', 'PATH=$PATH:/usr/sbin:/sbin modprobe -qa openvswitch geneve'];
  return (await command('sh', modprobe)).code === 0 ? 'system' : 'netdev';
}

/** Of a lab on the host's kernel: Open vSwitch's datapath, and who brings the lab up. */
async function hostStart(
  folder: string,
  progress: (line: string) => void,
): Promise<{ datapath: Datapath; argv: readonly [string, ...string[]] }> {
  const datapath = await hostDatapath();
  progress(
    `Open vSwitch uses ${datapath === 'system' ? "this kernel's module" : 'its userspace datapath: this kernel has no openvswitch and geneve modules'}`,
  );
  return { datapath, argv: [join(labScripts, 'host'), folder] };
}

async function startProcess(
  name: string,
  folder: string,
  { kind, nodes, families = 'v4', progress }: UpOptions,
): Promise<LabRecord> {
  const {
    datapath,
    argv: [first, ...rest],
  } =
    kind === 'vm'
      ? ({
          datapath: 'system',
          argv: [process.execPath, program, 'lab', 'machine', '--name', name],
        } as const)
      : await hostStart(folder, progress);
  const variables = {
    LAB_NAME: name,
    LAB_KIND: kind,
    LAB_NODES: String(nodes),
    LAB_DATAPATH: datapath,
    // Of an overlay the first layer is the uppermost.
    LAB_ROOT: (kind === 'vm' ? [rootFileSystem()] : [runtimeLayer(), rootFileSystem()]).join(':'),
    LAB_SHARES: shares(kind).join('\n'),
  };
  writeFileSync(
    join(folder, 'env'),
    Object.entries(variables)
      .map(([key, value]) => `${key}=${shellQuoted(value)}\n`)
      .join(''),
  );
  if (kind === 'host') noteCgroups(folder, name);
  const logFile = join(folder, 'lab.log');
  const log = openSync(logFile, 'a');
  const child = spawn(first, rest, {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: '/',
  });
  closeSync(log);
  const failed = new Promise<never>((_, reject) => {
    child.once('error', reject);
  });
  failed.catch(() => {}); // read below, or of no interest any more
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      resolve();
    });
  });
  let over = false;
  void ended.then(() => (over = true));
  const holder = child.pid === undefined ? undefined : identify(child.pid);
  if (holder === undefined) {
    await Promise.race([failed, ended]);
    throw new LabError(startFailure(name, logFile, 'its first process ended at once'));
  }
  const begun: LabRecord = { name, kind, nodes, families, datapath, checkout, holder };
  writeRecord(folder, begun);
  let shown = 0;
  const showLog = (): void => {
    const lines = readFileSync(logFile, 'utf8').split('\n').slice(0, -1);
    for (const line of lines.slice(shown)) progress(line);
    shown = lines.length;
  };
  const answered = waitFor<'ready' | 'failed'>(() => {
    showLog();
    if (existsSync(join(folder, 'ready'))) return 'ready';
    return over || existsSync(join(folder, 'failed')) ? 'failed' : undefined;
  }, START_LIMIT_MS);
  const outcome = await telling(`the nodes of lab '${name}' to answer`, progress, answered);
  showLog();
  const init = firstInside(kind, holder);
  if (outcome !== 'ready' || init === undefined) {
    const why =
      outcome === undefined
        ? `its nodes did not answer within ${START_LIMIT_MS / 1000} s`
        : 'a step failed';
    const message = startFailure(name, logFile, why);
    await remove(name);
    throw new LabError(message);
  }
  child.unref();
  const record = { ...begun, init };
  writeRecord(folder, record);
  writeManifestSettings(record);
  return record;
}

/** The first process of the lab's PID namespace: the child of who made that, which in a machine is a child of its holder. */
function firstInside(kind: LabKind, holder: ProcessIdentity): ProcessIdentity | undefined {
  const maker = kind === 'vm' ? firstChild(holder.pid) : holder.pid;
  const first = maker === undefined ? undefined : firstChild(maker);
  return first === undefined ? undefined : identify(first);
}

/** Why a lab did not start, with the last lines of its log, which is removed with the rest. */
function startFailure(name: string, logFile: string, why: string): string {
  const tail = existsSync(logFile)
    ? readFileSync(logFile, 'utf8').trim().split('\n').slice(-12)
    : [];
  return [
    `lab '${name}' did not start: ${why}. Its last lines:`,
    ...tail.map((l) => `  ${l}`),
  ].join('\n');
}

/** Starts again what died in a lab that is up. */
async function repair(record: LabRecord, progress: (line: string) => void): Promise<void> {
  const status = await labStatus(record);
  for (const node of status.nodes)
    for (const [service, pid] of Object.entries(node.services)) {
      if (pid !== null) continue;
      progress(`${node.name}: ${service} was not running, starting it`);
      await outputInside(record, ['service', node.name, 'start', service]);
    }
}

/** The lab of that name, which must be up. */
export function runningLab(name: string): LabRecord {
  const found = labState(labName(name));
  if (found.state === 'running') return found.record;
  throw new LabUsageError(
    found.state === 'stale'
      ? `lab '${name}' is not running any more: start it again with 'heddle lab up --name ${name}'`
      : `there is no lab '${name}': start it with 'heddle lab up --name ${name}'`,
  );
}

/** Ends a lab and removes all of it. False when there was none. */
export async function down(name: string, progress: (line: string) => void): Promise<boolean> {
  labName(name);
  requireRoot();
  await using _ = await lock(`lab-${name}`, () => {
    progress(`another command works on lab '${name}', waiting for it`);
  });
  if (labState(name).state === 'absent') return false;
  await remove(name);
  return true;
}

/** First processes of host labs with this state folder, also those that no record names. */
function initsOf(folder: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((entry) => {
      try {
        const argv = readFileSync(`/proc/${entry}/cmdline`, 'utf8').split('\0');
        if (argv.includes('lab-init') && argv.includes(folder)) return true;
        return (
          argv[1] === '/lab/init-host' &&
          readFileSync(`/proc/${entry}/environ`, 'utf8').split('\0').includes(`LAB_DIR=${folder}`)
        );
      } catch {
        return false; // ended while we looked
      }
    })
    .map(Number);
}

async function remove(name: string): Promise<void> {
  const folder = stateFolder(name);
  const record = readRecord(folder);
  const inits = initsOf(folder);
  const inside = inits.flatMap(processesInNamespaceOf).filter((pid) => pid !== process.pid);
  const all = [...inits, ...inside].map(identify).filter((identity) => identity !== undefined);
  if (record !== undefined && isAlive(record.holder)) {
    all.push(record.holder);
    kill(record.holder.pid);
  }
  for (const pid of inits) kill(pid); // the kernel ends everything in its PID namespace with it
  const gone = await waitFor(() => (all.some(isAlive) ? undefined : true), STOP_LIMIT_MS);
  if (gone === undefined)
    throw new LabError(
      `lab '${name}' does not end: processes ${all
        .filter(isAlive)
        .map((p) => p.pid)
        .join(', ')} are still there after ${STOP_LIMIT_MS / 1000} s`,
    );
  await removeCgroups(folder);
  rmSync(folder, { recursive: true, force: true });
  try {
    rmdirSync(LABS_FOLDER);
  } catch {
    // other labs are in it
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it ended before
  }
}
