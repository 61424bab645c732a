import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Attachment } from '../../../src/model/model.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import {
  bluePod,
  CHASSIS_2,
  defaultNetwork,
  dualYellow,
  dualZone,
  exampleZone,
  farYellowPod,
  inLocalMode,
  layer2Secondary,
  localnet,
  worker,
  worker2,
  yellow,
  yellowPod,
  type Zone,
} from '../../support/zone/zones.ts';

const SWITCH = 'cluster_udn_yellow.net_ovn_layer2_switch';
const FAR = farYellowPod.macAddress;

const onSecondary: Attachment = {
  ...bluePod,
  network: layer2Secondary.name,
  nadKey: 'blue/l2',
  role: 'secondary',
  macAddress: '0a:58:0a:28:00:01',
  addresses: ['10.40.0.1/16'],
  tunnelId: 1,
};
const onLocalnet: Attachment = {
  ...onSecondary,
  network: localnet.name,
  nadKey: 'blue/ln',
  macAddress: '0a:58:0a:32:01:03',
  addresses: ['10.50.1.3/16'],
};

const here: Zone = {
  ...exampleZone,
  namespaces: [...exampleZone.namespaces, 'yellow'],
  networks: [defaultNetwork, yellow, layer2Secondary, localnet],
  attachments: [yellowPod, onSecondary, onLocalnet],
  remoteAttachments: [farYellowPod],
};

/** The same network as the other node's zone has it. */
const there: Zone = {
  ...here,
  node: {
    ...worker,
    ...worker2,
    primaryAddresses: { v4: '172.18.0.4' },
    gateway: {
      ...(worker.gateway as NonNullable<typeof worker.gateway>),
      macAddress: '0a:58:ac:12:00:04',
      addresses: ['172.18.0.4/16'],
    },
  },
  remoteNodes: [worker],
  networks: [defaultNetwork, yellow],
  attachments: [farYellowPod],
  remoteAttachments: [yellowPod],
};

/**
 * Gateway routers of user-defined networks have several addresses on purpose; northd notes which one services use. The port to
 * the pods asks for a key, and so does the port that northd makes of it for the chassis: the first one has it.
 */
const isKnown = (warning: string): boolean =>
  /^Logical router port "rto(e|tr)-GR_cluster_udn_yellow.net_\S+" is configured with multiple IPv[46] addresses/.test(
    warning,
  ) ||
  warning ===
    `Logical router port trtos-${SWITCH} requests same tunnel key 1 as another LSP or LRP`;
const unknownWarnings = (ovn: OvnZone): string[] =>
  ovn.warnings().filter((warning) => !isKnown(warning));

const GATEWAY = '0a:58:69:69:00:01';
/** A packet of pod2 on network yellow-net. */
const fromPod = (rest: string, to = GATEWAY): string =>
  `inport=="yellow.yellow.net_yellow_pod2" && eth.src==0a:58:69:69:00:03 && eth.dst==${to} && ip4.src==105.105.0.3 && ip.ttl==64 && ${rest}`;

/** Tunnel keys of what both zones have, by name. */
async function sharedKeys(ovn: OvnZone): Promise<Record<string, string>> {
  const keys: Record<string, string> = {};
  const take = async (table: string, name: string, pattern: RegExp): Promise<void> => {
    const text = await ovn.sbctl('--bare', `--columns=${name},tunnel_key`, 'list', table);
    for (const record of text.trim().split('\n\n')) {
      const [names = '', key = ''] = record.split('\n');
      const found = pattern.exec(names)?.[1];
      if (found !== undefined) keys[found] = key;
    }
  };
  await take(
    'Datapath_Binding',
    'external_ids',
    /name=(cluster_udn_yellow.net_(?:ovn_layer2_switch|transit_router))/,
  );
  await take('Port_Binding', 'logical_port', /^(yellow\.\S+|trtos-cluster\S+|trtor-GR\S+)$/);
  return keys;
}

describe('ovn-northd and a Layer2 network over two zones', () => {
  let ovn: OvnZone;
  let other: OvnZone;

  beforeAll(async () => {
    ovn = await OvnZone.start();
    other = await OvnZone.start(CHASSIS_2, '172.18.0.4');
    expect(await ovn.apply(here)).toEqual([]);
    expect(await other.apply(there)).toEqual([]);
  });

  afterAll(async () => {
    await other[Symbol.asyncDispose]();
    await ovn[Symbol.asyncDispose]();
  });

  test('northd has nothing to say against it, and what it writes causes no change of ours', () => {
    expect([unknownWarnings(ovn), unknownWarnings(other)]).toEqual([[], []]);
    expect(ovn.planOf(here, 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
    expect(ovn.planOf(here, 'Southbound').isEmpty).toBe(true);
  });

  test('both zones have the same keys for the switch, the router and their ports', async () => {
    const keys = await sharedKeys(ovn);
    expect(keys).toEqual({
      [SWITCH]: '16711686',
      'cluster_udn_yellow.net_transit_router': '16715780',
      [`trtos-${SWITCH}`]: '1',
      'trtor-GR_cluster_udn_yellow.net_ovn-worker': '12',
      'trtor-GR_cluster_udn_yellow.net_ovn-worker2': '13',
      'yellow.yellow.net_yellow_pod2': '10',
      'yellow.yellow.net_yellow_far': '11',
    });
    expect(await sharedKeys(other)).toEqual(keys);
  });

  test("the other node's pod and gateway router are bound to its chassis", async () => {
    const chassis = (
      await ovn.sbctl('--bare', '--columns=_uuid', 'find', 'Chassis', `name=${CHASSIS_2}`)
    ).trim();
    for (const port of [
      'yellow.yellow.net_yellow_far',
      'trtor-GR_cluster_udn_yellow.net_ovn-worker2',
    ])
      expect(
        await ovn.sbctl(
          '--bare',
          '--columns=type,chassis',
          'find',
          'Port_Binding',
          `logical_port=${port}`,
        ),
      ).toBe(`remote\n${chassis}\n`);
  });

  test("a packet to the other node's pod leaves by its remote port, and arrives there", async () => {
    const packet = fromPod('ip4.dst==105.105.0.4 && icmp4', FAR);
    const output = ['output("yellow.yellow.net_yellow_far");'];
    expect(await ovn.trace(SWITCH, packet)).toEqual(output);
    // In the other zone the packet comes out of the tunnel, from the port that it was sent by.
    expect(await other.trace(SWITCH, packet)).toEqual(output);
  });

  test('of a virtual machine that moves here packets come to the pod in which it is', async () => {
    const machine = { name: 'vm', hasArrived: false };
    const source = { ...farYellowPod, machine };
    const arriving: Attachment = {
      ...source,
      pod: 'arriving',
      node: 'ovn-worker',
      podUid: 'b7a2d6c0-0000-4000-8000-000000000009',
      created: '2026-01-02T00:00:00Z',
      tunnelId: 12,
    };
    const moving = (target: Attachment): Zone => ({
      ...here,
      attachments: [...here.attachments, target],
      remoteAttachments: [source],
    });
    const packet = fromPod('ip4.dst==105.105.0.4 && icmp4', FAR);
    expect(await ovn.apply(moving(arriving))).toEqual([]);
    expect(await ovn.trace(SWITCH, packet)).toEqual(['output("yellow.yellow.net_yellow_far");']);
    const arrived = moving({ ...arriving, machine: { name: 'vm', hasArrived: true } });
    expect(await ovn.apply(arrived)).toEqual([]);
    expect(await ovn.trace(SWITCH, packet)).toEqual([
      'output("yellow.yellow.net_yellow_arriving");',
    ]);
    expect(ovn.planOf(arrived, 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
    expect(unknownWarnings(ovn)).toEqual([]);
    expect(await ovn.apply(here)).toEqual([]);
    expect(await ovn.trace(SWITCH, packet)).toEqual(['output("yellow.yellow.net_yellow_far");']);
  });

  test('a packet of a pod with the address of another one is dropped', async () => {
    const packet = fromPod('ip4.dst==105.105.0.4 && icmp4', FAR).replace(
      '105.105.0.3',
      '105.105.0.9',
    );
    expect(await ovn.trace(SWITCH, packet)).toEqual([]);
  });

  test("a packet to the world leaves by this node's bridge, with the network's own address", async () => {
    const steps = await ovn.trace(SWITCH, fromPod('ip4.dst==192.0.2.8 && icmp4'));
    expect(steps.slice(-2)).toEqual([
      'ct_snat(ip4.src=169.254.0.15) {',
      'output("breth0_cluster_udn_yellow.net_ovn-worker");',
    ]);
  });

  test.each([
    ['an open service of the default network', '10.96.0.1', 'tcp && tcp.dst==443'],
    ['the node itself', '172.18.0.3', 'icmp4'],
  ])(
    'a packet to %s goes to the host, with the address by which it knows the network',
    async (_to, address, rest) => {
      const steps = await ovn.trace(SWITCH, fromPod(`ip4.dst==${address} && ${rest}`));
      expect(steps.slice(-2)).toEqual([
        'ct_snat(ip4.src=169.254.0.16) {',
        'output("k8s-cluster_udn_yellow.net_ovn-worker");',
      ]);
    },
  );

  test("a packet to the other node's gateway router leaves by its port on the transit router", async () => {
    const steps = await ovn.trace(SWITCH, fromPod('ip4.dst==100.65.0.3 && icmp4'));
    expect(steps.at(-1)).toBe('output("trtor-GR_cluster_udn_yellow.net_ovn-worker2");');
  });

  test('the gateway answers in each zone, with one MAC', async () => {
    const ask = `inport=="yellow.yellow.net_yellow_pod2" && eth.src==0a:58:69:69:00:03 && eth.dst==ff:ff:ff:ff:ff:ff && arp && arp.op==1 && arp.spa==105.105.0.3 && arp.sha==0a:58:69:69:00:03 && arp.tpa==105.105.0.1 && arp.tha==00:00:00:00:00:00`;
    expect(await ovn.trace(SWITCH, ask)).toEqual([
      `eth.dst = 0a:58:69:69:00:03;`,
      'output("yellow.yellow.net_yellow_pod2");',
    ]);
  });

  test('a packet on the localnet network leaves by the physical one', async () => {
    const packet =
      'inport=="blue.ln_blue_pod1" && eth.src==0a:58:0a:32:01:03 && eth.dst==02:00:00:00:00:01 && ip4.src==10.50.1.3 && ip4.dst==10.50.9.9 && ip.ttl==64 && icmp4';
    expect(await ovn.trace('blue_ln_ovn_localnet_switch', packet)).toEqual([
      'output("blue_ln_ovn_localnet_port");',
    ]);
    expect(
      await ovn.sbctl(
        '--bare',
        '--columns=tag,options',
        'find',
        'Port_Binding',
        'logical_port=blue_ln_ovn_localnet_port',
      ),
    ).toBe('50\nnetwork_name=tenants\n');
  });
});

describe('ovn-northd and other Layer2 networks', () => {
  const multicast = {
    egressIp: true,
    egressFirewall: true,
    egressService: true,
    externalRoutes: true,
    multicast: true,
  };

  test.each([
    [
      'both families, multicast',
      {
        ...dualZone,
        namespaces: here.namespaces,
        settings: { ...dualZone.settings, features: multicast },
        networks: [...dualZone.networks.slice(0, 1), dualYellow],
        attachments: [{ ...yellowPod, addresses: ['105.105.0.3/16', 'fd20:105::3/64'] }],
      },
    ],
    ['local gateway mode', inLocalMode(here)],
    [
      'without subnets',
      {
        ...exampleZone,
        networks: [
          defaultNetwork,
          { ...layer2Secondary, subnets: [] },
          { ...localnet, subnets: [], excludeSubnets: [] },
        ],
        attachments: [
          { ...onSecondary, addresses: [] },
          { ...onLocalnet, addresses: [] },
        ],
      },
    ],
  ] as const)('%s: accepted as they are', async (_name, zone: Zone) => {
    await using ovn = await OvnZone.start();
    expect(await ovn.apply(zone)).toEqual([]);
    expect(unknownWarnings(ovn)).toEqual([]);
    expect(ovn.planOf(zone, 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('in local gateway mode a packet to the world leaves through the host; nothing remains when all is gone', async () => {
    await using ovn = await OvnZone.start();
    await ovn.apply(inLocalMode(here));
    const steps = await ovn.trace(SWITCH, fromPod('ip4.dst==192.0.2.8 && icmp4'));
    expect(steps.slice(-2)).toEqual([
      'ct_snat(ip4.src=169.254.0.16) {',
      'output("k8s-cluster_udn_yellow.net_ovn-worker");',
    ]);
    await ovn.apply(inLocalMode({ ...exampleZone, networks: [defaultNetwork] }));
    const left = await Promise.all([ovn.nbctl('show'), ovn.sbctl('list', 'Port_Binding')]);
    expect(left.join('\n')).not.toMatch(/yellow|blue_l2|blue_ln/);
  });
});
