import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { flowMonitor } from '../../../../src/node/openflow/flow-monitor.ts';
import {
  bridgeZone,
  crowdedBridgeZone,
  dualBridgeZone,
  egressZone,
  patchPortOf,
  servingZone,
} from '../../../support/host/bridge-zones.ts';
import { BRIDGE, KeptBridge, MAC } from '../../../support/host/kept-bridge.ts';
import { service, slice, withServices } from '../../../support/zone/services.ts';
import { until } from '../../../support/run/until.ts';
import { patchWords, type Vswitchd } from '../../../support/host/vswitchd.ts';
import { inLocalMode, type Zone } from '../../../support/zone/zones.ts';

const BROADCAST = 'ff:ff:ff:ff:ff:ff';
const STRANGER = '02:00:00:00:00:99';

/** A real ovs-vswitchd with a datapath in its own memory; what ovn-controller does, the tests do. */
describe('flows of the external bridge', () => {
  const signal = AbortSignal.timeout(240_000);
  let kept: KeptBridge;
  let vswitchd: Vswitchd;

  const settled = (isComplete = true): ReturnType<KeptBridge['settled']> =>
    kept.settled(isComplete);

  beforeEach(async () => {
    kept = await KeptBridge.start(signal);
    ({ vswitchd } = kept);
  });
  afterEach(() => kept[Symbol.asyncDispose]());

  test.for([
    ['IPv4, shared gateway', bridgeZone],
    ['IPv4, local gateway', inLocalMode(bridgeZone)],
    ['both families, shared gateway', dualBridgeZone],
    ['both families, local gateway', inLocalMode(dualBridgeZone)],
    ['services, both families', servingZone],
    ['addresses of an EgressIP, both families', egressZone],
  ] as const)('are found as they were written, and go without a trace (%s)', async ([, zone]) => {
    await kept.make(zone);
    await vswitchd.ofctlOn(BRIDGE, 'add-flow', 'cookie=0x77,priority=7,in_port=1,udp,actions=drop');
    const before = await vswitchd.flows(BRIDGE);
    await until('ports', async () => {
      kept.units.want(zone);
      return (await settled()).problems.length === 0;
    });
    const there = await vswitchd.flows(BRIDGE);
    expect(there.length).toBeGreaterThan(60);
    expect(await settled()).toEqual({ applied: 0, problems: [] });
    // Another process finds them right.
    await kept.close();
    await kept.open(signal);
    kept.units.want(zone);
    expect(await settled()).toEqual({ applied: 0, problems: [] });
    expect(await vswitchd.flows(BRIDGE)).toEqual(there);
    expect(before.every((line) => there.includes(line))).toBe(true);
    kept.units.want(undefined);
    await settled(false);
    expect(await vswitchd.flows(BRIDGE)).toEqual(there);
    await settled();
    expect(await vswitchd.flows(BRIDGE)).toEqual(before);
  });

  test('are heard of when they change, but for what the bridge learns; and nothing is heard when nothing changes', async () => {
    await kept.make(bridgeZone);
    let heard = 0;
    using monitor = flowMonitor(vswitchd.ofctl, BRIDGE, () => (heard += 1));
    await monitor.start();
    const change = async (command: string, ...words: string[]): Promise<void> => {
      heard = 0;
      await vswitchd.ofctlOn(BRIDGE, command, ...words);
    };
    await change('add-flow', 'table=20,priority=9,in_port=3,actions=drop');
    // A program that ended would have been started again by now.
    await pause(1500);
    expect(heard).toBe(0);
    for (const [command, flow] of [
      ['add-flow', 'priority=9,in_port=3,actions=learn(table=20,priority=1,eth_type=0x806)'],
      ['mod-flows', 'in_port=3,actions=learn(table=20,priority=2,eth_type=0x806)'],
      ['del-flows', 'in_port=3'],
    ] as const) {
      await change(command, `table=0,${flow}`);
      await until(`word of ${command}`, () => heard > 0);
    }
  });

  test('are repaired within a second when somebody deletes or changes them; those of others stay', async () => {
    await kept.make(bridgeZone);
    await vswitchd.ofctlOn(BRIDGE, 'add-flow', 'cookie=0x77,priority=9,in_port=3,actions=drop');
    kept.units.want(bridgeZone);
    await until('ports', async () => (await settled()).problems.length === 0);
    const there = await vswitchd.flows(BRIDGE);
    for (const [command, ...words] of [
      ['del-flows', 'cookie=0xdeff105/-1'],
      ['del-flows', 'cookie=0xdeff105/-1,table=1'],
      ['mod-flows', 'cookie=0xdeff105/-1,table=1,actions=drop'],
      ['add-flow', 'cookie=0xdeff105,priority=999,in_port=3,actions=output:1'],
    ] as const) {
      const began = performance.now();
      kept.drifts = 0;
      await vswitchd.ofctlOn(BRIDGE, command, ...words);
      await until('word of it', () => kept.drifts > 0);
      await settled();
      // The machine may be busy; the event itself is what counts.
      expect(performance.now() - began).toBeLessThan(5000);
      expect((await vswitchd.flows(BRIDGE)).toSorted()).toEqual(there.toSorted());
    }
    // A flow with the match of ours that is somebody else's is left alone, and named.
    await vswitchd.ofctlOn(
      BRIDGE,
      'add-flow',
      'cookie=0x88,priority=103,in_port=3,ip,nw_src=10.20.0.0/16,actions=output:1',
    );
    await until('the problem', async () => {
      const { problems } = await settled();
      return problems.some(
        ({ kind, object }) =>
          kind === 'held-by-other' && object === 'UserDefinedNetwork blue/l3net',
      );
    });
  });

  test('are not looked at when ports of the integration bridge come and go, as those of pods do', async () => {
    await kept.make(bridgeZone);
    kept.units.want(bridgeZone);
    await until('ports', async () => (await settled()).problems.length === 0);
    const addPort = (bridge: string, name: string): Promise<string> =>
      vswitchd.vsctl('add-port', bridge, name, '--', 'set', 'Interface', name, 'type=internal');
    kept.drifts = 0;
    await addPort('br-int', 'ab12');
    await vswitchd.vsctl('del-port', 'br-int', 'ab12');
    expect(kept.drifts).toBe(0);
    await addPort(BRIDGE, 'last');
    await until('word of the port', () => kept.drifts > 0);
  });

  test('follow ports that get other numbers, and a restart of Open vSwitch', async () => {
    await kept.make(bridgeZone);
    kept.units.want(bridgeZone);
    await until('ports', async () => (await settled()).problems.length === 0);
    const [, layer3 = ''] = bridgeZone.networks.map(patchPortOf);
    const flowsOfPort = async (number: number): Promise<number> =>
      (await vswitchd.flows(BRIDGE)).filter((line) =>
        new RegExp(`in_port=${number}\\b|output:${number}\\b`).test(line),
      ).length;
    const count = await flowsOfPort(3);
    await vswitchd.vsctl('del-port', BRIDGE, layer3);
    await until('the port to be missed', async () =>
      (await settled()).problems.some(
        ({ kind, message }) => kind === 'awaited' && message.includes(layer3),
      ),
    );
    expect(await flowsOfPort(3)).toBe(0);
    await vswitchd.vsctl(
      'del-port',
      'br-int',
      `peer-of-${layer3}`,
      ...patchWords(BRIDGE, layer3, 33),
    );
    await until('the new number', async () => {
      await settled();
      return (await flowsOfPort(33)) === count;
    });
    const there = await vswitchd.flows(BRIDGE);
    await vswitchd.kill();
    await vswitchd.launch();
    await until('flows to be back', async () => {
      await settled();
      const now = await vswitchd.flows(BRIDGE).catch((): readonly string[] => []);
      return now.length === there.length && there.every((line) => now.includes(line));
    });
    expect(await vswitchd.ofctl.ports(BRIDGE)).toMatch(/ 33\(.*\n\s+config: +NO_FLOOD/);
  });

  test('that can not be read are no flows that are gone', async () => {
    await kept.make(bridgeZone);
    kept.units.want(bridgeZone);
    await until('ports', async () => (await settled()).problems.length === 0);
    await vswitchd.kill();
    kept.units.want(undefined);
    // Where the end of its process was noticed before the write, a switch that starts anew is waited for.
    await until(
      'the problem',
      async () => {
        const { problems } = await settled();
        return problems.some(({ kind, key }) => kind === 'refused' && key === BRIDGE);
      },
      { limit: 45_000 },
    );
    await vswitchd.launch();
    await until('nothing to be wrong', async () => (await settled()).problems.length === 0);
  });

  test('what is wrong with one network harms it alone', async () => {
    await kept.make(bridgeZone);
    kept.units.want(bridgeZone, (row) =>
      row.object === 'UserDefinedNetwork blue/l3net' && row.key.includes('priority=105')
        ? { ...row, columns: { ...row.columns, actions: 'goto_nowhere' } }
        : row,
    );
    await until('ports', async () => {
      const { problems } = await settled();
      return problems.length > 0 && problems.every(({ kind }) => kind === 'refused');
    });
    const { problems } = await settled();
    expect(new Set(problems.map(({ object }) => object))).toEqual(
      new Set(['UserDefinedNetwork blue/l3net']),
    );
    const lines = (await vswitchd.flows(BRIDGE)).join('\n');
    expect(lines).toContain('in_port=4');
    expect(lines).not.toContain('in_port=3');
  });

  test('a broadcast, a question and an answer cost the same with 1, 50 and 500 networks', async () => {
    const costs: Record<string, readonly [resubmits: number, outputs: string]>[] = [];
    let made = 0;
    for (const count of [1, 50, 500]) {
      const zone = crowdedBridgeZone(count);
      const ports = zone.networks.map(patchPortOf);
      if (made === 0) await kept.make(zone);
      else
        await vswitchd.vsctl(
          ...ports
            .slice(made)
            .flatMap((name, index) => patchWords(BRIDGE, name, made + index + 2))
            .slice(1),
        );
      made = ports.length;
      kept.units.want(zone);
      await until('ports', async () => (await settled()).problems.length === 0, { limit: 120_000 });
      const costOf = async (packet: string): Promise<readonly [number, string]> => {
        const text = await vswitchd.trace(BRIDGE, packet);
        const actions = /Datapath actions: (.*)/.exec(text)?.[1] ?? '';
        return [
          text.split('\n').filter((line) => /^ *\d+\. /.test(line)).length,
          actions.replaceAll(/\d+/g, 'N'),
        ];
      };
      const arp = `arp,arp_spa=172.18.0.1,arp_sha=${STRANGER},dl_src=${STRANGER}`;
      costs.push({
        request: await costOf(`in_port=1,dl_dst=${BROADCAST},${arp},arp_op=1,arp_tpa=172.18.0.77`),
        gratuitous: await costOf(
          `in_port=1,dl_dst=${BROADCAST},${arp},arp_op=1,arp_tpa=172.18.0.1`,
        ),
        'for the node': await costOf(
          `in_port=1,dl_dst=${BROADCAST},${arp},arp_op=1,arp_tpa=172.18.0.3`,
        ),
        answer: await costOf(
          `in_port=1,dl_dst=${MAC},${arp},arp_op=2,arp_tpa=172.18.0.3,arp_tha=${MAC}`,
        ),
        question: await costOf(
          `in_port=3,dl_src=${MAC},dl_dst=${BROADCAST},arp,arp_op=1,arp_spa=172.18.0.3,arp_tpa=172.18.0.1,arp_sha=${MAC}`,
        ),
        'unsolicited advertisement': await costOf(
          `in_port=1,dl_src=${STRANGER},dl_dst=33:33:00:00:00:01,icmp6,icmpv6_type=136,icmpv6_code=0,nw_ttl=255,ipv6_src=fe80::99,ipv6_dst=ff02::1,nd_target=fc00:f853::1`,
        ),
      });
    }
    const [one, fifty, fiveHundred] = costs;
    expect(fifty).toEqual(one);
    expect(fiveHundred).toEqual(one);
    for (const [resubmits] of Object.values(one ?? {})) expect(resubmits).toBeLessThan(8);
  }, 200_000);

  test('packets of networks with one subnet leave with the address of the node and their marks, and with no other (reference/node.md §4.8)', async () => {
    const zone: Zone = {
      ...bridgeZone,
      allowedDefaultServices: [{ key: 'default/kubernetes', clusterIps: ['10.96.0.1'] }],
    };
    await kept.make(zone);
    kept.units.want(zone);
    await until('ports', async () => (await settled()).problems.length === 0);
    const actions = async (packet: string): Promise<string> => {
      const text = await vswitchd.trace(BRIDGE, packet);
      return (
        text
          .match(/Datapath actions: .*/g)
          ?.at(-1)
          ?.replace('Datapath actions: ', '') ?? text
      );
    };
    const out = (port: number, source: string): string =>
      `in_port=${port},dl_src=${MAC},dl_dst=${STRANGER},tcp,nw_src=${source},nw_dst=8.8.8.8,tp_src=4000,tp_dst=80,nw_ttl=60`;
    // Out: the network's mark, and the node's address, with which alone it leaves.
    const translated = async (packet: string): Promise<string> => {
      const steps = (await vswitchd.trace(BRIDGE, packet)).match(/Datapath actions: .*/g) ?? [];
      expect(steps).toHaveLength(2);
      expect(steps[1]).toMatch(/^Datapath actions: \d+$/);
      return steps[0] ?? '';
    };
    expect(await translated(out(3, '169.254.0.13'))).toMatch(
      / ct\(commit,zone=64000,mark=0x5\/0xffffffff,nat\(src=172\.18\.0\.3\)\),recirc\(0x[0-9a-f]+\)$/,
    );
    expect(await translated(out(4, '169.254.0.15'))).toMatch(
      /mark=0x6\/.*nat\(src=172\.18\.0\.3\)/,
    );
    // Addresses of pods, of the other network, and any other address: nothing leaves.
    for (const source of ['10.20.1.5', '169.254.0.15', '192.0.2.1', '172.18.0.3'])
      expect(await actions(out(3, source))).toBe('drop');
    expect(await actions(out(2, '10.244.0.7'))).toBe('drop');
    // What egress features marked gets the node's address.
    expect(await translated(`${out(3, '10.20.1.5')},pkt_mark=0x3f0`)).toMatch(
      /nat\(src=172\.18\.0\.3\)/,
    );
    // A question in the name of a pod's neighbour is no way around.
    expect(await actions(`in_port=3,dl_src=${STRANGER},dl_dst=${BROADCAST},arp,arp_op=1`)).toBe(
      'drop',
    );
    // Pods of B reach the shared service by the default network, and no other service there.
    const service = (address: string): string =>
      `in_port=LOCAL,dl_src=${MAC},dl_dst=${STRANGER},tcp,nw_src=169.254.0.14,nw_dst=${address},tp_dst=443,nw_ttl=60`;
    const inDefaultNetwork = async (address: string): Promise<boolean> =>
      (await vswitchd.trace(BRIDGE, service(address), '--ct-next', 'trk,new')).includes('output:2');
    expect(await inDefaultNetwork('10.96.0.1')).toBe(true);
    expect(await inDefaultNetwork('10.96.0.7')).toBe(false);
  });

  test.for([
    ['shared', egressZone],
    ['local', inLocalMode(egressZone)],
  ] as const)(
    "what is marked for an EgressIP leaves with its address and not with the node's, whatever gave it that, in %s gateway mode",
    async ([, zone]) => {
      await kept.make(zone);
      kept.units.want(zone);
      await until('ports', async () => (await settled()).problems.length === 0);
      // The daemon opens the fence: here it is open.
      await vswitchd.ofctlOn(
        BRIDGE,
        'add-flow',
        'table=12,priority=100,actions=load:0x1->NXM_NX_REG1[0],resubmit(,0)',
      );
      /** What the datapath does last, after all looks at connections. */
      const actions = async (packet: string, ...looks: readonly string[]): Promise<string> =>
        (await vswitchd.trace(BRIDGE, packet, ...looks))
          .match(/Datapath actions: .*/g)
          ?.at(-1)
          ?.replace('Datapath actions: ', '') ?? '';
      const out = (port: number, mark: number, kind: 'tcp' | 'icmp', source: string): string =>
        [
          `in_port=${port},pkt_mark=${mark},dl_src=${MAC},dl_dst=${STRANGER}`,
          `${kind},nw_src=${source},nw_dst=8.8.8.8,nw_ttl=60`,
          kind === 'tcp' ? 'tp_src=4000,tp_dst=80' : 'icmp_type=8',
        ].join(',');
      for (const kind of ['tcp', 'icmp'] as const) {
        // Of the default network: as OVN translated it.
        expect(await actions(out(2, 1013, kind, '172.18.0.200'))).toMatch(
          /^set\(skb_mark\(0\)\),ct\(commit,zone=64000,mark=0x1\/0xffffffff\),\d+$/,
        );
        for (const source of ['172.18.0.3', '172.18.0.201', '10.244.0.7'])
          expect(await actions(out(2, 1013, kind, source))).toBe('drop');
      }
      // Of a primary network: as the bridge translates it, and as it did when its connection began.
      const packet = out(3, 50_000, 'tcp', '169.254.0.13');
      expect(await actions(packet)).toMatch(/^\d+$/);
      await vswitchd.ofctlOn(
        BRIDGE,
        'add-flow',
        'priority=999,in_port=3,tcp,pkt_mark=50000,actions=ct(commit,table=8,zone=64000,nat(src=172.18.0.3))',
      );
      expect(await actions(packet)).toBe('drop');
    },
  );

  test('services are reached from outside by the network that has them, and take no connection of another one (reference/node.md §4.6)', async () => {
    const zone = withServices(
      bridgeZone,
      service('blue/web', {
        type: 'NodePort',
        clusterIPs: ['10.96.1.3'],
        ports: [{ port: 80, nodePort: 30081 }],
      }),
      slice('blue/web', ['10.20.1.3 on ovn-worker'], { network: 'blue_l3net' }),
      service('kube-system/agent', {
        type: 'NodePort',
        clusterIPs: ['10.96.0.7'],
        externalTrafficPolicy: 'Local',
        ports: [{ port: 80, nodePort: 30090 }],
      }),
      slice('kube-system/agent', ['172.18.0.3 on ovn-worker']),
    );
    await kept.make(zone);
    kept.units.want(zone);
    await until('ports', async () => (await settled()).problems.length === 0);
    const there = await vswitchd.flows(BRIDGE);
    const outputs = async (packet: string, ...options: string[]): Promise<readonly string[]> => {
      const text = await vswitchd.trace(BRIDGE, packet, ...options);
      const found = text.matchAll(/^ +output:(\w+)$|^ +(LOCAL)$|^ +.*nat\((.+?)\)/gm);
      return [...new Set([...found].map(([, port, local, nat]) => port ?? local ?? nat ?? ''))];
    };
    const inwards = (port: number): string =>
      `in_port=1,dl_src=${STRANGER},dl_dst=${MAC},tcp,nw_src=8.8.8.8,nw_dst=172.18.0.3,tp_src=4000,tp_dst=${port},nw_ttl=60`;
    expect(await outputs(inwards(30_081), '--ct-next', 'trk,new')).toEqual(['3']);
    // The same port as that of a connection which network G opened: the answer is its own.
    const reply = `${inwards(30_081)},ct_mark=0x6`;
    expect(await outputs(reply, '--ct-next', 'trk,est,rpl')).toContain('4');
    const answer = (port: number, source: string, number: number): string =>
      `in_port=${port},dl_src=${MAC},dl_dst=${STRANGER},tcp,nw_src=${source},nw_dst=8.8.8.8,tp_src=${number},tp_dst=4000,nw_ttl=60`;
    expect(await outputs(answer(3, '172.18.0.3', 30_081))).toEqual(['1']);
    // No other network answers, and what a pod sends from that port has the address of the node as everything has.
    expect(await outputs(answer(4, '172.18.0.3', 30_081))).toEqual([]);
    expect(await outputs(answer(3, '169.254.0.13', 30_081))).toEqual(['src=172.18.0.3', '1']);
    // The host's own endpoint sees the client.
    expect(await outputs(inwards(30_090), '--ct-next', 'trk,new', '--ct-next', 'trk,new')).toEqual([
      'dst=172.18.0.3:8080',
      'LOCAL',
    ]);
    kept.units.want({ ...zone, services: [], endpointSlices: [] });
    await settled();
    expect((await vswitchd.flows(BRIDGE)).length).toBeLessThan(there.length);
  });

  test.for([
    ['shared', dualBridgeZone],
    ['local', inLocalMode(dualBridgeZone)],
  ] as const)(
    'in %s gateway mode a network that says that a packet was too big tells that other nodes only where the host does (RFC 1191)',
    async ([mode, both]) => {
      const zone: Zone = {
        ...both,
        remoteNodes: both.remoteNodes.map((node) => ({
          ...node,
          encapIps: ['172.18.0.4', 'fc00:f853::4'],
        })),
      };
      await kept.make(zone);
      kept.units.want(zone);
      await until('ports', async () => (await settled()).problems.length === 0);
      /** Where the last of its ways through the tables ends. */
      const sent = async (packet: string): Promise<string> =>
        (await vswitchd.trace(BRIDGE, packet)).match(/Datapath actions: .*/g)?.at(-1) ?? '';
      const from = (port: number, ipv4: string, ipv6: string) =>
        ({
          v4: (to: string, code = 4): string =>
            `in_port=${port},dl_src=${MAC},dl_dst=${STRANGER},icmp,nw_src=${ipv4},nw_dst=${to},icmp_type=3,icmp_code=${code},nw_ttl=60`,
          v6: (to: string, type = 2): string =>
            `in_port=${port},dl_src=${MAC},dl_dst=${STRANGER},icmp6,ipv6_src=${ipv6},ipv6_dst=${to},icmpv6_type=${type},icmpv6_code=0,nw_ttl=60`,
        }) as const;
      const nothing = 'Datapath actions: drop';
      for (const network of [
        from(2, '172.18.0.3', 'fc00:f853::3'),
        from(3, '169.254.0.11', 'fd69::b'),
      ]) {
        const told = [network.v4('172.18.0.4'), network.v6('fc00:f853::4')];
        for (const packet of told)
          if (mode === 'shared') expect(await sent(packet)).toBe(nothing);
          else expect(await sent(packet)).not.toBe(nothing);
        for (const packet of [
          network.v4('172.18.0.9'),
          network.v6('fc00:f853::9'),
          network.v4('172.18.0.4', 1),
          network.v6('fc00:f853::4', 1),
        ])
          expect(await sent(packet)).not.toBe(nothing);
      }
      const outside = from(1, '8.8.8.8', 'fd00::8');
      expect(await sent(outside.v4('172.18.0.4').replace(MAC, '02:00:00:00:00:98'))).not.toBe(
        nothing,
      );
      // The node's own flows come before those of the network, and nothing of a network gets past them by telling.
      expect(await sent(from(3, '10.20.0.5', 'fd00::5').v4('172.18.0.9'))).toBe(nothing);
    },
  );

  test('an answer goes to the network that asked, to the default network and to the host', async () => {
    await kept.make(bridgeZone);
    kept.units.want(bridgeZone);
    await until('ports', async () => (await settled()).problems.length === 0);
    const ask = (port: number): Promise<string> =>
      vswitchd.ofctlOn(
        BRIDGE,
        'packet-out',
        `in_port=${port},packet=${ARP_REQUEST},actions=resubmit(,0)`,
      );
    const answer = async (): Promise<readonly string[]> => {
      const text = await vswitchd.trace(
        BRIDGE,
        `in_port=1,dl_src=${STRANGER},dl_dst=${MAC},arp,arp_op=2,arp_spa=172.18.0.1,arp_tpa=172.18.0.3,arp_sha=${STRANGER},arp_tha=${MAC}`,
      );
      return [...text.matchAll(/output:(\w+)| (LOCAL)$/gm)].map(
        ([, port, local]) => port ?? local ?? '',
      );
    };
    expect(await answer()).toEqual(['2', 'LOCAL']);
    await ask(3);
    await until('it to be remembered', async () => (await answer()).includes('3'));
    expect(await answer()).toEqual(['3', '2', 'LOCAL']);
    await ask(4);
    await until('the other one', async () => (await answer()).includes('4'));
    expect(await answer()).toEqual(['4', '2', 'LOCAL']);
    expect((await settled()).applied).toBe(0);
    await until('it to be forgotten', async () => (await answer()).join() === '2,LOCAL', {
      pause: 300,
    });
  });
});

/** 172.18.0.3 (the bridge's MAC address) asks for 172.18.0.1. */
const ARP_REQUEST = `ffffffffffff0242ac120003080600010800060400010242ac120003ac120003000000000000ac120001${'00'.repeat(18)}`;
