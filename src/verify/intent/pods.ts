/** Ports that pods may have, by the addresses that their annotations give them. */
import { withoutPrefix } from '../../allocators/addresses.ts';
import { podNetworks, type AttachmentRole } from '../../api/annotations/pod-annotations.ts';
import { DEFAULT_NAD_KEY, nadOfKey } from '../../api/nad/nad-key.ts';
import { DEFAULT_NETWORK, ovnPrefix } from '../../api/nad/network-name.ts';
import { objectKey } from '../../api/objects.ts';
import type { Pod } from '../../api/types.ts';
import type { VerifiedNetwork } from './networks.ts';

/** An interface of a pod. */
export interface VerifiedPort {
  /** Name of its logical port. */
  readonly name: string;
  /** `<namespace>/<pod>`. */
  readonly pod: string;
  readonly namespace: string;
  readonly network: string;
  readonly node: string;
  readonly uid: string;
  readonly mac: string;
  readonly addresses: readonly string[];
  readonly tunnelId: number | undefined;
  readonly role: AttachmentRole | undefined;
}

/** Networks by the NADs that name them. */
export const byNad = (networks: readonly VerifiedNetwork[]): ReadonlyMap<string, string> =>
  new Map(networks.flatMap(({ nads, name }) => nads.map((nad) => [nad, name])));

/** Ports of all pods by name. */
export function portsOf(
  pods: readonly Pod[],
  networks: readonly VerifiedNetwork[],
): ReadonlyMap<string, VerifiedPort> {
  const nads = byNad(networks);
  return new Map(
    pods.flatMap((pod) => portsOfPod(pod, nads).map((port) => [port.name, port] as const)),
  );
}

/** NADs of networks by which a pod has interfaces, whether there are such networks or not. */
export const nadsOf = (pod: Pod): readonly string[] =>
  [...(podNetworks(pod).value ?? new Map<string, unknown>()).keys()].map(nadOfKey);

export function portsOfPod(pod: Pod, nads: ReadonlyMap<string, string>): readonly VerifiedPort[] {
  const ports: VerifiedPort[] = [];
  const { namespace = '', name, uid = '' } = pod.metadata;
  for (const [key, entry] of podNetworks(pod).value ?? []) {
    const network = key === DEFAULT_NAD_KEY ? DEFAULT_NETWORK : nads.get(nadOfKey(key));
    if (network === undefined) continue;
    ports.push({
      name: `${key === DEFAULT_NAD_KEY ? '' : ovnPrefix(key)}${namespace}_${name}`,
      pod: objectKey(pod.metadata),
      namespace,
      network,
      node: pod.spec.nodeName ?? '',
      uid,
      mac: entry.macAddress,
      addresses: entry.addresses.map(withoutPrefix),
      tunnelId: entry.tunnelId,
      role: entry.role,
    });
  }
  return ports;
}
