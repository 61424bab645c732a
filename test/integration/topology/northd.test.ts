import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import {
  blue,
  bluePod,
  bluePodDefault,
  CHASSIS_1,
  CHASSIS_2,
  defaultNetwork,
  dualZone,
  exampleZone,
  inLocalMode,
  ipv6Zone,
  networkName,
  type Zone,
} from '../../support/zone/zones.ts';

const busyZone: Zone = {
  ...exampleZone,
  attachments: [bluePod, { ...bluePodDefault, openDefaultPorts: [{ protocol: 'tcp', port: 80 }] }],
};

/** Gateway routers of user-defined networks have two addresses on purpose; northd notes which one services use. */
const isKnown = (warning: string): boolean =>
  /^Logical router port "rtoe-GR_blue_blue_ovn-worker" is configured with multiple IPv[46] addresses/.test(
    warning,
  );

/** A packet of pod1 on network blue. */
const fromPod1 = (rest: string): string =>
  `inport=="blue.blue_blue_pod1" && eth.src==0a:58:67:67:00:03 && eth.dst==0a:58:67:67:00:01 && ip4.src==103.103.0.3 && ip.ttl==64 && ${rest}`;

/** A packet to the default network's port of pod1. */
const toPod1 = (inport: string, rest: string): string =>
  `inport=="${inport}" && eth.dst==0a:58:0a:f4:00:03 && ip4.dst==10.244.0.3 && ip.ttl==64 && ${rest}`;

describe('ovn-northd and the rows of the worked example', () => {
  let ovn: OvnZone;

  beforeAll(async () => {
    ovn = await OvnZone.start();
    expect(await ovn.apply(busyZone)).toEqual([]);
  });

  afterAll(async () => {
    await ovn[Symbol.asyncDispose]();
  });

  test('northd has nothing to say against them', () => {
    expect(ovn.warnings().filter((warning) => !isKnown(warning))).toEqual([]);
  });

  test('what northd writes into the databases causes no change of ours', () => {
    expect(ovn.planOf(busyZone, 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
    expect(ovn.planOf(busyZone, 'Southbound').isEmpty).toBe(true);
  });

  test('ovn-nbctl show reads as users of ovn-kubernetes know it', async () => {
    const text = (await ovn.nbctl('show', 'blue_blue_ovn-worker')).replace(
      /[0-9a-f-]{36}/g,
      '<uuid>',
    );
    expect(text.split('\n').slice(0, 1)).toEqual(['switch <uuid> (blue_blue_ovn-worker)']);
    expect(text).toContain(
      'port stor-blue_blue_ovn-worker\n        type: router\n        router-port: rtos-blue_blue_ovn-worker\n',
    );
    expect(text).toContain(
      'port k8s-blue_blue_ovn-worker\n        addresses: ["0a:58:67:67:00:02 103.103.0.2"]\n',
    );
    expect(text).toContain(
      'port blue.blue_blue_pod1\n        addresses: ["0a:58:67:67:00:03 103.103.0.3"]\n',
    );
  });

  test('routes and policies of the distributed router', async () => {
    const words = (text: string): string[] =>
      text
        .split('\n')
        .map((line) => line.trim().replace(/\s+/g, ' '))
        .filter((line) => line !== '');
    expect(words(await ovn.nbctl('lr-route-list', 'blue_blue_ovn_cluster_router'))).toEqual([
      'IPv4 Routes',
      'Route Table <main>:',
      '10.96.0.1 103.103.0.2 dst-ip',
      '10.96.0.10 103.103.0.2 dst-ip',
      '100.65.0.2 100.65.0.2 dst-ip',
      '100.65.0.3 100.88.0.3 dst-ip',
      '103.103.1.0/24 100.88.0.3 dst-ip',
      '103.103.0.0/24 100.65.0.2 src-ip',
      '103.103.0.0/16 100.65.0.2 src-ip',
    ]);
    expect(
      words(await ovn.nbctl('lr-policy-list', 'blue_blue_ovn_cluster_router')).slice(1, 3),
    ).toEqual([
      '1004 inport == "rtos-blue_blue_ovn-worker" && ip4.dst == 169.254.0.11 /* blue_blue_ovn-worker */ reroute 103.103.0.2',
      '1004 inport == "rtos-blue_blue_ovn-worker" && ip4.dst == 172.18.0.3 /* blue_blue_ovn-worker */ reroute 103.103.0.2',
    ]);
  });

  test('transit switches have the same tunnel key on every zone, and ports of other nodes are bound to them', async () => {
    const keys = await ovn.sbctl(
      '--bare',
      '--columns=tunnel_key,external_ids',
      'list',
      'Datapath_Binding',
    );
    expect(keys).toMatch(/^16711684\ninterconn-ts=blue_blue_transit_switch/m);
    expect(keys).toMatch(/^16711683\ninterconn-ts=transit_switch/m);
    const chassis = (
      await ovn.sbctl('--bare', '--columns=_uuid', 'find', 'Chassis', `name=${CHASSIS_2}`)
    ).trim();
    expect(
      await ovn.sbctl(
        '--bare',
        '--columns=type,chassis,tunnel_key',
        'find',
        'Port_Binding',
        'logical_port=blue_blue_tstor-ovn-worker2',
      ),
    ).toBe(`remote\n${chassis}\n3\n`);
  });

  test('the own chassis keeps what ovn-controller wrote, and is told apart from remote ones', async () => {
    const chassis = await ovn.sbctl('--bare', '--columns=name,other_config', 'list', 'Chassis');
    expect(chassis.trim().split('\n\n').sort()).toEqual([
      `${CHASSIS_1}\nis-remote=false`,
      `${CHASSIS_2}\nis-remote=true`,
    ]);
  });

  test("a packet to another node's pod leaves by the transit switch", async () => {
    expect(
      await ovn.trace('blue_blue_ovn-worker', fromPod1('ip4.dst==103.103.1.5 && icmp4')),
    ).toEqual(['eth.dst = 0a:58:64:58:00:03;', 'output("blue_blue_tstor-ovn-worker2");']);
  });

  test("a packet to the world leaves by the bridge, with the network's own address", async () => {
    const steps = await ovn.trace('blue_blue_ovn-worker', fromPod1('ip4.dst==192.0.2.8 && icmp4'));
    expect(steps.slice(-2)).toEqual([
      'ct_snat(ip4.src=169.254.0.11) {',
      'output("breth0_blue_blue_ovn-worker");',
    ]);
  });

  test.each([
    ['an open service of the default network', '10.96.0.1', 'tcp && tcp.dst==443'],
    ['the node itself', '172.18.0.3', 'icmp4'],
  ])(
    'a packet to %s goes to the host, with the address by which it knows the network',
    async (_to, address, rest) => {
      const steps = await ovn.trace(
        'blue_blue_ovn-worker',
        fromPod1(`ip4.dst==${address} && ${rest}`),
      );
      expect(steps.slice(-2)).toEqual([
        'ct_snat(ip4.src=169.254.0.12) {',
        'output("k8s-blue_blue_ovn-worker");',
      ]);
    },
  );

  test("the pod's port on the default network lets in probes of its host and what is open, and lets nothing out", async () => {
    const probe = toPod1(
      'k8s-ovn-worker',
      'eth.src==0a:58:0a:f4:00:02 && ip4.src==10.244.0.2 && tcp && tcp.dst==8080',
    );
    const open = toPod1(
      'stor-ovn-worker',
      'eth.src==0a:58:0a:f4:00:01 && ip4.src==10.244.9.2 && tcp && tcp.dst==80',
    );
    const closed = toPod1(
      'stor-ovn-worker',
      'eth.src==0a:58:0a:f4:00:01 && ip4.src==10.244.9.2 && tcp && tcp.dst==81',
    );
    const out =
      'inport=="blue_pod1" && eth.src==0a:58:0a:f4:00:03 && eth.dst==0a:58:0a:f4:00:01 && ip4.src==10.244.0.3 && ip4.dst==10.244.1.5 && ip.ttl==64 && icmp4';
    expect([
      await ovn.trace('ovn-worker', probe),
      await ovn.trace('ovn-worker', open),
      await ovn.trace('ovn-worker', closed),
      await ovn.trace('ovn-worker', out),
    ]).toEqual([['output("blue_pod1");'], ['output("blue_pod1");'], [], []]);
  });
});

describe('ovn-northd and other zones', () => {
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
      { ...dualZone, settings: { ...dualZone.settings, features: multicast } },
    ],
    ['IPv6 alone', ipv6Zone],
    ['local gateway mode', inLocalMode(busyZone)],
    [
      'a secondary network',
      {
        ...exampleZone,
        networks: [
          defaultNetwork,
          { ...blue, name: networkName('blue_sec'), id: 2, role: 'secondary' as const },
        ],
      },
    ],
  ])('%s: accepted as they are', async (_name, zone) => {
    await using ovn = await OvnZone.start();
    expect(await ovn.apply(zone)).toEqual([]);
    expect(ovn.warnings().filter((warning) => !isKnown(warning))).toEqual([]);
    expect(ovn.planOf(zone, 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('in local gateway mode a packet to the world leaves through the host', async () => {
    await using ovn = await OvnZone.start();
    await ovn.apply(inLocalMode(busyZone));
    const steps = await ovn.trace('blue_blue_ovn-worker', fromPod1('ip4.dst==192.0.2.8 && icmp4'));
    expect(steps.slice(-2)).toEqual([
      'ct_snat(ip4.src=169.254.0.12) {',
      'output("k8s-blue_blue_ovn-worker");',
    ]);
  });

  test('nothing of a network remains in either database when it is gone', async () => {
    await using ovn = await OvnZone.start();
    await ovn.apply(busyZone);
    const dump = async (): Promise<string> =>
      (
        await Promise.all([
          ovn.nbctl('show'),
          ovn.sbctl('lflow-list'),
          ovn.sbctl('list', 'Port_Binding'),
        ])
      ).join('\n');
    expect(await dump()).toContain('blue_blue');
    expect(await ovn.apply({ ...exampleZone, networks: [defaultNetwork] })).toEqual([]);
    expect(await dump()).not.toContain('blue_blue');
    expect(await dump()).toContain('GR_ovn-worker');
  });
});
