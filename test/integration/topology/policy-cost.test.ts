/** What policies that are hard on purpose cost a node: flows of a real ovn-controller, and the time until it has made them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAdminPolicy } from '../../../src/model/read/admin-policies.ts';
import { adminPolicyFlows } from '../../../src/model/rules/policy-cost.ts';
import type { Policy } from '../../../src/model/read/policies.ts';
import { readPolicy } from '../../../src/model/read/policies.ts';
import { adminPolicy, networkPolicy } from '../../support/zone/policed-zone.ts';
import { OvnController } from '../../support/zone/ovn-controller.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import { bluePod, CHASSIS_1, exampleZone, type Zone } from '../../support/zone/zones.ts';

const read = (name: string, spec: object): Policy => {
  const reading = readPolicy(networkPolicy(`blue/${name}`, spec));
  if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));
  return reading.value;
};

const zone: Zone = {
  ...exampleZone,
  attachments: [bluePod],
  pods: [{ namespace: 'blue', name: bluePod.pod, node: 'ovn-worker', labels: {}, namedPorts: [] }],
};

let ovn: OvnZone;
let controller: OvnController;

beforeAll(async () => {
  ovn = await OvnZone.start();
  controller = await OvnController.start(ovn, {
    chassis: CHASSIS_1,
    address: '172.18.0.3',
    mappings: { physnet: 'breth0' },
    ports: { 'blue.blue_blue_pod1': bluePod.podUid },
  });
  expect(await ovn.apply(zone)).toEqual([]);
  await ovn.nbctl('--wait=hv', 'sync');
}, 60_000);

afterAll(async () => {
  await controller[Symbol.asyncDispose]();
  await ovn[Symbol.asyncDispose]();
});

/** Flows that the policies cost beyond what is there without them. */
async function flowsOf(of: Pick<Zone, 'policies' | 'admins'>): Promise<number> {
  const before = (await controller.flows()).length;
  expect(await ovn.apply({ ...zone, ...of })).toEqual([]);
  await ovn.nbctl('--wait=hv', 'sync');
  const after = (await controller.flows()).length;
  expect(await ovn.apply(zone)).toEqual([]);
  await ovn.nbctl('--wait=hv', 'sync');
  return after - before;
}

/** Addresses that have no bits in common that could be put together. */
const scattered = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => {
    const value = Math.imul(i + 1, 2654435761) >>> 0;
    return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}/32`;
  });

const to = (peers: readonly object[], ports: readonly object[] = []): object => ({
  podSelector: {},
  policyTypes: ['Egress'],
  egress: [{ to: peers, ports }],
});
const tcp = [80, 443, 8080].map((port) => ({ port }));

test('twenty exceptions of a block cost as many flows as prefixes are left, not their product', async () => {
  const policy = read(
    'except',
    to([{ ipBlock: { cidr: '0.0.0.0/0', except: scattered(20) } }], tcp),
  );
  const flows = await flowsOf({ policies: [policy] });
  // 20 exceptions of 32 bits each, twice: for the first packet of a connection and for the others.
  expect(flows).toBeGreaterThan(600);
  expect(flows).toBeLessThan(2 * 20 * 32);
});

test('blocks and ports add up, so that what is counted before is what a node has then', async () => {
  const blocks = (count: number): object[] =>
    scattered(count).map((cidr) => ({ ipBlock: { cidr } }));
  const near = async (spec: object, counted: number): Promise<void> => {
    const flows = await flowsOf({ policies: [read('many', spec)] });
    expect(Math.abs(flows - counted)).toBeLessThan(0.1 * counted + 20);
  };
  await near(to(blocks(4900), tcp), 2 * (4900 + 3));
  const ranges = Array.from({ length: 100 }, (_, i) => ({
    port: 100 * i + 1,
    endPort: 100 * i + 64,
  }));
  await near(to(blocks(5), ranges), 2 * (5 + 100 * 7.8));
});

test('a policy that would cost more than it may lets nothing through, and costs nothing', async () => {
  const policy = read('greedy', to(scattered(6000).map((cidr) => ({ ipBlock: { cidr } }))));
  expect(await flowsOf({ policies: [policy] })).toBeLessThan(50);
});

test('of an administrators’ policy what is counted is what a node has at most, and not far from it', async () => {
  const networks = scattered(2500);
  const reading = readAdminPolicy(
    adminPolicy('guard', {
      priority: 1,
      subject: { namespaces: {} },
      egress: [
        {
          action: 'Deny',
          to: Array.from({ length: 100 }, (_, i) => ({
            networks: networks.slice(25 * i, 25 * (i + 1)),
          })),
          ports: [80, 443, 8080].map((port) => ({ portNumber: { protocol: 'TCP', port } })),
        },
        {
          action: 'Allow',
          to: [{ networks: networks.slice(0, 25) }],
          ports: [{ portRange: { protocol: 'UDP', start: 1, end: 1022 } }],
        },
      ],
    }),
  );
  if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));
  const counted = adminPolicyFlows(reading.value);
  const flows = await flowsOf({ admins: [reading.value] });
  expect(flows).toBeLessThan(counted + 20);
  expect(flows).toBeGreaterThan(0.4 * counted);
});

test('addresses of both families add up with ports and pods, as those of one do', async () => {
  const v6 = Array.from({ length: 100 }, (_, i) => ({
    ipBlock: { cidr: `2001:db8:${(((i + 1) * 40503) & 65535).toString(16)}::1/128` },
  }));
  const v4 = scattered(100).map((cidr) => ({ ipBlock: { cidr } }));
  const ports = Array.from({ length: 50 }, (_, i) => ({ port: 1 + 97 * i }));
  const flows = await flowsOf({ policies: [read('both', to([...v4, ...v6], ports))] });
  const counted = 2 * (200 + 2 * 50);
  expect(Math.abs(flows - counted)).toBeLessThan(0.1 * counted + 20);
});
