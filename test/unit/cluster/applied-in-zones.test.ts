/** Objects whose status says in which zones they are in force, by what nodes report. */
import { describe, expect, test } from 'vitest';
import {
  egressFirewalls,
  egressQoSes,
  externalRoutes,
  networkQoSes,
  nodes,
  zoneStatuses,
} from '../../../src/api/kinds.ts';
import type { KubeObject, ResourceKind } from '../../../src/api/objects.ts';
import type { ZoneStatusContent } from '../../../src/api/zone-status.ts';
import { changedObjects } from '../../../src/cluster/status/applied-in-zones.ts';
import { apply, namespace, node, startManager } from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const NODES = ['n1', 'n2'];
const metadata = { namespace: 'blue', name: 'default' };
const firewall = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressFirewall',
  metadata,
  spec: { egress: [{ type: 'Deny', to: { cidrSelector: '0.0.0.0/0' } }] },
};
const FIREWALL = 'EgressFirewall blue/default';

const prepared = async (...objects: readonly KubeObject[]): Promise<MemoryStore> => {
  const store = new MemoryStore();
  const zone = (name: string): KubeObject => ({
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'ZoneStatus',
    metadata: { name },
  });
  await apply(store, namespace('blue'), ...NODES.map((name) => node(name)), ...NODES.map(zone));
  await apply(store, ...objects);
  return store;
};
const say = async (
  store: MemoryStore,
  name: string,
  status: Partial<ZoneStatusContent>,
): Promise<void> => {
  await store.patchStatus(
    zoneStatuses,
    name,
    { status: { observedAt: '2026-01-01T00:00:00Z', networks: [], problems: [], ...status } },
    { fieldManager: name },
  );
};
/** What a node says that has the object as it is now. */
const has = async (
  store: MemoryStore,
  kind: ResourceKind,
  key: string,
): Promise<Pick<ZoneStatusContent, 'applied' | 'appliedCount'>> => {
  const { generation = 0, uid = '' } = (await store.get(kind, key))?.metadata ?? {};
  return { applied: [{ object: `${kind.kind} ${key}`, generation, uid }], appliedCount: 1 };
};
const statusOf = async (store: MemoryStore, kind: ResourceKind, key: string): Promise<unknown> =>
  (await store.get(kind, key))?.status;

describe('an egress firewall', () => {
  const status = (store: MemoryStore): Promise<unknown> =>
    statusOf(store, egressFirewalls, 'blue/default');

  test('is in force once every zone says so', async () => {
    const store = await prepared(firewall);
    await using running = startManager(store);
    await running.settled();
    expect(await status(store)).toBeUndefined();
    const here = await has(store, egressFirewalls, 'blue/default');
    await say(store, 'n2', here);
    await running.settled();
    expect(await status(store)).toEqual({
      status: '',
      messages: ['n2: EgressFirewall Rules applied'],
    });
    await say(store, 'n1', here);
    await running.settled();
    expect(await status(store)).toEqual({
      status: 'EgressFirewall Rules applied',
      messages: ['n1: EgressFirewall Rules applied', 'n2: EgressFirewall Rules applied'],
    });
  });

  test('is not in force where one zone refuses it, which says why', async () => {
    const store = await prepared(firewall);
    await using running = startManager(store);
    await say(store, 'n1', await has(store, egressFirewalls, 'blue/default'));
    await say(store, 'n2', { problems: [{ object: FIREWALL, message: 'too much' }] });
    await running.settled();
    expect(await status(store)).toEqual({
      status: 'EgressFirewall Rules not correctly applied',
      messages: [
        'n2: EgressFirewall Rules not correctly applied: too much',
        'n1: EgressFirewall Rules applied',
      ],
    });
  });

  test('that was changed, or made anew, is not in force by what zones say of the one before', async () => {
    const store = await prepared(firewall);
    await using running = startManager(store);
    for (const name of NODES)
      await say(store, name, await has(store, egressFirewalls, 'blue/default'));
    await running.settled();
    expect(await status(store)).toMatchObject({ status: 'EgressFirewall Rules applied' });
    await store.patch(
      egressFirewalls,
      'blue/default',
      { spec: { egress: [] } },
      { fieldManager: 'user' },
    );
    await running.settled();
    expect(await status(store)).toEqual({ status: '', messages: [] });
    const old = await has(store, egressFirewalls, 'blue/default');
    for (const name of NODES) await say(store, name, old);
    await running.settled();
    expect(await status(store)).toMatchObject({ status: 'EgressFirewall Rules applied' });
    await store.delete(egressFirewalls, 'blue/default');
    await apply(store, firewall);
    for (const name of NODES)
      await say(store, name, {
        applied: (old.applied ?? []).map((one) => ({ ...one, generation: 1 })),
      });
    await running.settled();
    expect(await status(store)).toBeUndefined();
  });

  test('waits for a node that comes, and no longer for one that goes', async () => {
    const store = await prepared(firewall);
    await using running = startManager(store);
    for (const name of NODES)
      await say(store, name, await has(store, egressFirewalls, 'blue/default'));
    await apply(store, node('n3', { 'k8s.ovn.org/node-chassis-id': 'c3' }));
    await running.settled();
    expect(await status(store)).toMatchObject({ status: '' });
    await store.delete(nodes, 'n3');
    await running.settled();
    expect(await status(store)).toMatchObject({ status: 'EgressFirewall Rules applied' });
    await store.delete(nodes, 'n2');
    await store.delete(zoneStatuses, 'n2');
    await running.settled();
    expect(await status(store)).toEqual({
      status: 'EgressFirewall Rules applied',
      messages: ['n1: EgressFirewall Rules applied'],
    });
  });

  test('is not known to be in force where the list of a zone is full, which is said', async () => {
    const store = await prepared(firewall);
    await using running = startManager(store);
    await say(store, 'n1', await has(store, egressFirewalls, 'blue/default'));
    await say(store, 'n2', {
      applied: [{ object: 'EgressFirewall aqua/default', generation: 1 }],
      appliedCount: 2,
    });
    await running.settled();
    expect(await status(store)).toEqual({
      status: '',
      messages: [
        'n1: EgressFirewall Rules applied',
        'n2: not known: the ZoneStatus of the node lists 1 of 2 objects that are in force there',
      ],
    });
  });

  test('has messages of so many zones as an object can hold, those that refuse it first', async () => {
    const names = Array.from({ length: 1200 }, (_, n) => `n${String(n).padStart(4, '0')}`);
    const store = await prepared(firewall);
    for (const name of names) {
      await apply(store, node(name));
      await apply(store, {
        apiVersion: 'k8s.ovn.org/v1alpha1',
        kind: 'ZoneStatus',
        metadata: { name },
      });
    }
    const here = await has(store, egressFirewalls, 'blue/default');
    for (const name of names) await say(store, name, here);
    const message = 'x'.repeat(2000);
    await say(store, 'n1199', { problems: [{ object: FIREWALL, message }] });
    await using running = startManager(store);
    await running.settled();
    const { messages } = (await status(store)) as { messages: readonly string[] };
    expect(messages).toHaveLength(1000);
    expect(messages[0]).toMatch(/^n1199: EgressFirewall Rules not correctly applied: x+…$/);
    expect(messages[0]?.length).toBeLessThan(600);
  });
});

test('many zones that say the same within a second cost few writes, and what is said already none', async () => {
  const store = await prepared(firewall);
  await using running = startManager(store);
  const here = await has(store, egressFirewalls, 'blue/default');
  const written = (): number =>
    store.writes.filter(({ verb, kind }) => verb === 'patchStatus' && kind === 'EgressFirewall')
      .length;
  const names = Array.from({ length: 50 }, (_, n) => `m${n}`);
  for (const name of names) {
    await apply(store, node(name));
    await apply(store, {
      apiVersion: 'k8s.ovn.org/v1alpha1',
      kind: 'ZoneStatus',
      metadata: { name },
    });
  }
  await running.settled();
  for (const name of [...names, ...NODES]) await say(store, name, here);
  await running.settled();
  expect(await statusOf(store, egressFirewalls, 'blue/default')).toMatchObject({
    status: 'EgressFirewall Rules applied',
  });
  const writes = written();
  expect(writes).toBeLessThan(10);
  for (const name of NODES) await say(store, name, { ...here, problemCount: 1 });
  await running.settled();
  expect(written()).toBe(writes);
});

test('what one zone says anew of one object is about that object alone', () => {
  const zone = (...generations: readonly number[]) => ({
    apiVersion: 'k8s.ovn.org/v1alpha1' as const,
    kind: 'ZoneStatus' as const,
    metadata: { name: 'n1' },
    status: {
      observedAt: '',
      networks: [],
      problems: [],
      applied: generations.map((generation, n) => ({
        object: `EgressFirewall n${n}/default`,
        generation,
      })),
      appliedCount: generations.length,
    },
  });
  expect(changedObjects(zone(1, 1, 1), zone(1, 2, 1))).toEqual(['EgressFirewall n1/default']);
  expect(changedObjects(zone(1, 1), zone(1))).toEqual(['EgressFirewall n1/default']);
  expect(changedObjects(zone(1, 1), zone(1, 1))).toEqual([]);
  expect(changedObjects(undefined, zone(1))).toBe('all');
  const full = zone(1);
  expect(changedObjects(zone(1), { ...full, status: { ...full.status, appliedCount: 2 } })).toBe(
    'all',
  );
});

describe('a QoS', () => {
  const qos = { metadata, spec: { priority: 1, egress: [{ dscp: 10 }] } };
  test.each([
    [
      egressQoSes,
      { ...qos, apiVersion: 'k8s.ovn.org/v1', kind: 'EgressQoS', spec: { egress: [{ dscp: 10 }] } },
      'EgressQoS Rules applied',
      ['SetupSucceeded', 'EgressQoS Rules applied'],
      ['SetupFailed', 'EgressQoS Rules not correctly applied'],
    ],
    [
      networkQoSes,
      { ...qos, apiVersion: 'k8s.ovn.org/v1alpha1', kind: 'NetworkQoS' },
      'NetworkQoS Destinations applied',
      ['Success', 'NetworkQoS was applied successfully'],
      ['Failed', 'NetworkQoS Destinations not correctly applied'],
    ],
  ] as const)(
    'has a condition of each zone, and their sum: $kind',
    async (kind, object, text, [succeeded, message], [failed, refused]) => {
      const store = await prepared(object);
      await using running = startManager(store);
      const here = await has(store, kind, 'blue/default');
      for (const name of NODES) await say(store, name, here);
      await running.settled();
      const condition = (name: string): unknown =>
        expect.objectContaining({
          type: `Ready-In-Zone-${name}`,
          status: 'True',
          reason: succeeded,
          message,
        });
      expect(await statusOf(store, kind, 'blue/default')).toEqual({
        status: text,
        conditions: NODES.map(condition),
      });
      const name = `${kind.kind} blue/default`;
      await say(store, 'n2', { applied: [], problems: [{ object: name, message: 'too much' }] });
      await running.settled();
      expect(await statusOf(store, kind, 'blue/default')).toMatchObject({
        status: refused,
        conditions: expect.arrayContaining([
          condition('n1'),
          expect.objectContaining({
            type: 'Ready-In-Zone-n2',
            status: 'False',
            reason: failed,
            message: `${refused}: too much`,
          }),
        ]) as unknown,
      });
      await store.delete(nodes, 'n2');
      await store.delete(zoneStatuses, 'n2');
      await running.settled();
      expect(await statusOf(store, kind, 'blue/default')).toEqual({
        status: text,
        conditions: [condition('n1')],
      });
    },
  );
});

test('external routes succeed once every zone has them', async () => {
  const store = await prepared({
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'AdminPolicyBasedExternalRoute',
    metadata: { name: 'gw' },
    spec: { from: { namespaceSelector: {} }, nextHops: { static: [{ ip: '172.18.0.50' }] } },
  });
  await using running = startManager(store);
  const here = await has(store, externalRoutes, 'gw');
  await say(store, 'n1', here);
  await running.settled();
  const status = (): Promise<unknown> => statusOf(store, externalRoutes, 'gw');
  expect(await status()).toMatchObject({
    status: '',
    messages: ['n1: configured external gateway IPs'],
  });
  await say(store, 'n2', here);
  await running.settled();
  expect(await status()).toMatchObject({
    status: 'Success',
    messages: NODES.map((name) => `${name}: configured external gateway IPs`),
  });
});
