/** What next hops of pods cost a node: flows of a real ovn-controller. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Attachment } from '../../../src/model/model.ts';
import { OvnController } from '../../support/zone/ovn-controller.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import { bluePod, CHASSIS_1, exampleZone, type Zone } from '../../support/zone/zones.ts';

const podsOf = (count: number): readonly Attachment[] =>
  Array.from({ length: count }, (_, index): Attachment => ({
    ...bluePod,
    pod: `pod${index}`,
    podUid: `b7a2d6c0-0000-4000-8000-${String(index).padStart(12, '0')}`,
    macAddress: `0a:58:67:67:00:${(index + 16).toString(16)}`,
    addresses: [`103.103.0.${index + 16}/24`],
  }));

let ovn: OvnZone;
let controller: OvnController;

beforeAll(async () => {
  ovn = await OvnZone.start();
  controller = await OvnController.start(ovn, {
    chassis: CHASSIS_1,
    address: '172.18.0.3',
    mappings: { physnet: 'breth0' },
    ports: { 'blue.blue_blue_pod0': podsOf(1)[0]?.podUid ?? '' },
  });
}, 60_000);
afterAll(async () => {
  await controller[Symbol.asyncDispose]();
  await ovn[Symbol.asyncDispose]();
});

async function flowsOf(zone: Zone): Promise<number> {
  expect(await ovn.apply(zone)).toEqual([]);
  await ovn.nbctl('--wait=hv', 'sync');
  return (await controller.flows()).length;
}

/** Flows of so many pods by so many next hops beyond those of the pods without. */
async function cost(pods: number, hops: number): Promise<number> {
  const zone = { ...exampleZone, attachments: podsOf(pods) };
  const without = await flowsOf(zone);
  const addresses = Array.from({ length: hops }, (_, index) => `172.18.0.${index + 50}`);
  const route = {
    name: 'gateways',
    created: '',
    namespaceSelector: {},
    hops: addresses.map((address) => ({ address, isWatched: false })),
    pods: [],
  };
  return (await flowsOf({ ...zone, externalRoutes: [route] })) - without;
}

test('a pod costs a flow for each hop, and a few besides', async () => {
  const [one, five] = [await cost(1, 1), await cost(5, 1)];
  expect((await cost(1, 8)) - one).toBe(7);
  expect((await cost(5, 8)) - five).toBe(5 * 7);
  expect((five - one) / 4).toBeLessThanOrEqual(8);
}, 60_000);
