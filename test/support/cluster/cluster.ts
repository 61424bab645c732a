/** A cluster manager on a store in memory, and objects as users write them. */
import { ClusterManager, type ClusterManagerOptions } from '../../../src/cluster/manager.ts';
import {
  DEFAULT_LEASE_NAME,
  DEFAULT_LIMITS,
  type ClusterManagerSettings,
} from '../../../src/cluster/settings.ts';
import {
  clusterUserDefinedNetworks,
  namespaces,
  networkAttachmentDefinitions,
  nodes,
  pods,
  resourceKinds,
  userDefinedNetworks,
} from '../../../src/api/kinds.ts';
import { objectKey, type Condition, type KubeObject } from '../../../src/api/objects.ts';
import type {
  ClusterNetworkConnect,
  ClusterUserDefinedNetwork,
  LabelSelector,
  Namespace,
  NetworkAttachmentDefinition,
  NetworkConnect,
  Node,
  Pod,
  UserDefinedNetwork,
} from '../../../src/api/types.ts';
import type { ClusterSettings } from '../../../src/model/model.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import { Informers } from '../../../src/store/informers.ts';
import type { Log } from '../../../src/store/log.ts';
import type { Store } from '../../../src/store/store.ts';

export const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export const testSettings: ClusterManagerSettings = {
  cluster: {
    ...DEFAULT_SETTINGS,
    clusterSubnets: [{ cidr: '10.244.0.0/16', hostLength: 24 }],
    serviceSubnets: ['10.96.0.0/16'],
    secondaryGateways: true,
  },
  limits: DEFAULT_LIMITS,
  leaseName: DEFAULT_LEASE_NAME,
  identity: 'test',
};

export interface RunningManager extends AsyncDisposable {
  readonly manager: ClusterManager;
  settled(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a manager; disposing stops it and waits until it has ended. */
export function startManager(
  store: Store,
  changes: Partial<ClusterManagerSettings> = {},
  cluster: Partial<ClusterSettings> = {},
  options: Pick<ClusterManagerOptions, 'metrics' | 'clock' | 'egressProbing' | 'traces'> = {},
): RunningManager {
  const controller = new AbortController();
  const { signal } = controller;
  const informers = new Informers({ store, log: silent });
  const manager = new ClusterManager({
    store,
    informers,
    settings: { ...testSettings, ...changes, cluster: { ...testSettings.cluster, ...cluster } },
    log: silent,
    ...options,
    signal,
  });
  const run = Promise.all([informers.run(signal), manager.run()]);
  const stop = async (): Promise<void> => {
    controller.abort(new Error('stopped'));
    await run;
  };
  return {
    manager,
    async settled() {
      await manager.started;
      await informers.refresh(resourceKinds, signal);
      await manager.caughtUp();
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

export const PRIMARY = { 'k8s.ovn.org/primary-user-defined-network': '' };

export const namespace = (
  name: string,
  labels: Readonly<Record<string, string>> = PRIMARY,
): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { 'kubernetes.io/metadata.name': name, ...labels } },
});

export const node = (name: string, annotations: Readonly<Record<string, string>> = {}): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, annotations },
});

export const pod = (
  key: string,
  nodeName?: string,
  annotations: Readonly<Record<string, string>> = {},
): Pod => {
  const [namespaceName = '', name = ''] = key.split('/');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: namespaceName, name, annotations },
    spec: nodeName === undefined ? {} : { nodeName },
  };
};

/** A Layer3 UserDefinedNetwork; subnets as `cidr` or `cidr/hostSubnet`. */
export function layer3(
  key: string,
  subnets: string,
  role: 'Primary' | 'Secondary' = 'Primary',
): UserDefinedNetwork {
  const [namespaceName = '', name = ''] = key.split('/');
  return {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'UserDefinedNetwork',
    metadata: { namespace: namespaceName, name },
    spec: { topology: 'Layer3', layer3: { role, subnets: layer3Subnets(subnets) } },
  };
}

const layer3Subnets = (subnets: string): { cidr: string; hostSubnet?: number }[] =>
  subnets.split(',').map((subnet) => {
    const [address = '', length = '', host] = subnet.split('/');
    return {
      cidr: `${address}/${length}`,
      ...(host === undefined ? {} : { hostSubnet: Number(host) }),
    };
  });

export function layer2(
  key: string,
  subnets: string,
  role: 'Primary' | 'Secondary' = 'Primary',
): UserDefinedNetwork {
  const [namespaceName = '', name = ''] = key.split('/');
  return {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'UserDefinedNetwork',
    metadata: { namespace: namespaceName, name },
    spec: { topology: 'Layer2', layer2: { role, subnets: subnets.split(',') } },
  };
}

/** A primary Layer3 ClusterUserDefinedNetwork. */
export const clusterLayer3 = (
  name: string,
  namespaceSelector: LabelSelector,
  subnets: string,
): ClusterUserDefinedNetwork => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterUserDefinedNetwork',
  metadata: { name },
  spec: {
    namespaceSelector,
    network: { topology: 'Layer3', layer3: { role: 'Primary', subnets: layer3Subnets(subnets) } },
  },
});

/** A ClusterNetworkConnect over the primary networks of namespaces; ranges as `cidr/networkPrefix`. */
export function connect(
  name: string,
  namespaceNames: readonly string[],
  ...ranges: readonly string[]
): ClusterNetworkConnect {
  return {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'ClusterNetworkConnect',
    metadata: { name },
    spec: {
      networkSelectors: [
        {
          networkSelectionType: 'PrimaryUserDefinedNetworks',
          primaryUserDefinedNetworkSelector: {
            namespaceSelector: inNamespaces(...namespaceNames),
          },
        },
      ],
      connectSubnets: ranges.map((range) => {
        const [address = '', length = '', networkPrefix] = range.split('/');
        return { cidr: `${address}/${length}`, networkPrefix: Number(networkPrefix) };
      }),
      connectivity: ['PodNetwork'],
    },
  };
}

/** Half of a connection: `key` is its own, `peer` the network at the other end. */
export function networkConnect(
  key: string,
  network: string,
  peer: string,
  connectivity: NetworkConnect['spec']['connectivity'] = ['PodNetwork', 'ServiceNetwork'],
): NetworkConnect {
  const [namespaceName = '', name = ''] = key.split('/');
  const [peerNamespace = '', peerNetwork = ''] = peer.split('/');
  return {
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'NetworkConnect',
    metadata: { namespace: namespaceName, name },
    spec: { network, peer: { namespace: peerNamespace, network: peerNetwork }, connectivity },
  };
}

export const inNamespaces = (...names: readonly string[]): LabelSelector => ({
  matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: names }],
});

/** A NAD as an admin writes it. */
export const rawNad = (
  key: string,
  config: object | string,
  annotations: Readonly<Record<string, string>> = {},
): NetworkAttachmentDefinition => {
  const [namespaceName = '', name = ''] = key.split('/');
  return {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { namespace: namespaceName, name, annotations },
    spec: { config: typeof config === 'string' ? config : JSON.stringify(config) },
  };
};

/** Creates objects as users do, one after the other. */
export async function apply(store: Store, ...objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    const kind = resourceKinds.find((known) => known.kind === object.kind);
    if (kind === undefined) throw new Error(`unknown kind ${object.kind}`);
    await store.create(kind, object, { fieldManager: 'user' });
  }
}

/** Conditions of a (C)UDN as `Type=Status Reason: message`, sorted by type. */
export async function conditions(store: Store, key: string): Promise<readonly string[]> {
  const object = key.includes('/')
    ? await store.get(userDefinedNetworks, key)
    : await store.get(clusterUserDefinedNetworks, key);
  return describeConditions(object?.status?.conditions ?? []);
}

export const describeConditions = (list: readonly Condition[]): readonly string[] =>
  list
    .map(({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`)
    .toSorted();

/** Annotations of NADs by key, without prefix: `blue/net name=blue_net id=1 keys=[]`. */
export async function nadLines(store: Store): Promise<readonly string[]> {
  const list = await store.list(networkAttachmentDefinitions);
  return list
    .map(({ metadata }) => {
      const annotation = (name: string): string =>
        metadata.annotations?.[`k8s.ovn.org/${name}`] ?? '-';
      return `${objectKey(metadata)} name=${annotation('network-name')} id=${annotation('network-id')} keys=${annotation('tunnel-keys')}`;
    })
    .toSorted();
}

/** Allocations of nodes: `node1 id=2 transit={…} subnets={…}`. */
export async function nodeLines(store: Store): Promise<readonly string[]> {
  const list = await store.list(nodes);
  return list
    .map(({ metadata }) => {
      const annotation = (name: string): string =>
        metadata.annotations?.[`k8s.ovn.org/${name}`] ?? '-';
      return `${metadata.name} id=${annotation('node-id')} transit=${annotation('node-transit-switch-port-ifaddr')} subnets=${annotation('node-subnets')}`;
    })
    .toSorted();
}

export const remove = {
  udn: (store: Store, key: string): Promise<void> => store.delete(userDefinedNetworks, key),
  cudn: (store: Store, key: string): Promise<void> => store.delete(clusterUserDefinedNetworks, key),
  nad: (store: Store, key: string): Promise<void> =>
    store.delete(networkAttachmentDefinitions, key),
  namespace: (store: Store, key: string): Promise<void> => store.delete(namespaces, key),
  node: (store: Store, key: string): Promise<void> => store.delete(nodes, key),
  pod: (store: Store, key: string): Promise<void> => store.delete(pods, key),
};

export const CREATED =
  'NetworkCreated=True NetworkAttachmentDefinitionCreated: NetworkAttachmentDefinition has been created';
export const ALLOCATED =
  'NetworkAllocationSucceeded=True NetworkAllocationSucceeded: Network allocation succeeded for all synced nodes.';
