/** Scenarios of objects in a cluster: each has its own steps, and scenarios interleave in any order. */
import * as fc from 'fast-check';
import {
  clusterUserDefinedNetworks,
  endpointSlices,
  namespaces,
  nodes as nodeKind,
  pods as podKind,
  resourceKinds,
  userDefinedNetworks,
} from '../../../src/api/kinds.ts';
import { objectKey, type KubeObject, type ResourceKind } from '../../../src/api/objects.ts';
import type {
  ClusterUserDefinedNetwork,
  IPAMClaim,
  LabelSelector,
  NetworkAttachmentDefinition,
  OVNSecondaryNetwork,
  UserDefinedNetwork,
} from '../../../src/api/types.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  apply,
  clusterLayer3,
  connect,
  inNamespaces,
  layer2,
  layer3,
  namespace,
  node,
  PRIMARY,
  pod,
  rawNad,
} from './cluster.ts';

/** Nodes that are there from their beginning to the end. */
export const NODES = ['n1', 'n2', 'n3'];

/** Something that a user does. */
export interface Step {
  readonly says: string;
  readonly run: (store: Store) => Promise<void>;
}

/** Steps that follow each other; those of other scenarios come in between. */
export type Scenario = readonly Step[];

const USER = { fieldManager: 'user' };

const create = (object: KubeObject): Step => ({
  says: `create ${object.kind} ${objectKey(object.metadata)}`,
  run: (store) => apply(store, object),
});
const change = (kind: ResourceKind, key: string, patch: object): Step => ({
  says: `change ${kind.kind} ${key} ${JSON.stringify(patch)}`,
  run: async (store) => void (await store.patch(kind, key, patch, USER)),
});
const destroy = (kind: ResourceKind, key: string): Step => ({
  says: `delete ${kind.kind} ${key}`,
  run: (store) => store.delete(kind, key),
});

export function remove({ kind: name, metadata }: KubeObject): Step {
  const kind = resourceKinds.find((known) => known.kind === name);
  if (kind === undefined) throw new Error(`unknown kind ${name}`);
  return destroy(kind, objectKey(metadata));
}

/** A secondary Layer2 network of the namespaces that the selector finds. */
const clusterLayer2 = (
  name: string,
  namespaceSelector: LabelSelector,
  subnets: readonly string[],
): ClusterUserDefinedNetwork => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterUserDefinedNetwork',
  metadata: { name },
  spec: {
    namespaceSelector,
    network: { topology: 'Layer2', layer2: { role: 'Secondary', subnets } },
  },
});

/** A network that an administrator wrote, as one of its NADs. */
const written = (key: string, config: object): NetworkAttachmentDefinition =>
  rawNad(key, {
    cniVersion: '1.1.0',
    type: 'ovn-k8s-cni-overlay',
    netAttachDefName: key,
    ...config,
  });

const secondary = (namespaceName: string, name: string, subnet: string): OVNSecondaryNetwork => ({
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'OVNSecondaryNetwork',
  metadata: { namespace: namespaceName, name },
  spec: { subnet },
});

const persistent = (key: string, subnets: string): UserDefinedNetwork => {
  const udn = layer2(key, subnets, 'Secondary');
  const ipam = { lifecycle: 'Persistent' } as const;
  const { layer2: config = { role: 'Secondary' } } = udn.spec;
  return { ...udn, spec: { ...udn.spec, layer2: { ...config, ipam } } };
};

const claim = (namespaceName: string, name: string, network: string): IPAMClaim => ({
  apiVersion: 'k8s.cni.cncf.io/v1alpha1',
  kind: 'IPAMClaim',
  metadata: { namespace: namespaceName, name },
  spec: { network, interface: 'net1' },
});

const attached = (...networks: readonly object[]): Readonly<Record<string, string>> => ({
  'k8s.v1.cni.cncf.io/networks': JSON.stringify(networks),
});

const slice = (namespaceName: string, name: string, podNames: readonly string[]): KubeObject =>
  ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace: namespaceName,
      name,
      labels: {
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        'kubernetes.io/service-name': 'web',
      },
    },
    addressType: 'IPv4',
    endpoints: podNames.map((one) => ({
      addresses: ['10.244.0.99'],
      conditions: { ready: true },
      targetRef: { kind: 'Pod', namespace: namespaceName, name: one },
    })),
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
  }) as KubeObject;

/** Objects that stay. They get along, so that the end does not depend on who came first. */
export const LASTING: readonly KubeObject[] = [
  ...NODES.map((name) => node(name)),
  ...['a', 'b', 'c', 'd', 'e'].map((name) => namespace(name)),
  namespace('plain', {}),
  layer3('a/net', '10.1.0.0/16/24'),
  layer2('b/net', '10.2.0.0/24'),
  layer3('b/extra', '10.8.0.0/16/24', 'Secondary'),
  persistent('b/kept', '10.12.0.0/24'),
  layer3('plain/refused', '10.9.0.0/16'),
  clusterLayer3('shared', inNamespaces('c', 'd'), '10.3.0.0/16/24'),
  clusterLayer2('team', { matchLabels: { team: 'x' } }, ['10.13.0.0/24']),
  connect('all', ['a', 'b', 'c'], '192.168.0.0/16/24'),
  secondary('c', 'inner', '10.14.0.0/24'),
  ...['c/wide', 'd/wide'].map((key) =>
    written(key, { name: 'wide', topology: 'layer3', subnets: '10.15.0.0/16/24' }),
  ),
  written('d/flat', { name: 'flat', topology: 'layer2', subnets: '10.16.0.0/24' }),
  rawNad('c/broken', '{"type": "ovn-k8s-cni-overlay", "name":'),
  written('a/unknown', { name: 'unknown', topology: 'layer9', subnets: '10.17.0.0/24' }),
  rawNad('a/bridge', { cniVersion: '1.1.0', type: 'bridge', name: 'bridge' }),
  claim('b', 'vm', 'b_kept'),
  ...['a/p1', 'a/p2', 'b/p1', 'b/p2', 'c/p1', 'd/p1', 'plain/p1', 'plain/p2'].map((key, index) =>
    pod(key, NODES[index % 2] ?? 'n1'),
  ),
  pod('b/p3', 'n1', attached({ name: 'extra' })),
  pod('b/vm', 'n3', attached({ name: 'kept', 'ipam-claim-reference': 'vm' })),
  pod(
    'd/fixed',
    'n2',
    attached({ name: 'flat', ips: ['10.16.0.77/24'], mac: '02:00:00:00:00:77' }),
  ),
  pod('c/wide', 'n3', attached({ name: 'wide' }, { name: 'inner' })),
  slice('a', 'web-1', ['p1', 'p2']),
  slice('plain', 'web-1', ['p1']),
];

/** Scenarios of objects that change, come and go. */
const RESTLESS: readonly Scenario[] = [
  [create(node('n4')), destroy(nodeKind, 'n4')],
  [
    create(namespace('late', {})),
    change(namespaces, 'late', { metadata: { labels: { team: 'x' } } }),
  ],
  [
    create(namespace('leaver', { team: 'x' })),
    change(namespaces, 'leaver', { metadata: { labels: { team: null } } }),
  ],
  [create(namespace('gone', { ...PRIMARY, team: 'x' })), destroy(namespaces, 'gone')],
  [
    create(layer3('d/passing', '10.20.0.0/16/24', 'Secondary')),
    destroy(userDefinedNetworks, 'd/passing'),
  ],
  [
    create(layer3('e/growing', '10.21.0.0/24/26')),
    change(userDefinedNetworks, 'e/growing', {
      spec: layer3('e/growing', '10.21.0.0/24/26,10.22.0.0/24/26').spec,
    }),
  ],
  [
    create(clusterLayer2('moving', inNamespaces('a', 'b'), ['10.23.0.0/24'])),
    change(clusterUserDefinedNetworks, 'moving', {
      spec: { namespaceSelector: inNamespaces('b', 'c') },
    }),
  ],
  [
    create(connect('passing', ['a', 'd'], '192.169.0.0/16/24')),
    remove(connect('passing', ['a', 'd'])),
  ],
  [create(pod('a/brief', 'n1')), destroy(podKind, 'a/brief')],
  [create(pod('b/brief', 'n2')), destroy(podKind, 'b/brief'), create(pod('b/brief', 'n1'))],
  [
    create(pod('d/done', 'n1')),
    {
      says: 'Pod d/done has ended',
      run: async (store) =>
        void (await store.patchStatus(podKind, 'd/done', { status: { phase: 'Succeeded' } }, USER)),
    },
  ],
  [
    create(slice('c', 'web-2', ['p1'])),
    change(endpointSlices, 'c/web-2', { endpoints: [] }),
    destroy(endpointSlices, 'c/web-2'),
  ],
];

const SCENARIOS: readonly Scenario[] = [...LASTING.map((object) => [create(object)]), ...RESTLESS];

/** The scenarios one after the other. */
export const inTurn: readonly Step[] = SCENARIOS.flat();

/** Any order of all steps in which those of one scenario follow each other. */
export const mixed: fc.Arbitrary<readonly Step[]> = anyOrder(
  SCENARIOS.flatMap((scenario, index) => scenario.map(() => index)),
).map((indexes) => {
  const next = new Map<number, number>();
  return indexes.map((index) => {
    const at = next.get(index) ?? 0;
    next.set(index, at + 1);
    const step = SCENARIOS[index]?.[at];
    if (step === undefined) throw new Error(`scenario ${index} has no step ${at}`);
    return step;
  });
});

/** Any order of all of `items`. */
export function anyOrder<T>(items: readonly T[]): fc.Arbitrary<readonly T[]> {
  return fc
    .shuffledSubarray([...items.keys()], { minLength: items.length })
    .map((indexes) => indexes.map((index) => items[index] as T));
}
