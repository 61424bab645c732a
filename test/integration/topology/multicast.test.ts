import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Attachment } from '../../../src/model/model.ts';
import { macOf } from '../../support/zone/layer3-by-hand.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import { blue, bluePod, defaultNetwork, exampleZone, type Zone } from '../../support/zone/zones.ts';

/** Network blue_blue with pods of two namespaces. */
const shared = { ...blue, nads: ['blue/blue', 'red/blue'], namespaces: ['blue', 'red'] };

const attachment = (namespace: string, pod: string, address: string): Attachment => ({
  ...bluePod,
  namespace,
  pod,
  nadKey: `${namespace}/blue`,
  macAddress: macOf(address),
  addresses: [`${address}/24`],
});
const SENDER = '103.103.0.4';

const zone: Zone = {
  ...exampleZone,
  settings: {
    ...exampleZone.settings,
    features: { ...exampleZone.settings.features, multicast: true },
  },
  namespaces: [...exampleZone.namespaces, 'red'],
  networks: [defaultNetwork, shared],
  attachments: [
    attachment('blue', 'sender', SENDER),
    attachment('blue', 'listener', '103.103.0.5'),
    attachment('red', 'stranger', '103.103.0.6'),
  ],
  pods: [
    ['blue', 'sender'],
    ['blue', 'listener'],
    ['red', 'stranger'],
  ].map(([namespace = '', name = '']) => ({
    namespace,
    name,
    node: 'ovn-worker',
    labels: {},
    namedPorts: [],
  })),
};

let ovn: OvnZone;

beforeAll(async () => {
  ovn = await OvnZone.start();
});

afterAll(async () => {
  await ovn[Symbol.asyncDispose]();
});

/** Ports of pods that get a multicast packet of blue/sender: to a group that is flooded whoever listens. */
async function receivers(): Promise<string[]> {
  const steps = await ovn.trace(
    'blue_blue_ovn-worker',
    `inport=="blue.blue_blue_sender" && eth.src==${macOf(SENDER)} && eth.dst==01:00:5e:00:00:fb && ip4.src==${SENDER} && ip4.dst==224.0.0.251 && ip.ttl==1 && udp.dst==5353`,
  );
  return steps.map((step) => /^output\("(.*)"\)/.exec(step)?.[1] ?? step).sort();
}

test('multicast reaches the pods of a namespace while it asks for it, and those of no other', async () => {
  expect(await ovn.apply(zone)).toEqual([]);
  expect(await receivers()).toEqual([]);

  const asking = { ...zone, multicastNamespaces: ['blue'] };
  expect(await ovn.apply(asking)).toEqual([]);
  expect(await receivers()).toEqual(['blue.blue_blue_listener']);
  expect(ovn.planOf(asking, 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
  expect(ovn.warnings().filter((warning) => !warning.includes('rtoe-GR_'))).toEqual([]);

  // Both ask: each still gets that of its own.
  expect(await ovn.apply({ ...zone, multicastNamespaces: ['blue', 'red'] })).toEqual([]);
  expect(await receivers()).not.toContain('red.blue_red_stranger');

  expect(await ovn.apply(zone)).toEqual([]);
  expect(await receivers()).toEqual([]);
  expect(await ovn.nbctl('--columns=external_ids', 'list', 'ACL')).not.toContain('MulticastNS');
});
