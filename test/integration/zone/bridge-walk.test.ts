/** How a packet goes on over the bridges of a node: a real ovs-vswitchd with the flows that we keep on the external bridge; those of br-int the test makes. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Unixctl } from '../../../src/node/programs/unixctl.ts';
import type { Packet } from '../../../src/packets/microflow.ts';
import {
  legEndText,
  ownerOf,
  packetReportText,
  type Leg,
} from '../../../src/packets/packet-report.ts';
import { judged } from '../../../src/packets/verdict.ts';
import { BridgeWalk, type BridgeSource } from '../../../src/zone/bridge-walk.ts';
import { Origins } from '../../../src/zone/origins.ts';
import { bridgeFeatures, bridgeZone } from '../../support/host/bridge-zones.ts';
import { BRIDGE, KeptBridge, MAC } from '../../support/host/kept-bridge.ts';
import { NetworkNamespace, whyNoNamespace } from '../../support/host/network-namespace.ts';
import { runOvs } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';

const POD = 'blue.l3net_blue_web-1';
/** Number of the pod's interface on br-int. */
const POD_PORT = 77;
/** Network B: its end of the way to br-int, and the address by which the node knows it. */
const PATCH = 'patch-breth0_blue_l3net_ovn-worker-to-br-int';
const MASQUERADE = '169.254.0.13';
/** The host's device of the network. */
const MANAGEMENT = 'ovn-k8s-mp2';
/** Of its connections. */
const MARK = '0x5';
const NODE_ADDRESS = '172.18.0.3';
const PACKET: Packet = {
  inport: POD,
  fromMac: '0a:58:0a:14:01:03',
  toMac: '0a:58:0a:14:01:01',
  from: '10.20.1.3',
  to: '8.8.8.8',
  protocol: 'tcp',
  fromPort: 32_768,
  toPort: 443,
};
/** What Southbound says of it. */
const OUTSIDE: Leg = {
  direction: 'there',
  from: PACKET.from,
  to: PACKET.to,
  hops: [],
  end: { kind: 'outside', port: 'breth0_blue_l3net_ovn-worker' },
};

describe('a packet on the bridges of a node', () => {
  const signal = AbortSignal.timeout(240_000);
  let kept: KeptBridge;
  /** Absent where there can be none. */
  let host: NetworkNamespace | undefined;
  /** What br-int does with what OVN sends outside: the address of network B, and out by its patch port. */
  let outside: string;

  const flow = (text: string): Promise<string> => kept.vswitchd.ofctlOn('br-int', 'add-flow', text);
  /** Of OpenFlow 1.5, which names how a bucket is selected. */
  const addGroup = (text: string): Promise<string> =>
    runOvs('ovs-ofctl', [
      '-O',
      'OpenFlow15',
      'add-group',
      kept.vswitchd.ofctl.target('br-int'),
      text,
    ]);
  const walk = (): BridgeWalk => {
    const { driver, database, vswitchd } = kept;
    const wanted = { flows: driver } as unknown as NonNullable<
      BridgeSource['host']
    >['controller']['wanted'];
    const source: BridgeSource = {
      facts: { rendered: { peek: () => undefined } } as unknown as BridgeSource['facts'],
      controller: { reconcilers: [], subjectOf: () => undefined },
      northbound: { ...database, isLoaded: () => false },
      southbound: undefined,
      host: {
        controller: { features: bridgeFeatures, wanted },
        openVswitch: database,
        namespace: host?.path,
        vswitchd: new Unixctl({ folder: vswitchd.database.folder, daemon: 'ovs-vswitchd' }),
      },
    };
    return new BridgeWalk(source, new Origins(source, signal), signal);
  };

  beforeAll(async () => {
    kept = await KeptBridge.start(signal);
    host = whyNoNamespace === undefined ? await hostNamespace() : undefined;
    await kept.make(bridgeZone);
    await until('flows of the external bridge', async () => {
      kept.units.want(bridgeZone);
      return (await kept.settled()).problems.length === 0;
    });
    await kept.vswitchd.vsctl(
      ...`add-port br-int pod -- set Interface pod type=dummy ofport_request=${POD_PORT} external_ids:iface-id=${POD}`.split(
        ' ',
      ),
      ...'-- add-port br-int other -- set Interface other type=dummy ofport_request=78'.split(' '),
    );
    const number = await kept.vswitchd.vsctl('get', 'Interface', `peer-of-${PATCH}`, 'ofport');
    outside = `mod_dl_src:${MAC},mod_nw_src:${MASQUERADE},output:${number.trim()}`;
  });
  afterAll(async () => {
    host?.[Symbol.dispose]();
    await kept[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    for (const bridge of ['br-int', BRIDGE])
      await kept.vswitchd.ofctlOn(
        bridge,
        'del-flows',
        ...(bridge === BRIDGE ? ['cookie=0x77/-1'] : []),
      );
    await flow(`cookie=0x1234abcd,ip,in_port=${POD_PORT},actions=${outside}`);
  });

  test('leaves by the uplink with the address of the node, each flow with the object that it is there for', async () => {
    const bridges = walk();
    const leg = await bridges.followed(OUTSIDE, PACKET);
    expect(leg.end).toEqual({
      ...OUTSIDE.end,
      wire: {
        bridge: BRIDGE,
        port: 'eth0',
        from: NODE_ADDRESS,
        to: '8.8.8.8',
        connection: { zone: 64_000, mark: MARK },
      },
    });
    const [hop, ...others] = leg.hops;
    expect(others).toEqual([]);
    expect(hop).toMatchObject({ datapath: BRIDGE, in: PATCH, out: 'eth0' });
    expect(hop?.decisions.map(({ kind, text, origin }) => [kind, text, ownerOf(origin)])).toEqual([
      ['translates', `from ${NODE_ADDRESS}`, 'UserDefinedNetwork blue/l3net'],
      ['passes', 'out of eth0', expect.any(String)],
    ]);
    expect(bridges.notes).toEqual([]);
  });

  test.for([
    ['tcp', PACKET],
    ['udp', { ...PACKET, protocol: 'udp' }],
    ['sctp', { ...PACKET, protocol: 'sctp' }],
    ['icmp', { ...PACKET, protocol: 'icmp' }],
  ] as const)('its answer comes back to the network by its connection (%s)', async ([, packet]) => {
    const bridges = walk();
    const leg = await bridges.followed(OUTSIDE, packet);
    const back = await bridges.answered(leg, packet);
    expect(back).toMatchObject({
      direction: 'back',
      from: '8.8.8.8',
      to: NODE_ADDRESS,
      hops: [{ datapath: BRIDGE, in: 'eth0', out: PATCH }],
      end: { kind: 'returned', port: PATCH },
    });
    const [decided] = back?.hops[0]?.decisions ?? [];
    expect(decided?.match).toContain(`ct_mark=${MARK}`);
    expect(ownerOf(decided?.origin)).toBe('UserDefinedNetwork blue/l3net');
    expect(bridges.notes).toEqual([]);
  });

  test.for(['tcp', 'udp', 'sctp', 'icmp'] as const)(
    'is taken by ovs-vswitchd in IPv6, too (%s)',
    async (protocol) => {
      const packet: Packet = { ...PACKET, protocol, from: 'fd20::3', to: '2001:db8::9' };
      const leg: Leg = { ...OUTSIDE, from: packet.from, to: packet.to };
      await flow(`ipv6,in_port=${POD_PORT},actions=drop`);
      const bridges = walk();
      expect((await bridges.followed(leg, packet)).end).toMatchObject({
        by: { match: `ipv6,in_port=${POD_PORT}`, place: 'bridge br-int' },
      });
      expect(bridges.notes).toEqual([]);
    },
  );

  test('its answer is stopped where a flow of the external bridge drops that', async () => {
    const drop = `cookie=0x77,table=1,priority=9000,ct_mark=${MARK},actions=drop`;
    await kept.vswitchd.ofctlOn(BRIDGE, 'add-flow', drop);
    const bridges = walk();
    const leg = await bridges.followed(OUTSIDE, PACKET);
    const back = await bridges.answered(leg, PACKET);
    expect(textOf(leg, back)).toContain(
      'It leaves, and the answer is dropped by a flow of bridge breth0.',
    );
  });

  test('of what stays in Open vSwitch there is no answer to follow', async () => {
    const bridges = walk();
    expect(await bridges.answered(OUTSIDE, PACKET)).toBeUndefined();
  });

  test('is stopped where a flow of the external bridge drops it, whosever that is', async () => {
    await kept.vswitchd.ofctlOn(BRIDGE, 'add-flow', 'cookie=0x77,priority=9000,ip,actions=drop');
    const { end } = await walk().followed(OUTSIDE, PACKET);
    expect(end).toMatchObject({
      kind: 'stopped',
      by: { place: `bridge ${BRIDGE}`, stage: 'table 0, priority 9000', match: 'ip' },
    });
    expect(textOf({ ...OUTSIDE, end })).toContain(
      `Stopped by\n  flow of bridge ${BRIDGE}, table 0, priority 9000: ip`,
    );
  });

  test('is stopped by a flow of ours with the object that wants it', async () => {
    // With another address than the network's own masquerade address.
    await flow(`ip,in_port=${POD_PORT},actions=${outside.replace(MASQUERADE, '10.20.1.3')}`);
    const { end } = await walk().followed(OUTSIDE, PACKET);
    expect(end).toMatchObject({
      kind: 'stopped',
      by: { kind: 'drops', place: `bridge ${BRIDGE}` },
    });
    expect(textOf({ ...OUTSIDE, end })).toMatch(
      /It is dropped by a flow of bridge breth0; it is there for UserDefinedNetwork blue\/l3net\./,
    );
  });

  test('is stopped by br-int where its flows do otherwise than Southbound says', async () => {
    await kept.vswitchd.ofctlOn('br-int', 'del-flows');
    await flow('table=0,priority=3,actions=drop');
    const arrives: Leg = {
      ...OUTSIDE,
      end: { kind: 'pod', object: 'Pod blue/web-2', isMeant: true },
    };
    const { end } = await walk().followed(arrives, PACKET);
    expect(textOf({ ...arrives, end })).toContain(
      'It is dropped by a flow of bridge br-int, though by Southbound it arrives at Pod blue/web-2: ovn-controller is behind',
    );
    expect(textOf({ ...arrives, end })).not.toContain('It would pass with');
  });

  test('arrives where Southbound says, and nothing is added', async () => {
    await flow(`ip,in_port=${POD_PORT},actions=output:78`);
    const arrives: Leg = {
      ...OUTSIDE,
      end: { kind: 'pod', object: 'Pod blue/web-2', isMeant: true },
    };
    const bridges = walk();
    expect(await bridges.followed(arrives, PACKET)).toEqual(arrives);
    expect(bridges.notes).toEqual([]);
  });

  test('is handed to the kernel where the external bridge gives it to the host', async () => {
    await kept.vswitchd.ofctlOn(BRIDGE, 'add-flow', 'cookie=0x77,priority=9000,ip,actions=LOCAL');
    const { end } = await walk().followed(OUTSIDE, PACKET);
    expect(end).toEqual({ kind: 'host', port: BRIDGE, device: BRIDGE });
  });

  describe.skipIf(whyNoNamespace !== undefined)(
    `that is handed to the kernel${whyNoNamespace === undefined ? '' : ` (${whyNoNamespace})`}`,
    () => {
      const handed = async (to: string): Promise<Leg> => {
        await flow(`ip,in_port=${POD_PORT},actions=output:78`);
        const end = { kind: 'host', port: 'k8s-blue', device: MANAGEMENT } as const;
        return walk().followed({ ...OUTSIDE, to, end }, { ...PACKET, to });
      };

      test('is for the host itself where that has the address', async () => {
        const leg = await handed('192.0.2.1');
        expect(legEndText(leg.end)).toBe(
          `is handed to the kernel of this node at port k8s-blue, device ${MANAGEMENT}, whose own address that is`,
        );
      });

      test('goes on by the rules and tables of the device by which it comes', async () => {
        const { end } = await handed('198.51.100.9');
        expect(end).toMatchObject({
          route: { kind: 'sent', table: 4711, device: 'eth9', via: '192.0.2.7' },
        });
      });

      test.for([
        ['8.8.8.8', 'has no route to it'],
        ['203.0.113.9', 'drops it by a route'],
      ] as const)('to %s is stopped: it %s', async ([to, why]) => {
        const leg = await handed(to);
        expect(textOf(leg)).toContain(`It is dropped by the kernel of the node, which ${why}`);
        expect(textOf(leg)).toContain(`Stopped by\n  kernel, routing: ${why}`);
      });

      test('is left as it is, with a note, where the device is not there', async () => {
        const end = { kind: 'host', port: 'k8s-red', device: 'ovn-k8s-mp99' } as const;
        await flow(`ip,in_port=${POD_PORT},actions=output:78`);
        const bridges = walk();
        expect((await bridges.followed({ ...OUTSIDE, end }, PACKET)).end).toEqual(end);
        expect(bridges.notes).toEqual([
          expect.stringMatching(/^the routes of the kernel were not looked at: .*ovn-k8s-mp99/),
        ]);
      });
    },
  );

  test('of IPv6 leaves with the addresses that connection tracking gave it', async () => {
    const to = '2001:db8::8';
    await flow(
      `ipv6,in_port=${POD_PORT},actions=ct(commit,zone=7,table=99,nat(src=fd00:172:18::3))`,
    );
    await flow(`table=99,actions=${outside.split(',').at(-1)}`);
    await kept.vswitchd.ofctlOn(
      BRIDGE,
      'add-flow',
      'cookie=0x77,priority=9000,ipv6,actions=NORMAL',
    );
    const packet = { ...PACKET, from: 'fd00:10:20::3', to };
    const { end } = await walk().followed({ ...OUTSIDE, from: packet.from, to }, packet);
    expect(end).toMatchObject({ wire: { bridge: BRIDGE, from: 'fd00:172:18::3', to } });
  });

  test('leaves by no port that is known where the bridge forwards as a switch does', async () => {
    await kept.vswitchd.ofctlOn(BRIDGE, 'add-flow', 'cookie=0x77,priority=9000,ip,actions=NORMAL');
    const { end } = await walk().followed(OUTSIDE, PACKET);
    expect(end).toMatchObject({ wire: { bridge: BRIDGE, to: '8.8.8.8' } });
    expect(end).not.toHaveProperty('wire.port');
  });

  test('waits for a neighbour that br-int has ovn-controller ask for', async () => {
    await flow(`ip,in_port=${POD_PORT},actions=controller(userdata=00.00.00.00,pause)`);
    const bridges = walk();
    expect(await bridges.followed(OUTSIDE, PACKET)).toEqual(OUTSIDE);
    expect(bridges.notes).toEqual([expect.stringContaining('asks the network first')]);
  });

  test('is not followed beyond an endpoint that br-int chooses by a hash', async () => {
    const buckets = 'bucket=bucket_id:0,actions=output:78,bucket=bucket_id:1,actions=output:78';
    await kept.vswitchd.ofctlOn('br-int', 'del-groups');
    await addGroup(`group_id=7,type=select,selection_method=dp_hash,${buckets}`);
    await flow(`ip,in_port=${POD_PORT},actions=group:7`);
    const bridges = walk();
    expect(await bridges.followed(OUTSIDE, PACKET)).toEqual(OUTSIDE);
    expect(bridges.notes).toEqual([expect.stringContaining('by a hash')]);
  });

  test('begins nowhere where nothing is plugged in for the pod', async () => {
    const { end } = await walk().followed(OUTSIDE, { ...PACKET, inport: 'blue.l3net_blue_gone' });
    expect(end).toEqual({
      kind: 'unknown',
      why: 'no interface of br-int has iface-id blue.l3net_blue_gone: the pod is not plugged in, or its interface was deleted',
    });
  });

  test('is left as Southbound says, with a note, while ovs-vswitchd does not answer', async () => {
    await kept.vswitchd.kill();
    try {
      const bridges = walk();
      expect(await bridges.followed(OUTSIDE, PACKET)).toEqual(OUTSIDE);
      expect(bridges.notes).toEqual([
        expect.stringMatching(/^the flows of the bridges were not looked at: ovs-vswitchd /),
      ]);
    } finally {
      await kept.vswitchd.launch();
    }
  });
});

/** A host with the device of the network, a card, and routes of several kinds. */
async function hostNamespace(): Promise<NetworkNamespace> {
  const host = await NetworkNamespace.create();
  host.ip(`link add ${MANAGEMENT} type veth peer name eth9`);
  host.ip(`address add 10.20.1.2/24 dev ${MANAGEMENT}`);
  host.ip('address add 192.0.2.1/24 dev eth9');
  for (const device of [MANAGEMENT, 'eth9']) host.ip(`link set dev ${device} up`);
  host.ip('route add 198.51.100.0/24 via 192.0.2.7 table 4711');
  host.ip(`rule add iif ${MANAGEMENT} priority 2000 lookup 4711`);
  host.ip('route add blackhole 203.0.113.0/24');
  host.sysctls.write('net/ipv4/ip_forward', '1');
  return host;
}

/** As the command prints it. */
function textOf(leg: Leg, back?: Leg): string {
  const sender = { object: 'Pod blue/web', namespace: 'blue', network: 'blue_l3net', closedBy: [] };
  const meant = {
    isPodAddress: false,
    overlaps: false,
    address: leg.to,
    port: 443,
    protocol: 'tcp' as const,
    endpoints: [],
    closedBy: [],
  };
  const [node, packet, part] = ['ovn-worker', 'a packet', 'whole' as const];
  const judgement = judged(
    [{ there: leg, ...(back === undefined ? {} : { back }) }],
    part,
    sender,
    meant,
  );
  return packetReportText({
    node,
    packet,
    part,
    sender: {},
    destination: {},
    legs: [leg],
    ...judgement,
  });
}
