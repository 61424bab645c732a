/** What ClusterNetworkConnects would join, from manifests alone. */
import { PRIMARY_NETWORK_LABEL } from '../api/annotations/network-annotations.ts';
import { connectivityOf } from '../api/connectivity.ts';
import { renderNad } from '../api/nad/nad.ts';
import type { ClusterAddressing } from '../api/nad/network-config.ts';
import type { NetworkObject } from '../api/nad/network-spec.ts';
import { objectKey } from '../api/objects.ts';
import { withNameLabel } from '../api/selectors.ts';
import type {
  ClusterNetworkConnect,
  ClusterUserDefinedNetwork,
  Namespace,
  UserDefinedNetwork,
} from '../api/types.ts';
import type { ManifestDocument } from '../api/validation/manifest.ts';
import {
  checkConnect,
  connectWays,
  rangesOf,
  selectNetworks,
  type AcceptedConnect,
  type ConnectableNetwork,
  type ConnectProblem,
} from '../cluster/connect/connect-selection.ts';
import { targetNamespaces } from '../cluster/networks/network-objects.ts';
import { withStored } from './manifest-findings.ts';

/** What a connection would be, among the objects of the manifests and those that are stored. */
export interface ConnectPreview {
  readonly document: ManifestDocument;
  readonly name: string;
  readonly pods: boolean;
  readonly services: boolean;
  /** As users know them: `<name>` of a CUDN, `<namespace>/<name>` of a UDN. */
  readonly networks: readonly string[];
  /** Why the cluster manager would not accept it. That there are too few networks is none: others may be in the cluster. */
  readonly problem?: ConnectProblem;
}

/** Connections of `documents`; networks, namespaces and connections of `stored` count where `documents` don't have them. */
export function previewConnects(
  documents: readonly ManifestDocument[],
  stored: readonly ManifestDocument[],
  settings: ClusterAddressing,
): readonly ConnectPreview[] {
  const all = withStored(documents, stored);
  const objects = <T>(kind: string): readonly T[] =>
    all.filter(({ object }) => object.kind === kind).map(({ object }) => object as unknown as T);
  const udns = objects<UserDefinedNetwork>('UserDefinedNetwork');
  const cudns = objects<ClusterUserDefinedNetwork>('ClusterUserDefinedNetwork');
  const namespaces = withUnwritten(objects<Namespace>('Namespace'), udns).map(withNameLabel);
  const prepared = new Set(
    namespaces
      .filter(({ metadata }) => Object.hasOwn(metadata.labels ?? {}, PRIMARY_NETWORK_LABEL))
      .map(({ metadata }) => metadata.name),
  );
  const ids = new Map<NetworkObject, number>(
    [...udns, ...cudns].map((network, index) => [network, index + 1]),
  );
  const networkOf = (network: NetworkObject): ConnectableNetwork | undefined => {
    const nad = renderNad(network, network.metadata.namespace ?? 'default', settings);
    return nad.kind === 'value'
      ? { title: objectKey(network.metadata), id: ids.get(network) ?? 0, config: nad.value.config }
      : undefined;
  };
  const primariesOf = (namespace: string): readonly ConnectableNetwork[] =>
    [...udns, ...cudns]
      .filter(() => prepared.has(namespace))
      .filter((network) => targetNamespaces(network, namespaces).includes(namespace))
      .map(networkOf)
      .filter((network) => network?.config.role === 'primary')
      .filter((network) => network !== undefined);
  const accepted: AcceptedConnect[] = [];
  return all.flatMap((document): ConnectPreview[] => {
    if (document.object.kind !== 'ClusterNetworkConnect') return [];
    const connect = document.object as ClusterNetworkConnect;
    const { name } = connect.metadata;
    const ranges = rangesOf(connect);
    const networks = selectNetworks(connect, { cudns, namespaces, networkOf, primariesOf });
    const { pods, services } = connectivityOf(connect);
    const check = {
      networks,
      ranges,
      others: accepted,
      settings,
      nodes: [],
      isServing: false,
      linkedIds: new Set<number>(),
      opensPods: pods,
    };
    const problem = checkConnect(check);
    if (problem === undefined) {
      const { linked } = pods ? { linked: networks } : connectWays(check);
      accepted.push({ name, ranges, networks: linked, isOlder: true });
    }
    if (!documents.includes(document)) return [];
    return [
      {
        document,
        name,
        pods,
        services,
        networks: networks.map(({ title }) => title),
        ...(problem === undefined || problem.reason === 'InsufficientNetworks' ? {} : { problem }),
      },
    ];
  });
}

/** Namespaces of networks that no manifest writes: they have their name, and are taken to be prepared for a primary network. */
function withUnwritten(
  namespaces: readonly Namespace[],
  udns: readonly UserDefinedNetwork[],
): readonly Namespace[] {
  const written = new Set(namespaces.map(({ metadata }) => metadata.name));
  const unwritten = new Set(
    udns.map(({ metadata }) => metadata.namespace ?? '').filter((name) => !written.has(name)),
  );
  return [
    ...namespaces,
    ...[...unwritten].map((name): Namespace => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { [PRIMARY_NETWORK_LABEL]: '' } },
    })),
  ];
}

/** One line for people. */
export function previewText({ name, pods, services, networks }: ConnectPreview): string {
  const what = [...(pods ? ['pods'] : []), ...(services ? ['services'] : [])].join(' and ');
  return networks.length >= 2
    ? `ClusterNetworkConnect ${name} would join ${networks.join(', ')} (${what})`
    : `ClusterNetworkConnect ${name} selects ${networks.length === 0 ? 'no network' : `only ${networks.join()}`} of these files: it joins two at least`;
}
