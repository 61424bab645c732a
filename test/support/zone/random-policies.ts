/** Policies and connections as people write them, at random, for what zone-objects.ts has. */
import type { KubeObject } from '../../../src/api/objects.ts';
import type { ClusterNetworkConnect } from '../../../src/api/types.ts';
import { adminPolicy, multiPolicy, networkPolicy } from './policed-zone.ts';
import type { SeededRandom } from '../run/seeded-random.ts';

const APPS = ['web', 'db'];
export const TEAMS = ['a', 'b'];

export const randomLabels = (random: SeededRandom): Record<string, string> =>
  random.is(0.3) ? {} : { app: random.pick(APPS) };

const selector = (random: SeededRandom, label: string, values: readonly string[]): object =>
  random.pick([
    {},
    { matchLabels: { [label]: random.pick(values) } },
    { matchExpressions: [{ key: label, operator: random.pick(['Exists', 'DoesNotExist']) }] },
  ]);
const pods = (random: SeededRandom): object => selector(random, 'app', APPS);
const namespaces = (random: SeededRandom): object => selector(random, 'team', TEAMS);

const some = <T>(random: SeededRandom, make: () => T): T[] =>
  Array.from({ length: random.below(3) }, make);

const peer = (random: SeededRandom): object =>
  random.pick([
    { podSelector: pods(random) },
    { namespaceSelector: namespaces(random) },
    { podSelector: pods(random), namespaceSelector: namespaces(random) },
    { ipBlock: { cidr: '10.0.0.0/8', except: random.is(0.5) ? [] : ['10.1.0.0/16'] } },
  ]);
const port = (random: SeededRandom): object =>
  random.pick([
    { port: 80 },
    { port: 90, endPort: 99 },
    { protocol: 'UDP' },
    { protocol: 'TCP', port: 'http' },
  ]);

/** Rules of a direction, or none of it. */
const rules = (random: SeededRandom, side: 'from' | 'to'): object[] =>
  some(random, () => ({
    [side]: some(random, () => peer(random)),
    ports: some(random, () => port(random)),
  }));

const spec = (random: SeededRandom): object => ({
  podSelector: pods(random),
  ...(random.is(0.7) ? { ingress: rules(random, 'from') } : {}),
  ...(random.is(0.5) ? { egress: rules(random, 'to') } : {}),
  ...(random.is(0.5) ? {} : { policyTypes: random.pick([['Ingress'], ['Ingress', 'Egress']]) }),
});

export const randomPolicy = (
  random: SeededRandom,
  spaces: readonly string[],
  nads: readonly string[],
): KubeObject => {
  const key = `${random.pick(spaces)}/${random.pick(['p', 'q'])}`;
  const made = random.is(0.7)
    ? networkPolicy(key, spec(random))
    : multiPolicy(key, random.is(0.7) ? random.pick(nads) : nads.join(', '), spec(random));
  if (random.is(0.7)) return made;
  const { metadata } = made;
  const annotations = { ...metadata.annotations, 'k8s.ovn.org/acl-stateless': 'true' };
  return { ...made, metadata: { ...metadata, annotations } };
};

const adminRules = (
  random: SeededRandom,
  side: 'from' | 'to',
  actions: string[],
  isCluster: boolean,
): object[] =>
  some(random, () => ({
    action: random.pick(actions),
    [side]: [
      random.pick([
        { namespaces: namespaces(random) },
        { pods: { namespaceSelector: namespaces(random), podSelector: pods(random) } },
        ...(side === 'to' ? [{ networks: ['10.0.0.0/8'] }, { nodes: {} }] : []),
      ]),
    ],
    ...(random.is(0.5)
      ? {}
      : isCluster
        ? { protocols: [{ tcp: { destinationPort: { number: 80 } } }] }
        : { ports: [{ portNumber: { protocol: 'TCP', port: 80 } }] }),
  }));

export function randomAdminPolicy(random: SeededRandom): KubeObject {
  const isCluster = random.is(0.4);
  const isBaseline = !isCluster && random.is(0.4);
  const actions = [isCluster ? 'Accept' : 'Allow', 'Deny', ...(isBaseline ? [] : ['Pass'])];
  const logging = random.is(0.3) ? { 'k8s.ovn.org/acl-logging': '{"allow":"info"}' } : {};
  const policy = {
    ...(isCluster ? { tier: random.pick(['Admin', 'Baseline']) } : {}),
    ...(isBaseline ? {} : { priority: random.below(3) }),
    subject: random.pick([
      { namespaces: namespaces(random) },
      { pods: { namespaceSelector: namespaces(random), podSelector: pods(random) } },
    ]),
    ingress: adminRules(random, 'from', actions, isCluster),
    egress: adminRules(random, 'to', actions, isCluster),
  };
  return adminPolicy(isBaseline ? 'default' : random.pick(['first', 'second']), policy, logging);
}

/** Next hops for pods of some namespaces. */
export const randomExternalRoute = (random: SeededRandom): KubeObject => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'AdminPolicyBasedExternalRoute',
  metadata: { name: `g${random.below(3)}` },
  spec: {
    from: { namespaceSelector: namespaces(random) },
    nextHops: {
      static: some(random, () => ({
        ip: `172.18.0.${50 + random.below(3)}`,
        bfdEnabled: random.is(0.5),
      })),
      dynamic: random.is(0.2) ? [{ podSelector: pods(random), namespaceSelector: {} }] : [],
    },
  },
});

/** An EgressQoS or a NetworkQoS. */
export function randomQos(random: SeededRandom, spaces: readonly string[]): KubeObject {
  const namespace = random.pick(spaces);
  if (random.is(0.4))
    return {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'EgressQoS',
      metadata: { namespace, name: 'default' },
      spec: {
        egress: some(random, () => ({
          dscp: random.below(64),
          ...(random.is(0.5) ? {} : { dstCIDR: random.pick(['10.0.0.0/8', 'fd00::/8', '::/0']) }),
          ...(random.is(0.5) ? {} : { podSelector: pods(random) }),
        })),
      },
    };
  const selected = {
    networkSelectionType: 'NetworkAttachmentDefinitions',
    networkAttachmentDefinitionSelector: {
      namespaceSelector: namespaces(random),
      networkSelector: namespaces(random),
    },
  };
  return {
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'NetworkQoS',
    metadata: { namespace, name: random.pick(['gold', 'silver']) },
    spec: {
      priority: random.below(3),
      ...(random.is(0.5) ? {} : { networkSelectors: [selected] }),
      ...(random.is(0.5) ? {} : { podSelector: pods(random) }),
      egress: some(random, () => ({
        dscp: random.below(64),
        ...(random.is(0.7) ? {} : { bandwidth: { rate: 1000, burst: 100 } }),
        classifier: {
          to: some(random, () => peer(random)),
          ports: some(random, () =>
            random.pick([{ protocol: 'UDP' }, { protocol: 'TCP', port: 80 }]),
          ),
        },
      })),
    },
  };
}

/** A connection of some networks, as the cluster manager leaves it. */
export function randomConnect(
  random: SeededRandom,
  networks: readonly { readonly id: number; readonly topology: string }[],
): ClusterNetworkConnect {
  const number = random.below(2);
  const members = networks.filter(() => random.is(0.6));
  const subnets = members.map(({ id, topology }) => [
    `${topology}_${id}`,
    {
      ipv4:
        topology === 'layer2' ? `192.${168 + number}.${id}.0/31` : `192.${168 + number}.${id}.0/24`,
    },
  ]);
  return {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'ClusterNetworkConnect',
    metadata: {
      name: `c${number}`,
      annotations: {
        'k8s.ovn.org/network-connect-subnet': JSON.stringify(Object.fromEntries(subnets)),
        'k8s.ovn.org/connect-router-tunnel-key': String(16_715_900 + number),
      },
    },
    spec: {
      networkSelectors: [],
      connectSubnets: [{ cidr: `192.${168 + number}.0.0/16`, networkPrefix: 24 }],
      connectivity: random.pick([
        ['PodNetwork'],
        ['PodNetwork', 'ServiceNetwork'],
        ['ServiceNetwork'],
      ]),
    },
    status: {
      conditions: [
        {
          type: 'Accepted',
          status: random.is(0.9) ? 'True' : 'False',
          reason: 'X',
          message: '',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    },
  };
}
