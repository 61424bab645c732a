/** What a change of ours makes OVN's programs work out from nothing: their engines are to take it in as it comes. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Attachment } from '../../../src/model/model.ts';
import { podPort } from '../../../src/model/rules/names.ts';
import { readPolicy, type Policy } from '../../../src/model/read/policies.ts';
import { networkPolicy } from '../../support/zone/policed-zone.ts';
import { macOf } from '../../support/zone/layer3-by-hand.ts';
import { OvnController } from '../../support/zone/ovn-controller.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import { since } from '../../support/zone/recomputes.ts';
import {
  bluePod,
  CHASSIS_1,
  exampleZone,
  yellow,
  yellowPod,
  type Zone,
} from '../../support/zone/zones.ts';

const podsOn = (like: Attachment, prefix: string, length: number): readonly Attachment[] =>
  Array.from({ length: 4 }, (_, i) => ({
    ...like,
    pod: `p${i}`,
    ...(like.tunnelId === undefined ? {} : { tunnelId: 10 + i }),
    macAddress: macOf(`${prefix}.${10 + i}`),
    addresses: [`${prefix}.${10 + i}/${length}`],
  }));
const yellowPods = podsOn(yellowPod, '105.105.0', 16);
const bluePods = podsOn(bluePod, '103.103.0', 24);
const portOf = ({ nadKey, namespace, pod }: Attachment): string => podPort(nadKey, namespace, pod);

const zone: Zone = {
  ...exampleZone,
  namespaces: [...exampleZone.namespaces, 'yellow'],
  networks: [...exampleZone.networks, yellow],
  attachments: [],
};

const read = (name: string, spec: object): Policy => {
  const reading = readPolicy(networkPolicy(`blue/${name}`, spec));
  if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));
  return reading.value;
};

let ovn: OvnZone;
let controller: OvnController;

const settle = async (wanted: Zone): Promise<void> => {
  expect(await ovn.apply(wanted)).toEqual([]);
  await ovn.nbctl('--wait=hv', 'sync');
};

beforeAll(async () => {
  ovn = await OvnZone.start();
  controller = await OvnController.start(ovn, {
    chassis: CHASSIS_1,
    address: '172.18.0.3',
    mappings: { physnet: 'breth0' },
    ports: Object.fromEntries([...bluePods, ...yellowPods].map((pod) => [portOf(pod), pod.podUid])),
  });
  await settle(zone);
}, 60_000);

afterAll(async () => {
  await controller[Symbol.asyncDispose]();
  await ovn[Symbol.asyncDispose]();
});

/** What both programs worked out from nothing for a change. */
async function causedBy(change: () => Promise<void>): Promise<object> {
  const before = [await ovn.recomputes(), await controller.recomputes()] as const;
  await change();
  const after = [await ovn.recomputes(), await controller.recomputes()] as const;
  return { northd: since(before[0], after[0]), controller: since(before[1], after[1]) };
}

test.each([
  ['Layer2', yellowPods],
  ['Layer3', bluePods],
])('a pod of this node on a %s network is taken in as it comes', async (_, pods) => {
  const [first, ...rest] = pods;
  const attachments = first === undefined ? [] : [first];
  // With the first one ovn-controller learns of the switch.
  await settle({ ...zone, attachments });
  for (const pod of rest) {
    attachments.push(pod);
    const caused = await causedBy(() => settle({ ...zone, attachments }));
    expect(caused, pod.pod).toEqual({ northd: {}, controller: {} });
  }
});

test('a zone’s own ports on a Layer2 switch have keys that no pod has', async () => {
  await settle({ ...zone, attachments: yellowPods });
  const keyOf = async (port: string): Promise<number> =>
    Number(
      await ovn.sbctl(
        '--bare',
        '--columns=tunnel_key',
        'find',
        'Port_Binding',
        `logical_port="${port}"`,
      ),
    );
  const own = 'cluster_udn_yellow.net_ovn_layer2_switch';
  expect(await keyOf(`stotr-${own}`)).toBe(32767);
  expect(await keyOf('k8s-cluster_udn_yellow.net_ovn-worker')).toBe(1);
  // The chassis' own copy of the port to the router can't be asked for: pods begin at 10.
  expect(await keyOf(`cr-stotr-${own}`)).toBeLessThan(10);
  for (const pod of yellowPods) expect(await keyOf(portOf(pod))).toBe(pod.tunnelId);
});

test('a policy costs ovn-controller nothing but its own rows, and ovn-northd at most its flows', async () => {
  const policies: Policy[] = [];
  await settle({ ...zone, attachments: bluePods });
  for (const name of ['a', 'b', 'c']) {
    policies.push(read(name, { podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] }));
    const caused = await causedBy(() => settle({ ...zone, attachments: bluePods, policies }));
    // Northd 25.03 makes all flows anew for each ACL; 26.03 does not, unless the ACL names a meter.
    expect(caused, name).toEqual({ northd: { lflow: 1 }, controller: {} });
  }
});
