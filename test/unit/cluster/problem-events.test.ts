/** What nodes refuse of a service, its owner reads in an event of the service. */
import { describe, expect, test, vi } from 'vitest';
import {
  egressFirewalls,
  egressQoSes,
  externalRoutes,
  networkQoSes,
  services,
  zoneStatuses,
} from '../../../src/api/kinds.ts';
import type { KubeObject, ResourceKind } from '../../../src/api/objects.ts';
import type { ZoneObjectState, ZoneProblem, ZoneStatus } from '../../../src/api/zone-status.ts';
import { StoreError } from '../../../src/store/store.ts';
import { admitHostPorts } from '../../../src/model/rules/host-ports.ts';
import { namespaceKind } from '../../../src/model/read/namespaces.ts';
import { apply, namespace, startManager } from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import { service } from '../../support/zone/services.ts';

const zone = (name: string): ZoneStatus => ({
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'ZoneStatus',
  metadata: { name },
});
const say = async (
  store: MemoryStore,
  node: string,
  ...problems: readonly ZoneProblem[]
): Promise<void> => {
  await store.patchStatus(
    zoneStatuses,
    node,
    { status: { observedAt: '2026-01-01T00:00:00Z', networks: [], problems } },
    { fieldManager: node },
  );
};
const refused = (message: string, object = 'Service blue/web'): ZoneProblem => ({
  object,
  message,
});
const told = (store: MemoryStore): string[] =>
  store.events.map(
    ({ regarding, type, reason, message }) =>
      `${regarding.kind} ${regarding.metadata.name} ${type} ${reason}: ${message}`,
  );

const prepared = async (): Promise<MemoryStore> => {
  const store = new MemoryStore();
  await apply(store, namespace('blue'), service('blue/web', { clusterIPs: ['10.96.1.1'] }));
  await apply(store, zone('n1'), zone('n2'));
  return store;
};

test('nodes that refuse the same write one event', async () => {
  const store = await prepared();
  await using running = startManager(store);
  for (const node of ['n1', 'n2']) await say(store, node, refused('"1.2.3.4" is taken'));
  await running.settled();
  expect(told(store)).toEqual(['Service web Warning Refused: "1.2.3.4" is taken']);
});

test('what is refused again after it was right is told again', async () => {
  const store = await prepared();
  await using running = startManager(store);
  for (const problems of [[refused('a')], [], [refused('a')]]) {
    await say(store, 'n1', ...problems);
    await running.settled();
  }
  expect(told(store)).toHaveLength(2);
});

test('a pod is told of the ports of its node that it does not have; of the rest its node tells it', async () => {
  const store = await prepared();
  await apply(store, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'blue', name: 'web' },
    spec: { nodeName: 'n1', containers: [] },
  });
  await using running = startManager(store);
  const { refused: message = '' } = admitHostPorts(
    {
      namespace: 'blue',
      name: 'web',
      created: '',
      ports: [{ protocol: 'TCP', hostPort: 30_080, containerPort: 80 }],
    },
    {
      addresses: ['172.18.0.3'],
      most: 10,
      nodePort: () => 'red/web',
      external: () => undefined,
      olderPod: () => undefined,
    },
  );
  await say(store, 'n1', refused(message, 'Pod blue/web'), refused('no network', 'Pod blue/web'));
  await running.settled();
  expect(told(store)).toEqual([`Pod web Warning Refused: ${message}`]);
});

test('objects of other kinds, and services that are not there, are told nothing', async () => {
  const store = await prepared();
  await using running = startManager(store);
  await say(store, 'n1', refused('x', 'Node n2'), refused('y', 'Service blue/gone'));
  await running.settled();
  expect(told(store)).toEqual([]);
  expect(await store.get(services, 'blue/web')).toBeDefined();
});

test('a namespace is told what is not done for it, as for gateways by annotations', async () => {
  const store = await prepared();
  await using running = startManager(store);
  const { checks } = namespaceKind;
  const annotated = {
    ...namespace('blue'),
    metadata: {
      name: 'blue',
      annotations: { 'k8s.ovn.org/routing-external-gws': '172.18.0.10' },
    },
  };
  const [message = ''] = checks.flatMap((check) => check(annotated) ?? []);
  expect(message).toContain('write an AdminPolicyBasedExternalRoute');
  for (const node of ['n1', 'n2']) await say(store, node, refused(message, 'Namespace blue'));
  await running.settled();
  expect(told(store)).toEqual([`Namespace blue Warning Refused: ${message}`]);
});

test('a node that says ever new things of a service fills nothing', async () => {
  const store = await prepared();
  await using running = startManager(store);
  await say(store, 'n1', ...Array.from({ length: 1000 }, (_, n) => refused(`problem ${n}`)));
  await running.settled();
  expect(told(store)).toHaveLength(5);
});

test('nodes that refuse a policy write it, too', async () => {
  const store = await prepared();
  await apply(store, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { namespace: 'blue', name: 'wide' },
  });
  await using running = startManager(store);
  await say(store, 'n1', refused('it lets nothing through', 'NetworkPolicy blue/wide'));
  await running.settled();
  expect(told(store)).toEqual(['NetworkPolicy wide Warning Refused: it lets nothing through']);
});

test("a policy that can't be read is told, by what is left of it", async () => {
  const store = await prepared();
  const metadata = { namespace: 'blue', name: 'torn', uid: 'u1' };
  const get = store.get.bind(store);
  vi.spyOn(store, 'get').mockImplementation(async (kind: ResourceKind, key: string) => {
    if (key !== 'blue/torn') return get(kind, key);
    throw new StoreError('invalid', 'spec: must be a map', { metadata });
  });
  await using running = startManager(store);
  await say(store, 'n1', refused('spec: must be a map', 'NetworkPolicy blue/torn'));
  await running.settled();
  expect(told(store)).toEqual(['NetworkPolicy torn Warning Refused: spec: must be a map']);
  expect(store.events[0]?.regarding.metadata).toEqual(metadata);
});

describe('by the states that nodes report', () => {
  const report = async (
    store: MemoryStore,
    node: string,
    objects: readonly ZoneObjectState[],
    ...problems: readonly ZoneProblem[]
  ): Promise<void> => {
    await store.patchStatus(
      zoneStatuses,
      node,
      { status: { observedAt: '2026-01-01T00:00:00Z', networks: [], problems, objects } },
      { fieldManager: node },
    );
  };
  const object = 'Service blue/web';

  test('what failed is told, what waits for an allocation is not', async () => {
    const store = await prepared();
    await using running = startManager(store);
    await report(store, 'n1', [{ object, state: 'Pending', message: 'waits' }], refused('waits'));
    await running.settled();
    expect(told(store)).toEqual([]);
    await report(store, 'n1', [{ object, state: 'Failed', message: 'taken' }], refused('taken'));
    await running.settled();
    expect(told(store)).toEqual(['Service web Warning Refused: taken']);
  });

  test('a node of an earlier release beside one of this one: the same is told once', async () => {
    const store = await prepared();
    await using running = startManager(store);
    await say(store, 'n1', refused('taken'));
    await report(store, 'n2', [{ object, state: 'Failed', message: 'taken' }], refused('taken'));
    await running.settled();
    expect(told(store)).toEqual(['Service web Warning Refused: taken']);
  });
});

test('what nodes refuse of an egress firewall is in its status, too, until they refuse nothing', async () => {
  const store = await prepared();
  await using running = startManager(store);
  await apply(store, {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressFirewall',
    metadata: { namespace: 'blue', name: 'default' },
    spec: { egress: [{ type: 'Deny', to: { cidrSelector: '0.0.0.0/0' } }] },
  });
  await running.settled();
  const status = async (): Promise<unknown> =>
    (await store.get(egressFirewalls, 'blue/default'))?.status;
  expect(await status()).toBeUndefined();
  for (const node of ['n1', 'n2'])
    await say(store, node, refused('too much', 'EgressFirewall blue/default'));
  await running.settled();
  expect(await status()).toEqual({
    status: 'EgressFirewall Rules not correctly applied',
    messages: ['n1', 'n2'].map(
      (node) => `${node}: EgressFirewall Rules not correctly applied: too much`,
    ),
  });
  expect(told(store)).toEqual(['EgressFirewall default Warning Refused: too much']);
  for (const node of ['n1', 'n2']) await say(store, node);
  await running.settled();
  expect(await status()).toEqual({ status: '', messages: [] });
});

test('what nodes refuse of external routes is in their status, with the time of its last change', async () => {
  const store = await prepared();
  await using running = startManager(store);
  await apply(store, {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'AdminPolicyBasedExternalRoute',
    metadata: { name: 'gw' },
    spec: { from: { namespaceSelector: {} }, nextHops: { static: [{ ip: '172.18.0.50' }] } },
  });
  await running.settled();
  const status = async (): Promise<unknown> => (await store.get(externalRoutes, 'gw'))?.status;
  expect(await status()).toBeUndefined();
  const lastTransitionTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+Z$/) as string;
  await say(store, 'n1', refused('no hop', 'AdminPolicyBasedExternalRoute gw'));
  await running.settled();
  const refusal = (node: string): string => `${node}: failed to apply policy: no hop`;
  expect(await status()).toEqual({ status: 'Fail', messages: [refusal('n1')], lastTransitionTime });
  const { lastTransitionTime: before } = (await status()) as { lastTransitionTime: string };
  await say(store, 'n2', refused('no hop', 'AdminPolicyBasedExternalRoute gw'));
  await running.settled();
  expect(await status()).toEqual({
    status: 'Fail',
    messages: [refusal('n1'), refusal('n2')],
    lastTransitionTime: before,
  });
  for (const node of ['n1', 'n2']) await say(store, node);
  await running.settled();
  expect(await status()).toEqual({ status: '', messages: [], lastTransitionTime });
});

describe('what nodes refuse of a QoS', () => {
  const metadata = { namespace: 'blue', name: 'default' };
  const egressQos = {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressQoS',
    metadata,
    spec: { egress: [{ dscp: 10 }] },
  };
  const networkQos = {
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'NetworkQoS',
    metadata,
    spec: { priority: 1, egress: [{ dscp: 10 }] },
  };
  test.each([
    [egressQoSes, egressQos, 'EgressQoS Rules not correctly applied', 'SetupFailed'],
    [networkQoSes, networkQos, 'NetworkQoS Destinations not correctly applied', 'Failed'],
  ] as const)(
    'is in its status, until they refuse nothing: $kind',
    async (kind, object, text, reason) => {
      const store = await prepared();
      await using running = startManager(store);
      await apply(store, object);
      const status = async () => (await store.get<KubeObject>(kind, 'blue/default'))?.status;
      await say(store, 'n1', refused('too much', `${kind.kind} blue/default`));
      await running.settled();
      expect(await status()).toMatchObject({
        status: text,
        conditions: [
          { type: 'Ready-In-Zone-n1', status: 'False', reason, message: `${text}: too much` },
        ],
      });
      expect(told(store)).toEqual([`${kind.kind} default Warning Refused: too much`]);
      await say(store, 'n1');
      await running.settled();
      expect(await status()).toEqual({ status: '', conditions: [] });
    },
  );

  test('takes the place of what another program said before, and nothing is written twice', async () => {
    const store = await prepared();
    await apply(store, egressQos);
    await store.patchStatus(
      egressQoSes,
      'blue/default',
      { status: { status: 'EgressQoS Rules applied' } },
      { fieldManager: 'n1' },
    );
    let conflicts = 1;
    store.beforeWrite = ({ verb, kind }) => {
      if (verb === 'patchStatus' && kind === 'EgressQoS' && conflicts-- > 0)
        throw new StoreError('conflict', 'somebody wrote meanwhile');
    };
    await using running = startManager(store);
    const text = async () => (await store.get(egressQoSes, 'blue/default'))?.status?.status;
    await expect.poll(text, { timeout: 5000 }).toBe('');
    const writes = store.writes.length;
    await store.patch(
      egressQoSes,
      'blue/default',
      { metadata: { labels: { team: 'a' } } },
      { fieldManager: 'user' },
    );
    await running.settled();
    expect(store.writes.length).toBe(writes + 1);
  });
});
