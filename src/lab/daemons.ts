/** `heddle node` on each node of a lab, in the background, as a cluster would run it. */
import { join } from 'node:path';
import { heddleCommand, outputInside, runInside } from './exec.ts';
import { hasKubernetes } from './kubernetes/files.ts';
import { cniSocket } from './runtime/containerd.ts';
import { familySettings, manifestsFolder, type Families } from './node-facts.ts';
import { hasVrfs } from './status.ts';
import { LabError, nodeNames, nodeSockets, remote, stateFolder } from './paths.ts';
import type { LabRecord } from './state-file.ts';

/** Name of its log and process number in the node's state folder. */
const DAEMON = 'heddle-node';

/** Where a lab's daemons keep statuses and allocations. */
export const objectsState = (name: string): string => join(stateFolder(name), 'state');

/** Where the daemon of a node answers commands. */
export const daemonSocket = (name: string, node: string): string =>
  join(stateFolder(name), node, `${DAEMON}.sock`);

/** The daemon's log, as seen from the host for a lab on the host's kernel. */
export const daemonLog = (name: string, node: string): string =>
  join(stateFolder(name), node, `${DAEMON}.log`);

const familyArguments = (families: Families): string[] =>
  Object.entries(familySettings(families)).map(([name, value]) => `--${name}=${value}`);

/** The lab's own objects. */
const manifestArguments = (name: string): readonly string[] => [
  `--manifests=${manifestsFolder(name)}`,
  `--state=${objectsState(name)}`,
];

/** Program and arguments of the daemon of one node, which reads its objects `from` there. */
function daemonCommand(
  lab: LabRecord,
  node: string,
  from: readonly string[],
  more: readonly string[],
): string[] {
  const sockets = nodeSockets(stateFolder(lab.name), node);
  return heddleCommand(lab, [
    'node',
    ...from,
    `--node=${node}`,
    `--nb=${remote(sockets.nb)}`,
    `--sb=${remote(sockets.sb)}`,
    // Nodes of several labs have the same names, and may share /run.
    `--socket=${daemonSocket(lab.name, node)}`,
    '--ovs=unix:/run/openvswitch/db.sock',
    '--gateway-interface=eth0',
    ...(lab.kind === 'host' ? [`--cni-socket=${cniSocket(lab, node)}`] : []),
    ...familyArguments(lab.families ?? 'v4'),
    ...more,
  ]);
}

/** Number of the daemon's process inside the lab; undefined when it does not run. */
export async function daemonProcess(lab: LabRecord, node: string): Promise<number | undefined> {
  const { code, stdout } = await runInside(lab, ['lab-daemon', node, DAEMON, 'pid']);
  return code === 0 ? Number(stdout) : undefined;
}

/** Of a kernel without VRFs less is asked. */
const kernelArguments = async (lab: LabRecord): Promise<string[]> =>
  (await hasVrfs(lab)) ? [] : ['--host-vrfs=false'];

/** Starts the daemon of a node, for the lab's manifests or the objects that `from` names; it runs until it is stopped, or the lab ends. */
export async function startDaemon(
  lab: LabRecord,
  node: string,
  more: readonly string[] = [],
  from: readonly string[] = manifestArguments(lab.name),
): Promise<void> {
  const all = [...(await kernelArguments(lab)), ...more];
  const argv = daemonCommand(lab, node, from, all);
  await outputInside(lab, ['lab-daemon', node, DAEMON, 'start', ...argv]);
}

/** Throws where the lab's objects are those of its API server: its manifests say nothing of what runs. */
export function expectManifests({ name }: LabRecord): void {
  if (hasKubernetes(name))
    throw new LabError(
      `lab '${name}' has a Kubernetes API server, and its daemons follow that, not manifests: use 'heddle lab kubectl --name ${name} apply', and 'heddle lab up --kubernetes --name ${name}' to repair it`,
    );
}

/** Starts the daemons that do not run yet; returns the nodes where one was started. */
export async function startDaemons(
  lab: LabRecord,
  more: readonly string[] = [],
): Promise<readonly string[]> {
  expectManifests(lab);
  const started: string[] = [];
  for (const node of nodeNames(lab.nodes)) {
    if ((await daemonProcess(lab, node)) !== undefined) continue;
    await startDaemon(lab, node, more);
    started.push(node);
  }
  return started;
}

/** Fails with the last lines of a daemon's log when it has ended. */
export async function expectDaemons(lab: LabRecord): Promise<void> {
  for (const node of nodeNames(lab.nodes)) {
    if ((await daemonProcess(lab, node)) !== undefined) continue;
    const log = daemonLog(lab.name, node);
    const { stdout } = await runInside(lab, ['tail', '-n', '5', log]);
    throw new LabError(
      `heddle node has ended on ${node}. The last lines of ${log}:\n${stdout.trimEnd()}`,
    );
  }
}
