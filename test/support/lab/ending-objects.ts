/** Namespaces with policies, pods and networks that are to be deleted: on the default network, on networks of their own, and on networks that several share. */
import { manifestsText, podOn, spaceObjects } from './network-spaces.ts';

export const DENIED = 9300;
export const ALLOWED = 9301;
/** Keeps objects while they are being deleted. */
const LIVES = 'example.org/lives';

const PRIMARY = { 'k8s.ovn.org/primary-user-defined-network': '' };
/** Labels by namespace; those that share a network are selected by one. */
const NAMESPACES = {
  plain: {},
  plain2: {},
  plain3: {},
  plain4: {},
  routed: PRIMARY,
  flat: PRIMARY,
  'shared-routed': { ...PRIMARY, shared: 'routed' },
  'shared-routed2': { ...PRIMARY, shared: 'routed' },
  'shared-flat': { ...PRIMARY, shared: 'flat' },
  'shared-flat2': { ...PRIMARY, shared: 'flat' },
} as const;
export const ENDING = Object.keys(NAMESPACES);

/** Without what gives a namespace its network. */
export const OTHER_LABELS = {
  'k8s.ovn.org/primary-user-defined-network': null,
  shared: null,
  team: 'other',
};

/** `closed` gets, and `mute` sends, what is for port ALLOWED alone. */
export const FLOWS = [
  ['other', 'closed'],
  ['mute', 'other'],
] as const;
export const POD_NAMES = ['closed', 'mute', 'other'] as const;
type PodName = (typeof POD_NAMES)[number];

interface Manifest {
  readonly metadata: object;
}
const lasting = (object: object): object => ({
  ...object,
  metadata: { ...(object as Manifest).metadata, finalizers: [LIVES] },
});

export const policy = (namespace: string, name: string, spec: object): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace, name },
  spec,
});
const open = [{ ports: [{ protocol: 'UDP', port: ALLOWED }] }];
const selected = (app: PodName): object => ({ podSelector: { matchLabels: { app } } });
const policiesOf = (namespace: string): readonly object[] => [
  policy(namespace, 'closed', { ...selected('closed'), policyTypes: ['Ingress'], ingress: open }),
  policy(namespace, 'mute', { ...selected('mute'), policyTypes: ['Egress'], egress: open }),
];
/** In every other namespace `other` is on the node of `closed`, else on that of `mute`. */
const podsOf = (namespace: string, index: number): readonly object[] => [
  podOn('n1', namespace, 'closed'),
  podOn('n2', namespace, 'mute'),
  podOn(index % 2 === 0 ? 'n1' : 'n2', namespace, 'other'),
];
const shared = (name: string, network: object): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterUserDefinedNetwork',
  metadata: { name: `shared-${name}` },
  spec: { namespaceSelector: { matchLabels: { shared: name } }, network },
});

/** Networks that stay. */
export const SHARED = manifestsText([
  shared('routed', {
    topology: 'Layer3',
    layer3: {
      role: 'Primary',
      subnets: [
        { cidr: '10.64.0.0/16', hostSubnet: 24 },
        { cidr: 'fd00:10:64::/48', hostSubnet: 64 },
      ],
    },
  }),
  shared('flat', {
    topology: 'Layer2',
    layer2: { role: 'Primary', subnets: ['10.65.0.0/16', 'fd00:10:65::/64'] },
  }),
]);

/** What is deleted, by what it is; `turn` is how often everything was there before. */
export const endingObjects = (turn: number) =>
  ({
    namespaces: manifestsText(
      Object.entries(NAMESPACES).map(([name, labels]) =>
        lasting({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }),
      ),
    ),
    networks: manifestsText(
      (['routed', 'flat'] as const).flatMap((space) => spaceObjects(space).slice(1)),
    ),
    policies: manifestsText(ENDING.flatMap(policiesOf)),
    pods: manifestsText(ENDING.flatMap((name, index) => podsOf(name, turn + index)).map(lasting)),
  }) as const;
export type Part = keyof ReturnType<typeof endingObjects>;

/** What is deleted one after the other, at the same time where it stands together: in a namespace, its controller takes it in any order. */
export const ORDERS: Readonly<Record<string, readonly (readonly (Part | 'labels')[])[]>> = {
  'the namespace, then its policies': [['namespaces'], ['policies']],
  'all at the same time': [['namespaces', 'policies', 'networks']],
  'the namespace, its labels, its network, its policies': [
    ['namespaces'],
    ['labels'],
    ['networks'],
    ['policies'],
  ],
  'pods, then policies, then the namespace': [['pods'], ['policies'], ['namespaces']],
};
