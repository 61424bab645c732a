/** Which networks may touch, and which object says so. */
import {
  connectBridged,
  connectSubnets,
  connectTunnelKey,
} from '../../api/annotations/network-annotations.ts';
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
  /** Those that overlap others of it: services of these, and for these of all, are reached over the external bridge. */
  readonly bridged: ReadonlySet<string>;
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
    const selectedOf = (ids: readonly number[], annotation: string): ReadonlySet<string> => {
      const found = new Set<string>();
      for (const id of ids) {
        const network = byId.get(id);
        if (network === undefined) continue;
        if (isSelected(network, selected, objects)) found.add(network.name);
        else
          findings.wrong(
            'cut',
            `${object}, annotation of ${annotation}`,
            `has one for network ${network.name}, which the connection does not select`,
            object,
            [network.name],
          );
      }
      return found;
    };
    const owners = [...(connectSubnets(connect).value ?? new Map<string, unknown>()).keys()];
    const { pods, services } = connectivityOf(connect);
    const bridged = services && !pods ? (connectBridged(connect).value ?? []) : [];
    return {
      name: connect.metadata.name,
      object,
      networks: selectedOf(
        owners.map((owner) => Number(owner.split('_')[1])),
        'subnets',
      ),
      bridged: selectedOf(bridged, 'networks over the external bridge'),
      tunnelKey: connectTunnelKey(connect).value,
      opensPods: pods,
      opensServices: services,
    };
  });
}

/** The connection by which one network reaches services of another one over the external bridge. */
export const connectionOverBridge = (
  connections: readonly VerifiedConnection[],
  client: string,
  server: string,
): VerifiedConnection | undefined =>
  connections.find(({ networks, bridged }) =>
    [
      [client, server],
      [server, client],
    ].some(([a = '', b = '']) => a !== b && bridged.has(a) && (bridged.has(b) || networks.has(b))),
  );

/** True for a network that reaches services of others over the external bridge. */
export const isConnectedOverBridge = (
  connections: readonly VerifiedConnection[],
  network: string,
): boolean =>
  connections.some(
    ({ networks, bridged }) => bridged.has(network) || (bridged.size > 0 && networks.has(network)),
  );
