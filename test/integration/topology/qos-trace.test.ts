/** Marks that OVN gives packets by QoS rules: what ovn-trace makes of our rows. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readEgressQos, readNetworkQos, type Qos } from '../../../src/model/read/qos.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import { bluePod, dualZone, type Zone } from '../../support/zone/zones.ts';

const valueOf = (reading: ReturnType<typeof readEgressQos>): Qos =>
  reading.kind === 'value' ? reading.value : expect.unreachable(JSON.stringify(reading));
const egressQos = valueOf(
  readEgressQos({
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressQoS',
    metadata: { namespace: 'blue', name: 'default' },
    spec: {
      egress: [
        { dscp: 46, dstCIDR: '8.8.8.0/24' },
        { dscp: 10, podSelector: { matchLabels: { app: 'near' } } },
      ],
    },
  }),
);
const networkQos = valueOf(
  readNetworkQos({
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'NetworkQoS',
    metadata: { namespace: 'blue', name: 'gold' },
    spec: {
      priority: 5,
      egress: [
        { dscp: 20, classifier: { ports: [{ protocol: 'UDP', port: 53 }] } },
        {
          dscp: 30,
          classifier: {
            to: [{ podSelector: { matchLabels: { app: 'far' } } }],
            ports: [{ protocol: 'UDP' }],
          },
        },
        {
          dscp: 40,
          classifier: {
            to: [
              { ipBlock: { cidr: '9.0.0.0/8', except: ['9.9.9.9/32', '9.1.0.0/16'] } },
              { ipBlock: { cidr: 'fd00:9::/32' } },
            ],
            ports: [
              { protocol: 'TCP', port: 80 },
              { protocol: 'SCTP', port: 81 },
            ],
          },
        },
      ],
    },
  }),
);
const names = ['near', 'far'];
const zone: Zone = {
  ...dualZone,
  attachments: names.map((pod, index) => ({
    ...bluePod,
    pod,
    macAddress: `0a:58:67:67:00:1${index}`,
    addresses: [`103.103.0.1${index}/24`, `fd20:103:0:1::1${index}/64`],
  })),
  pods: names.map((name) => ({
    namespace: 'blue',
    name,
    node: 'ovn-worker',
    labels: { app: name },
    namedPorts: [],
  })),
  qoses: [egressQos, networkQos],
};

let ovn: OvnZone;
beforeAll(async () => {
  ovn = await OvnZone.start();
  expect(await ovn.apply(zone)).toEqual([]);
}, 60_000);
afterAll(() => ovn[Symbol.asyncDispose]());

const TO = {
  v4: ['ip4', '103.103.0.10', '0a:58:67:67:00:01'],
  v6: ['ip6', 'fd20:103:0:1::10', '0a:58:67:67:00:01'],
} as const;

test.each([
  ['an EgressQoS marks by address', '8.8.8.8', 'tcp', 443, 46],
  ['its other rule everything of its pod', '7.7.7.7', 'tcp', 443, 10],
  ['its other rule, of the other family too', 'fd00:7::7', 'tcp', 443, 10],
  ['a NetworkQoS comes first, by port', '8.8.8.8', 'udp', 53, 20],
  ['and by pod, its later rule before the earlier', '103.103.0.11', 'udp', 53, 30],
  ['of both families', 'fd20:103:0:1::11', 'udp', 7, 30],
  ['by block', '9.2.0.1', 'tcp', 80, 40],
  ['by block and another protocol', '9.2.0.1', 'sctp', 81, 40],
  ['by block of the other family', 'fd00:9::1', 'tcp', 80, 40],
  ['not by another port', '9.2.0.1', 'tcp', 81, 10],
  ['not what is excepted', '9.9.9.9', 'tcp', 80, 10],
  ['not what is excepted either', '9.1.2.3', 'tcp', 80, 10],
] as const)('%s: %s', async (_what, address, protocol, port, dscp) => {
  const [ip, source, gateway] = address.includes(':') ? TO.v6 : TO.v4;
  const isPod = address.endsWith('11');
  const packet = [
    'inport=="blue.blue_blue_near"',
    'eth.src==0a:58:67:67:00:10',
    `eth.dst==${isPod ? '0a:58:67:67:00:11' : gateway}`,
    `${ip}.src==${source}`,
    `${ip}.dst==${address}`,
    'ip.ttl==64',
    `${protocol}.dst==${port}`,
  ].join(' && ');
  const text = await ovn.traceText('blue_blue_ovn-worker', packet);
  expect([...text.matchAll(/ip\.dscp = (\d+)/g)].map(([, mark]) => Number(mark))).toEqual([dscp]);
});
