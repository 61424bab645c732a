/** Which interfaces a pod gets, from its annotations (reference/node.md §6). Pure. */
import { familyOf, withoutPrefix } from '../../allocators/addresses.ts';
import type { Reading } from '../../api/annotations/annotations.ts';
import { bandwidth } from '../../api/annotations/bandwidth-annotations.ts';
import { annotatedNetworkName } from '../../api/annotations/network-annotations.ts';
import {
  leadingRoutes,
  POD_NETWORKS,
  podNetworks,
  type PodNetwork,
  type PodRoute,
} from '../../api/annotations/pod-annotations.ts';
import { DEFAULT_NAD_KEY, nadOfKey } from '../../api/nad/nad-key.ts';
import { ovnPrefix } from '../../api/nad/network-name.ts';
import { objectKey, type KubeObject } from '../../api/objects.ts';
import { isPlainObject } from '../../api/plain-object.ts';
import { NETWORKS, networkSelections } from '../../api/annotations/network-selection.ts';
import { CNI_CODE, CniError } from '../protocol/cni-error.ts';
import type { AddRequest } from '../protocol/request.ts';
import type { CniInterface } from '../protocol/result.ts';

/** Network name by NAD, for `k8s.ovn.org/network`. */
export type NetworkNames = Pick<ReadonlyMap<string, string>, 'get'>;

/** Without a network's own: ovn-kubernetes' default (reference/api.md §12). */
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

/** The network that a NAD stands for: by the annotation that the cluster manager writes, else by its config. */
const networkNameOf = (nad: KubeObject): string | undefined =>
  annotatedNetworkName(nad).value ?? configuredName(nad);

/** Network names that NADs stand for. */
export function networkNames(nads: readonly KubeObject[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const nad of nads) {
    const name = networkNameOf(nad);
    if (name !== undefined) names.set(objectKey(nad.metadata), name);
  }
  return names;
}

/** Those of NADs as they are when they are asked for. */
export const networkNamesOf = (nads: {
  get(key: string): KubeObject | undefined;
}): NetworkNames => ({
  get(key) {
    const nad = nads.get(key);
    return nad && networkNameOf(nad);
  },
});

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
    throw new CniError(
      `pod ${objectKey(pod.metadata)}: annotation ${POD_NETWORKS} is not set`,
      CNI_CODE.tryAgainLater,
    );
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

export interface LinkFacts {
  readonly mtu: number;
  /** Its routers are those of a physical network, beside which nobody of ours is one. */
  readonly isOnUnderlay: boolean;
}

/** What a network's links have, by its name; of the default network for undefined. */
export type LinkFactsOf = (network: string | undefined) => LinkFacts;

/** The interfaces of a pod whose sandbox has the id `sandbox`. Throws CniError. */
export function podInterfaces(
  pod: KubeObject,
  sandbox: string,
  names: NetworkNames,
  linkFactsOf: LinkFactsOf = () => ({ mtu: DEFAULT_MTU, isOnUnderlay: false }),
): readonly CniInterface[] {
  const { name, namespace = 'default', uid } = pod.metadata;
  if (uid === undefined) throw new CniError(`pod ${namespace}/${name}: metadata.uid is not set`);
  const selected = new Map(
    (networkSelections(pod).value ?? []).map((one) => [one.nadKey, one.interfaceName]),
  );
  const limits = readable(bandwidth(pod)) ?? {};
  let secondaries = 0;
  const all = orderedNetworks(pod);
  return all.map(([nadKey, network], index): CniInterface => {
    const isDefault = nadKey === DEFAULT_NAD_KEY;
    const role = network.role ?? (isDefault ? 'primary' : 'secondary');
    const device = isDefault
      ? 'eth0'
      : role === 'primary'
        ? 'ovn-udn1'
        : (selected.get(nadKey) ?? `net${++secondaries}`);
    const nad = nadOfKey(nadKey);
    const networkName = names.get(nad);
    if (!isDefault && networkName === undefined)
      throw new CniError(
        `pod ${namespace}/${name}: annotation ${POD_NETWORKS}: entry "${nadKey}": there is no NetworkAttachmentDefinition ${nad}`,
        CNI_CODE.tryAgainLater,
      );
    const { macAddress, addresses, gateways } = network;
    return {
      device,
      hostDevice: hostDevice(sandbox, index),
      mac: macAddress,
      ...linkFactsOf(isDefault ? undefined : networkName),
      isPrimary: role === 'primary',
      ...(Object.keys(limits).length === 0 ? {} : { bandwidth: limits }),
      addresses,
      gateways,
      ...routesOf(
        network,
        index,
        all.map(([, one]) => one),
      ),
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

/** Tables in a pod of the ways out of its secondary networks: this one and the index of the interface. */
const FIRST_TABLE = 1000;
/** Those of what has an address of such a network. */
const FIRST_OWN_TABLE = 2000;

function routesOf(
  network: PodNetwork,
  index: number,
  all: readonly PodNetwork[],
): Pick<CniInterface, 'routes' | 'wayOut'> {
  const { addresses, routes } = network;
  const leading = leadingRoutes(network);
  if (leading.length === 0) return { routes };
  const others = all.filter((one) => one.role !== 'secondary');
  const theirs = new Set(others.flatMap((one) => one.routes.map(({ dest }) => dest)));
  return {
    routes: routes.filter((route) => !leading.includes(route)),
    wayOut: {
      table: FIRST_TABLE + index,
      // Join subnets of two networks may be the same: without an address it is for that of the primary one.
      routes: leading.filter(({ dest }) => !theirs.has(dest)),
      otherAddresses: others.flatMap((one) => one.addresses.map(withoutPrefix)),
      ownTable: FIRST_OWN_TABLE + index,
      own: addresses.flatMap((address) => {
        const isNear = ({ dest }: PodRoute): boolean => familyOf(dest) === familyOf(address);
        const gateway = leading.find(isNear)?.nextHop;
        return gateway === undefined ? [] : { address, gateway };
      }),
    },
  };
}

/** The host's end: second interfaces are numbered by the index of their other end in the pod: lo 1, eth0 2 … (reference/node.md §6.3). */
function hostDevice(sandbox: string, index: number): string {
  const suffix = index === 0 ? '' : `_${index + 2}`;
  return sandbox.slice(0, LONGEST_DEVICE - suffix.length) + suffix;
}

const CONFIG_SOURCE = 'kubernetes.io/config.source';

/**
 * The interfaces that a request is for: those of the default and the primary network at once, or one secondary one. What may still come
 * (addresses, a newer pod) is an error with the code for "try again later". Throws CniError.
 */
export function requestedInterfaces(
  pod: KubeObject,
  request: AddRequest,
  names: NetworkNames,
  linkFactsOf: LinkFactsOf,
): readonly CniInterface[] {
  const key = objectKey(pod.metadata);
  const { uid } = request.pod;
  // The runtime knows a static pod by the hash of its file.
  const source = pod.metadata.annotations?.[CONFIG_SOURCE] ?? 'api';
  if (uid !== undefined && source === 'api' && uid !== pod.metadata.uid)
    throw new CniError(
      `pod ${key} has the UID ${pod.metadata.uid}, the runtime asks for ${uid}`,
      CNI_CODE.tryAgainLater,
    );
  if (specField(pod, 'hostNetwork') === true)
    throw new CniError(`pod ${key} is on the host's network: it has no interfaces`);
  const all = podInterfaces(pod, request.container, names, linkFactsOf);
  if (!request.isSecondary) return ownInterfaces(key, all, request.device);
  return [secondaryInterface(pod, all, request)];
}

/** Whether a pod names a NAD; one whose annotation can't be read may. */
function asksFor(pod: KubeObject, isMeant: (nad: string) => boolean): boolean {
  const { value = [], errors } = networkSelections(pod);
  return errors.length > 0 || value.some(({ nadKey }) => isMeant(nadOfKey(nadKey)));
}

/** Of the default network, named as the runtime wants it, and of the primary one, if that is another. */
function ownInterfaces(
  pod: string,
  all: readonly CniInterface[],
  device: string,
): readonly CniInterface[] {
  const first = all.find(({ nadKey }) => nadKey === DEFAULT_NAD_KEY);
  const primary = all.find(({ isPrimary }) => isPrimary);
  const missing = first === undefined ? 'the default network' : 'its primary network';
  if (first === undefined || primary === undefined)
    throw new CniError(
      `pod ${pod}: annotation ${POD_NETWORKS} has no entry for ${missing} yet`,
      CNI_CODE.tryAgainLater,
    );
  const named = {
    ...first,
    device,
    externalIds: { ...first.externalIds, 'pod-if-name': device },
  };
  return primary === first ? [named] : [named, primary];
}

const nameOf = (nad: string): string => nad.slice(nad.indexOf('/') + 1);

function secondaryInterface(
  object: KubeObject,
  all: readonly CniInterface[],
  { nad: known, network, device }: AddRequest,
): CniInterface {
  const pod = objectKey(object.metadata);
  const nad = known ?? `"${network}"`;
  // Where the configuration names no NAD, its name is that of the network, or was put there by the meta-plugin and is the NAD's.
  const ofNad = all.filter(({ nadKey, externalIds }) =>
    known === undefined
      ? nameOf(nadOfKey(nadKey)) === network || externalIds['k8s.ovn.org/network'] === network
      : nadOfKey(nadKey) === known,
  );
  const found = ofNad.find((one) => one.device === device && !one.isPrimary);
  if (found !== undefined) return found;
  if (ofNad.some(({ isPrimary }) => isPrimary))
    throw new CniError(
      `pod ${pod}: ${nad} is its primary network, which it has without asking: take it out of ${NETWORKS}`,
      CNI_CODE.invalidConfig,
    );
  // The name of a network alone does not tell how a pod asks for it.
  const isAsked = asksFor(object, (one) => known === undefined || one === known);
  if (!isAsked)
    throw new CniError(
      `pod ${pod} does not ask for network ${nad}: name it in annotation ${NETWORKS}`,
      CNI_CODE.invalidConfig,
    );
  throw new CniError(
    `pod ${pod}: annotation ${POD_NETWORKS} has no entry of ${nad} for interface ${device} yet`,
    CNI_CODE.tryAgainLater,
  );
}
