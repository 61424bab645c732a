/** What the rules of an EgressFirewall cost a node: flows of a real ovn-controller. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readFirewall } from '../../../src/model/read/egress-firewalls.ts';
import type { EgressFirewall } from '../../../src/api/types.ts';
import type { Attachment } from '../../../src/model/model.ts';
import { OvnController } from '../../support/zone/ovn-controller.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import { bluePod, CHASSIS_1, exampleZone, type Zone } from '../../support/zone/zones.ts';

const PODS = 4;
const pods = Array.from({ length: PODS }, (_, index): Attachment => ({
  ...bluePod,
  pod: `pod${index}`,
  podUid: `b7a2d6c0-0000-4000-8000-${String(index).padStart(12, '0')}`,
  macAddress: `0a:58:67:67:00:${(index + 16).toString(16)}`,
  addresses: [`103.103.0.${index + 16}/24`],
}));
const zone: Zone = {
  ...exampleZone,
  attachments: pods,
  pods: pods.map(({ namespace, pod }) => ({
    namespace,
    name: pod,
    node: 'ovn-worker',
    labels: {},
    namedPorts: [],
  })),
};

const firewall = (egress: readonly object[]) => {
  const reading = readFirewall({
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressFirewall',
    metadata: { namespace: 'blue', name: 'default' },
    spec: { egress },
  } as unknown as EgressFirewall);
  if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));
  return [reading.value];
};

let ovn: OvnZone;
let controller: OvnController;

beforeAll(async () => {
  ovn = await OvnZone.start();
  controller = await OvnController.start(ovn, {
    chassis: CHASSIS_1,
    address: '172.18.0.3',
    mappings: { physnet: 'breth0' },
    ports: Object.fromEntries(pods.map(({ pod, podUid }) => [`blue.blue_blue_${pod}`, podUid])),
  });
  expect(await ovn.apply(zone)).toEqual([]);
  await ovn.nbctl('--wait=hv', 'sync');
}, 60_000);

afterAll(async () => {
  await controller[Symbol.asyncDispose]();
  await ovn[Symbol.asyncDispose]();
});

/** Of the rows that pass packets of pods on from two earlier tiers: a flow for each pod, once per firewall. */
const PASSES = 2 * PODS;

/** Flows that the rules of the firewall cost, and what is said of it. */
async function flowsOf(egress: readonly object[]): Promise<number> {
  const before = (await controller.flows()).length;
  const problems = await ovn.apply({ ...zone, firewalls: firewall(egress) });
  expect(problems).toEqual([]);
  await ovn.nbctl('--wait=hv', 'sync');
  const after = (await controller.flows()).length;
  expect(await ovn.apply(zone)).toEqual([]);
  await ovn.nbctl('--wait=hv', 'sync');
  return after - before - PASSES;
}

const rules = (count: number, more: object = {}): object[] =>
  Array.from({ length: count }, (_, index) => ({
    type: 'Deny',
    to: { cidrSelector: `9.9.${index}.7/32` },
    ...more,
  }));

test('a rule with one destination costs a flow for each pod, twice', async () => {
  expect(await flowsOf(rules(30))).toBe(2 * 30 * PODS);
});

test('many rules that differ in their blocks alone cost a flow each, one for each pod, and one for all, twice', async () => {
  expect(await flowsOf(rules(200))).toBe(2 * (200 + PODS + 1));
  // Blocks in each other: what is within another one is no flow.
  const nested = rules(100).flatMap((rule, index) => [
    rule,
    { type: 'Deny', to: { cidrSelector: `9.9.${index}.0/24` } },
  ]);
  expect(await flowsOf(nested)).toBeLessThanOrEqual(2 * (200 + PODS + 1));
});

test('ports and what is left of a block add up to the pods', async () => {
  const ports = Array.from({ length: 20 }, (_, index) => ({
    protocol: 'TCP',
    port: 1000 * index + 1,
  }));
  const counted = 2 * (PODS + ports.length - 1);
  expect(Math.abs((await flowsOf(rules(10, { ports }))) - 10 * counted)).toBeLessThan(10 * 2 * 3);
  const block = await flowsOf([{ type: 'Deny', to: { cidrSelector: '0.0.0.0/0' } }]);
  // 103.103.0.0/16 out of everything leaves 16 prefixes.
  expect(Math.abs(block - 2 * (PODS + 16 - 1))).toBeLessThan(2 * 3);
});
