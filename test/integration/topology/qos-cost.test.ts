/** What QoS rules cost a node, and that a rate becomes a meter: flows of a real ovn-controller. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Qos, QosRule } from '../../../src/model/read/qos.ts';
import { ruleFlows } from '../../../src/model/rules/qos-cost.ts';
import { OvnController } from '../../support/zone/ovn-controller.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import { bluePod, CHASSIS_1, dualZone, type Zone } from '../../support/zone/zones.ts';

const PODS = 40;
const names = Array.from({ length: PODS }, (_, i) => `pod${i + 1}`);
const zone: Zone = {
  ...dualZone,
  attachments: names.map((pod, i) => ({
    ...bluePod,
    pod,
    podUid: `uid-${pod}`,
    macAddress: `0a:58:67:67:00:${(i + 10).toString(16).padStart(2, '0')}`,
    addresses: [`103.103.0.${i + 10}/24`, `fd20:103:0:1::${(i + 10).toString(16)}/64`],
  })),
  pods: names.map((name) => ({
    namespace: 'blue',
    name,
    node: 'ovn-worker',
    labels: {},
    namedPorts: [],
  })),
};
const pods = { id: 'blue_LS{}', namespace: 'blue', podSelector: {}, isLegacy: false };
const rule: QosRule = { pods, dscp: 46, to: [], ports: [] };
const block = (cidr: string, ...except: string[]): QosRule['to'][number] => ({
  kind: 'block',
  block: { cidr, except },
});

let ovn: OvnZone;
let controller: OvnController;

beforeAll(async () => {
  ovn = await OvnZone.start();
  controller = await OvnController.start(ovn, {
    chassis: CHASSIS_1,
    address: '172.18.0.3',
    mappings: { physnet: 'breth0' },
    ports: { 'blue.blue_blue_pod1': 'uid-pod1' },
  });
  expect(await ovn.apply(zone)).toEqual([]);
  await ovn.nbctl('--wait=hv', 'sync');
}, 60_000);

afterAll(async () => {
  await controller[Symbol.asyncDispose]();
  await ovn[Symbol.asyncDispose]();
});

/** Flows that rules cost beyond what is there without them, and those of them with a mark of theirs. */
async function flowsOf(
  kind: Qos['kind'],
  ...rules: readonly QosRule[]
): Promise<{ readonly more: number; readonly marking: readonly string[] }> {
  const before = (await controller.flows()).length;
  const qos: Qos = { kind, namespace: 'blue', name: 'default', created: '', priority: 1, rules };
  expect(await ovn.apply({ ...zone, qoses: [qos] })).toEqual([]);
  await ovn.nbctl('--wait=hv', 'sync');
  const flows = await controller.flows();
  expect(await ovn.apply(zone)).toEqual([]);
  await ovn.nbctl('--wait=hv', 'sync');
  return {
    more: flows.length - before,
    marking: flows.filter((one) => /IP_DSCP/.test(one)),
  };
}
const counted = (...rules: readonly QosRule[]): number =>
  rules.reduce(
    (sum, one) => sum + ruleFlows(one, { sources: 2 * PODS, destinations: 0 }, 10_000),
    0,
  );

test('of both kinds what is counted is what a node has at most, and not far from it', async () => {
  const blocks = Array.from({ length: 50 }, (_, i) => block(`198.18.${i * 2}.0/24`));
  const ports = [443, 8443, 9000].map((port) => ({ protocol: 'tcp' as const, port }));
  const cases: readonly (readonly [Qos['kind'], ...QosRule[]])[] = [
    ['EgressQoS', rule],
    ['EgressQoS', { ...rule, to: [block('fd00:1::/64')] }, { ...rule, to: [block('8.8.8.0/24')] }],
    ['NetworkQoS', { ...rule, to: [block('10.0.0.0/8', '10.1.2.3/32')] }],
    ['NetworkQoS', { ...rule, to: blocks }],
    [
      'NetworkQoS',
      { ...rule, to: [block('0.0.0.0/0', '10.0.0.0/8', '192.168.0.0/16', '172.16.0.0/12')] },
    ],
    ['NetworkQoS', { ...rule, ports }],
    [
      'NetworkQoS',
      {
        ...rule,
        to: [...blocks, block('fd00:1::/64'), block('fd00:2::/64')],
        ports: [...ports, { protocol: 'udp', port: 53 }, { protocol: 'udp', port: 54 }],
      },
    ],
  ];
  for (const [kind, ...rules] of cases) {
    const { more, marking } = await flowsOf(kind, ...rules);
    const most = counted(...rules);
    const about = JSON.stringify(rules);
    expect(marking.length, about).toBeGreaterThan(0);
    expect(more, about).toBeLessThan(most + 20);
    expect(more, about).toBeGreaterThan(0.3 * most);
  }
}, 120_000);

test('a rate is a meter of what the rule marks', async () => {
  const { marking } = await flowsOf('NetworkQoS', { ...rule, rate: 1000, burst: 100 });
  expect(marking.length).toBeGreaterThan(0);
  for (const flow of marking) expect(flow).toMatch(/meter:\d+/);
  const { marking: free } = await flowsOf('NetworkQoS', rule);
  expect(free.filter((flow) => flow.includes('meter:'))).toEqual([]);
});
