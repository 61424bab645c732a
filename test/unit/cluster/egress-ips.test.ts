/** EgressIPs in the cluster manager: which node gets which address, and what their owners are told. */
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { LEASES, microTime, nodeLeaseName } from '../../../src/api/node-lease.ts';
import { egressIPs, nodes, services } from '../../../src/api/kinds.ts';
import type { EgressIP, LabelSelector, Node, Service } from '../../../src/api/types.ts';
import type { NodeAnswer } from '../../../src/cluster/egress/egress-reachability.ts';
import { ManualClock } from '../../support/run/manual-clock.ts';
import type { HealthQuestion } from '../../../src/process/grpc-health.ts';
import { StoreError } from '../../../src/store/store.ts';
import {
  apply,
  startManager,
  testSettings,
  type RunningManager,
} from '../../support/cluster/cluster.ts';
import { egressNode, heartbeat, saysDown } from '../../support/cluster/egress-nodes.ts';
import { service as serviceOf } from '../../support/zone/services.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const MARK = 'k8s.ovn.org/egressip-mark';
const MOVES = 'k8s.ovn.org/egressip-moves';
const BRIDGE = 'k8s.ovn.org/bridge-egress-ips';
const LABEL = 'k8s.ovn.org/egress-assignable';

const egressIp = (name: string, ...addresses: readonly string[]): EgressIP => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name, annotations: { team: 'a' } },
  spec: { egressIPs: addresses, namespaceSelector: {} },
});

const label = (store: MemoryStore, name: string, value: string | null = ''): Promise<Node> =>
  store.patch(nodes, name, { metadata: { labels: { [LABEL]: value } } }, { fieldManager: 'user' });
const answersFor = (store: MemoryStore, name: string, ...addresses: string[]): Promise<Node> =>
  store.patch(
    nodes,
    name,
    { metadata: { annotations: { [BRIDGE]: JSON.stringify(addresses) } } },
    { fieldManager: 'node' },
  );
const itemsOf = async (store: MemoryStore, name: string): Promise<readonly string[]> =>
  ((await store.get(egressIPs, name))?.status?.items ?? []).map(
    ({ node: where, egressIP }) => `${egressIP} ${where}`,
  );
const told = (store: MemoryStore): readonly string[] =>
  store.events.map(
    ({ regarding, type, reason, message }) =>
      `${regarding.metadata.name} ${type} ${reason}: ${message}`,
  );

/** Lets time go by, and what it brings about happen. */
async function passed(clock: ManualClock, milliseconds: number): Promise<void> {
  for (let at = 0; at < milliseconds; at += 50) {
    await clock.advance(50);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

async function withNodes(...labelled: readonly string[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  await apply(store, egressNode('n1', 2), egressNode('n2', 3), egressNode('n3', 4));
  for (const name of labelled) await label(store, name);
  return store;
}

test('addresses are assigned to labelled nodes, and every object gets a mark beside its other annotations', async () => {
  const store = await withNodes('n1', 'n2');
  await using running = startManager(store);
  await apply(
    store,
    egressIp('one', '172.18.0.100', '172.18.0.101'),
    egressIp('two', '172.18.0.102'),
  );
  await running.settled();
  expect(await itemsOf(store, 'one')).toEqual(['172.18.0.100 n1', '172.18.0.101 n2']);
  expect(await itemsOf(store, 'two')).toEqual(['172.18.0.102 n1']);
  const marks = await Promise.all(
    ['one', 'two'].map(async (name) => (await store.get(egressIPs, name))?.metadata.annotations),
  );
  expect(marks).toEqual([
    { team: 'a', [MARK]: '50000' },
    { team: 'a', [MARK]: '50001' },
  ]);
  expect(told(store)).toEqual([]);
  expect(running.manager.problems()).toEqual([]);
});

const annotationOf = async (store: MemoryStore, name: string): Promise<unknown> => {
  const text = (await store.get(egressIPs, name))?.metadata.annotations?.[MOVES];
  return text === undefined ? undefined : JSON.parse(text);
};
const prepared = (store: MemoryStore, name: string, ...addresses: string[]): Promise<Node> =>
  store.patch(
    nodes,
    name,
    { metadata: { annotations: { 'k8s.ovn.org/prepared-egress-ips': JSON.stringify(addresses) } } },
    { fieldManager: 'node' },
  );

test('an address that moves is prepared at its new node, then pods leave there, and it answers when the old one does no more', async () => {
  const store = await withNodes('n1');
  const clock = new ManualClock();
  await using running = startManager(
    store,
    {},
    { egressHealth: { timeout: 0, port: 0, rebalanceDelay: 0 } },
    { clock },
  );
  await running.manager.started;
  await apply(store, egressIp('out', '172.18.0.100'));
  await passed(clock, 100);
  await answersFor(store, 'n1', '172.18.0.100');
  await label(store, 'n2');
  await label(store, 'n1', null);
  await passed(clock, 100);
  const move = { egressIP: '172.18.0.100', from: 'n1', to: 'n2' };
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  expect(await annotationOf(store, 'out')).toEqual([{ ...move, step: 'prepare' }]);
  await prepared(store, 'n2', '172.18.0.100');
  await passed(clock, 100);
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n2']);
  expect(await annotationOf(store, 'out')).toEqual([{ ...move, step: 'switch' }]);
  await answersFor(store, 'n1');
  await passed(clock, 100);
  expect(await annotationOf(store, 'out')).toEqual([{ ...move, step: 'settle' }]);
  await passed(clock, 60_000);
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n2']);
  expect(await annotationOf(store, 'out')).toBeUndefined();
  expect(told(store)).toEqual([
    'out Normal EgressIPMoved: egress IP 172.18.0.100 moves from node n1 to node n2: the EgressIP selects node n1 no more',
  ]);
});

test('a node that does not get ready for an address gets it when the one that had it answers for it no more', async () => {
  const store = await withNodes('n1');
  const clock = new ManualClock();
  await using running = startManager(
    store,
    {},
    { egressHealth: { timeout: 0, port: 0, rebalanceDelay: 0 } },
    { clock },
  );
  await running.manager.started;
  await apply(store, egressIp('out', '172.18.0.100'));
  await passed(clock, 100);
  await answersFor(store, 'n1', '172.18.0.100');
  await label(store, 'n2');
  await label(store, 'n1', null);
  await passed(clock, 100);
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  await passed(clock, 30_000);
  expect(await itemsOf(store, 'out')).toEqual([]);
  expect(await annotationOf(store, 'out')).toBeUndefined();
  await answersFor(store, 'n1');
  await passed(clock, 100);
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n2']);
  expect(told(store)).toEqual([
    'out Normal EgressIPMoved: egress IP 172.18.0.100 moves from node n1 to node n2: the EgressIP selects node n1 no more',
  ]);
});

test('a node that is drained keeps what no other one can have', async () => {
  const store = await withNodes('n1');
  await using running = startManager(store);
  await apply(store, egressIp('out', '172.18.0.100'));
  await running.settled();
  const cordon = (unschedulable: boolean): Promise<Node> =>
    store.patch(nodes, 'n1', { spec: { unschedulable } }, { fieldManager: 'user' });
  await cordon(true);
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  await label(store, 'n2');
  await running.settled();
  // Nobody answers for it yet: there is nothing to wait for.
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n2']);
  expect(told(store)).toEqual([
    'out Normal EgressIPMoved: egress IP 172.18.0.100 moves from node n1 to node n2: node n1 is cordoned',
  ]);
  await cordon(false);
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n2']);
});

const SINCE = '2026-01-01T12:00:00Z';
const GATEWAY_DOWN = { '172.18.0.0/16': 'uplink eth1 of br-ex has no carrier' };

test('a node by whose network nothing leaves loses its addresses of that network, and of no other, while another one can have them', async () => {
  const store = await withNodes('n1');
  await using running = startManager(store);
  await apply(
    store,
    heartbeat('n1', SINCE),
    heartbeat('n2', SINCE),
    egressIp('near', '172.18.0.100'),
    egressIp('far', '10.9.0.100'),
  );
  await running.settled();
  await label(store, 'n2');
  await running.settled();
  await saysDown(store, 'n1', GATEWAY_DOWN);
  await running.settled();
  expect(await itemsOf(store, 'near')).toEqual(['172.18.0.100 n2']);
  expect(await itemsOf(store, 'far')).toEqual(['10.9.0.100 n1']);
  const left =
    'near Normal EgressIPMoved: egress IP 172.18.0.100 moves from node n1 to node n2: node n1: uplink eth1 of br-ex has no carrier';
  expect(told(store)).toEqual([left]);
  await saysDown(store, 'n1', { ...GATEWAY_DOWN, '10.9.0.0/24': 'eth2 has no carrier' });
  await running.settled();
  expect(await itemsOf(store, 'far')).toEqual(['10.9.0.100 n2']);
  // What is there again gets nothing back by itself.
  await saysDown(store, 'n1', null);
  await running.settled();
  expect(await itemsOf(store, 'near')).toEqual(['172.18.0.100 n2']);
  expect(await itemsOf(store, 'far')).toEqual(['10.9.0.100 n2']);
  expect(told(store)).toEqual([
    left,
    'far Normal EgressIPMoved: egress IP 10.9.0.100 moves from node n1 to node n2: node n1: eth2 has no carrier',
  ]);
  expect(running.manager.problems()).toEqual([]);
});

test('where nothing leaves any node, addresses stay where they are, and their owner is told; one of them that is well again has them', async () => {
  const store = await withNodes('n1');
  await using running = startManager(store);
  await apply(
    store,
    heartbeat('n1', SINCE),
    heartbeat('n2', SINCE),
    egressIp('out', '172.18.0.100'),
  );
  await running.settled();
  await label(store, 'n2');
  await saysDown(store, 'n2', { '172.18.0.0/16': 'Open vSwitch has no bridge br-ex' });
  await running.settled();
  await saysDown(store, 'n1', GATEWAY_DOWN);
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  const MESSAGE =
    'EgressIP out: node n1 holds 172.18.0.100, and nothing leaves with it: uplink eth1 of br-ex has no carrier; no other node can have it: mend that, or let the EgressIP select another node in its network';
  expect(told(store)).toEqual([`out Warning EgressNetworkDown: ${MESSAGE}`]);
  expect(
    running.manager
      .problems()
      .flatMap(({ object, message }) => (object === 'EgressIP out' ? message : [])),
  ).toEqual([MESSAGE]);
  await saysDown(store, 'n2', null);
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n2']);
  expect(running.manager.problems()).toEqual([]);
});

test('what a daemon said that is not there any more does not count', async () => {
  const store = await withNodes('n1', 'n2');
  await using running = startManager(store);
  await apply(store, heartbeat('n1', SINCE), egressIp('out', '172.18.0.100'));
  await running.settled();
  await saysDown(store, 'n1', GATEWAY_DOWN, 'one before');
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  expect(told(store)).toEqual([]);
});

test('an address leaves a node by whose network nothing leaves as from one that is drained: it is prepared elsewhere first', async () => {
  const store = await withNodes('n1', 'n2');
  const clock = new ManualClock();
  await using running = startManager(
    store,
    {},
    { egressHealth: { timeout: 0, port: 0, rebalanceDelay: 0 } },
    { clock },
  );
  await running.manager.started;
  await apply(
    store,
    heartbeat('n1', SINCE),
    heartbeat('n2', SINCE),
    egressIp('out', '172.18.0.100'),
  );
  await passed(clock, 100);
  await answersFor(store, 'n1', '172.18.0.100');
  await saysDown(store, 'n1', GATEWAY_DOWN);
  await passed(clock, 100);
  const move = { egressIP: '172.18.0.100', from: 'n1', to: 'n2' };
  expect(await annotationOf(store, 'out')).toEqual([{ ...move, step: 'prepare' }]);
  expect(running.manager.problems()).toEqual([]);
  await prepared(store, 'n2', '172.18.0.100');
  await passed(clock, 100);
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n2']);
  expect(await annotationOf(store, 'out')).toEqual([{ ...move, step: 'switch' }]);
});

test('an address moves for balance to no node by whose network nothing leaves, nor soon after', async () => {
  const store = await withNodes('n1');
  const clock = new ManualClock();
  await using running = startManager(
    store,
    {},
    { egressHealth: { timeout: 0, port: 0, rebalanceDelay: 20_000 } },
    { clock },
  );
  await running.manager.started;
  await apply(
    store,
    heartbeat('n1', SINCE),
    heartbeat('n2', SINCE),
    egressIp('one', '172.18.0.100'),
    egressIp('two', '172.18.0.101'),
  );
  await passed(clock, 100);
  await saysDown(store, 'n2', GATEWAY_DOWN);
  await label(store, 'n2');
  const renew = async (seconds: number): Promise<void> => {
    for (let at = 0; at < seconds; at += 10) {
      for (const name of ['n1', 'n2']) {
        const renewTime = microTime(Date.parse(SINCE) + clock.now());
        const patch = { spec: { renewTime } };
        await store.patch(LEASES, `heddle/${nodeLeaseName(name)}`, patch, { fieldManager: name });
      }
      await passed(clock, 10_000);
    }
  };
  await renew(60);
  expect(await itemsOf(store, 'two')).toEqual(['172.18.0.101 n1']);
  await saysDown(store, 'n2', null);
  await renew(10);
  expect(await itemsOf(store, 'two')).toEqual(['172.18.0.101 n1']);
  await renew(30);
  expect(await itemsOf(store, 'two')).toEqual(['172.18.0.101 n2']);
});

test('a node that is not ready loses its addresses; one that is gone is not waited for', async () => {
  const store = await withNodes('n1', 'n2');
  await using running = startManager(store);
  await apply(store, egressIp('out', '172.18.0.100'));
  await running.settled();
  await answersFor(store, 'n1', '172.18.0.100');
  await store.patchStatus(
    nodes,
    'n1',
    { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } },
    { fieldManager: 'kubelet' },
  );
  await running.settled();
  // Its daemon works: it has the address until the other one is ready for it.
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  await store.delete(nodes, 'n1');
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n2']);
  expect(told(store)).toEqual([
    'out Normal EgressIPMoved: egress IP 172.18.0.100 moves from node n1 to node n2: node n1 is deleted',
  ]);
});

test('a node that has an address, and no daemon for a minute, is named to its owner: it keeps the address until it is deleted', async () => {
  const store = await withNodes('n1', 'n2');
  const clock = new ManualClock();
  const metrics = new Registry();
  await using running = startManager(
    store,
    {},
    { egressHealth: { timeout: 0, port: 0, rebalanceDelay: 0 } },
    { clock, metrics },
  );
  await running.manager.started;
  const since = '2026-01-01T12:00:00Z';
  await apply(
    store,
    egressIp('out', '172.18.0.100'),
    egressIp('other', '172.18.0.101'),
    heartbeat('n1', since),
  );
  await answersFor(store, 'n1', '172.18.0.100');
  const ofEgress = (): readonly string[] =>
    running.manager
      .problems()
      .filter(({ object }) => object.startsWith('EgressIP'))
      .map(({ object, message }) => `${object}: ${message}`);
  const counted = async (): Promise<readonly string[]> =>
    (await metrics.metrics())
      .split('\n')
      .filter((line) => line.startsWith('heddle_cluster_egress_ips_without_daemon{'));
  const MESSAGE = `EgressIP out: node n1 holds 172.18.0.100, and no heartbeat of its daemon since ${since}: pods keep their way, and nothing that changes reaches it; start the daemon, or, to move them, switch the node off first and then delete it`;
  await passed(clock, 58_000);
  expect([...told(store), ...ofEgress(), ...(await counted())]).toEqual([]);
  await passed(clock, 4000);
  expect(told(store)).toEqual([`out Warning EgressNodeUnheard: ${MESSAGE}`]);
  expect(ofEgress()).toEqual([`EgressIP out: ${MESSAGE}`]);
  expect(await counted()).toEqual(['heddle_cluster_egress_ips_without_daemon{node="n1"} 1']);
  // What is to move from there waits for it.
  await label(store, 'n1', null);
  await passed(clock, 100);
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  await store.patch(
    LEASES,
    `heddle/${nodeLeaseName('n1')}`,
    { spec: heartbeat('n1', '2026-01-01T12:02:00Z').spec },
    { fieldManager: 'n1' },
  );
  await passed(clock, 100);
  expect([...ofEgress(), ...(await counted())]).toEqual([]);
  // Nobody else could have it.
  await label(store, 'n1');
  await label(store, 'n2', null);
  await passed(clock, 62_000);
  const stays = expect.stringContaining(
    'no other node can have them: pods keep their way',
  ) as string;
  expect(ofEgress()).toEqual([stays, stays]);
  await label(store, 'n2');
  await store.delete(nodes, 'n1');
  await passed(clock, 100);
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n2']);
  expect([...ofEgress(), ...(await counted())]).toEqual([]);
});

test('a node whose daemon goes while it is to let go of an address is named as what the move waits for', async () => {
  const store = await withNodes('n1');
  const clock = new ManualClock();
  await using running = startManager(
    store,
    {},
    { egressHealth: { timeout: 0, port: 0, rebalanceDelay: 0 } },
    { clock },
  );
  await running.manager.started;
  await apply(store, egressIp('out', '172.18.0.100'), heartbeat('n1', '2026-01-01T12:00:00Z'));
  await passed(clock, 100);
  await answersFor(store, 'n1', '172.18.0.100');
  await label(store, 'n2');
  await label(store, 'n1', null);
  await passed(clock, 100);
  await prepared(store, 'n2', '172.18.0.100');
  await passed(clock, 62_000);
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n2']);
  expect(told(store)).toEqual([
    'out Normal EgressIPMoved: egress IP 172.18.0.100 moves from node n1 to node n2: the EgressIP selects node n1 no more',
    'out Warning EgressNodeUnheard: EgressIP out: node n1 holds 172.18.0.100, and no heartbeat of its daemon since 2026-01-01T12:00:00Z: what is to move from there waits until it has let go; start the daemon, or, to move them, switch the node off first and then delete it',
  ]);
});

test('what nodes have stays where it is when nodes come, and when the manager starts anew', async () => {
  const store = await withNodes('n2');
  await apply(store, egressIp('one', '172.18.0.100'), egressIp('two', '172.18.0.101'));
  {
    await using running = startManager(store);
    await running.settled();
    expect(await itemsOf(store, 'two')).toEqual(['172.18.0.101 n2']);
  }
  await label(store, 'n1');
  const writes = store.writes.length;
  await using running = startManager(store);
  await running.settled();
  expect(store.writes.slice(writes).filter(({ kind }) => kind === 'EgressIP')).toEqual([]);
  expect(await itemsOf(store, 'one')).toEqual(['172.18.0.100 n2']);
});

test('owners are told once what is wrong, and what is right is assigned all the same', async () => {
  const store = await withNodes('n1', 'n2');
  await using running = startManager(store);
  await apply(
    store,
    egressIp('one', '172.18.0.100'),
    egressIp('two', '172.18.0.101', '172.18.0.100', '172.18.0.3', 'here'),
    egressIp('far', '192.0.2.1'),
    egressIp('never', '127.0.0.1'),
  );
  await running.settled();
  expect(await itemsOf(store, 'two')).toEqual(['172.18.0.101 n2']);
  const expected = [
    'two Warning InvalidEgressIP: egress IP: "here" for object EgressIP: two is not a valid IP address',
    'two Warning UnsupportedRequest: IP: "172.18.0.100" for EgressIP: two is already allocated for EgressIP: one on n1',
    'two Warning EgressIPConflict: Egress IP two with IP 172.18.0.3 is conflicting with a host (n2) IP address and will not be assigned',
    'never Warning InvalidEgressIP: egress IP: "127.0.0.1" for object EgressIP: never is in the loopback addresses 127.0.0.0/8, so no node has it outside; write an address of a network of the nodes',
    'far Warning NoMatchingNodeFound: No matching nodes found, which can host any of the egress IPs: [192.0.2.1] for object EgressIP: far',
  ];
  expect(told(store)).toEqual(expect.arrayContaining(expected));
  expect(told(store)).toHaveLength(expected.length);
  await label(store, 'n3');
  await running.settled();
  expect(told(store)).toHaveLength(expected.length);
  expect(running.manager.problems().map(({ object }) => object)).toContain('EgressIP far');
});

test('an address in a network of another network card is assigned, and comes to another node when nobody answers for it there', async () => {
  const store = await withNodes('n1', 'n2');
  await using running = startManager(store);
  await apply(store, egressIp('card', '10.9.0.100', '10.9.0.255'));
  await running.settled();
  expect(await itemsOf(store, 'card')).toEqual(['10.9.0.100 n1']);
  expect(told(store).join()).toContain('10.9.0.255 is conflicting with');
  const annotate = (annotations: Record<string, string>): Promise<Node> =>
    store.patch(nodes, 'n1', { metadata: { annotations } }, { fieldManager: 'node' });
  await annotate({
    'k8s.ovn.org/secondary-host-egress-ips': '["10.9.0.100"]',
    'k8s.ovn.org/host-cidrs': '["172.18.0.2/16"]',
  });
  await running.settled();
  expect(await itemsOf(store, 'card')).toEqual(['10.9.0.100 n1']);
  await annotate({ 'k8s.ovn.org/secondary-host-egress-ips': '[]' });
  await running.settled();
  expect(await itemsOf(store, 'card')).toEqual(['10.9.0.100 n2']);
});

test('without nodes to leave by its owner learns which label they need', async () => {
  const store = await withNodes();
  await using running = startManager(store);
  await apply(store, egressIp('out', '172.18.0.100'));
  await running.settled();
  expect(told(store)).toEqual([
    'out Warning NoMatchingNodeFound: no assignable nodes for EgressIP: out, please tag at least one node with label: k8s.ovn.org/egress-assignable',
  ]);
  await label(store, 'n1');
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  expect(running.manager.problems()).toEqual([]);
});

const loadBalancer = (key: string, address: string): Service =>
  serviceOf(
    key,
    { clusterIPs: ['10.96.7.1'], type: 'LoadBalancer', ports: [{ name: 'http', port: 80 }] },
    { loadBalancer: { ingress: [{ ip: address }] } },
  );

test('an address of a service is not assigned until the service has it no more; one that is assigned stays, whatever a service asks for', async () => {
  const store = await withNodes('n1', 'n2');
  await using running = startManager(store);
  await store.create(services, loadBalancer('shop/web', '172.18.0.100'), { fieldManager: 'user' });
  await apply(
    store,
    egressIp('out', '172.18.0.100', '172.18.0.101'),
    egressIp('later', '172.18.0.102'),
  );
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.101 n1']);
  expect(told(store)).toEqual([
    'out Warning EgressIPConflict: Egress IP out with IP 172.18.0.100 is conflicting with an external address of Service shop/web and will not be assigned',
  ]);
  expect(running.manager.problems().map(({ object }) => object)).toContain('EgressIP out');
  await store.create(services, loadBalancer('shop/late', '172.18.0.102'), { fieldManager: 'user' });
  await running.settled();
  expect(await itemsOf(store, 'later')).toEqual(['172.18.0.102 n2']);
  // Also while it moves.
  await answersFor(store, 'n2', '172.18.0.102');
  await label(store, 'n2', null);
  await running.settled();
  expect(await itemsOf(store, 'later')).toEqual(['172.18.0.102 n2']);
  expect(await annotationOf(store, 'later')).toHaveLength(1);
  await answersFor(store, 'n2');
  await running.settled();
  expect(await itemsOf(store, 'later')).toEqual(['172.18.0.102 n1']);
  await store.delete(services, 'shop/web');
  await label(store, 'n3');
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n3', '172.18.0.101 n1']);
});

test('an EgressIP for classes of destinations has nodes and a mark as any other', async () => {
  const store = await withNodes('n1');
  await using running = startManager(store);
  const some = egressIp('some', '172.18.0.100');
  const trafficSelector = { matchLabels: { group: 'mgmt' } };
  await apply(store, { ...some, spec: { ...some.spec, trafficSelector } });
  await running.settled();
  expect(await itemsOf(store, 'some')).toEqual(['172.18.0.100 n1']);
  expect(told(store)).toEqual([]);
});

test('an address that nodes give no service is assigned, whatever a service asks for', async () => {
  const store = await withNodes('n1');
  await using running = startManager(store, {}, { serviceExternalRanges: ['192.0.2.0/24'] });
  await store.create(services, loadBalancer('shop/web', '172.18.0.100'), { fieldManager: 'user' });
  await apply(store, egressIp('out', '172.18.0.100'));
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
});

test('an EgressIP with a node selector has addresses on nodes that it selects alone, labelled or not, and follows labels', async () => {
  const store = await withNodes('n1', 'n2');
  await using running = startManager(store);
  const zone = (name: string, value: string | null): Promise<Node> =>
    store.patch(nodes, name, { metadata: { labels: { zone: value } } }, { fieldManager: 'user' });
  const out = egressIp('out', '172.18.0.100');
  const select = (egressNodeSelector: LabelSelector): Promise<EgressIP> =>
    store.patch(egressIPs, 'out', { spec: { egressNodeSelector } }, { fieldManager: 'user' });
  await apply(store, {
    ...out,
    spec: { ...out.spec, egressNodeSelector: { matchLabels: { zone: 'dmz' } } },
  });
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual([]);
  expect(told(store)).toEqual([
    'out Warning NoMatchingNodeFound: no assignable nodes for EgressIP: out, no node matches its spec.egressNodeSelector',
  ]);
  await zone('n3', 'dmz');
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n3']);
  // One more that fits moves nothing; one that fits no more loses it.
  await zone('n2', 'dmz');
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n3']);
  await zone('n3', null);
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n2']);
  await store.patchStatus(
    nodes,
    'n2',
    { status: { conditions: [{ type: 'Ready', status: 'False' }] } },
    { fieldManager: 'kubelet' },
  );
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual([]);
  expect(told(store).at(-1)).toBe(
    'out Warning NoMatchingNodeFound: no assignable nodes for EgressIP: out, no node that matches its spec.egressNodeSelector is ready: n2',
  );
  await select({ matchLabels: { zone: null as unknown as string, 'kubernetes.io/os': 'linux' } });
  await store.patch(
    nodes,
    'n1',
    { metadata: { labels: { 'kubernetes.io/os': 'linux' } } },
    { fieldManager: 'user' },
  );
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  // What can't be read moves nothing.
  await select({ matchExpressions: [{ key: 'zone', operator: 'NotIn' }] });
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  expect(told(store).at(-1)).toBe(
    'out Warning InvalidSelector: EgressIP out: spec.egressNodeSelector: operator NotIn needs values; until then its addresses stay where they are, and others have no node',
  );
});

test('what somebody writes into the status is put right, and no two objects have one mark', async () => {
  const store = await withNodes('n1', 'n2');
  await apply(store, egressIp('one', '172.18.0.100'));
  const copy = egressIp('two', '172.18.0.101');
  await apply(store, { ...copy, metadata: { ...copy.metadata, annotations: { [MARK]: '50000' } } });
  await using running = startManager(store);
  await running.settled();
  expect((await store.get(egressIPs, 'one'))?.metadata.annotations?.[MARK]).toBe('50001');
  await store.patchStatus(
    egressIPs,
    'one',
    { status: { items: [{ node: 'n2', egressIP: '172.18.0.2' }] } },
    { fieldManager: 'user' },
  );
  await running.settled();
  expect(await itemsOf(store, 'one')).toEqual(['172.18.0.100 n1']);
});

test('a write that is refused is made again, and holds up no other object', async () => {
  const store = await withNodes('n1');
  let refusals = 2;
  store.beforeWrite = ({ verb, kind, key }) => {
    if (verb === 'patchStatus' && kind === 'EgressIP' && key === 'one' && refusals-- > 0)
      throw new StoreError('conflict', 'somebody wrote meanwhile');
  };
  await using running = startManager(store);
  await apply(store, egressIp('one', '172.18.0.100'), egressIp('two', '172.18.0.101'));
  await running.settled();
  expect(await itemsOf(store, 'two')).toEqual(['172.18.0.101 n1']);
  await expect.poll(() => itemsOf(store, 'one'), { timeout: 5000 }).toEqual(['172.18.0.100 n1']);
});

test('where EgressIPs are off nothing is assigned, and their owners are told', async () => {
  const store = await withNodes('n1');
  const features = { ...testSettings.cluster.features, egressIp: false };
  await using running = startManager(store, {}, { features });
  await apply(store, egressIp('out', '172.18.0.100'));
  await running.settled();
  expect(await itemsOf(store, 'out')).toEqual([]);
  expect(told(store)).toEqual([expect.stringContaining('EgressIPs are off (enable-egress-ip)')]);
});

test('addresses of a node that falls silent go to another one, and it has none again before it knows', async () => {
  const store = await withNodes('n1', 'n2');
  const clock = new ManualClock();
  const silentNodes = new Set<string>();
  const seen = new Map<string, string | undefined>();
  const mayMove = new Map<string, boolean>();
  const connect = ([address = '']: readonly string[]) => ({
    async check(question: HealthQuestion): Promise<NodeAnswer> {
      const name = address === '10.244.0.2' ? 'n1' : 'n2';
      if (silentNodes.has(name)) return { kind: 'silent', why: 'late' };
      seen.set(name, question.seen);
      mayMove.set(name, question.mayMove === true);
      return { kind: 'serving', metadata: { token: name, age: 0 } };
    },
    [Symbol.dispose]: () => undefined,
  });
  await using running = startManager(
    store,
    {},
    {},
    { clock, egressProbing: { timeout: 1000, connect } },
  );
  await running.manager.started;
  const pass = (milliseconds: number): Promise<void> => passed(clock, milliseconds);
  await pass(3000);
  await apply(store, egressIp('out', '172.18.0.100'));
  await pass(500);
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  await answersFor(store, 'n1', '172.18.0.100');
  await pass(500);
  // The other one could have it.
  expect(Object.fromEntries(mayMove)).toEqual({ n1: true, n2: false });
  silentNodes.add('n1');
  await pass(1200);
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  await pass(500);
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n2']);
  await pass(500);
  // There is nobody else now.
  expect(mayMove.get('n2')).toBe(false);
  // It is there again, and says that it answers for what it had: nothing that it answers is acknowledged.
  silentNodes.clear();
  await pass(1000);
  expect(seen.get('n1')).toBeUndefined();
  expect(seen.get('n2')).toBe('n2');
  await answersFor(store, 'n1');
  await pass(1000);
  expect(seen.get('n1')).toBe('n1');
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n2']);
});

test('an owner is told of each move from where to where and why, when no node is left, and when there is one again', async () => {
  const store = await withNodes('n1', 'n2');
  const clock = new ManualClock();
  const silentNodes = new Set<string>();
  const connect = ([address = '']: readonly string[]) => ({
    check: (): Promise<NodeAnswer> => {
      const token = address === '10.244.0.2' ? 'n1' : 'n2';
      return Promise.resolve(
        silentNodes.has(token)
          ? { kind: 'silent', why: 'late' }
          : { kind: 'serving', metadata: { token, age: 0 } },
      );
    },
    [Symbol.dispose]: () => undefined,
  });
  const start = (): RunningManager =>
    startManager(store, {}, {}, { clock, egressProbing: { timeout: 1000, connect } });
  const ofPlaces = (): readonly string[] =>
    told(store).filter((event) => /EgressIP(Moved|Lost)/.test(event));
  {
    await using running = start();
    await running.manager.started;
    await passed(clock, 3000);
    await apply(store, egressIp('out', '172.18.0.100'));
    await passed(clock, 500);
    expect(ofPlaces()).toEqual([]);
    silentNodes.add('n1');
    await passed(clock, 2000);
    expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n2']);
    expect(ofPlaces()).toEqual([
      'out Normal EgressIPMoved: egress IP 172.18.0.100 moves from node n1 to node n2: node n1 is not reached',
    ]);
    await store.delete(nodes, 'n1');
    await store.patchStatus(
      nodes,
      'n2',
      { status: { conditions: [{ type: 'Ready', status: 'False' }] } },
      { fieldManager: 'kubelet' },
    );
    await passed(clock, 500);
    expect(await itemsOf(store, 'out')).toEqual([]);
    expect(ofPlaces().slice(1)).toEqual([
      'out Warning EgressIPLost: egress IP 172.18.0.100 has left node n2: node n2 is not ready; no other node can have it, and pods send nothing out with it',
    ]);
    expect(told(store)).toContain(
      'out Warning NoMatchingNodeFound: no assignable nodes for EgressIP: out, no node with label k8s.ovn.org/egress-assignable is ready: n2',
    );
    await label(store, 'n3');
    await passed(clock, 500);
    expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n3']);
    expect(ofPlaces().slice(2)).toEqual([
      'out Normal EgressIPMoved: egress IP 172.18.0.100 is at node n3; it was at none since it left node n2',
    ]);
  }
  // Another manager tells it of what changed while none led, and of nothing else.
  await using running = start();
  await running.manager.started;
  await passed(clock, 3000);
  expect(ofPlaces()).toHaveLength(3);
  await label(store, 'n3', null);
  await passed(clock, 500);
  expect(ofPlaces().slice(3)).toEqual([
    'out Warning EgressIPLost: egress IP 172.18.0.100 has left node n3: the EgressIP selects node n3 no more; no other node can have it, and pods send nothing out with it',
  ]);
});

test('a node that comes back gets addresses of fuller ones, one after the other and only when it has been well for long', async () => {
  const store = await withNodes('n1', 'n2');
  const clock = new ManualClock();
  const egressHealth = { timeout: 0, port: 0, rebalanceDelay: 60_000 };
  await using running = startManager(store, {}, { egressHealth }, { clock });
  await running.manager.started;
  const pass = (seconds: number): Promise<void> => passed(clock, seconds * 1000);
  const addresses = ['172.18.0.100', '172.18.0.101', '172.18.0.102', '172.18.0.103'];
  await apply(store, ...addresses.map((address, n) => egressIp(`eip${n}`, address)));
  await pass(0.1);
  const nodesOf = async (): Promise<readonly string[]> =>
    (await Promise.all(addresses.map((_, n) => itemsOf(store, `eip${n}`)))).map(
      ([item = ' none']) => item.split(' ')[1] ?? '',
    );
  await label(store, 'n2', null);
  await pass(0.1);
  expect(await nodesOf()).toEqual(['n1', 'n1', 'n1', 'n1']);
  await label(store, 'n2');
  await pass(50);
  // It goes again, and comes: from then on it counts.
  await label(store, 'n2', null);
  await pass(0.1);
  await label(store, 'n2');
  await pass(50);
  expect(await nodesOf()).toEqual(['n1', 'n1', 'n1', 'n1']);
  await answersFor(store, 'n1', ...addresses);
  await pass(20);
  // The first one is on its way; nothing else moves before it has arrived.
  await pass(60);
  expect(await nodesOf()).toEqual(['n1', 'n1', 'n1', 'none']);
  await answersFor(store, 'n1', ...addresses.slice(0, 3));
  await pass(0.1);
  expect(await nodesOf()).toEqual(['n1', 'n1', 'n1', 'n2']);
  await pass(10);
  expect(await nodesOf()).toEqual(['n1', 'n1', 'n1', 'n2']);
  // A node that is ready for it has it at once.
  await prepared(store, 'n2', '172.18.0.102');
  await pass(0.1);
  expect(await nodesOf()).toEqual(['n1', 'n1', 'n2', 'n2']);
  await answersFor(store, 'n1', ...addresses.slice(0, 2));
  await pass(60);
  expect(await nodesOf()).toEqual(['n1', 'n1', 'n2', 'n2']);
  const goes = 'moves from node n2 to node n1: the EgressIP selects node n2 no more';
  expect(told(store)).toEqual([
    `eip1 Normal EgressIPMoved: egress IP 172.18.0.101 ${goes}`,
    `eip3 Normal EgressIPMoved: egress IP 172.18.0.103 ${goes}`,
    'eip3 Normal Rebalancing: egress IP 172.18.0.103 moves from node n1 to node n2, which has fewer (egressip-rebalance-delay)',
    'eip2 Normal Rebalancing: egress IP 172.18.0.102 moves from node n1 to node n2, which has fewer (egressip-rebalance-delay)',
  ]);
});

test('an address whose new node fails on the way goes back to where it was, and stays there', async () => {
  const store = await withNodes('n1');
  const clock = new ManualClock();
  const egressHealth = { timeout: 0, port: 0, rebalanceDelay: 1000 };
  await using running = startManager(store, {}, { egressHealth }, { clock });
  await running.manager.started;
  const pass = (seconds: number): Promise<void> => passed(clock, seconds * 1000);
  await apply(store, egressIp('one', '172.18.0.100'), egressIp('two', '172.18.0.101'));
  await pass(0.1);
  await answersFor(store, 'n1', '172.18.0.100', '172.18.0.101');
  await label(store, 'n2');
  await pass(0.1);
  await pass(10);
  await pass(0.1);
  expect(await itemsOf(store, 'two')).toEqual(['172.18.0.101 n1']);
  expect(await annotationOf(store, 'two')).toHaveLength(1);
  await label(store, 'n2', null);
  await pass(0.1);
  expect(await itemsOf(store, 'two')).toEqual(['172.18.0.101 n1']);
  expect(await annotationOf(store, 'two')).toBeUndefined();
  await label(store, 'n2');
  await pass(0.5);
  await pass(0.1);
  expect(await itemsOf(store, 'two')).toEqual(['172.18.0.101 n1']);
});

test('a manager that follows another one leaves what nodes have where it is, also before it has heard them', async () => {
  const store = await withNodes('n1', 'n2');
  const serving: NodeAnswer = { kind: 'serving', metadata: { token: 'one', age: 0 } };
  const lead = (clock: ManualClock): ReturnType<typeof startManager> =>
    startManager(
      store,
      {},
      {},
      {
        clock,
        egressProbing: {
          timeout: 1000,
          connect: () => ({ check: async () => serving, [Symbol.dispose]: () => undefined }),
        },
      },
    );
  {
    const clock = new ManualClock();
    await using first = lead(clock);
    await first.manager.started;
    await apply(store, egressIp('out', '172.18.0.100'));
    await passed(clock, 3000);
  }
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  await answersFor(store, 'n1', '172.18.0.100');
  const written: unknown[] = [];
  const patchStatus = store.patchStatus.bind(store);
  store.patchStatus = (kind, key, patch, options) => {
    if (kind === egressIPs) written.push(patch);
    return patchStatus(kind, key, patch, options);
  };
  const clock = new ManualClock();
  await using second = lead(clock);
  await second.manager.started;
  await passed(clock, 3000);
  expect(written).toEqual([]);
});

/** n1 has the address, and loses its label in the moment in which n2 gets it; `answer` is what n2 says from then on. */
async function labelHandedOver(answer: () => Promise<NodeAnswer>) {
  const store = await withNodes('n1');
  const clock = new ManualClock();
  const serving: NodeAnswer = { kind: 'serving', metadata: { token: 'one', age: 0 } };
  let first: string | undefined;
  const connect = ([address = '']: readonly string[]) => {
    first ??= address;
    const check = async (): Promise<NodeAnswer> => (address === first ? serving : answer());
    return { check, [Symbol.dispose]: () => undefined };
  };
  const running = startManager(store, {}, {}, { clock, egressProbing: { timeout: 1000, connect } });
  await running.manager.started;
  await apply(store, egressIp('out', '172.18.0.100'));
  await passed(clock, 3000);
  await answersFor(store, 'n1', '172.18.0.100');
  await label(store, 'n2');
  await label(store, 'n1', null);
  return { store, clock, running };
}

test('an address stays where it is until the node that has got the label is heard, and moves there without being nowhere', async () => {
  const serving: NodeAnswer = { kind: 'serving', metadata: { token: 'two', age: 0 } };
  let isHeard = false;
  const heard = Promise.withResolvers<NodeAnswer>();
  const { store, clock, running } = await labelHandedOver(() =>
    isHeard ? Promise.resolve(serving) : heard.promise,
  );
  await using _running = running;
  await passed(clock, 300);
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  // It may be ready for the address before the manager has heard it.
  await prepared(store, 'n2', '172.18.0.100');
  await passed(clock, 300);
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  isHeard = true;
  heard.resolve(serving);
  await passed(clock, 300);
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n2']);
});

test('a node that has got the label and is never heard does not keep an address at one that has lost it', async () => {
  const { store, clock, running } = await labelHandedOver(() =>
    Promise.resolve({ kind: 'silent', why: 'nothing came' }),
  );
  await using _running = running;
  await passed(clock, 300);
  expect(await itemsOf(store, 'out')).toEqual(['172.18.0.100 n1']);
  await passed(clock, 32_000);
  expect(await itemsOf(store, 'out')).toEqual([]);
});

test('a manager that starts while an address moves for balance leaves it where it is, and moves it when nodes have been well for as long again', async () => {
  const store = await withNodes('n1');
  const egressHealth = { timeout: 0, port: 0, rebalanceDelay: 60_000 };
  const start = async (clock: ManualClock): Promise<RunningManager> => {
    const running = startManager(store, {}, { egressHealth }, { clock });
    await running.manager.started;
    return running;
  };
  {
    const clock = new ManualClock();
    await using _running = await start(clock);
    await apply(store, egressIp('one', '172.18.0.100'), egressIp('two', '172.18.0.101'));
    await passed(clock, 100);
    await answersFor(store, 'n1', '172.18.0.100', '172.18.0.101');
    await label(store, 'n2');
    await passed(clock, 75_000);
    expect(await annotationOf(store, 'two')).toHaveLength(1);
  }
  const clock = new ManualClock();
  await using _running = await start(clock);
  await passed(clock, 100);
  expect(await itemsOf(store, 'two')).toEqual(['172.18.0.101 n1']);
  await passed(clock, 55_000);
  expect(await itemsOf(store, 'two')).toEqual(['172.18.0.101 n1']);
  expect(await annotationOf(store, 'two')).toBeUndefined();
  await passed(clock, 20_000);
  expect(await annotationOf(store, 'two')).toHaveLength(1);
  await answersFor(store, 'n1', '172.18.0.100');
  await passed(clock, 100);
  expect(await itemsOf(store, 'two')).toEqual(['172.18.0.101 n2']);
});
