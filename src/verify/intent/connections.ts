/** Which networks may touch, and which object says so. */
import { connectSubnets, connectTunnelKey } from '../../api/annotations/network-annotations.ts';
import { connectivityOf } from '../../api/connectivity.ts';
import { matchesSelector, NAME_LABEL } from '../../api/selectors.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { ClusterNetworkConnect, LabelSelector } from '../../api/types.ts';
import type { Findings } from '../findings.ts';
import type { Objects } from '../snapshot.ts';
import type { VerifiedNetwork } from './networks.ts';

/** A ClusterNetworkConnect and the networks that it joins. */
export interface VerifiedConnection {
  readonly name: string;
  readonly object: string;
  readonly networks: ReadonlySet<string>;
  readonly tunnelKey: number | undefined;
  readonly opensPods: boolean;
  readonly opensServices: boolean;
}

const byName = (a: KubeObject, b: KubeObject): number =>
  a.metadata.name < b.metadata.name ? -1 : 1;

const selects = (selector: LabelSelector | undefined, { metadata }: KubeObject): boolean =>
  selector !== undefined &&
  matchesSelector(selector, { [NAME_LABEL]: metadata.name, ...metadata.labels });

/** Names of objects that the connection selects. */
function selectedObjects({ spec }: ClusterNetworkConnect, objects: Objects): ReadonlySet<string> {
  const selected = new Set<string>();
  for (const one of spec.networkSelectors) {
    const byCluster = one.clusterUserDefinedNetworkSelector?.networkSelector;
    const byNamespace = one.primaryUserDefinedNetworkSelector?.namespaceSelector;
    for (const network of objects.clusterNetworks ?? [])
      if (selects(byCluster, network))
        selected.add(`ClusterUserDefinedNetwork ${network.metadata.name}`);
    for (const namespace of objects.namespaces)
      if (selects(byNamespace, namespace)) selected.add(`Namespace ${namespace.metadata.name}`);
  }
  return selected;
}

const isSelected = (
  network: VerifiedNetwork,
  selected: ReadonlySet<string>,
  { clusterNetworks }: Objects,
): boolean =>
  selected.has(network.object) ||
  (clusterNetworks === undefined && network.object.startsWith('ClusterUserDefinedNetwork ')) ||
  (network.role === 'primary' &&
    network.namespaces.some((namespace) => selected.has(`Namespace ${namespace}`)));

/** Connections whose networks have subnets. A network with one that nothing selects is a finding, and not joined. */
export function connectionsOf(
  objects: Objects,
  networks: readonly VerifiedNetwork[],
  findings: Findings,
): readonly VerifiedConnection[] {
  const byId = new Map(networks.map((network) => [network.id, network]));
  return objects.connects.toSorted(byName).map((connect): VerifiedConnection => {
    const object = `ClusterNetworkConnect ${connect.metadata.name}`;
    const selected = selectedObjects(connect, objects);
    const joined = new Set<string>();
    for (const key of (connectSubnets(connect).value ?? new Map<string, unknown>()).keys()) {
      const network = byId.get(Number(key.split('_')[1]));
      if (network === undefined) continue;
      if (isSelected(network, selected, objects)) joined.add(network.name);
      else
        findings.wrong(
          'cut',
          `${object}, annotation of subnets`,
          `has one for network ${network.name}, which the connection does not select`,
          object,
          [network.name],
        );
    }
    const { pods, services } = connectivityOf(connect);
    return {
      name: connect.metadata.name,
      object,
      networks: joined,
      tunnelKey: connectTunnelKey(connect).value,
      opensPods: pods,
      opensServices: services,
    };
  });
}
