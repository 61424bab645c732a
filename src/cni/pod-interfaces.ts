/** Which interfaces a pod gets, from its annotations (node.md §6). Pure. */
import type { Reading } from '../api/annotations/annotations.ts';
import { annotatedNetworkName } from '../api/annotations/network-annotations.ts';
import { POD_NETWORKS, podNetworks, type PodNetwork } from '../api/annotations/pod-annotations.ts';
import { DEFAULT_NAD_KEY, nadOfKey } from '../api/nad/nad-key.ts';
import { ovnPrefix } from '../api/nad/network-name.ts';
import { objectKey, type KubeObject } from '../api/objects.ts';
import { isPlainObject } from '../api/plain-object.ts';
import { CniError, type CniInterface } from './result.ts';

/** Network name by NAD, for `k8s.ovn.org/network`. */
export type NetworkNames = ReadonlyMap<string, string>;

/** Without a network's own: the reference's default (api.md §12). */
const DEFAULT_MTU = 1400;
/** Linux takes no longer names of links. */
const LONGEST_DEVICE = 15;

function specField(object: KubeObject, field: string): unknown {
  return isPlainObject(object.spec) ? object.spec[field] : undefined;
}

/** Whether a pod runs on a node and has been given its networks. */
export const isAttachable = (pod: KubeObject): boolean =>
  podNetworks(pod).value !== undefined &&
  pod.metadata.deletionTimestamp === undefined &&
  typeof specField(pod, 'nodeName') === 'string' &&
  specField(pod, 'hostNetwork') !== true;

/** The node that a pod runs on. Throws CniError. */
export function nodeOf(pod: KubeObject): string {
  const node = specField(pod, 'nodeName');
  if (typeof node === 'string') return node;
  throw new CniError(`pod ${objectKey(pod.metadata)}: spec.nodeName is not set`);
}

/** Network names that NADs stand for, from the annotation that the cluster manager writes, else from their config. */
export function networkNames(nads: readonly KubeObject[]): NetworkNames {
  const names = new Map<string, string>();
  for (const nad of nads) {
    const name = annotatedNetworkName(nad).value ?? configuredName(nad);
    if (name !== undefined) names.set(objectKey(nad.metadata), name);
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
    return undefined; // no network: the error comes with a pod that uses the NAD
  }
}

/** The pod's networks by NAD key, that of its first interface first. Throws CniError. */
export function orderedNetworks(pod: KubeObject): readonly (readonly [string, PodNetwork])[] {
  const networks = readable(podNetworks(pod));
  if (networks === undefined)
    throw new CniError(`pod ${objectKey(pod.metadata)}: annotation ${POD_NETWORKS} is not set`);
  return [...networks].sort(([a], [b]) =>
    a === DEFAULT_NAD_KEY ? -1 : b === DEFAULT_NAD_KEY ? 1 : a < b ? -1 : 1,
  );
}

/** The value of an annotation; what is wrong with it becomes an error. */
function readable<T>({ value, errors }: Reading<T>): T | undefined {
  const [first] = errors;
  if (first !== undefined) throw new CniError(first.message);
  return value;
}

/** The interfaces of a pod whose sandbox has the id `sandbox`. Throws CniError. */
export function podInterfaces(
  pod: KubeObject,
  sandbox: string,
  names: NetworkNames,
): readonly CniInterface[] {
  const { name, namespace = 'default', uid } = pod.metadata;
  if (uid === undefined) throw new CniError(`pod ${namespace}/${name}: metadata.uid is not set`);
  let secondaries = 0;
  return orderedNetworks(pod).map(([nadKey, network], index): CniInterface => {
    const isDefault = nadKey === DEFAULT_NAD_KEY;
    const role = network.role ?? (isDefault ? 'primary' : 'secondary');
    const device = isDefault ? 'eth0' : role === 'primary' ? 'ovn-udn1' : `net${++secondaries}`;
    const nad = nadOfKey(nadKey);
    const networkName = names.get(nad);
    if (!isDefault && networkName === undefined)
      throw new CniError(
        `pod ${namespace}/${name}: annotation ${POD_NETWORKS}: entry "${nadKey}": there is no NetworkAttachmentDefinition ${nad}`,
      );
    const { macAddress, addresses, gateways, routes } = network;
    return {
      device,
      hostDevice: hostDevice(sandbox, index),
      mac: macAddress,
      mtu: DEFAULT_MTU,
      addresses,
      gateways,
      routes,
      nadKey,
      externalIds: {
        attached_mac: macAddress,
        'iface-id': `${ovnPrefix(nadKey)}${namespace}_${name}`,
        'iface-id-ver': uid,
        sandbox,
        'pod-if-name': device,
        ...(addresses.length === 0 ? {} : { ip_addresses: addresses.join(',') }),
        ...(networkName === undefined || isDefault
          ? {}
          : { 'k8s.ovn.org/network': networkName, 'k8s.ovn.org/nad': nadKey }),
      },
    };
  });
}

/** The host's end: second interfaces are numbered by the index of their other end in the pod: lo 1, eth0 2 … (node.md §6.3). */
function hostDevice(sandbox: string, index: number): string {
  const suffix = index === 0 ? '' : `_${index + 2}`;
  return sandbox.slice(0, LONGEST_DEVICE - suffix.length) + suffix;
}
