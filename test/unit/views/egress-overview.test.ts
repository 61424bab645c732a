import { expect, test } from 'vitest';
import { LEASES, microTime, nodeLeaseName, type Lease } from '../../../src/api/node-lease.ts';
import type { EgressIP, EgressTrafficClass, Namespace, Node, Pod } from '../../../src/api/types.ts';
import { egressOverview, type EgressObjects } from '../../../src/views/egress-overview.ts';
import { namespace, node, pod } from '../../support/cluster/cluster.ts';

const egressIp = (
  name: string,
  created: string,
  addresses: readonly string[],
  items: readonly { node: string; egressIP: string }[],
): EgressIP => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: {
    name,
    creationTimestamp: created,
    annotations: { 'k8s.ovn.org/egressip-mark': '50001' },
  },
  spec: { egressIPs: addresses, namespaceSelector: { matchLabels: { leaves: 'so' } } },
  status: { items },
});
const answering = (name: string, ...addresses: readonly string[]): Node =>
  node(name, { 'k8s.ovn.org/bridge-egress-ips': JSON.stringify(addresses) });
const hostPod: Pod = { ...pod('a/host', 'n1'), spec: { nodeName: 'n1', hostNetwork: true } };
const done: Pod = { ...pod('a/done', 'n1'), status: { phase: 'Succeeded' } };
const leaving: Namespace = namespace('a', { leaves: 'so' });

const NOON = Date.parse('2026-01-01T12:00:00Z');
const objects: EgressObjects = {
  leases: [],
  placement: [],
  trafficClasses: [],
  egressIps: [
    egressIp('young', '2026-02-01T00:00:00Z', ['172.18.0.60', 'fd00::060'], []),
    egressIp(
      'old',
      '2026-01-01T00:00:00Z',
      ['172.18.0.50', '172.18.0.51', '172.18.0.52', 'x'],
      [
        { node: 'n1', egressIP: '172.18.0.50' },
        { node: 'n2', egressIP: '172.18.0.51' },
      ],
    ),
  ],
  nodes: [answering('n1', '172.18.0.50', '172.18.0.60'), answering('n2')],
  namespaces: [leaving, namespace('b')],
  pods: [pod('a/web', 'n1'), pod('a/new'), pod('b/web', 'n1'), hostPod, done],
  zoneStatuses: [
    {
      apiVersion: 'k8s.ovn.org/v1alpha1',
      kind: 'ZoneStatus',
      metadata: { name: 'n1' },
      status: {
        observedAt: 'now',
        networks: [],
        problems: [{ object: 'EgressIP old', message: 'is wrong' }],
      },
    },
  ],
};

test('shows where each address is, by its node and what that answers for, and who leaves with it', () => {
  expect(egressOverview(objects, { now: NOON })).toEqual([
    {
      name: 'old',
      mark: 50_001,
      addresses: [
        { address: '172.18.0.50', state: 'Committed', node: 'n1' },
        { address: '172.18.0.51', state: 'Assigned', node: 'n2' },
        { address: '172.18.0.52', state: 'Waiting' },
        { address: 'x', state: 'Invalid' },
      ],
      pods: ['a/web'],
      standby: [],
      problems: ['is wrong'],
    },
    {
      name: 'young',
      mark: 50_001,
      addresses: [
        { address: '172.18.0.60', state: 'Moving', node: 'n1' },
        { address: 'fd00::60', state: 'Waiting' },
      ],
      pods: [],
      standby: ['a/web'],
      problems: [],
    },
  ]);
});

test('names nodes that have an address, and no daemon', () => {
  const lease = (name: string, at: number): Lease => ({
    apiVersion: LEASES.apiVersion,
    kind: LEASES.kind,
    metadata: { name: nodeLeaseName(name), namespace: 'heddle' },
    spec: { holderIdentity: 'daemon', leaseDurationSeconds: 40, renewTime: microTime(at) },
  });
  const leases = [lease('n1', NOON - 90_000), lease('n2', NOON - 10_000)];
  const unheard =
    'node n1: no heartbeat of its daemon since 2026-01-01T11:58:30Z, 90 s ago by the clock of this machine';
  expect(
    egressOverview({ ...objects, leases }, { now: NOON }).map(({ problems }) => problems),
  ).toEqual([[unheard, 'is wrong'], [unheard]]);
});

test('names the classes of destinations that one is for, which serves its pods beside one for all others', () => {
  const [young, old] = objects.egressIps;
  if (young === undefined || old === undefined) throw new Error('two EgressIPs are meant');
  const byClass = (group: string): EgressIP => ({
    ...old,
    metadata: { ...old.metadata, name: group },
    spec: { ...old.spec, trafficSelector: { matchLabels: { group } } },
  });
  const trafficClass = (name: string, ...cidrs: readonly string[]): EgressTrafficClass => ({
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressTrafficClass',
    metadata: { name, labels: { group: 'partners' } },
    spec: { destinations: cidrs.map((cidr) => ({ cidr })) },
  });
  const shown = egressOverview(
    {
      ...objects,
      egressIps: [young, byClass('partners'), byClass('nobodys')],
      trafficClasses: [
        trafficClass('one', '198.51.100.0/24'),
        trafficClass('more', '198.51.100.0/24', '192.0.2.0/24'),
      ],
    },
    { now: NOON },
  );
  expect(shown.map(({ name, only, pods, standby }) => ({ name, only, pods, standby }))).toEqual([
    { name: 'nobodys', only: { classes: [], cidrs: [] }, pods: ['a/web'], standby: [] },
    {
      name: 'partners',
      only: { classes: ['more', 'one'], cidrs: ['192.0.2.0/24', '198.51.100.0/24'] },
      pods: ['a/web'],
      standby: [],
    },
    { name: 'young', only: undefined, pods: ['a/web'], standby: [] },
  ]);
});
