/** What a proof says of flows of the external bridge that lead from a network to services of another one. */
import { expect, test } from 'vitest';
import type { ClusterNetworkConnect, Namespace, Node, Service } from '../../../src/api/types.ts';
import { certificateOf } from '../../../src/verify/certificate/certify.ts';
import { recheck } from '../../../src/verify/recheck/recheck.ts';
import type { Row, Tables } from '../../../src/verify/rows.ts';
import type { Flow, Snapshot } from '../../../src/verify/snapshot.ts';
import { prove } from '../../../src/verify/verify.ts';
import { flow, HOST, NODE, OBJECTS, snapshot } from '../../support/verify/small-zone.ts';

const [BLUE, GREEN] = [3, 4];
const PATCHES = { blue_net: BLUE, green_net: GREEN };
const service: Service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'green' },
  spec: { clusterIPs: ['172.16.1.80'], ports: [{ port: 80, protocol: 'TCP' }] },
};
const namespaces = ['blue', 'green'].map((name): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
}));
const sharing = (bridged: string, connectivity = 'ServiceNetwork'): ClusterNetworkConnect => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterNetworkConnect',
  metadata: {
    name: 'sharing',
    annotations: {
      'k8s.ovn.org/network-connect-subnet': '{}',
      'k8s.ovn.org/network-connect-bridged': bridged,
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
    connectivity: [connectivity as 'ServiceNetwork'],
  },
});
const gateway: Node = {
  ...NODE,
  metadata: {
    ...NODE.metadata,
    annotations: {
      ...NODE.metadata.annotations,
      'k8s.ovn.org/l3-gateway-config': JSON.stringify({
        default: {
          mode: 'shared',
          'bridge-id': 'breth0',
          'interface-id': 'breth0_n1',
          'mac-address': '02:42:ac:12:00:03',
          'ip-addresses': ['172.18.0.3/16'],
          'next-hops': ['172.18.0.1'],
          'node-port-enable': 'true',
          'vlan-id': '0',
        },
      }),
    },
  },
};

const OPEN_VSWITCH: Tables = new Map<string, readonly Row[]>([
  [
    'Bridge',
    [
      {
        _uuid: ['uuid', 'b'],
        name: 'breth0',
        ports: [
          'set',
          [
            ['uuid', 'pb'],
            ['uuid', 'pg'],
          ],
        ],
      },
    ],
  ],
  [
    'Port',
    [
      { _uuid: ['uuid', 'pb'], interfaces: ['uuid', 'ib'] },
      { _uuid: ['uuid', 'pg'], interfaces: ['uuid', 'ig'] },
    ],
  ],
  [
    'Interface',
    Object.entries(PATCHES).map(([network, ofport]) => ({
      _uuid: ['uuid', network === 'blue_net' ? 'ib' : 'ig'],
      type: 'patch',
      name: `patch-breth0_${network}_n1-to-br-int`,
      ofport,
      options: ['map', [['peer', `patch-br-int-to-breth0_${network}_n1`]]],
    })),
  ],
]);

const bridgeWith = (
  connects: readonly ClusterNetworkConnect[],
  ...flows: readonly Flow[]
): Snapshot => ({
  ...snapshot({
    objects: {
      ...OBJECTS,
      nodes: [gateway],
      namespaces,
      connects: [...connects],
      services: [service],
    },
    openVswitch: OPEN_VSWITCH,
  }),
  host: { ...HOST, bridgeFlows: [...flows] },
});
const told = (connects: readonly ClusterNetworkConnect[], ...flows: readonly Flow[]): string[] =>
  prove(bridgeWith(connects, ...flows))
    .verdict.violations.filter(({ where }) => where.includes('nw_'))
    .map(({ what }) => what);

const asks = (address = '172.16.1.80', port = '80'): Flow =>
  flow(
    0,
    `tcp,in_port=LOCAL,nw_src=169.254.0.11,nw_dst=${address},tp_dst=${port}`,
    `output:${GREEN}`,
  );
const answers = flow(
  0,
  'ip,in_port=LOCAL,nw_src=172.16.1.80,nw_dst=169.254.0.11',
  `output:${BLUE}`,
);
const NOBODY = 'lets what comes from elsewhere into network green_net: no object wants that';

test('what a connection opens over the bridge is an edge of it, and its answers are no other one', () => {
  const { verdict } = prove(bridgeWith([sharing('[1,2]')], asks(), answers));
  expect(told([sharing('[1,2]')], asks(), answers)).toEqual([]);
  expect(verdict.edges.filter(({ kind }) => kind === 'service')).toEqual([
    expect.objectContaining({
      from: 'blue_net',
      to: 'green_net',
      object: 'ClusterNetworkConnect sharing',
    }),
  ]);
});

test('without a connection, over another address or port, and where pods are connected it is a violation', () => {
  expect(told([], asks())).toEqual([NOBODY]);
  expect(told([sharing('[1]')], asks())).toEqual([NOBODY]);
  expect(told([sharing('[1,2]', 'PodNetwork')], asks())).toEqual([NOBODY]);
  expect(told([sharing('[1,2]')], asks('10.20.0.3'))).toEqual([NOBODY]);
  expect(told([sharing('[1,2]')], asks('172.16.1.80', '81'))).toEqual([NOBODY]);
  expect(told([], answers)).toHaveLength(1);
});

test('straight from one network to the other nothing is wanted, connected or not', () => {
  const straight = flow(
    0,
    `tcp,in_port=${BLUE},nw_src=169.254.0.11,nw_dst=172.16.1.80,tp_dst=80`,
    `output:${GREEN}`,
  );
  expect(told([sharing('[1,2]')], straight)).toEqual([
    'leads from network blue_net to network green_net: no object wants that',
  ]);
});

test('a certificate with that edge holds; one whose connection joins other networks does not', () => {
  const found = bridgeWith([sharing('[1,2]')], asks(), answers);
  const made = { time: '2026-01-02T03:04:05.000Z', heddle: '0.0.0' };
  const certificate = certificateOf(found, prove(found), made);
  const about = (users: typeof certificate.users): readonly string[] =>
    recheck({ ...certificate, users }).filter((text) => text.includes('sharing'));
  expect(about(certificate.users)).toEqual([]);
  const others = certificate.users.map((one) => ({ ...one, networks: ['green_net'] }));
  expect(about(others)).not.toEqual([]);
});
