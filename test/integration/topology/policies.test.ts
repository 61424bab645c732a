import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAdminPolicy } from '../../../src/model/read/admin-policies.ts';
import type { Policy } from '../../../src/model/read/policies.ts';
import { readPolicy } from '../../../src/model/read/policies.ts';
import type { Attachment, PodFacts } from '../../../src/model/model.ts';
import { adminPolicy, networkPolicy } from '../../support/zone/policed-zone.ts';
import { macOf } from '../../support/zone/layer3-by-hand.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import { bluePod, exampleZone, type Zone } from '../../support/zone/zones.ts';

const NETWORK = 'blue_blue_ovn-worker';

const read = (name: string, spec: object): Policy => {
  const reading = readPolicy(networkPolicy(`blue/${name}`, spec));
  if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));
  return reading.value;
};

const attachment = (pod: string, address: string): Attachment => ({
  ...bluePod,
  pod,
  macAddress: macOf(address),
  addresses: [`${address}/24`],
});
const labelled = (name: string, labels: Record<string, string>): PodFacts => ({
  namespace: 'blue',
  name,
  node: 'ovn-worker',
  labels,
  namedPorts: name === 'web' ? [{ name: 'http', protocol: 'TCP', port: 8080 }] : [],
});

const ADDRESSES = { web: '103.103.0.4', friend: '103.103.0.5', stranger: '103.103.0.6' } as const;
type Name = keyof typeof ADDRESSES;

const zone: Zone = {
  ...exampleZone,
  attachments: Object.entries(ADDRESSES).map(([name, address]) => attachment(name, address)),
  pods: [
    labelled('web', { app: 'web' }),
    labelled('friend', { role: 'friend' }),
    labelled('stranger', {}),
  ],
};

const web = read('web', {
  podSelector: { matchLabels: { app: 'web' } },
  ingress: [
    {
      from: [{ podSelector: { matchLabels: { role: 'friend' } } }],
      ports: [{ port: 80 }, { port: 90, endPort: 99 }, { port: 'http' }],
    },
    {
      from: [{ ipBlock: { cidr: '103.103.0.0/16', except: ['103.103.0.5/32'] } }],
      ports: [{ port: 443 }],
    },
  ],
  egress: [{ ports: [{ protocol: 'UDP', port: 53 }] }],
});

let ovn: OvnZone;

beforeAll(async () => {
  ovn = await OvnZone.start();
});

afterAll(async () => {
  await ovn[Symbol.asyncDispose]();
});

/** Whether the first packet of a connection arrives. */
async function reaches(from: Name, to: Name, rest: string, at = ovn): Promise<boolean> {
  const [src, dst] = [ADDRESSES[from], ADDRESSES[to]];
  const steps = await at.trace(
    NETWORK,
    `inport=="blue.blue_blue_${from}" && eth.src==${macOf(src)} && eth.dst==${macOf(dst)} && ip4.src==${src} && ip4.dst==${dst} && ip.ttl==64 && ${rest}`,
  );
  return steps.some((step) => step.startsWith(`output("blue.blue_blue_${to}"`));
}

const PACKETS: readonly (readonly [Name, Name, string, boolean])[] = [
  ['friend', 'web', 'tcp.dst==80', true],
  ['friend', 'web', 'tcp.dst==95', true],
  ['friend', 'web', 'tcp.dst==8080', true],
  ['friend', 'web', 'tcp.dst==81', false],
  ['friend', 'web', 'udp.dst==80', false],
  ['friend', 'web', 'icmp4', false],
  ['friend', 'web', 'tcp.dst==443', false],
  ['stranger', 'web', 'tcp.dst==443', true],
  ['stranger', 'web', 'tcp.dst==80', false],
  ['web', 'stranger', 'udp.dst==53', true],
  ['web', 'stranger', 'tcp.dst==53', false],
  ['stranger', 'friend', 'tcp.dst==1', true],
];

const verdicts = async (): Promise<boolean[]> => {
  const found: boolean[] = [];
  for (const [from, to, rest] of PACKETS) found.push(await reaches(from, to, rest));
  return found;
};

test('ovn-northd makes of the rows of a policy what the policy means, and has nothing to say against them', async () => {
  expect(await ovn.apply(zone)).toEqual([]);
  expect(await verdicts()).toEqual(PACKETS.map(() => true));

  expect(await ovn.apply({ ...zone, policies: [web] })).toEqual([]);
  expect(await verdicts()).toEqual(PACKETS.map(([, , , arrives]) => arrives));
  expect(ovn.planOf({ ...zone, policies: [web] }, 'Northbound')).toMatchObject({
    isEmpty: true,
    problems: [],
  });
  expect(ovn.warnings().filter((warning) => !warning.includes('rtoe-GR_'))).toEqual([]);

  // What a label changes is what is in a set: no ACL is touched.
  const stranger = (zone.pods ?? []).map((pod) =>
    pod.name === 'stranger' ? { ...pod, labels: { role: 'friend' } } : pod,
  );
  const befriended = { ...zone, policies: [web], pods: stranger };
  const plan = ovn.planOf(befriended, 'Northbound');
  expect(plan.changes.map(({ table, action }) => `${action} ${table}`)).toEqual([
    'update Address_Set',
  ]);
  await ovn.apply(befriended);
  expect(await reaches('stranger', 'web', 'tcp.dst==80')).toBe(true);

  expect(await ovn.apply(zone)).toEqual([]);
  expect(await verdicts()).toEqual(PACKETS.map(() => true));
  for (const table of ['ACL', 'Port_Group', 'Address_Set'])
    expect(await ovn.nbctl('--columns=external_ids', 'list', table)).not.toContain('NetworkPolicy');
});

test('ICMP passes, and what is let through is not tracked, where the cluster is set so', async () => {
  await using free = await OvnZone.start();
  const freed: Zone = {
    ...zone,
    settings: {
      ...zone.settings,
      policies: {
        passesIcmp: true,
        allowsStateless: true,
        mostFlows: 10_000,
        mostFirewallFlows: 200_000,
        mostQosFlows: 100_000,
      },
    },
    policies: [{ ...web, isStateless: true }],
  };
  expect(await free.apply(freed)).toEqual([]);
  expect(await reaches('friend', 'web', 'icmp4', free)).toBe(true);
  expect(await reaches('friend', 'web', 'tcp.dst==80', free)).toBe(true);
  expect(await reaches('stranger', 'web', 'tcp.dst==80', free)).toBe(false);
  expect(await free.nbctl('--bare', '--columns=action', 'list', 'ACL')).toContain(
    'allow-stateless',
  );
  expect(free.warnings().filter((warning) => !warning.includes('rtoe-GR_'))).toEqual([]);
});

test('policies of administrators come before those of namespaces, on a primary network too', async () => {
  const reading = readAdminPolicy(
    adminPolicy('guard', {
      priority: 3,
      subject: { namespaces: {} },
      ingress: [
        {
          action: 'Pass',
          from: [
            { pods: { namespaceSelector: {}, podSelector: { matchLabels: { role: 'friend' } } } },
          ],
        },
        { action: 'Deny', from: [{ namespaces: {} }], ports: [{ portNumber: { port: 443 } }] },
      ],
      egress: [{ action: 'Deny', to: [{ networks: ['103.103.0.5/32'] }] }],
    }),
  );
  if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));
  const guarded = { ...zone, policies: [web], admins: [reading.value] };
  expect(await ovn.apply(guarded)).toEqual([]);
  expect(await reaches('friend', 'web', 'tcp.dst==80')).toBe(true);
  expect(await reaches('friend', 'web', 'tcp.dst==81')).toBe(false);
  expect(await reaches('stranger', 'web', 'tcp.dst==443')).toBe(false);
  expect(await reaches('stranger', 'friend', 'udp.dst==1')).toBe(false);
  expect(await reaches('friend', 'stranger', 'tcp.dst==1')).toBe(true);
  expect(ovn.warnings().filter((warning) => !warning.includes('rtoe-GR_'))).toEqual([]);
  expect(await ovn.apply(zone)).toEqual([]);
  expect(await ovn.nbctl('--columns=external_ids', 'list', 'ACL')).not.toContain('AdminNetwork');
});

test('a node that administrators deny is denied at its port on the network of pods, too', async () => {
  const reading = readAdminPolicy(
    adminPolicy('nodes', {
      priority: 3,
      subject: { namespaces: {} },
      egress: [{ action: 'Deny', to: [{ nodes: {} }] }],
    }),
  );
  if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));
  const port = '103.103.0.2';
  const reachesNode = async (...options: readonly string[]): Promise<boolean> => {
    const [src, mac] = [ADDRESSES.friend, macOf(port)];
    const steps = await ovn.trace(
      NETWORK,
      `inport=="blue.blue_blue_friend" && eth.src==${macOf(src)} && eth.dst==${mac} && ip4.src==${src} && ip4.dst==${port} && ip.ttl==64 && tcp.dst==22`,
      ...options,
    );
    return steps.some((step) => step.startsWith('output("k8s-blue_blue_ovn-worker"'));
  };
  expect(await ovn.apply(zone)).toEqual([]);
  expect(await reachesNode()).toBe(true);
  const nodeLabels = [{ name: 'ovn-worker', labels: {} }];
  expect(await ovn.apply({ ...zone, nodeLabels, admins: [reading.value] })).toEqual([]);
  expect(await reachesNode()).toBe(false);
  // Answers to who began on the node, as kubelets' probes do, arrive.
  expect(await reachesNode('--ct=est,rpl', '--ct=est,rpl')).toBe(true);
  expect(await reaches('friend', 'web', 'tcp.dst==80')).toBe(true);
  expect(await ovn.apply(zone)).toEqual([]);
});

test('a tenant whose selector has the 64-bit FNV-1a hash of another one puts nobody into its set', async () => {
  const crafted = { key: 'c9dvbytidanzgzcxq9waitqpdjt7un', operator: 'DoesNotExist' } as const;
  const mallory = readPolicy(
    networkPolicy('mallory/p', {
      podSelector: {},
      ingress: [
        { from: [{ namespaceSelector: { matchExpressions: [crafted] }, podSelector: {} }] },
      ],
    }),
  );
  if (mallory.kind !== 'value') throw new Error(JSON.stringify(mallory));
  const networks = zone.networks.map((network) =>
    network.name === 'blue_blue'
      ? { ...network, namespaces: ['blue', 'mallory'], nads: ['blue/blue', 'mallory/blue'] }
      : network,
  );
  const pods = zone.pods ?? [];
  const shared: Zone = {
    ...zone,
    networks,
    namespaces: [...zone.namespaces, 'mallory'],
    attachments: [
      ...zone.attachments,
      { ...attachment('thief', '103.103.0.7'), namespace: 'mallory', nadKey: 'mallory/blue' },
    ],
    pods: [...pods, { ...labelled('thief', {}), namespace: 'mallory' }],
    policies: [web, mallory.value],
  };
  expect(await ovn.apply(shared)).toEqual([]);
  expect(await reaches('friend', 'web', 'tcp.dst==80')).toBe(true);
  expect(await reaches('stranger', 'web', 'tcp.dst==80')).toBe(false);
  expect(await ovn.apply(zone)).toEqual([]);
});
