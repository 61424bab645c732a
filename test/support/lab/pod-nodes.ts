/** Nodes of a lab that run pods: containerd, the plugin, and a daemon that answers it. */
import { existsSync } from 'node:fs';
import { startDaemon } from '../../../src/lab/daemons.ts';
import { cniSocket, installPlugin, startContainerd } from '../../../src/lab/runtime/containerd.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { until } from '../run/until.ts';

const SOON = 30_000;

/** The daemon of a node, until it answers container runtimes. */
export async function startCniDaemon(
  lab: LabRecord,
  node: string,
  more: readonly string[] = [],
): Promise<void> {
  const socket = cniSocket(lab, node);
  const ovs = '--ovs=unix:/run/openvswitch/db.sock';
  await startDaemon(lab, node, [ovs, `--cni-socket=${socket}`, ...more]);
  await until(`the CNI plugin of ${node}`, () => existsSync(socket), SOON);
}

export async function startPodNode(
  lab: LabRecord,
  node: string,
  more: readonly string[] = [],
): Promise<void> {
  await startContainerd(lab, node);
  await installPlugin(lab, node);
  await startCniDaemon(lab, node, more);
}

/** Does it for all of a list, at most `atOnce` at the same time. */
export async function inParallel<T>(
  list: readonly T[],
  atOnce: number,
  action: (one: T) => Promise<unknown>,
): Promise<void> {
  const waiting = list.values();
  const worker = async (): Promise<void> => {
    for (const one of waiting) await action(one);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, list.length) }, worker));
}
