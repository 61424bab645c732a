/** The virtual machine of a lab: QEMU, started from a saved state in which the nodes are up already. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PORTS, portSocket, startSession } from './channel.ts';
import { lock } from './lock.ts';
import { Monitor } from './qmp.ts';
import { cacheFolder, LabError, labScripts, suite } from './paths.ts';
import { command, identify, isAlive, waitFor, type ProcessIdentity } from './processes.ts';
import { shellQuoted } from '../process/shell-quoted.ts';

const MEMORY_MIB = 1536;
/** Emulated ones each take a processor of this machine; what is started in the machine stays on one of them (lab/guest/agent.py). */
const CPUS = 2;
/** Software emulation beside other work: the first start of three nodes takes 10 to 90 s. */
const BOOT_LIMIT_MS = 300_000;
const RESUME_LIMIT_MS = 60_000;
/** Folders of the host that a machine can have; its devices must be the same when it is saved and when it is resumed. */
const SHARES = 2;

const image = (): string => join(cacheFolder(), suite());
const kernel = (): string =>
  join(cacheFolder(), `kernel-${process.env['HEDDLE_LAB_KERNEL_SUITE'] ?? 'trixie'}`);

/** KVM only on request: on some machines /dev/kvm is there and no stock kernel boots on it. */
const acceleration = (): string[] =>
  process.env['HEDDLE_LAB_KVM'] === undefined
    ? ['-accel', 'tcg,thread=multi', '-cpu', 'max']
    : ['-accel', 'kvm', '-cpu', 'host'];

interface MachineOptions {
  /** Where its sockets and console log go. */
  readonly folder: string;
  readonly nodes: number;
  readonly disk: string;
  /** QEMU's options for the disk, such as `snapshot=on`. */
  readonly diskOptions?: string;
  readonly shares: readonly string[];
  /** Saved memory to start from. */
  readonly memory?: string;
}

/** QEMU's arguments. Pure: the same devices in the same order, whatever the machine is started for. */
function machineArguments(options: MachineOptions): string[] {
  const { folder, nodes, disk, diskOptions = '', memory } = options;
  const shares = Array.from(
    { length: SHARES },
    (_, index) => options.shares[index] ?? options.shares[0] ?? folder,
  );
  const share = (id: string, path: string, more = ''): string[] => [
    '-fsdev',
    `local,id=${id},path=${path.replaceAll(',', ',,')},security_model=none,multidevs=remap${more}`,
    '-device',
    `virtio-9p-pci,fsdev=${id},mount_tag=${id}`,
  ];
  const port = (number: number): string[] => [
    '-chardev',
    `socket,id=port${number},path=${portSocket(folder, number)},server=on,wait=off`,
    '-device',
    `virtserialport,chardev=port${number},name=heddle.${number}`,
  ];
  const console = `file,id=console,path=${join(folder, 'console.log')}`;
  const kernelArguments = `console=hvc0 quiet panic=-1 mitigations=off nokaslr random.trust_cpu=on no_timer_check lab.nodes=${nodes}`;
  const drive = `file=${disk.replaceAll(',', ',,')},format=raw,if=virtio,cache=unsafe${diskOptions}`;
  const fixed = [
    '-machine',
    'q35',
    ...acceleration(),
    '-smp',
    String(CPUS),
    '-m',
    String(MEMORY_MIB),
  ];
  fixed.push('-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot');
  fixed.push('-kernel', join(kernel(), 'vmlinuz'), '-initrd', join(image(), 'initramfs.gz'));
  fixed.push('-append', kernelArguments, '-drive', drive, '-device', 'virtio-rng-pci');
  fixed.push('-device', 'virtio-serial-pci,max_ports=31');
  fixed.push('-chardev', console, '-device', 'virtconsole,chardev=console');
  return [
    ...fixed,
    ...Array.from({ length: PORTS }, (_, index) => port(index + 1)).flat(),
    ...share('lab', join(labScripts, 'guest'), ',readonly=on'),
    ...share('folder', folder),
    ...shares.flatMap((path, index) => share(`share${index}`, path, ',readonly=on')),
    '-qmp',
    `unix:${join(folder, 'qmp.sock')},server=on,wait=off`,
    ...(memory === undefined ? [] : ['-incoming', `exec:cat ${shellQuoted(memory)}`]),
  ];
}

function startMachine(options: MachineOptions): ProcessIdentity {
  const log = openSync(join(options.folder, 'qemu.log'), 'a');
  const child = spawn('qemu-system-x86_64', machineArguments(options), {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: '/',
  });
  closeSync(log);
  child.on('error', () => {}); // it has no process number then
  const holder = child.pid === undefined ? undefined : identify(child.pid);
  if (holder === undefined) throw new LabError('qemu-system-x86_64 could not be started');
  child.unref();
  return holder;
}

/** The last lines that a machine and QEMU printed. */
export function machineLog(folder: string): string {
  const lines = ['qemu.log', 'console.log'].flatMap((name) => {
    const file = join(folder, name);
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').slice(-10) : [];
  });
  return lines.map((line) => `  ${line.trimEnd()}`).join('\n');
}

/** Runs a program in the machine and gives what it wrote; rejects with that when it fails. */
async function commandInMachine(
  folder: string,
  argv: readonly string[],
  { input = '', limit = RESUME_LIMIT_MS }: { input?: string; limit?: number } = {},
): Promise<string> {
  let text = '';
  const add = (data: Buffer): void => {
    text += data.toString();
  };
  await using session = await startSession(
    folder,
    argv,
    { onOutput: add, onErrorOutput: add },
    { limit },
  );
  session.input(input);
  session.endInput();
  const code = await session.ended;
  if (code !== 0)
    throw new LabError(`${argv.join(' ')} failed in the virtual machine: ${text.trim()}`);
  return text;
}

/** Everything that goes into a saved state; another key = another state. */
function stateKey(nodes: number): string {
  const hash = createHash('sha256');
  for (const name of ['init-vm', 'lab.sh', 'node-prerequisites', 'agent.py', 'bin/lab-resume'])
    hash.update(readFileSync(join(labScripts, 'guest', name)));
  for (const file of [
    join(image(), 'root.img'),
    join(image(), 'initramfs.gz'),
    join(kernel(), 'vmlinuz'),
  ]) {
    const { ino, mtimeMs } = statSync(file);
    hash.update(`${ino} ${mtimeMs} `);
  }
  const shape = machineArguments({ folder: '/f', nodes, disk: '/d', shares: [] });
  return hash.update(JSON.stringify(shape)).digest('hex').slice(0, 12);
}

interface SavedState {
  readonly disk: string;
  readonly memory: string;
}

/** The saved state of a machine with that many nodes up; boots one and saves it when there is none yet. */
export async function savedState(
  nodes: number,
  progress: (line: string) => void,
): Promise<SavedState> {
  const base = join(image(), `state-${nodes}-${stateKey(nodes)}`);
  const saved = { disk: `${base}.img`, memory: `${base}.memory` };
  if (existsSync(saved.memory)) return saved;
  await using _ = await lock(`lab-state-${nodes}`, () => {
    progress('another command saves such a machine, waiting for it');
  });
  if (existsSync(saved.memory)) return saved;
  progress(`booting a machine with ${nodes} nodes, to be saved and started from later (once)`);
  for (const name of readdirSync(image()))
    if (name.startsWith(`state-${nodes}-`)) rmSync(join(image(), name), { force: true });
  const folder = mkdtempSync(join(tmpdir(), 'heddle-lab-'));
  const disk = `${saved.disk}.new`;
  await command('cp', ['--sparse=always', '--reflink=auto', join(image(), 'root.img'), disk]);
  const holder = startMachine({ folder, nodes, disk, shares: [folder] });
  try {
    await bootedWithNodes(folder, holder, progress);
    await save(folder, `${saved.memory}.new`);
    renameSync(disk, saved.disk);
    renameSync(`${saved.memory}.new`, saved.memory);
  } finally {
    if (isAlive(holder)) process.kill(holder.pid, 'SIGKILL');
    await waitFor(() => (isAlive(holder) ? undefined : true), 10_000);
    for (const file of [disk, `${saved.memory}.new`]) rmSync(file, { force: true });
    rmSync(folder, { recursive: true, force: true });
  }
  progress('saved');
  return saved;
}

async function bootedWithNodes(
  folder: string,
  holder: ProcessIdentity,
  progress: (line: string) => void,
): Promise<void> {
  let shown = 0;
  const outcome = await waitFor<'ready' | 'failed'>(
    () => {
      const lines = existsSync(join(folder, 'console.log'))
        ? readFileSync(join(folder, 'console.log'), 'utf8').replaceAll('\r', '').split('\n')
        : [];
      for (const line of lines.slice(shown, -1))
        if (/^(node|underlay|databases)/.test(line)) progress(line);
      shown = Math.max(shown, lines.length - 1);
      if (lines.includes('LAB-READY')) return 'ready';
      return lines.includes('LAB-FAILED') || !isAlive(holder) ? 'failed' : undefined;
    },
    BOOT_LIMIT_MS,
    200,
  );
  if (outcome !== 'ready')
    throw new LabError(
      `the virtual machine did not come up${outcome === undefined ? ` within ${BOOT_LIMIT_MS / 1000} s` : ''}. Its last lines:\n${machineLog(folder)}`,
    );
  await commandInMachine(folder, ['true']); // the command server answers
}

/** Writes the machine's memory and devices to a file, and ends it. */
async function save(folder: string, memory: string): Promise<void> {
  using monitor = await Monitor.open(join(folder, 'qmp.sock'));
  await monitor.ask('migrate-set-parameters', { 'max-bandwidth': 4 * 1024 ** 3 });
  await monitor.ask('migrate', { uri: `exec:cat > ${shellQuoted(memory)}` });
  await untilStatus(monitor, 'query-migrate', 'completed');
  await monitor.ask('quit');
}

/** Polls a monitor command until its `status` is the wanted one. */
async function untilStatus(monitor: Monitor, command: string, wanted: string): Promise<void> {
  const end = performance.now() + 120_000;
  for (;;) {
    const { status } = await monitor.ask(command);
    if (status === wanted) return;
    if (status === 'failed' || performance.now() > end)
      throw new LabError(
        `${command} of the virtual machine stays '${String(status)}', not '${wanted}'`,
      );
    await sleep(50);
  }
}

/** Starts a lab's machine from its saved state; resolves when commands can run in it. */
export async function startSavedMachine(
  name: string,
  folder: string,
  nodes: number,
  shares: readonly string[],
  state: SavedState,
  onStarted: (holder: ProcessIdentity) => void,
): Promise<void> {
  if (shares.length > SHARES)
    throw new LabError(`a machine has at most ${SHARES} shares, not ${shares.join(', ')}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const holder = startMachine({
    folder,
    nodes,
    disk: state.disk,
    diskOptions: ',snapshot=on',
    memory: state.memory,
    shares,
  });
  onStarted(holder);
  const sockets = await waitFor(() => {
    if (!isAlive(holder)) return false;
    return existsSync(portSocket(folder, PORTS)) && existsSync(join(folder, 'qmp.sock'))
      ? true
      : undefined;
  }, RESUME_LIMIT_MS);
  if (sockets !== true) throw new LabError(`QEMU did not start:\n${machineLog(folder)}`);
  {
    // A connection that is made before the state is loaded never gets an answer.
    using monitor = await Monitor.open(join(folder, 'qmp.sock'));
    await untilStatus(monitor, 'query-status', 'running');
  }
  const assignments = [
    `LAB_NAME=${shellQuoted(name)}`,
    `LAB_NOW=${Math.round(Date.now() / 1000)}`,
    `LAB_SHARES=${shellQuoted(shares.join('\n'))}`,
  ];
  await commandInMachine(folder, ['/run/lab-scripts/bin/lab-resume'], {
    input: `${assignments.join('\n')}\n`,
  });
}
