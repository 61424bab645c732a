import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  bridgeZone,
  dualBridgeZone,
  inVlan,
  patchPortOf,
  servingZone,
  VLAN,
} from '../../../support/host/bridge-zones.ts';
import { BRIDGE, KeptBridge, MAC } from '../../../support/host/kept-bridge.ts';
import { service, slice, withServices } from '../../../support/zone/services.ts';
import { until } from '../../../support/run/until.ts';
import { inLocalMode, type Zone } from '../../../support/zone/zones.ts';

const BROADCAST = 'ff:ff:ff:ff:ff:ff';
const STRANGER = '02:00:00:00:00:99';
const IN_VLAN = [`tag=${VLAN}`, 'vlan_mode=native-untagged'];
const TAGGED = `dl_vlan=${VLAN},`;
/** Options of a trace through connections of these states. */
const states = (...names: string[]): string[] => names.flatMap((name) => ['--ct-next', name]);

/** A service of network B, and one that the host itself serves. */
const serving = withServices(
  bridgeZone,
  service('blue/web', {
    type: 'NodePort',
    clusterIPs: ['10.96.1.3'],
    externalIPs: ['5.5.5.5'],
    ports: [{ port: 80, nodePort: 30_081 }],
  }),
  slice('blue/web', ['10.20.1.3 on ovn-worker'], { network: 'blue_l3net' }),
  service('kube-system/agent', {
    type: 'NodePort',
    clusterIPs: ['10.96.0.7'],
    externalTrafficPolicy: 'Local',
    ports: [{ port: 80, nodePort: 30_090 }],
  }),
  slice('kube-system/agent', ['172.18.0.3 on ovn-worker']),
);

describe('the external bridge with the gateway in a VLAN (reference/node.md §4.1)', () => {
  const signal = AbortSignal.timeout(240_000);
  let kept: KeptBridge;

  beforeEach(async () => {
    kept = await KeptBridge.start(signal);
  });
  afterEach(() => kept[Symbol.asyncDispose]());

  const setUp = async (zone: Zone): Promise<void> => {
    await kept.make(zone);
    await kept.vswitchd.vsctl('set', 'Port', BRIDGE, ...IN_VLAN);
    kept.units.want(inVlan(zone));
    await until('ports', async () => (await kept.settled()).problems.length === 0);
  };

  /** Who gets a packet, and in which VLAN: `1@5`, `LOCAL`; `NORMAL`, where the bridge switches it. */
  const outputs = async (packet: string, ...options: string[]): Promise<readonly string[]> => {
    const text = await kept.vswitchd.trace(BRIDGE, packet, ...options);
    let vlan = /\bdl_vlan=(\d+)/.exec(packet)?.[1];
    const found = new Set<string>();
    for (const line of text.split('\n')) {
      const [, action = ''] =
        /^ +(pop_vlan|set_field:\d+->vlan_vid|output:\w+|LOCAL|NORMAL)$/.exec(line) ?? [];
      if (action === 'pop_vlan') vlan = undefined;
      if (action.startsWith('set_field')) vlan = String(Number(/\d+/.exec(action)?.[0]) - 0x1000);
      const port = /^(?:output:)?(\w+)$/.exec(action)?.[1];
      if (port === undefined || port === 'pop_vlan') continue;
      found.add(vlan === undefined ? port : `${port}@${vlan}`);
    }
    return [...found];
  };
  /** Ports that the bridge itself chose, as the datapath numbers them, and with the tags that it put on and took off. */
  const switched = async (packet: string): Promise<string> =>
    /Datapath actions: (.*)/.exec(await kept.vswitchd.trace(BRIDGE, packet))?.[1] ?? '';

  const tcp = (addresses: string, ports = 'tp_src=4000,tp_dst=80'): string =>
    `tcp,${addresses},${ports},nw_ttl=60`;
  const inwards = (number: number): string =>
    `in_port=1,dl_src=${STRANGER},dl_dst=${MAC},${tcp('nw_src=8.8.8.8,nw_dst=172.18.0.3', `tp_src=4000,tp_dst=${number}`)}`;
  const outwards = (
    port: number | string,
    source: string,
    more = 'tp_src=4000,tp_dst=80',
  ): string =>
    `in_port=${port},dl_src=${MAC},dl_dst=${STRANGER},${tcp(`nw_src=${source},nw_dst=8.8.8.8`, more)}`;

  test.for([
    ['shared gateway', dualBridgeZone],
    ['local gateway', inLocalMode(dualBridgeZone)],
    ['services', servingZone],
  ] as const)('has flows that are found as they were written (%s)', async ([, zone]) => {
    await setUp(zone);
    expect((await kept.vswitchd.flows(BRIDGE)).length).toBeGreaterThan(60);
    expect(await kept.settled()).toEqual({ applied: 0, problems: [] });
  });

  test('packets are tagged at the uplink and at patch ports, and not at the host; replies find the network that has their mark', async () => {
    await setUp(bridgeZone);
    // Out.
    expect(await outputs(TAGGED + outwards(3, '169.254.0.13'))).toEqual(['1@5']);
    expect(await outputs(TAGGED + outwards(2, '172.18.0.3'))).toEqual(['1@5']);
    expect(await outputs(outwards('LOCAL', '172.18.0.3'))).toEqual(['1@5']);
    // Back.
    const reply = (mark: string): Promise<readonly string[]> =>
      outputs(`${TAGGED}${inwards(4000)},ct_mark=${mark}`, ...states('trk,est,rpl'));
    expect(await reply('0x5')).toEqual(['3@5']);
    expect(await reply('0x6')).toEqual(['4@5']);
    expect(await reply('0x1')).toEqual(['2@5']);
    expect(await reply('0x2')).toEqual(['LOCAL']);
    // What belongs to no connection is the host's.
    expect(await outputs(TAGGED + inwards(22), ...states('trk,new'))).toEqual(['LOCAL']);
    // Tunnels.
    const tunnel = `dl_src=${STRANGER},dl_dst=${MAC},udp,nw_src=172.18.0.2,nw_dst=172.18.0.3,udp_dst=6081`;
    expect(await outputs(`${TAGGED}in_port=1,${tunnel}`)).toEqual(['LOCAL']);
    expect(await outputs(`in_port=LOCAL,${tunnel}`)).toEqual(['1@5']);
  });

  test('frames of other VLANs, and those without one, are switched, and no network sends or gets them', async () => {
    await setUp(bridgeZone);
    for (const other of ['', 'dl_vlan=6,']) {
      expect(await switched(other + outwards(3, '169.254.0.13'))).toBe('drop');
      expect(await switched(other + outwards(2, '172.18.0.3'))).toBe('drop');
      const arp = `dl_src=${MAC},dl_dst=${BROADCAST},arp,arp_op=1,arp_spa=172.18.0.3,arp_tpa=172.18.0.1`;
      expect(await switched(`${other}in_port=3,${arp}`)).toBe('drop');
      expect(await outputs(`${other}${inwards(4000)},ct_mark=0x5`)).toEqual([
        other === '' ? 'NORMAL' : 'NORMAL@6',
      ]);
    }
    // The host may have other VLANs as devices of its own.
    expect(await outputs(`dl_vlan=6,${outwards('LOCAL', '192.0.2.3')}`)).toEqual(['NORMAL@6']);
  });

  test('the host reaches services, and OVN the host, with and without a tag', async () => {
    await setUp({
      ...bridgeZone,
      allowedDefaultServices: [{ key: 'default/kubernetes', clusterIps: ['10.96.0.1'] }],
    });
    const toService = (address: string, more = ''): string =>
      `in_port=LOCAL,dl_src=${MAC},dl_dst=${STRANGER},${tcp(`nw_src=172.18.0.3,nw_dst=${address}`)}${more}`;
    expect(await outputs(toService('10.96.1.3'), ...states('trk,new'))).toEqual(['2@5']);
    expect(await outputs(toService('10.96.0.1'), ...states('trk,new'))).toEqual(['2@5']);
    expect(await outputs(toService('10.96.1.3', ',pkt_mark=0x1002'), ...states('trk,new'))).toEqual(
      ['3@5'],
    );
    // A service's answer to the host, and a service whose endpoint is the host.
    const fromOvn = (source: string, target: string): string =>
      `${TAGGED}in_port=3,dl_src=${MAC},dl_dst=${MAC},${tcp(`nw_src=${source},nw_dst=${target}`)}`;
    expect(await outputs(fromOvn('10.96.1.3', '169.254.0.2'), ...states('trk,est'))).toEqual([
      'LOCAL',
    ]);
    expect(
      await outputs(fromOvn('172.18.0.3', '169.254.0.2'), ...states('trk,new', 'trk,new')),
    ).toEqual(['LOCAL']);
    // The host's answer.
    const answer = `in_port=LOCAL,dl_src=${MAC},dl_dst=${MAC},${tcp('nw_src=172.18.0.3,nw_dst=169.254.0.1')}`;
    expect(await outputs(answer, ...states('trk,est', 'trk,est'))).toEqual(['2@5']);
  });

  test('services are reached from outside, and answer with the address that was asked', async () => {
    await setUp(serving);
    expect(await outputs(TAGGED + inwards(30_081), ...states('trk,new'))).toEqual(['3@5']);
    expect(await outputs(TAGGED + outwards(3, '172.18.0.3', 'tp_src=30081,tp_dst=4000'))).toEqual([
      '1@5',
    ]);
    // An endpoint of the host itself.
    expect(await outputs(TAGGED + inwards(30_090), ...states('trk,new', 'trk,new'))).toEqual([
      'LOCAL',
    ]);
    expect(
      await outputs(
        outwards('LOCAL', '172.18.0.3', 'tp_src=8080,tp_dst=4000'),
        ...states('trk,est'),
      ),
    ).toEqual(['1@5']);
    // Who asks for the external address asks the host.
    expect(
      await outputs(
        `${TAGGED}in_port=1,dl_src=${STRANGER},dl_dst=${BROADCAST},arp,arp_op=1,arp_spa=172.18.0.1,arp_tpa=5.5.5.5`,
      ),
    ).toEqual(['LOCAL']);
  });

  test('in local gateway mode what is too large for a network goes to the host without a tag, and the rest to the network with it', async () => {
    await setUp(inLocalMode(bridgeZone));
    const reply = `${TAGGED}${inwards(4000)},ct_mark=0x5`;
    expect(await outputs(reply, ...states('trk,est,rpl'))).toEqual(['LOCAL', '3@5']);
    const text = await kept.vswitchd.trace(BRIDGE, reply, ...states('trk,est,rpl'));
    // Nothing but the number of the host's port; what goes to patch ports ends in br-int here.
    expect(text).toMatch(/Datapath actions: pop_vlan,check_pkt_len\(size=1414,gt\(\d+\),/);
  });

  test('broadcasts and answers of neighbours reach the host without a tag, and networks with it', async () => {
    await setUp(dualBridgeZone);
    const arp = `dl_src=${STRANGER},dl_dst=${BROADCAST},arp,arp_op=1,arp_spa=172.18.0.1,arp_tpa=172.18.0.77`;
    const everybody = await switched(`${TAGGED}in_port=1,${arp}`);
    const host = /^pop_vlan,(\d+)/.exec(everybody)?.[1];
    expect(host).toBeDefined();
    expect(await switched(`in_port=1,${arp}`)).not.toMatch(new RegExp(`\\b${host}\\b`));
    // The host asks.
    const uplink = await switched(
      `in_port=LOCAL,dl_src=${MAC},dl_dst=${BROADCAST},arp,arp_op=1,arp_spa=172.18.0.3,arp_tpa=172.18.0.1`,
    );
    expect(uplink).toMatch(/^push_vlan\(vid=5,pcp=0\),\d+/);
    const asked = await switched(
      `in_port=LOCAL,dl_src=${MAC},dl_dst=33:33:ff:00:00:01,icmp6,icmpv6_type=135,nw_ttl=255,ipv6_src=fc00:f853::3,ipv6_dst=ff02::1:ff00:1,nd_target=fc00:f853::1`,
    );
    expect(asked).toMatch(
      /^ct\(commit,zone=64000,mark=0x2\/0xffffffff\),push_vlan\(vid=5,pcp=0\),\d+/,
    );
    // A neighbour's answer, and one that nobody asked for.
    const answer = `${TAGGED}in_port=1,dl_src=${STRANGER},dl_dst=${MAC},arp,arp_op=2,arp_spa=172.18.0.1,arp_tpa=172.18.0.3`;
    expect(await outputs(answer)).toEqual(['2@5', 'LOCAL']);
    const advertisement = `${TAGGED}in_port=1,dl_src=${STRANGER},dl_dst=${MAC},icmp6,icmpv6_type=136,nw_ttl=255,ipv6_src=fc00:f853::1,ipv6_dst=fc00:f853::3,nd_target=fc00:f853::1`;
    expect(await outputs(advertisement, ...states('trk,new'))).toEqual(['2@5', 'LOCAL']);
    // A network asks, and is remembered.
    await kept.vswitchd.ofctlOn(
      BRIDGE,
      'packet-out',
      `in_port=3,packet=${ARP_REQUEST},actions=resubmit(,0)`,
    );
    await until('it to be remembered', async () => (await outputs(answer)).includes('3@5'));
    expect(await outputs(answer)).toEqual(['3@5', '2@5', 'LOCAL']);
  });

  test('a port of the host that is not in the VLAN is a problem, which says what to do; it heals at once', async () => {
    await kept.make(bridgeZone);
    kept.units.want(inVlan(bridgeZone));
    const problems = async (): Promise<readonly string[]> =>
      (await kept.settled()).problems.map(({ message }) => message);
    await until('all patch ports', async () => (await problems()).length === 1);
    const [problem = ''] = await problems();
    const [, remedy = ''] = /ovs-vsctl (.*)$/.exec(problem) ?? [];
    // What the host sends to its own subnet has the tag all the same.
    const near = `in_port=LOCAL,dl_src=${MAC},dl_dst=${STRANGER},${tcp('nw_src=172.18.0.3,nw_dst=172.18.0.9')}`;
    expect(await outputs(near)).toEqual(['1@5']);
    await kept.vswitchd.vsctl('set', 'Port', BRIDGE, 'tag=5', 'vlan_mode=native-tagged');
    expect(await problems()).toEqual([problem]);
    await kept.vswitchd.vsctl(...remedy.split(' '));
    await until('it to heal', async () => (await problems()).length === 0);
    expect(await outputs(near)).toEqual(['NORMAL']);
    expect(await switched(near)).toMatch(/push_vlan\(vid=5,pcp=0\),\d+/);
    // Others have their own.
    for (const network of bridgeZone.networks)
      expect(await kept.vswitchd.vsctl('get', 'Port', patchPortOf(network), 'tag')).toBe('[]\n');
  });
});

/** 172.18.0.3 (the bridge's MAC address) asks for 172.18.0.1, in VLAN 5. */
const ARP_REQUEST = `ffffffffffff0242ac12000381000005080600010800060400010242ac120003ac120003000000000000ac120001${'00'.repeat(18)}`;
