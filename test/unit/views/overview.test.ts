import { describe, expect, test } from 'vitest';
import type { ClusterNetworkConnect, OVNSecondaryNetwork } from '../../../src/api/types.ts';
import { LEASES, microTime, nodeLeaseName } from '../../../src/api/node-lease.ts';
import type { NetworkState, ZoneStatus, ZoneStatusContent } from '../../../src/api/zone-status.ts';
import {
  isHealthy,
  overviewOf,
  type Overview,
  type OverviewObjects,
} from '../../../src/views/overview.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import { connect } from '../../support/cluster/cluster.ts';

const nothing: OverviewObjects = {
  networkObjects: [],
  clusterNetworkConnects: [],
  networkAttachmentDefinitions: [],
  nodes: [],
  pods: [],
  zoneStatuses: [],
  leases: [],
  appliedObjects: [],
  egressIps: [],
  egressServices: [],
  services: [],
};
const lastTransitionTime = '2026-01-01T00:00:00Z';

test('a connection that is not there yet is a problem, with its reasons', () => {
  const both: ClusterNetworkConnect = {
    ...connect('both', ['blue', 'red'], '192.168.0.0/16/24'),
    status: {
      status: 'Failure',
      conditions: [
        {
          type: 'Accepted',
          status: 'True',
          reason: 'ValidationSucceeded',
          message: 'All validation checks passed successfully',
          lastTransitionTime,
        },
        {
          type: 'Ready-In-Zone-n1',
          status: 'Unknown',
          reason: 'NotReported',
          message: 'no report\nat all',
          lastTransitionTime,
        },
      ],
    },
  };
  const { problems } = overviewOf(
    { ...nothing, clusterNetworkConnects: [both] },
    DEFAULT_SETTINGS,
    { now: 0 },
  );
  expect(problems).toEqual([
    { object: 'ClusterNetworkConnect both', message: 'not Ready-In-Zone-n1: no report; at all' },
  ]);
});

describe('the lease of the cluster managers', () => {
  const now = Date.parse('2026-01-01T00:10:00Z');
  const lease = (renewTime: string, holderIdentity: string, leaseDurationSeconds = 15) => ({
    apiVersion: LEASES.apiVersion,
    kind: 'Lease' as const,
    metadata: { namespace: 'heddle', name: 'heddle-cluster-manager' },
    spec: { holderIdentity, leaseDurationSeconds, renewTime },
  });
  const found = (...leases: OverviewObjects['leases']): Overview['problems'] =>
    overviewOf({ ...nothing, leases }, DEFAULT_SETTINGS, { now }).problems;

  test('that somebody holds is no problem, nor is one that changes hands, nor none at all', () => {
    expect(found(lease('2026-01-01T00:09:50.000000Z', 'a'))).toEqual([]);
    expect(found(lease('2026-01-01T00:09:40.000000Z', ''))).toEqual([]);
    expect(found()).toEqual([]);
  });

  test.each([
    [
      'that nobody renews',
      lease('2026-01-01T00:08:20.000000Z', 'manager-1'),
      'manager-1 was the last, at 2026-01-01T00:08:20Z, 100 s ago by the clock of this machine',
    ],
    [
      'that was given up',
      lease('2026-01-01T00:08:20.000000Z', '', 1),
      'the last one stopped at 2026-01-01T00:08:20Z, 100 s ago by the clock of this machine',
    ],
  ])('%s says that nobody leads, and what that means', (_, stored, last) => {
    expect(found(stored)).toEqual([
      {
        object: 'Lease heddle/heddle-cluster-manager',
        message: `no cluster manager leads: ${last}; what is new (networks, pods, nodes) gets no ids, subnets and addresses, and what is there goes on: see whether its pods run, and their logs (kubectl -n heddle get pods -l app.kubernetes.io/component=cluster), and whether the clocks of its node and of this machine agree`,
      },
    ]);
  });

  test('that is renewed in an hour says that a clock is off, not that all is well', () => {
    expect(found(lease('2026-01-01T01:10:00.000000Z', 'manager-1'))).toEqual([
      {
        object: 'Lease heddle/heddle-cluster-manager',
        message:
          "whether a cluster manager leads can't be told: it was renewed at 2026-01-01T01:10:00Z, which is in 3600 s by the clock of this machine; set the clock of this machine, or that of the node where manager-1 runs",
      },
    ]);
    expect(found(lease('2026-01-01T00:10:30.000000Z', 'manager-1'))).toEqual([]);
  });
});

test('a connection that is not ready on a node for want of its daemon is no problem beside the node', () => {
  const both: ClusterNetworkConnect = {
    ...connect('both', ['blue', 'red'], '192.168.0.0/16/24'),
    status: {
      status: 'Failure',
      conditions: [
        {
          type: 'Ready-In-Zone-n1',
          status: 'False',
          reason: 'NoDaemon',
          message:
            'Stale: no heartbeat of its daemon since 2026-01-01T00:00:00Z; it was Programmed',
          lastTransitionTime,
        },
      ],
    },
  };
  const stale = {
    apiVersion: LEASES.apiVersion,
    kind: 'Lease' as const,
    metadata: { namespace: 'heddle', name: nodeLeaseName('n1') },
    spec: {
      holderIdentity: 'x',
      leaseDurationSeconds: 40,
      renewTime: '2026-01-01T00:00:00.000000Z',
    },
  };
  const nodes = [{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } }] as const;
  const { problems } = overviewOf(
    { ...nothing, nodes, leases: [stale], clusterNetworkConnects: [both] },
    DEFAULT_SETTINGS,
    { now: Date.parse('2026-01-01T00:10:00Z') },
  );
  expect(problems).toEqual([]);
});

test('what a node says of a connection is a problem once', () => {
  const message =
    'network blue_net, node n1: node id 2 does not fit into connect subnet 10.8.1.0/30';
  const both: ClusterNetworkConnect = {
    ...connect('both', ['blue', 'red'], '192.168.0.0/16/24'),
    status: {
      status: 'Failure',
      conditions: [
        {
          type: 'Ready-In-Zone-n1',
          status: 'False',
          reason: 'OVNSetupFailed',
          message,
          lastTransitionTime,
        },
      ],
    },
  };
  const zone: ZoneStatus = {
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'ZoneStatus',
    metadata: { name: 'n1' },
    status: {
      observedAt: lastTransitionTime,
      networks: [],
      problems: [{ object: 'ClusterNetworkConnect both', message }],
      connects: [{ name: 'both', state: 'Failed', message }],
    },
  };
  const { problems } = overviewOf(
    { ...nothing, clusterNetworkConnects: [both], zoneStatuses: [zone] },
    DEFAULT_SETTINGS,
    { now: 0 },
  );
  expect(problems).toEqual([{ object: 'ClusterNetworkConnect both', message }]);
});

test('primary networks of one namespace are siblings, unless they overlap', () => {
  const primary = (key: string, id: string, subnets: string) => {
    const [namespace = '', name = ''] = key.split('/');
    return {
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: { namespace, name, annotations: { 'k8s.ovn.org/network-id': id } },
      spec: {
        config: JSON.stringify({
          cniVersion: '1.1.0',
          type: 'ovn-k8s-cni-overlay',
          name: `${namespace}_${name}`,
          netAttachDefName: key,
          topology: subnets.endsWith('/24') ? 'layer3' : 'layer2',
          role: name === 'mesh' ? 'secondary' : 'primary',
          subnets,
        }),
      },
    } as const;
  };
  const { networks } = overviewOf(
    {
      ...nothing,
      networkAttachmentDefinitions: [
        primary('blue/net', '1', '10.20.0.0/16/24'),
        primary('blue/more', '2', '10.21.0.0/16'),
        primary('blue/twin', '3', '10.20.7.0/25'),
        primary('blue/mesh', '4', '10.22.0.0/16'),
        primary('red/net', '5', '10.23.0.0/16'),
      ],
    },
    DEFAULT_SETTINGS,
    { now: 0 },
  );
  expect(networks.map(({ name, siblings }) => `${name}: ${siblings.join(' ')}`)).toEqual([
    'default: ',
    'blue_net: blue_more',
    'blue_more: blue_net blue_twin',
    'blue_twin: blue_more',
    'blue_mesh: ',
    'red_net: ',
  ]);
});

test('the network of an OVNSecondaryNetwork has its object and what is wrong with it', () => {
  const refused = {
    type: 'NetworkCreated',
    status: 'False',
    reason: 'SyncError',
    message: 'network in use by the following pods: [blue/web]',
    lastTransitionTime,
  } as const;
  const mesh: OVNSecondaryNetwork = {
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'OVNSecondaryNetwork',
    metadata: { name: 'mesh', namespace: 'blue' },
    spec: { subnet: '10.70.0.0/24' },
    status: { conditions: [refused] },
  };
  const overview = overviewOf({ ...nothing, networkObjects: [mesh] }, DEFAULT_SETTINGS, { now: 0 });
  expect(overview.networks.find(({ name }) => name === 'secondary_blue_mesh')).toMatchObject({
    object: 'OVNSecondaryNetwork blue/mesh',
    conditions: [refused],
  });
  expect(isHealthy(overview)).toBe(false);
});

test('a connection is shown with its networks by name, and what each node has of it', () => {
  const nad = (namespace: string, id: string) =>
    ({
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: { namespace, name: 'net', annotations: { 'k8s.ovn.org/network-id': id } },
      spec: {
        config: JSON.stringify({
          cniVersion: '1.1.0',
          type: 'ovn-k8s-cni-overlay',
          name: `${namespace}_net`,
          netAttachDefName: `${namespace}/net`,
          topology: 'layer2',
          role: 'secondary',
          subnets: '10.0.0.0/24',
        }),
      },
    }) as const;
  const both: ClusterNetworkConnect = connect('both', ['blue', 'red'], '192.168.0.0/16/24');
  const { connections } = overviewOf(
    {
      ...nothing,
      networkAttachmentDefinitions: [nad('blue', '4'), nad('red', '3')],
      nodes: [
        { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } },
        { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n2' } },
      ],
      zoneStatuses: [
        {
          apiVersion: 'k8s.ovn.org/v1alpha1',
          kind: 'ZoneStatus',
          metadata: { name: 'n1' },
          status: {
            observedAt: lastTransitionTime,
            networks: [],
            problems: [],
            connects: [{ name: 'both', state: 'Programmed' }],
          },
        },
      ],
      clusterNetworkConnects: [
        {
          ...both,
          metadata: {
            ...both.metadata,
            annotations: {
              'k8s.ovn.org/network-connect-subnet': JSON.stringify({
                layer2_4: { ipv4: '192.168.0.0/31' },
                layer2_3: { ipv4: '192.168.0.2/31' },
                layer2_9: { ipv4: '192.168.0.4/31' },
              }),
            },
          },
        },
      ],
    },
    DEFAULT_SETTINGS,
    { now: 0 },
  );
  expect(connections).toEqual([
    {
      name: 'both',
      pods: true,
      services: false,
      connectSubnets: ['192.168.0.0/16 (/24)'],
      networks: [
        { name: 'red_net', id: 3, topology: 'layer2', linkSubnets: ['192.168.0.2/31'] },
        { name: 'blue_net', id: 4, topology: 'layer2', linkSubnets: ['192.168.0.0/31'] },
        { id: 9, topology: 'layer2', linkSubnets: ['192.168.0.4/31'] },
      ],
      nodes: [
        { node: 'n1', state: 'Programmed' },
        { node: 'n2', state: 'Unknown' },
      ],
    },
  ]);
});

describe('a node whose daemon', () => {
  const NOW = Date.parse('2026-01-01T12:00:00Z');
  const objects = (
    lease: { readonly age: number; readonly holder?: string } | undefined,
    state: NetworkState = 'Programmed',
  ): OverviewObjects => ({
    ...nothing,
    nodes: [{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } }],
    zoneStatuses: [
      {
        apiVersion: 'k8s.ovn.org/v1alpha1',
        kind: 'ZoneStatus',
        metadata: { name: 'n1' },
        status: {
          observedAt: lastTransitionTime,
          networks: [{ name: 'default', state }],
          problems: [],
        },
      },
    ],
    leases:
      lease === undefined
        ? []
        : [
            {
              apiVersion: LEASES.apiVersion,
              kind: LEASES.kind,
              metadata: { name: nodeLeaseName('n1'), namespace: 'heddle' },
              spec: {
                holderIdentity: lease.holder ?? 'daemon',
                leaseDurationSeconds: 40,
                renewTime: microTime(NOW - lease.age * 1000),
              },
            },
          ],
  });

  test.each([
    ['renews its lease', { age: 39 }, {}, 'running', 'Programmed', true],
    ['has not renewed it in time', { age: 40 }, {}, 'Stale', 'Stale', false],
    ['was stopped', { age: 1, holder: '' }, {}, 'no daemon', 'no daemon', false],
    ['has left its socket behind', { age: 1 }, { ended: 'n1' }, 'no daemon', 'no daemon', false],
    [
      'answers itself, whatever is stored',
      { age: 99 },
      { running: 'n1' },
      'running',
      'Programmed',
      true,
    ],
    ['never was there: `heddle apply` keeps it', undefined, {}, 'no daemon', 'Programmed', true],
  ] as const)('%s', (_name, lease, known, daemon, state, healthy) => {
    const overview = overviewOf(objects(lease), DEFAULT_SETTINGS, { now: NOW, ...known });
    expect(overview.nodes[0]?.daemon.state).toBe(daemon);
    expect(overview.networks[0]?.nodes[0]?.state).toBe(state);
    expect(isHealthy(overview)).toBe(healthy);
  });

  test('whose heartbeat is in the future says that a clock is off, unless it answers itself', () => {
    const found = (age: number, known = {}): Overview['problems'] =>
      overviewOf(objects({ age }), DEFAULT_SETTINGS, { now: NOW, ...known }).problems;
    expect(found(-600)).toEqual([
      {
        object: 'Node n1',
        message:
          "whether its daemon runs can't be told: its heartbeat of 2026-01-01T12:10:00Z is in 600 s by the clock of this machine; set the clock of n1, or that of this machine",
      },
    ]);
    expect(found(-600, { running: 'n1' })).toEqual([]);
    expect(found(-30)).toEqual([]);
  });

  test('is gone leaves what it did not use as it is, and says since when nobody is there', () => {
    const overview = overviewOf(objects({ age: 95 }, 'Unused'), DEFAULT_SETTINGS, { now: NOW });
    expect(overview.networks[0]?.nodes[0]).toEqual({ node: 'n1', subnets: [], state: 'Unused' });
    expect(overview.nodes[0]?.daemon).toEqual({
      state: 'Stale',
      heartbeat: '2026-01-01T11:58:25Z',
      message:
        'no heartbeat of its daemon since 2026-01-01T11:58:25Z, 95 s ago by the clock of this machine',
    });
  });
});

test('what nodes say of an object is one line: it failed if it failed anywhere, and there', () => {
  const object = 'NetworkPolicy blue/wide';
  const zone = (name: string, status: Partial<ZoneStatusContent>): ZoneStatus => ({
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'ZoneStatus',
    metadata: { name },
    status: { observedAt: lastTransitionTime, networks: [], problems: [], ...status },
  });
  const of = (...zoneStatuses: readonly ZoneStatus[]): Overview['objects'] =>
    overviewOf({ ...nothing, zoneStatuses }, DEFAULT_SETTINGS, { now: 0 }).objects;
  const pending = zone('n1', { objects: [{ object, state: 'Pending', message: 'waits' }] });
  const failed = zone('n2', { objects: [{ object, state: 'Failed', message: 'too much' }] });
  const earlier = zone('n3', { problems: [{ object, message: 'too much' }] });
  expect(of(pending, failed, earlier)).toEqual([
    { object, state: 'Failed', message: 'too much', nodes: ['n2', 'n3'] },
  ]);
  expect(of(pending)).toEqual([{ object, state: 'Pending', message: 'waits', nodes: ['n1'] }]);
  expect(of(zone('n1', { objects: [] }))).toEqual([]);
});
