/** containerd on the nodes of a lab, and the CNI plugin where it looks for one. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { heddleCommand, outputInside, runInside } from '../exec.ts';
import { LabError, stateFolder } from '../paths.ts';
import type { LabRecord } from '../state-file.ts';
import { ContainerRuntime, CriError } from './cri.ts';

/** The image that every node has: busybox, and where the node's programs can be mounted. */
export const BOX_IMAGE = 'heddle.lab/box:1';
const BOX_ARCHIVE = '/usr/share/heddle-lab/box.tar';

const DAEMON = 'containerd';
const START_LIMIT_MS = 60_000;

const runtimeSocket = (lab: LabRecord, node: string): string =>
  join(stateFolder(lab.name), node, 'containerd.sock');

/** Socket of the node's daemon for the CNI plugin. */
export const cniSocket = (lab: LabRecord, node: string): string =>
  join(stateFolder(lab.name), node, 'cni.sock');

export const openRuntime = (lab: LabRecord, node: string): ContainerRuntime =>
  new ContainerRuntime(runtimeSocket(lab, node));

/** Starts containerd on a node where it does not run, and waits until it answers; it has the image, and no network until the plugin is installed. */
export async function startContainerd(lab: LabRecord, node: string): Promise<void> {
  if (lab.kind !== 'host') throw new LabError('containers are for labs of the kind host');
  if ((await runInside(lab, ['lab-daemon', node, DAEMON, 'pid'])).code === 0) return;
  const isFirst = !existsSync(runtimeSocket(lab, node));
  await outputInside(lab, ['lab-daemon', node, DAEMON, 'start', 'lab-containerd', node]);
  using runtime = openRuntime(lab, node);
  const end = performance.now() + START_LIMIT_MS;
  for (;;) {
    try {
      await runtime.conditions();
      break;
    } catch (error) {
      if (!(error instanceof CriError)) throw error;
      const { code } = await runInside(lab, ['lab-daemon', node, DAEMON, 'pid']);
      if (code !== 0 || performance.now() > end)
        throw new LabError(
          `containerd of ${node} does not answer (${error.message}); its log is ${join(stateFolder(lab.name), node, `${DAEMON}.log`)}`,
          { cause: error },
        );
      await sleep(100);
    }
  }
  if (isFirst) {
    const ctr = ['ctr', '--address', runtimeSocket(lab, node), '--namespace', 'k8s.io'];
    await outputInside(lab, ['on', node, ...ctr, 'images', 'import', BOX_ARCHIVE]);
  }
}

/** `heddle cni install` as on any node, for the socket of this one. */
export const installPlugin = (lab: LabRecord, node: string): Promise<string> =>
  outputInside(lab, [
    'on',
    node,
    ...heddleCommand(lab, ['cni', 'install', `--cni-socket=${cniSocket(lab, node)}`]),
  ]);
