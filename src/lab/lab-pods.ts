/** What to plug in for a pod of a lab. Pure. */
import { createHash } from 'node:crypto';
import { annotatedNetworkName } from '../api/annotations/network-annotations.ts';
import { objectKey, type KubeObject } from '../api/objects.ts';
import type { Pod } from '../api/types.ts';
import { nadOfKey } from '../api/nad/nad-key.ts';
import {
  isAttachable,
  nodeOf,
  orderedNetworks,
  podInterfaces,
  type NetworkNames,
} from '../cni/links/pod-interfaces.ts';
import { CniError } from '../cni/protocol/cni-error.ts';
import type { CniInterface } from '../cni/protocol/result.ts';
import { lackingNetworks } from '../model/rules/lacking-networks.ts';
import { LabError } from './paths.ts';

export interface LabPod {
  /** `<namespace>/<name>`; the name by which the pod's server answers. */
  readonly name: string;
  readonly node: string;
  /** Id of the sandbox (64 hex digits): another one when anything below changed. */
  readonly sandbox: string;
  /** Network namespace inside the lab, `<namespace>_<name>`. */
  readonly namespace: string;
  readonly interfaces: readonly CniInterface[];
}

/** Names of network namespaces are file names. */
const LONGEST_NAMESPACE = 200;

/** Keys of NADs whose networks are Heddle's: the cluster manager has named them. */
export const ownNads = (nads: readonly KubeObject[]): ReadonlySet<string> =>
  new Set(
    nads
      .filter((nad) => annotatedNetworkName(nad).value !== undefined)
      .map(({ metadata }) => objectKey(metadata)),
  );

/**
 * Whether a pod runs on a node and has all of its networks, without which a runtime does not start it. One that is plugged in with less is plugged in
 * anew, with another sandbox, once it has the rest.
 */
export const isComplete = (pod: KubeObject, ours: ReadonlySet<string>): boolean =>
  isAttachable(pod) && lackingNetworks(pod as Pod, ours).length === 0;

/** Throws LabError that names the pod and the field. */
export function labPod(pod: KubeObject, networks: NetworkNames): LabPod {
  const name = objectKey(pod.metadata);
  const namespace = name.replace('/', '_');
  if (namespace.length > LONGEST_NAMESPACE)
    throw new LabError(`pod ${name}: its name is too long for a network namespace of the lab`);
  try {
    const node = nodeOf(pod);
    const entries = orderedNetworks(pod);
    const used = entries.map(([nadKey]) => networks.get(nadOfKey(nadKey)));
    const sandbox = createHash('sha256')
      .update(JSON.stringify([name, pod.metadata.uid, node, entries, used]))
      .digest('hex');
    return { name, node, sandbox, namespace, interfaces: podInterfaces(pod, sandbox, networks) };
  } catch (error) {
    if (error instanceof CniError) throw new LabError(error.message, { cause: error });
    throw error;
  }
}
