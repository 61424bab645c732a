/** The two networks of small-zone.ts with all kinds of ways out: a connection of both, the host, a physical network, a port that a pod opens. */
import type { ClusterNetworkConnect, Namespace } from '../../../src/api/types.ts';
import type { Row, Tables } from '../../../src/verify/rows.ts';
import type { Snapshot } from '../../../src/verify/snapshot.ts';
import { NORTHBOUND, OBJECTS, snapshot } from './small-zone.ts';

const NETWORKS = ['blue_net', 'green_net'] as const;
const ids = (values: readonly string[]): unknown => ['set', values.map((one) => ['uuid', one])];
const map = (values: Readonly<Record<string, string>>): unknown => ['map', Object.entries(values)];
const port = (at: string, name: string, more: Row = {}): Row => ({
  _uuid: ['uuid', at],
  name,
  options: map({}),
  ...more,
});

const connect: ClusterNetworkConnect = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterNetworkConnect',
  metadata: {
    name: 'both',
    annotations: {
      'k8s.ovn.org/network-connect-subnet': JSON.stringify({
        layer3_1: { ipv4: '192.168.0.0/24' },
        layer3_2: { ipv4: '192.168.1.0/24' },
      }),
    },
  },
  spec: {
    networkSelectors: [
      {
        networkSelectionType: 'PrimaryUserDefinedNetworks',
        primaryUserDefinedNetworkSelector: { namespaceSelector: {} },
      },
    ],
    connectSubnets: [{ cidr: '192.168.0.0/16', networkPrefix: 24 }],
    connectivity: ['PodNetwork'],
  },
};

const namespaces = ['blue', 'green'].map((name): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
}));

/** Adds ports to the switch or router of each network. */
const withPorts = (rows: readonly Row[], names: readonly string[]): readonly Row[] =>
  rows.map((row, index) => {
    const [, known] = row['ports'] as [string, readonly unknown[]];
    return {
      ...row,
      ports: ['set', [...known, ...names.map((n) => ['uuid', `${NETWORKS[index]} ${n}`])]],
    };
  });

const {
  Logical_Switch = [],
  Logical_Router = [],
  Logical_Switch_Port = [],
  Logical_Router_Port = [],
} = NORTHBOUND;

const tables: Readonly<Record<string, readonly Row[]>> = {
  Logical_Switch: [
    ...withPorts(Logical_Switch, ['host']),
    ...NETWORKS.map((network): Row => ({
      _uuid: ['uuid', `${network} ext`],
      name: `ext_${network}_n1`,
      ports: ids([`${network} local`]),
      acls: ids([]),
      other_config: map({}),
      external_ids: map({}),
    })),
  ],
  Logical_Router: [
    ...withPorts(Logical_Router, ['up']),
    {
      _uuid: ['uuid', 'connection'],
      name: 'connect_router_both',
      ports: ids(NETWORKS.map((network) => `${network} down`)),
      static_routes: ids([]),
      policies: ids([]),
      nat: ids([]),
      options: map({}),
      external_ids: map({}),
    },
  ],
  Logical_Switch_Port: [
    ...Logical_Switch_Port,
    ...NETWORKS.flatMap((network) => [
      port(`${network} host`, `k8s-${network}_n1`, { type: '' }),
      port(`${network} local`, `breth0_${network}_n1`, {
        type: 'localnet',
        options: map({ network_name: 'physnet' }),
      }),
    ]),
  ],
  Logical_Router_Port: [
    ...Logical_Router_Port,
    ...NETWORKS.flatMap((network) => [
      port(`${network} up`, `up-${network}`, { peer: `down-${network}` }),
      port(`${network} down`, `down-${network}`, { peer: `up-${network}` }),
    ]),
  ],
};

export const connectedSnapshot = (more: Partial<Snapshot> = {}): Snapshot =>
  snapshot({
    objects: { ...OBJECTS, connects: [connect], namespaces },
    northbound: new Map(Object.entries(tables)) satisfies Tables,
    ...more,
  });
