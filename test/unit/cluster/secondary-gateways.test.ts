/** Secondary networks that ask for a gateway: what their NADs, conditions and pods get of it. */
import { expect, test } from 'vitest';
import {
  networkAttachmentDefinitions,
  ovnSecondaryNetworks,
  userDefinedNetworks,
} from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import type { UserDefinedNetwork } from '../../../src/api/types.ts';
import type { Store } from '../../../src/store/store.ts';
import { apply, layer2, layer3, namespace, startManager } from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const GATEWAY = 'k8s.ovn.org/secondary-gateway';
const USER = { fieldManager: 'user' };

const asking = <T extends KubeObject>(object: T, text: string): T => ({
  ...object,
  metadata: { ...object.metadata, annotations: { [GATEWAY]: text } },
});
const secondary = layer3('blue/routed', '10.20.0.0/16/24', 'Secondary');
const ask = (store: Store, text: string | null): Promise<unknown> =>
  store.patch(
    userDefinedNetworks,
    'blue/routed',
    { metadata: { annotations: { [GATEWAY]: text } } },
    USER,
  );
const ofNad = async (store: Store, key = 'blue/routed'): Promise<string | undefined> =>
  (await store.get(networkAttachmentDefinitions, key))?.metadata.annotations?.[GATEWAY];
const condition = (object: UserDefinedNetwork | undefined): string => {
  const found = object?.status?.conditions?.find(({ type }) => type === 'SecondaryGatewayAccepted');
  return found === undefined ? 'none' : `${found.status} ${found.reason}: ${found.message}`;
};
const told = async (store: Store, key = 'blue/routed'): Promise<string> =>
  condition(await store.get(userDefinedNetworks, key));

test('its NAD has what the object asks for, until the object asks no more', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, namespace('blue', {}), asking(secondary, '{"routes": ["203.0.113.0/24"]}'));
  await running.settled();
  expect(await ofNad(store)).toBe('{"routes":["203.0.113.0/24"]}');
  expect(await told(store)).toMatch(/^True SecondaryGatewayAccepted: Pods leave/);
  await ask(store, '{}');
  await running.settled();
  expect(await ofNad(store)).toBe('{"routes":[]}');
  await ask(store, null);
  await running.settled();
  expect(await ofNad(store)).toBeUndefined();
  expect(await told(store)).toBe('none');
});

test('what can not be used is told, opens nothing, and takes away nothing', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, namespace('blue', {}), asking(secondary, '{"routes": ["10.96.0.0/24"]}'));
  await running.settled();
  expect(await ofNad(store)).toBeUndefined();
  expect(await told(store)).toMatch(
    /^False InvalidSecondaryGateway: .*"10\.96\.0\.0\/24" covers or is in the service subnet 10\.96\.0\.0\/16/,
  );
  await ask(store, '{}');
  await running.settled();
  await ask(store, 'yes');
  await running.settled();
  expect(await ofNad(store)).toBe('{"routes":[]}');
  expect(await told(store)).toMatch(/^False InvalidSecondaryGateway: .*what was in force before/);
});

test('a network that has one anyway, or can have none, says so', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(
    store,
    namespace('blue'),
    asking(layer3('blue/own', '10.30.0.0/16/24'), '{}'),
    asking(
      {
        apiVersion: 'k8s.ovn.org/v1alpha1',
        kind: 'OVNSecondaryNetwork',
        metadata: { namespace: 'blue', name: 'mesh' },
        spec: { subnet: '10.50.0.0/24' },
      },
      '{}',
    ),
  );
  await running.settled();
  expect(await told(store, 'blue/own')).toContain('what a primary network has anyway');
  const mesh = await store.get(ovnSecondaryNetworks, 'blue/mesh');
  expect(mesh?.status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'SecondaryGatewayAccepted', status: 'False' }),
  );
  for (const key of ['blue/own', 'blue/mesh']) expect(await ofNad(store, key)).toBeUndefined();
});

test('a Layer2 network has room for a router, and keys of it, if it is made with one, and keeps them', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  const flat = layer2('blue/flat', '10.40.0.0/16', 'Secondary');
  await apply(store, namespace('blue', {}), asking(flat, '{}'));
  await running.settled();
  const nad = () => store.get(networkAttachmentDefinitions, 'blue/flat');
  const made = await nad();
  expect(JSON.parse(made?.spec?.config ?? '')).toMatchObject({ hasRouter: true });
  const keys = made?.metadata.annotations?.['k8s.ovn.org/tunnel-keys'];
  expect(JSON.parse(keys ?? '')).toHaveLength(2);
  expect(await told(store, 'blue/flat')).toMatch(/^True/);
  const patch = (text: string | null): Promise<unknown> =>
    store.patch(
      userDefinedNetworks,
      'blue/flat',
      { metadata: { annotations: { [GATEWAY]: text } } },
      USER,
    );
  await patch(null);
  await running.settled();
  const without = await nad();
  expect(without?.spec).toEqual(made?.spec);
  expect(await ofNad(store, 'blue/flat')).toBeUndefined();
  await patch('{}');
  await running.settled();
  expect(await ofNad(store, 'blue/flat')).toBe('{"routes":[]}');
});

test('one that is made without has none later, for a pod may have the address of the router', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, namespace('blue', {}), layer2('blue/flat', '10.40.0.0/16', 'Secondary'));
  await running.settled();
  await store.patch(
    userDefinedNetworks,
    'blue/flat',
    { metadata: { annotations: { [GATEWAY]: '{}' } } },
    USER,
  );
  await running.settled();
  expect(await ofNad(store, 'blue/flat')).toBeUndefined();
  const { spec } = (await store.get(networkAttachmentDefinitions, 'blue/flat')) ?? {};
  expect(JSON.parse(spec?.config ?? '')).not.toHaveProperty('hasRouter');
  expect(await told(store, 'blue/flat')).toMatch(/^False.*made without it/);
});
