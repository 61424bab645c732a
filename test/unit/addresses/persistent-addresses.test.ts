import { describe, expect, test } from 'vitest';
import { ipamClaims, pods } from '../../../src/api/kinds.ts';
import type { Store } from '../../../src/store/store.ts';
import { apply, namespace, node, pod, remove } from '../../support/cluster/cluster.ts';
import { startProcess } from '../../support/cluster/cluster-process.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import {
  addressOf,
  claim,
  claimLine,
  machinePod,
  persistent,
  vm,
} from '../../support/cluster/persistent-claims.ts';

/** Addresses, MAC and tunnel id. */
const entryOf = async (store: Store, key: string): Promise<unknown> => {
  const text = (await store.get(pods, key))?.metadata.annotations?.['k8s.ovn.org/pod-networks'];
  const entry = (JSON.parse(text ?? '{}') as Record<string, Record<string, unknown>>)['a/net'];
  return [entry?.['ip_addresses'], entry?.['mac_address'], entry?.['tunnel_id']];
};

describe('a claim', () => {
  test('keeps its addresses while pods come and go, over a restart too', async () => {
    const store = new MemoryStore();
    {
      await using running = startProcess(store, ['node1']);
      await apply(store, node('node1'), namespace('a', {}), persistent('a/net', '10.5.0.0/24'));
      await running.settled();
      await apply(store, claim('a/vm', 'a_net'), vm('a/one', 'vm'));
      await running.settled();
      expect(await addressOf(store, 'a/one')).toBe('10.5.0.1/24');
      expect(await claimLine(store, 'a/vm')).toBe(
        '10.5.0.1/24 IPsAllocated=True SuccessfulAllocation: IP addresses successfully allocated',
      );
      await remove.pod(store, 'a/one');
      await running.settled();
    }
    await using running = startProcess(store, ['node1']);
    await running.settled();
    await apply(store, pod('a/other', 'node1', { 'k8s.v1.cni.cncf.io/networks': 'net' }));
    await apply(store, vm('a/two', 'vm'));
    await running.settled();
    expect(await addressOf(store, 'a/other')).toBe('10.5.0.2/24');
    expect(await addressOf(store, 'a/two')).toBe('10.5.0.1/24');
    expect(running.problems()).toEqual([]);
  });

  test('gives two pods of a machine that moves the same addresses and MAC address, and each a tunnel id', async () => {
    const store = new MemoryStore();
    const both = async (): Promise<unknown[]> => [
      await entryOf(store, 'a/one'),
      await entryOf(store, 'a/two'),
    ];
    const expected = [
      [['10.5.0.1/24'], '0a:58:0a:05:00:01', 1],
      [['10.5.0.1/24'], '0a:58:0a:05:00:01', 2],
    ];
    {
      await using running = startProcess(store, ['node1']);
      await apply(store, node('node1'), namespace('a', {}), persistent('a/net', '10.5.0.0/24'));
      await running.settled();
      await apply(store, claim('a/vm', 'a_net'), vm('a/one', 'vm'));
      await running.settled();
      await apply(store, vm('a/two', 'vm'));
      await running.settled();
      expect(await both()).toEqual(expected);
    }
    // What they carry is taken over; the tunnel id of the one that goes is free again, and rests.
    await using running = startProcess(store, ['node1']);
    await running.settled();
    expect(await both()).toEqual(expected);
    expect(running.problems()).toEqual([]);
    await remove.pod(store, 'a/one');
    await running.settled();
    await apply(store, vm('a/three', 'vm'));
    await running.settled();
    expect(await entryOf(store, 'a/three')).toEqual([['10.5.0.1/24'], '0a:58:0a:05:00:01', 3]);
    expect(running.problems()).toEqual([]);
  });

  test('gives the second pod of a machine what the first one has, if it came while nobody ran', async () => {
    const store = new MemoryStore();
    {
      await using running = startProcess(store, ['node1']);
      await apply(store, node('node1'), namespace('a', {}), persistent('a/net', '10.5.0.0/24'));
      await running.settled();
      await apply(store, claim('a/vm', 'a_net'), vm('a/one', 'vm'));
      await running.settled();
    }
    await apply(store, vm('a/two', 'vm'));
    await using running = startProcess(store, ['node1']);
    await running.settled();
    expect(await entryOf(store, 'a/two')).toEqual([['10.5.0.1/24'], '0a:58:0a:05:00:01', 2]);
    expect(running.problems()).toEqual([]);
  });

  test.each([
    ['k8s.ovn.org/primary-udn-ipamclaim', 'vm'],
    [
      'v1.multus-cni.io/default-network',
      '[{"name":"default","namespace":"ovn-kubernetes","ipam-claim-reference":"vm"}]',
    ],
  ])('of a primary network (%s): its pods keep their ports over a restart', async (key, value) => {
    const store = new MemoryStore();
    const machine = (name: string): ReturnType<typeof pod> => machinePod(name, { [key]: value });
    {
      await using running = startProcess(store, ['node1']);
      await apply(
        store,
        node('node1'),
        namespace('a'),
        persistent('a/net', '10.5.0.0/24', 'Primary'),
      );
      await running.settled();
      await apply(store, claim('a/vm', 'a_net'), machine('a/one'));
      await running.settled();
      expect(running.problems()).toEqual([]);
    }
    await apply(store, machine('a/two'));
    await using running = startProcess(store, ['node1']);
    await running.settled();
    expect(running.problems()).toEqual([]);
    const [one, two] = await Promise.all(['a/one', 'a/two'].map((name) => entryOf(store, name)));
    const [addresses, mac, port] = one as unknown[];
    expect(two).toEqual([addresses, mac, Number(port) + 1]);
  });

  test('gives them back when it is deleted', async () => {
    const store = new MemoryStore();
    await using running = startProcess(store, ['node1']);
    await apply(store, node('node1'), namespace('a', {}), persistent('a/net', '10.5.0.0/30'));
    await running.settled();
    await apply(store, claim('a/vm', 'a_net'), vm('a/one', 'vm'));
    await running.settled();
    for (const name of ['two', 'three'])
      await apply(store, pod(`a/${name}`, 'node1', { 'k8s.v1.cni.cncf.io/networks': 'net' }));
    await running.settled();
    expect(running.problems()).toEqual([
      'Pod a/three: failed to assign pod addresses for a/net/a/three: failed to allocate new IPs for a_net: subnet address pool exhausted',
    ]);
    await remove.pod(store, 'a/one');
    await running.settled();
    expect(running.problems()).toHaveLength(1);
    await store.delete(ipamClaims, 'a/vm');
    await running.settled();
    expect(await addressOf(store, 'a/three')).toBe('10.5.0.1/30');
  });

  test('says when nothing is left for it', async () => {
    const store = new MemoryStore();
    await using running = startProcess(store, ['node1']);
    await apply(store, node('node1'), namespace('a', {}), persistent('a/net', '10.5.0.0/30'));
    await running.settled();
    for (const name of ['one', 'two'])
      await apply(store, pod(`a/${name}`, 'node1', { 'k8s.v1.cni.cncf.io/networks': 'net' }));
    await running.settled();
    await apply(store, claim('a/vm', 'a_net'), vm('a/three', 'vm'));
    await running.settled();
    expect(await claimLine(store, 'a/vm')).toMatch(
      /^ IPsAllocated=False SubnetExhausted: failed to assign pod addresses/,
    );
  });

  test('of a namespace that has not the network takes no address of it, after a restart neither', async () => {
    const store = new MemoryStore();
    const claims = Array.from({ length: 5 }, (_, index) => ({
      ...claim(`b/evil${index}`, 'a_net'),
      status: { ips: [`10.5.0.${index + 1}/29`] },
    }));
    const mine = { ...claim('a/mine', 'a_net'), status: { ips: ['10.5.0.6/29'] } };
    {
      await using running = startProcess(store, ['node1']);
      await apply(store, node('node1'), namespace('a', {}), namespace('b', {}));
      await apply(store, persistent('a/net', '10.5.0.0/29'));
      await running.settled();
    }
    await apply(store, mine, ...claims);
    await using running = startProcess(store, ['node1']);
    await running.settled();
    await apply(store, claim('b/late', 'a_net'));
    for (const name of ['one', 'two', 'three', 'four', 'five'])
      await apply(store, pod(`a/${name}`, 'node1', { 'k8s.v1.cni.cncf.io/networks': 'net' }));
    await running.settled();
    expect(running.problems()).toEqual([]);
    expect(await addressOf(store, 'a/five')).toBe('10.5.0.5/29');
    // That of the namespace itself keeps what it holds.
    await apply(store, pod('a/six', 'node1', { 'k8s.v1.cni.cncf.io/networks': 'net' }));
    await apply(store, vm('a/vm', 'mine'));
    await running.settled();
    expect(await addressOf(store, 'a/six')).toBeUndefined();
    expect(await addressOf(store, 'a/vm')).toBe('10.5.0.6/29');
  });

  test('holds no more than an address of each subnet', async () => {
    const store = new MemoryStore();
    const ips = Array.from({ length: 6 }, (_, index) => `10.5.0.${index + 1}/29`);
    {
      await using running = startProcess(store, ['node1']);
      await apply(store, node('node1'), namespace('a', {}), persistent('a/net', '10.5.0.0/29'));
      await running.settled();
    }
    await apply(store, { ...claim('a/many', 'a_net'), status: { ips } });
    await using running = startProcess(store, ['node1']);
    await running.settled();
    await apply(store, pod('a/one', 'node1', { 'k8s.v1.cni.cncf.io/networks': 'net' }));
    await running.settled();
    expect(await addressOf(store, 'a/one')).toBe('10.5.0.1/29');
  });

  test('holds addresses that a pod may ask for, and no others', async () => {
    const store = new MemoryStore();
    await using running = startProcess(store, ['node1']);
    await apply(store, node('node1'), namespace('a', {}), persistent('a/net', '10.5.0.0/24'));
    await running.settled();
    await apply(store, claim('a/vm', 'a_net'), vm('a/one', 'vm', { ips: ['10.5.0.9/24'] }));
    await running.settled();
    expect(await addressOf(store, 'a/one')).toBe('10.5.0.9/24');
    await remove.pod(store, 'a/one');
    await running.settled();
    await apply(store, vm('a/two', 'vm', { ips: ['10.5.0.10/24'] }));
    await apply(store, vm('a/three', 'vm', { ips: ['10.5.0.9'] }));
    await running.settled();
    expect(await addressOf(store, 'a/two')).toBeUndefined();
    expect(await addressOf(store, 'a/three')).toBe('10.5.0.9/24');
    expect(running.problems()).toEqual([
      'Pod a/two: cannot allocate a static IP request with IPAM for pod a/net/a/two: the pod references an ipam claim with IPs not containing the requested IP "10.5.0.10/24"',
    ]);
    expect((await store.get(ipamClaims, 'a/vm'))?.status?.ips).toEqual(['10.5.0.9/24']);
  });
});

test('a pod waits for the claim that it names: it may hold addresses already', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  await apply(store, node('node1'), namespace('a', {}), persistent('a/net', '10.5.0.0/24'));
  await apply(store, vm('a/one', 'vm'));
  await running.settled();
  expect(await addressOf(store, 'a/one')).toBeUndefined();
  expect(running.problems()).toEqual([
    'Pod a/one: network a_net: there is no IPAMClaim "a/vm": create it, or remove ipam-claim-reference from the pod',
  ]);
  await apply(store, claim('a/vm', 'a_net'));
  await running.settled();
  expect(running.problems()).toEqual([]);
  expect(await addressOf(store, 'a/one')).toBe('10.5.0.1/24');
  expect(await claimLine(store, 'a/vm')).toContain('10.5.0.1/24 IPsAllocated=True');
});

test('a claim that comes with addresses (a restored one) keeps them from others', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  await apply(store, node('node1'), namespace('a', {}), persistent('a/net', '10.5.0.0/29'));
  const plain = (name: string): ReturnType<typeof pod> =>
    pod(`a/${name}`, 'node1', { 'k8s.v1.cni.cncf.io/networks': 'net' });
  await apply(store, plain('one'));
  await running.settled();
  await apply(store, { ...claim('a/vm', 'a_net'), status: { ips: ['10.5.0.2/29'] } });
  await running.settled();
  await apply(store, plain('two'), vm('a/three', 'vm'));
  await running.settled();
  expect(
    await Promise.all(['one', 'two', 'three'].map((name) => addressOf(store, `a/${name}`))),
  ).toEqual(['10.5.0.1/29', '10.5.0.3/29', '10.5.0.2/29']);
});

test('a claim that goes before its pod: the pod keeps its address, and a new claim takes it over', async () => {
  const store = new MemoryStore();
  await using running = startProcess(store, ['node1']);
  await apply(store, node('node1'), namespace('a', {}), persistent('a/net', '10.5.0.0/30'));
  await apply(store, claim('a/vm', 'a_net'), vm('a/one', 'vm'));
  await running.settled();
  await store.delete(ipamClaims, 'a/vm');
  await running.settled();
  for (const name of ['two', 'three'])
    await apply(store, pod(`a/${name}`, 'node1', { 'k8s.v1.cni.cncf.io/networks': 'net' }));
  await running.settled();
  expect(await addressOf(store, 'a/one')).toBe('10.5.0.1/30');
  expect([await addressOf(store, 'a/two'), await addressOf(store, 'a/three')]).toEqual([
    '10.5.0.2/30',
    undefined,
  ]);
  await apply(store, claim('a/vm', 'a_net'));
  await running.settled();
  expect(await claimLine(store, 'a/vm')).toContain('10.5.0.1/30 IPsAllocated=True');
  await remove.pod(store, 'a/one');
  await running.settled();
  expect(await addressOf(store, 'a/three')).toBeUndefined();
  expect(running.problems()).toHaveLength(1);
});
