/** IPAMClaims that say what is not theirs: whose pod waits, what it is told, and that nobody else loses anything. */
import { expect, test } from 'vitest';
import { ipamClaims } from '../../../src/api/kinds.ts';
import { objectKey } from '../../../src/api/objects.ts';
import type { ClusterUserDefinedNetwork, IPAMClaim, Pod } from '../../../src/api/types.ts';
import {
  apply,
  inNamespaces,
  namespace,
  node,
  pod,
  remove,
} from '../../support/cluster/cluster.ts';
import { startProcess } from '../../support/cluster/cluster-process.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import {
  addressOf,
  claim,
  claiming,
  claimLine,
  persistent,
  vm,
} from '../../support/cluster/persistent-claims.ts';

/** One network of the namespaces of two tenants. */
const shared: ClusterUserDefinedNetwork = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterUserDefinedNetwork',
  metadata: { name: 'net' },
  spec: {
    namespaceSelector: inNamespaces('a', 'b'),
    network: {
      topology: 'Layer2',
      layer2: {
        role: 'Secondary',
        subnets: ['10.5.0.0/29'],
        ipam: { lifecycle: 'Persistent' },
      },
    },
  },
};
const SHARED = 'cluster_udn_net';
const holding = (key: string, network: string, ...ips: readonly string[]): IPAMClaim => ({
  ...claim(key, network),
  status: { ips },
});
const events = (store: MemoryStore, key: string): string[] =>
  store.events
    .filter(({ regarding }) => objectKey(regarding.metadata) === key)
    .map(({ message }) => message);

test("a claim with the address of another tenant's pod gets it neither while that runs nor at a restart", async () => {
  const store = new MemoryStore();
  const victims = async (): Promise<unknown[]> => [
    await addressOf(store, 'a/plain'),
    await addressOf(store, 'a/vm'),
    await claimLine(store, 'a/vm'),
  ];
  let before: unknown[];
  {
    await using running = startProcess(store, ['node1']);
    await apply(store, node('node1'), namespace('a', {}), namespace('b', {}), shared);
    await running.settled();
    await apply(store, pod('a/plain', 'node1', { 'k8s.v1.cni.cncf.io/networks': 'net' }));
    await apply(store, claim('a/vm', SHARED), vm('a/vm', 'vm'));
    await running.settled();
    before = await victims();
    expect(before).toMatchObject(['10.5.0.1/29', '10.5.0.2/29', expect.stringContaining('True')]);
    await apply(store, holding('b/first', SHARED, '10.5.0.1/29'));
    await apply(store, holding('b/second', SHARED, '10.5.0.2/29'));
    await running.settled();
  }
  // Names of its own claims come first where claims are read in order.
  await apply(store, vm('b/one', 'first'), vm('b/two', 'second'));
  await using running = startProcess(store, ['node1']);
  await running.settled();
  expect(await victims()).toEqual(before);
  expect(running.problems()).toEqual([
    expect.stringMatching(
      /^Pod b\/one: .*\[10\.5\.0\.1\/29\] for b\/net\/b\/one \(status\.ips of IPAMClaim "b\/first": delete the claim .*\): provided IP is already allocated/,
    ),
    expect.stringMatching(
      /^Pod b\/two: .*\(status\.ips of IPAMClaim "b\/second": delete the claim/,
    ),
  ]);
  expect(events(store, 'b/one')).toHaveLength(1);
  expect([...events(store, 'a/plain'), ...events(store, 'a/vm')]).toEqual([]);
  expect(await claimLine(store, 'b/first')).toContain('IPsAllocated=False IPAddressConflict');
});

test.each([
  ['outside of the subnet', '10.6.0.1/24', 'is no host address of 10.5.0.0/24'],
  ['that is none', 'x"; drop', 'is no IP address'],
])(
  'a claim with an address %s: its pod waits, and is told which claim it is',
  async (_what, ip, why) => {
    const store = new MemoryStore();
    await using running = startProcess(store, ['node1']);
    await apply(store, node('node1'), namespace('a', {}), persistent('a/net', '10.5.0.0/24'));
    await running.settled();
    await apply(store, holding('a/vm', 'a_net', ip), vm('a/one', 'vm'));
    await running.settled();
    expect(await addressOf(store, 'a/one')).toBeUndefined();
    const [message = '', ...more] = events(store, 'a/one');
    expect(more).toEqual([]);
    for (const part of [why, '(status.ips of IPAMClaim "a/vm": delete the claim'])
      expect(message).toContain(part);
    await store.delete(ipamClaims, 'a/vm');
    await apply(store, claim('a/vm', 'a_net'));
    await running.settled();
    expect(await addressOf(store, 'a/one')).toBe('10.5.0.1/24');
  },
);

test('a claim of another network: its pod waits until the claim is of its own', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  await apply(store, node('node1'), namespace('a', {}), persistent('a/net', '10.5.0.0/24'));
  await running.settled();
  await apply(store, claim('a/vm', 'b_net'), vm('a/one', 'vm'));
  await running.settled();
  expect(await addressOf(store, 'a/one')).toBeUndefined();
  const message =
    'network a_net: IPAMClaim "a/vm" is of network "b_net" (spec.network): name one of a_net in ipam-claim-reference';
  expect(running.problems()).toEqual([`Pod a/one: ${message}`]);
  expect(events(store, 'a/one')).toEqual([message]);
  expect(await claimLine(store, 'a/vm')).toBe(' ');
  await store.patch(ipamClaims, 'a/vm', { spec: { network: 'a_net' } }, { fieldManager: 'user' });
  await running.settled();
  expect(await addressOf(store, 'a/one')).toBe('10.5.0.1/24');
});

test('a claim that turns to another network gives its addresses back', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  const plain = (name: string): Pod =>
    pod(`a/${name}`, 'node1', { 'k8s.v1.cni.cncf.io/networks': 'net' });
  await apply(store, node('node1'), namespace('a', {}), persistent('a/net', '10.5.0.0/30'));
  await apply(store, plain('one'));
  await running.settled();
  await apply(store, holding('a/vm', 'a_net', '10.5.0.2/30'));
  await running.settled();
  await apply(store, plain('two'));
  await running.settled();
  expect(await addressOf(store, 'a/two')).toBeUndefined();
  await store.patch(ipamClaims, 'a/vm', { spec: { network: 'b_net' } }, { fieldManager: 'user' });
  await running.settled();
  expect(await addressOf(store, 'a/two')).toBe('10.5.0.2/30');
  expect(running.problems()).toEqual([]);
});

test.each([
  ['without a machine', {}, {}],
  ['with the annotation of the machine alone', {}, { 'kubevirt.io/domain': 'vm' }],
  ['of another machine', { 'kubevirt.io': 'virt-launcher' }, { 'kubevirt.io/domain': 'other' }],
])(
  "a pod %s that names a machine's claim waits while that runs",
  async (_what, labels, annotations) => {
    const store = new MemoryStore();
    await using running = startProcess(store, ['node1']);
    await apply(store, node('node1'), namespace('a', {}), persistent('a/net', '10.5.0.0/24'));
    await running.settled();
    const made = pod('a/thief', 'node1', { ...claiming('vm'), ...annotations });
    const thief = { ...made, metadata: { ...made.metadata, labels } };
    await apply(store, claim('a/vm', 'a_net'), vm('a/one', 'vm'));
    await running.settled();
    await apply(store, thief);
    await running.settled();
    expect(await addressOf(store, 'a/one')).toBe('10.5.0.1/24');
    expect(await addressOf(store, 'a/thief')).toBeUndefined();
    expect(events(store, 'a/thief')).toContain(
      'network a_net: IPAMClaim "a/vm" (ipam-claim-reference) holds the addresses of pod "a/one", and only pods of one virtual machine share them: name another claim, or delete that pod',
    );
    await remove.pod(store, 'a/one');
    await running.settled();
    expect(await addressOf(store, 'a/thief')).toBe('10.5.0.1/24');
  },
);

test('a claim that is deleted while its machine runs: the pod that it moves to waits, and has its addresses once there is a claim again', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  await apply(store, node('node1'), namespace('a', {}), persistent('a/net', '10.5.0.0/24'));
  await running.settled();
  await apply(store, claim('a/vm', 'a_net'), vm('a/one', 'vm'));
  await running.settled();
  await store.delete(ipamClaims, 'a/vm');
  await running.settled();
  await apply(store, vm('a/two', 'vm'));
  await apply(store, pod('a/other', 'node1', { 'k8s.v1.cni.cncf.io/networks': 'net' }));
  await running.settled();
  expect(await addressOf(store, 'a/two')).toBeUndefined();
  expect(await addressOf(store, 'a/other')).toBe('10.5.0.2/24');
  expect(events(store, 'a/two')).toEqual([
    'network a_net: there is no IPAMClaim "a/vm": create it, or remove ipam-claim-reference from the pod',
  ]);
  await apply(store, claim('a/vm', 'a_net'));
  await running.settled();
  expect([await addressOf(store, 'a/one'), await addressOf(store, 'a/two')]).toEqual([
    '10.5.0.1/24',
    '10.5.0.1/24',
  ]);
  expect(await claimLine(store, 'a/vm')).toContain('10.5.0.1/24 IPsAllocated=True');
  expect(running.problems()).toEqual([]);
});
