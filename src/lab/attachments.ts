/** Which interfaces a pod gets, from its annotations: what a CNI plugin would be told (node.md §6). Pure. */
import { nadOfKey } from '../api/nad/nad-key.ts';
import { ovnPrefix } from '../api/nad/network-name.ts';
import { isPlainObject } from '../api/plain-object.ts';
import { createHash } from 'node:crypto';
import type { Reading } from '../api/annotations/annotations.ts';
import { annotatedNetworkName } from '../api/annotations/network-annotations.ts';
import type { KubeObject } from '../api/objects.ts';
import { POD_NETWORKS, podNetworks, type PodRoute } from '../api/annotations/pod-annotations.ts';
import { LabError } from './places.ts';

/** One interface of a pod and its other end, which is plugged into br-int of the pod's node. */
export interface PodInterface {
  /** `eth0`, `ovn-udn1`, `net1` … */
  readonly device: string;
  readonly hostDevice: string;
  readonly mac: string;
  readonly mtu: number;
  /** With prefix length. */
  readonly addresses: readonly string[];
  readonly gateways: readonly string[];
  readonly routes: readonly PodRoute[];
  readonly externalIds: Readonly<Record<string, string>>;
  /** `default` or `<namespace>/<nad>`. */
  readonly nadKey: string;
}

export interface PodAttachment {
  /** `<namespace>/<name>`; the name by which the pod's server answers. */
  readonly name: string;
  readonly node: string;
  /** Id of the sandbox (64 hex digits): another one when anything below changed. */
  readonly sandbox: string;
  /** Network namespace inside the lab, `<namespace>_<name>`. */
  readonly namespace: string;
  readonly interfaces: readonly PodInterface[];
}

/** Network name by NAD key, for `k8s.ovn.org/network`. */
export type NetworkNames = ReadonlyMap<string, string>;

/** Without a network's own: the reference's default (api.md §12). */
const DEFAULT_MTU = 1400;

/** The value of an annotation; errors of reading it become one that the user sees. */
function readable<T>({ value, errors }: Reading<T>): T | undefined {
  const [first] = errors;
  if (first !== undefined) throw new LabError(first.message);
  return value;
}

const sandboxOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex');

function specField(pod: KubeObject, field: string): unknown {
  return isPlainObject(pod.spec) ? pod.spec[field] : undefined;
}

/** Whether a pod runs on a node and has been given its networks. */
export const isAttachable = (pod: KubeObject): boolean =>
  podNetworks(pod).value !== undefined &&
  pod.metadata.deletionTimestamp === undefined &&
  typeof specField(pod, 'nodeName') === 'string' &&
  specField(pod, 'hostNetwork') !== true;

/** Network names that NADs stand for, from the annotation that the cluster manager writes, else from their config. */
export function networkNames(nads: readonly KubeObject[]): NetworkNames {
  const names = new Map<string, string>();
  for (const nad of nads) {
    const key = `${nad.metadata.namespace ?? ''}/${nad.metadata.name}`;
    const name = annotatedNetworkName(nad).value ?? configuredName(nad);
    if (name !== undefined) names.set(key, name);
  }
  return names;
}

function configuredName(nad: KubeObject): string | undefined {
  const config = specField(nad, 'config');
  if (typeof config !== 'string') return undefined;
  try {
    const parsed: unknown = JSON.parse(config);
    return isPlainObject(parsed) && typeof parsed['name'] === 'string' ? parsed['name'] : undefined;
  } catch {
    return undefined; // not one of ours to complain about: a pod that uses it will be
  }
}

/** What to plug in for one pod. Throws LabError that names the pod and the field. */
export function podAttachment(pod: KubeObject, networks: NetworkNames): PodAttachment {
  const { name: podName, namespace = 'default', uid } = pod.metadata;
  const name = `${namespace}/${podName}`;
  const node = specField(pod, 'nodeName');
  if (typeof node !== 'string') throw new LabError(`pod ${name}: spec.nodeName is not set`);
  if (uid === undefined) throw new LabError(`pod ${name}: metadata.uid is not set`);
  const netns = `${namespace}_${podName}`;
  if (netns.length > 200)
    throw new LabError(`pod ${name}: its name is too long for a network namespace of the lab`);
  const networksOfPod = readable(podNetworks(pod));
  if (networksOfPod === undefined)
    throw new LabError(`pod ${name}: annotation ${POD_NETWORKS} is not set`);
  const entries = [...networksOfPod].sort(([a], [b]) =>
    a === 'default' ? -1 : b === 'default' ? 1 : a < b ? -1 : 1,
  );
  const sandbox = sandboxOf([name, uid, node, entries, entries.map(([key]) => networks.get(key))]);
  let secondaries = 0;
  const interfaces = entries.map(([key, entry], index): PodInterface => {
    const role = entry.role ?? (key === 'default' ? 'primary' : 'secondary');
    const device =
      key === 'default' ? 'eth0' : role === 'primary' ? 'ovn-udn1' : `net${++secondaries}`;
    const { addresses } = entry;
    const network = networks.get(nadOfKey(key));
    if (key !== 'default' && network === undefined)
      throw new LabError(
        `pod ${name}: annotation ${POD_NETWORKS}: entry "${key}": there is no NetworkAttachmentDefinition ${nadOfKey(key)}`,
      );
    // Second interfaces are told apart by the number that their other end has in the pod: lo 1, eth0 2 … (node.md §6.3).
    const suffix = `_${index + 2}`;
    return {
      device,
      hostDevice:
        index === 0 ? sandbox.slice(0, 15) : sandbox.slice(0, 15 - suffix.length) + suffix,
      mac: entry.macAddress,
      mtu: DEFAULT_MTU,
      addresses,
      gateways: entry.gateways,
      routes: entry.routes,
      nadKey: key,
      externalIds: {
        attached_mac: entry.macAddress,
        'iface-id': `${ovnPrefix(key)}${namespace}_${podName}`,
        'iface-id-ver': uid,
        sandbox,
        'pod-if-name': device,
        ...(addresses.length === 0 ? {} : { ip_addresses: addresses.join(',') }),
        ...(network === undefined || key === 'default'
          ? {}
          : { 'k8s.ovn.org/network': network, 'k8s.ovn.org/nad': key }),
      },
    };
  });
  return { name, node, sandbox, namespace: netns, interfaces };
}
