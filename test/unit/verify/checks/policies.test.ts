import { expect, test } from 'vitest';
import type { Pod } from '../../../../src/api/types.ts';
import { checkPolicies } from '../../../../src/verify/checks/policies.ts';
import { foundBy } from '../../../support/verify/policed.ts';
import { prove } from '../../../../src/verify/verify.ts';
import type { EitherAdminPolicy, Policies, Snapshot } from '../../../../src/verify/snapshot.ts';
import { acl, joinedSnapshot } from '../../../support/verify/joined-zone.ts';
import { adminPolicy, networkPolicy } from '../../../support/zone/policed-zone.ts';

const found = (snapshot: Snapshot, policies: Partial<Policies>): readonly string[] =>
  foundBy(checkPolicies, snapshot, policies);

const admin = (name: string, spec: object): EitherAdminPolicy => adminPolicy(name, spec);

const CLOSED = {
  groups: { closed: ['blue.net_blue_a'] },
  acls: [
    acl('closed', 'to-lport', 'outport == @closed', { action: 'drop', priority: 1000 }),
    acl('closed', 'to-lport', 'ip4.src == $friends && tcp && tcp.dst==80 && outport == @closed'),
  ],
  sets: { friends: ['10.30.0.3'] },
} as const;
/** Lets in pods of namespace green, which a connection joins. */
const WEB = networkPolicy('blue/web', {
  podSelector: {},
  ingress: [
    {
      from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'green' } } }],
      ports: [{ port: 80 }],
    },
  ],
});
const ofA = (snapshot: Snapshot): Snapshot => ({
  ...snapshot,
  objects: {
    ...snapshot.objects,
    pods: snapshot.objects.pods.filter(({ metadata }) => metadata.name === 'a'),
  },
});

test('what rows let pass is what a policy allows: pods of a network that a connection joins are among its peers', () => {
  expect(found(ofA(joinedSnapshot(CLOSED)), { namespaced: [WEB] })).toEqual([]);
});

test('one that is not among them, or is besides, is named with the policy, its pods and a packet', () => {
  const with_ = (friends: readonly string[]): Snapshot =>
    ofA(joinedSnapshot({ ...CLOSED, sets: { friends } }));
  expect(found(with_([]), { namespaced: [WEB] })).toEqual([
    'NetworkPolicy blue/web: drops what Pod blue/a gets from Pod green/a on network blue_net, as 10.30.0.3 > 10.20.0.3 tcp 80, though NetworkPolicy blue/web allows that',
  ]);
  expect(found(with_(['10.30.0.3', '10.30.0.9']), { namespaced: [WEB] })).toEqual([
    'NetworkPolicy blue/web: lets pass what Pod blue/a gets on network blue_net, as 10.30.0.9 > 10.20.0.3 tcp 80: no policy allows that, and NetworkPolicy blue/web shuts it',
  ]);
});

test('where no policy closes pods, a row that drops is found', () => {
  const stray = acl('blue_net_n1', 'from-lport', 'ip4.dst == 192.0.2.0/24', { action: 'drop' });
  expect(found(joinedSnapshot({ acls: [stray] }), {})).toEqual([
    'UserDefinedNetwork blue/net: drops what Pod blue/a sends on network blue_net, as 10.20.0.3 > 192.0.2.0 tcp 1, though no policy denies that',
  ]);
});

test('a policy of administrators that denies is named, whatever lets its packets pass', () => {
  const guard = admin('guard', {
    tier: 'Admin',
    priority: 1,
    subject: { namespaces: { matchLabels: { 'kubernetes.io/metadata.name': 'blue' } } },
    egress: [{ action: 'Deny', to: [{ networks: ['192.0.2.0/24'] }] }],
  });
  expect(found(joinedSnapshot(), { admins: [guard] })).toEqual([
    'ClusterNetworkPolicy guard: has no ACL that drops what Pod blue/a sends on network blue_net, as 10.20.0.3 > 192.0.2.0 tcp 1: no policy allows that, and ClusterNetworkPolicy guard shuts it',
  ]);
});

test('what two policies at one place say otherwise is neither open nor shut', () => {
  const rule = (name: string, action: string) =>
    admin(name, {
      tier: 'Admin',
      priority: 1,
      subject: { namespaces: {} },
      egress: [{ action, to: [{ networks: ['192.0.2.0/24'] }] }],
    });
  expect(found(joinedSnapshot(), { admins: [rule('a', 'Deny'), rule('b', 'Accept')] })).toEqual([]);
});

test('whom DNS alone knows may be allowed, and is not told', () => {
  const names = admin('names', {
    tier: 'Admin',
    priority: 1,
    subject: { namespaces: {} },
    egress: [
      { action: 'Accept', to: [{ domainNames: ['www.example.org'] }] },
      { action: 'Deny', to: [{ networks: ['0.0.0.0/0'] }] },
    ],
  });
  expect(found(joinedSnapshot(), { admins: [names] })).toEqual([]);
});

test('pods that a policy may be about which can not be read are not judged, and that is said', () => {
  const torn = networkPolicy('blue/torn', { podSelector: {}, ingress: [{ from: [{ more: {} }] }] });
  const [why = '', ...more] = found(joinedSnapshot(CLOSED), { namespaced: [torn] });
  expect(why).toMatch(/^NetworkPolicy blue\/torn: .* is not compared with rows$/);
  expect(more).toEqual([]);
});

test('what would take too many sets is not judged, and that is said', () => {
  const rules = Array.from({ length: 1100 }, (_, i) => ({
    from: [{ ipBlock: { cidr: `192.0.${i >> 8}.${i & 255}/32` } }],
    ports: [{ port: 1 + i }],
  }));
  const many = networkPolicy('blue/many', { podSelector: {}, ingress: rules });
  expect(found(joinedSnapshot(), { namespaced: [many] })).toEqual([
    expect.stringMatching(
      /^network blue_net: policies of Pod blue\/a.* are not judged: /,
    ) as string,
  ]);
});

test('pods that are done, or being deleted, are not judged, and neither is anything without policies that were read', () => {
  const read = joinedSnapshot(CLOSED);
  const changed = (more: (pod: Pod) => Partial<Pod>): Snapshot => ({
    ...read,
    objects: {
      ...read.objects,
      pods: read.objects.pods.map((pod) => ({ ...pod, ...more(pod) })),
    },
  });
  expect(found(read, {})).toHaveLength(1);
  const ended = changed(() => ({ status: { phase: 'Succeeded' } }));
  const going = changed(({ metadata }) => ({
    metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
  }));
  expect([found(ended, {}), found(going, {})]).toEqual([[], []]);
  const { violations } = prove(read).verdict;
  expect(violations.filter(({ check }) => check === 'policies')).toEqual([]);
});

test.each(['/31', '/32'])('subnets of %s have no address of the host, and are judged', (length) => {
  const snapshot = ofA(joinedSnapshot(CLOSED));
  const subnets = JSON.stringify({ blue_net: [`10.20.0.2${length}`] });
  const nodes = snapshot.objects.nodes.map((node) => ({
    ...node,
    metadata: {
      ...node.metadata,
      annotations: { ...node.metadata.annotations, 'k8s.ovn.org/node-subnets': subnets },
    },
  }));
  const guard = admin('guard', {
    tier: 'Admin',
    priority: 1,
    subject: { namespaces: { matchLabels: { 'kubernetes.io/metadata.name': 'blue' } } },
    egress: [{ action: 'Accept', to: [{ nodes: {} }] }],
  });
  const small = { ...snapshot, objects: { ...snapshot.objects, nodes } };
  expect(found(small, { namespaced: [WEB], admins: [guard] })).toEqual([]);
});
