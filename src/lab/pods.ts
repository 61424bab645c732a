/** Pods in a lab without a container runtime: plugged in and out as their annotations say, by a stand-in for the CNI plugin. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../api/objects.ts';
import { LINK_GROUP } from '../cni/links/link-requests.ts';
import { networkNames } from '../cni/links/pod-interfaces.ts';
import { isComplete, labPod, ownNads, type LabPod } from './lab-pods.ts';
import { telling } from '../process/waiting.ts';
import { outputInside } from './exec.ts';
import { LabError, nodeNames, stateFolder } from './paths.ts';
import type { LabRecord } from './state-file.ts';

/** TCP and UDP port on which every pod of a lab answers with its name. */
export const SERVER_PORT = 8080;

/** Seconds for ovn-controller to install the ports of new pods. */
const INSTALL_LIMIT_S = 30;

/** A port of br-int that belongs to a pod. */
export interface PluggedPort {
  readonly node: string;
  readonly sandbox: string;
  readonly device: string;
  readonly 'iface-id': string;
  readonly installed: boolean;
}

export const pluggedPorts = async (lab: LabRecord): Promise<PluggedPort[]> =>
  JSON.parse(await outputInside(lab, ['lab-pods', 'list'])) as PluggedPort[];

export interface AttachResult {
  readonly attachments: readonly LabPod[];
  readonly attached: readonly string[];
  /** Sandboxes that went: of pods that are gone, or have other networks now. */
  readonly detached: number;
}

export interface AttachOptions {
  /** Called with what takes long. */
  readonly progress?: (line: string) => void;
}

/** What to attach for pods that have been given their networks; throws LabError when one is on a node that the lab does not have. */
export function labPods(
  lab: LabRecord,
  pods: readonly KubeObject[],
  nads: readonly KubeObject[],
): readonly LabPod[] {
  const names = networkNames(nads);
  const ours = ownNads(nads);
  const attachments = pods.filter((pod) => isComplete(pod, ours)).map((pod) => labPod(pod, names));
  const nodes = nodeNames(lab.nodes);
  const lost = attachments.find((pod) => !nodes.includes(pod.node));
  if (lost !== undefined)
    throw new LabError(
      `pod ${lost.name}: spec.nodeName is '${lost.node}', but lab '${lab.name}' has ${nodes.join(', ')}`,
    );
  return attachments;
}

/**
 * Makes the lab's pods those of `pods`: new ones get their interfaces, a server that answers with their name, and are
 * waited for; those that are gone are unplugged; the rest is left alone. `nads` give networks their names.
 */
export async function attachPods(
  lab: LabRecord,
  pods: readonly KubeObject[],
  nads: readonly KubeObject[],
  {
    waitSeconds = INSTALL_LIMIT_S,
    progress = () => undefined,
  }: AttachOptions & { readonly waitSeconds?: number } = {},
): Promise<AttachResult> {
  const attachments = labPods(lab, pods, nads);
  const ports = await pluggedPorts(lab);
  const present = new Set(ports.map((port) => port.sandbox));
  const wanted = new Set(attachments.map((pod) => pod.sandbox));
  const attach = attachments.filter((pod) => !present.has(pod.sandbox));
  const detach = ports
    .filter((port) => !wanted.has(port.sandbox))
    .map(({ node, sandbox, ...port }) => ({
      node,
      sandbox,
      namespace: namespaceOf(port['iface-id']),
    }));
  const applied =
    attach.length === 0 && detach.length === 0
      ? undefined
      : outputInside(lab, ['lab-pods', 'apply'], {
          input: JSON.stringify({
            attach,
            detach,
            port: SERVER_PORT,
            group: LINK_GROUP,
            datapath: lab.datapath,
            wait: waitSeconds,
          }),
        });
  if (applied !== undefined)
    await telling(`ovn-controller for the ports of ${attach.length} new pods`, progress, applied);
  keepAttached(lab, attachments);
  return {
    attachments,
    attached: attach.map((pod) => pod.name),
    detached: new Set(detach.map((port) => port.sandbox)).size,
  };
}

const podsFile = (lab: LabRecord): string => join(stateFolder(lab.name), 'pods.json');

/** For `attachedPods`. */
export function keepAttached(lab: LabRecord, attachments: readonly LabPod[]): void {
  writeFileSync(podsFile(lab), `${JSON.stringify(attachments, undefined, 1)}\n`);
}

/** The pods that were attached last. */
export function attachedPods(lab: LabRecord): LabPod[] {
  if (!existsSync(podsFile(lab))) return [];
  return JSON.parse(readFileSync(podsFile(lab), 'utf8')) as LabPod[];
}

/** `<namespace>_<pod>`, the last two words of every pod's logical port name. */
const namespaceOf = (ifaceId: string): string => ifaceId.split('_').slice(-2).join('_');
