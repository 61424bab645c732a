import { describe, expect, test } from 'vitest';
import {
  bridgeFeatures,
  bridgeRows,
  bridgeZone,
  crowdedBridgeZone,
  dualBridgeZone,
  egressCardZone,
  egressClassZone,
  egressMoveZone,
  egressZone,
  flowLines,
  flowsOf,
  inVlan,
  portsOf,
} from '../../../support/host/bridge-zones.ts';
import { service, slice, withServices } from '../../../support/zone/services.ts';
import { overlappingZone } from '../../../support/zone/overlapping.ts';
import { bluePod, furtherNode, inLocalMode, type Zone } from '../../../support/zone/zones.ts';

/** reference/node.md §4.5, line by line: fields in the order of their names, in the words of `ovs-ofctl dump-flows`. */
const EXAMPLE = `
table=0 700 icmp,icmp_code=4,icmp_type=3,in_port=2,nw_dst=172.18.0.2 → drop (0x304)
table=0 700 icmp,icmp_code=4,icmp_type=3,in_port=3,nw_dst=172.18.0.2 → drop (0x304)
table=0 700 icmp,icmp_code=4,icmp_type=3,in_port=4,nw_dst=172.18.0.2 → drop (0x304)
table=0 550 in_port=LOCAL,ip,nw_dst=10.96.0.0/16,nw_src=169.254.0.0/17 → ct(commit,table=2,zone=64001)
table=0 500 in_port=2,ip,nw_dst=169.254.0.2,nw_src=172.18.0.3 → ct(commit,table=4,zone=64001,nat(dst=172.18.0.3))
table=0 500 in_port=3,ip,nw_dst=169.254.0.2,nw_src=172.18.0.3 → ct(commit,table=4,zone=64001,nat(dst=172.18.0.3))
table=0 500 in_port=4,ip,nw_dst=169.254.0.2,nw_src=172.18.0.3 → ct(commit,table=4,zone=64001,nat(dst=172.18.0.3))
table=0 500 in_port=2,ip,nw_dst=10.0.0.5,nw_src=172.18.0.3 → ct(commit,table=4,zone=64001)
table=0 500 in_port=3,ip,nw_dst=10.0.0.5,nw_src=172.18.0.3 → ct(commit,table=4,zone=64001)
table=0 500 in_port=4,ip,nw_dst=10.0.0.5,nw_src=172.18.0.3 → ct(commit,table=4,zone=64001)
table=0 500 in_port=2,ip,nw_dst=169.254.0.0/17,nw_src=10.96.0.0/16 → ct(table=3,zone=64001,nat)
table=0 500 in_port=3,ip,nw_dst=169.254.0.0/17,nw_src=10.96.0.0/16 → ct(table=3,zone=64001,nat)
table=0 500 in_port=4,ip,nw_dst=169.254.0.0/17,nw_src=10.96.0.0/16 → ct(table=3,zone=64001,nat)
table=0 500 in_port=LOCAL,ip,nw_dst=10.96.0.0/16 → ct(commit,table=2,zone=64001,nat(src=169.254.0.2))
table=0 500 in_port=LOCAL,ip,nw_dst=169.254.0.1 → ct(table=5,zone=64002,nat)
table=0 205 dl_dst=02:42:ac:12:00:03,in_port=1,tp_dst=6081,udp → LOCAL
table=0 200 in_port=1,tp_dst=6081,udp → NORMAL
table=0 200 in_port=LOCAL,tp_dst=6081,udp → output:1
table=0 115 in_port=2,ip,nw_dst=10.96.0.0/16 → drop
table=0 115 in_port=3,ip,nw_dst=10.96.0.0/16 → drop
table=0 115 in_port=4,ip,nw_dst=10.96.0.0/16 → drop
table=0 110 in_port=1,ip,nw_frag=yes → ct(table=0,zone=64004)
table=0 105 dl_src=02:42:ac:12:00:03,in_port=2,ip,pkt_mark=0x3f0 → ct(commit,zone=64000,nat(src=172.18.0.3),exec(set_field:0x1->ct_mark)),output:1
table=0 105 dl_src=02:42:ac:12:00:03,in_port=3,ip,pkt_mark=0x3f0 → ct(commit,zone=64000,nat(src=172.18.0.3),exec(set_field:0x5->ct_mark)),output:1
table=0 105 dl_src=02:42:ac:12:00:03,in_port=4,ip,pkt_mark=0x3f0 → ct(commit,zone=64000,nat(src=172.18.0.3),exec(set_field:0x6->ct_mark)),output:1
table=0 102 dl_src=02:42:ac:12:00:03,in_port=2,ip,nw_dst=172.18.0.0/16 → ct(commit,zone=64000,exec(set_field:0x1->ct_mark)),NORMAL
table=0 102 dl_src=02:42:ac:12:00:03,in_port=LOCAL,ip,nw_dst=172.18.0.0/16 → ct(commit,zone=64000,exec(set_field:0x2->ct_mark)),NORMAL
table=0 100 dl_src=02:42:ac:12:00:03,in_port=2,ip → ct(commit,zone=64000,exec(set_field:0x1->ct_mark)),output:1
table=0 100 dl_src=02:42:ac:12:00:03,in_port=3,ip,nw_src=169.254.0.13 → ct(commit,zone=64000,nat(src=172.18.0.3),exec(set_field:0x5->ct_mark)),output:1
table=0 100 dl_src=02:42:ac:12:00:03,in_port=4,ip,nw_src=169.254.0.15 → ct(commit,zone=64000,nat(src=172.18.0.3),exec(set_field:0x6->ct_mark)),output:1
table=0 100 in_port=LOCAL,ip → ct(commit,zone=64000,exec(set_field:0x2->ct_mark)),output:1
table=0 50 dl_dst=02:42:ac:12:00:03,ip → ct(table=1,zone=64000,nat)
table=0 12 arp,arp_op=1,arp_tpa=172.18.0.3 → output:2,NORMAL
table=0 11 arp,dl_dst=ff:ff:ff:ff:ff:ff,in_port=1 → output:2,output:3,output:4,NORMAL
table=0 10 dl_dst=02:42:ac:12:00:03 → output:2,output:3,output:4,NORMAL
table=0 10 dl_src=02:42:ac:12:00:03,in_port=2 → NORMAL
table=0 10 dl_src=02:42:ac:12:00:03,in_port=3 → NORMAL
table=0 10 dl_src=02:42:ac:12:00:03,in_port=4 → NORMAL
table=0 9 in_port=2 → drop
table=0 9 in_port=3 → drop
table=0 9 in_port=4 → drop
table=0 0  → NORMAL (0x0)
table=1 100 ct_mark=0x1,ct_state=+est+trk,ip → output:2
table=1 100 ct_mark=0x5,ct_state=+est+trk,ip → output:3
table=1 100 ct_mark=0x6,ct_state=+est+trk,ip → output:4
table=1 100 ct_mark=0x2,ct_state=+est+trk,ip → LOCAL
table=1 100 ct_mark=0x1,ct_state=+rel+trk,ip → output:2
table=1 100 ct_mark=0x5,ct_state=+rel+trk,ip → output:3
table=1 100 ct_mark=0x6,ct_state=+rel+trk,ip → output:4
table=1 100 ct_mark=0x2,ct_state=+rel+trk,ip → LOCAL
table=1 13 in_port=1,tp_dst=3784,udp → output:2,LOCAL
table=1 10 dl_dst=02:42:ac:12:00:03 → LOCAL
table=1 0  → NORMAL
table=2 250 ip,pkt_mark=0x1002 → set_field:02:42:ac:12:00:03->eth_dst,output:3
table=2 250 ip,pkt_mark=0x1003 → set_field:02:42:ac:12:00:03->eth_dst,output:4
table=2 200 ip,nw_src=169.254.0.14 → drop
table=2 200 ip,nw_src=169.254.0.16 → drop
table=2 100  → set_field:02:42:ac:12:00:03->eth_dst,output:2
table=3 32768  → move:NXM_OF_ETH_DST[]->NXM_OF_ETH_SRC[],set_field:02:42:ac:12:00:03->eth_dst,LOCAL
table=4 0 ip → ct(commit,table=3,zone=64002,nat(src=169.254.0.1))
table=5 0 ip → ct(commit,table=2,zone=64001,nat)
`
  .trim()
  .split('\n');

const MAC = '02:42:ac:12:00:03';

/** What leaves with the node's address, which it gets in table 0; it goes on as `then` says. */
const translations = (then: string, table = ''): string[] =>
  [
    '105 in_port=2,ip,pkt_mark=0x3f0 0x1',
    '105 in_port=3,ip,pkt_mark=0x3f0 0x5',
    '105 in_port=4,ip,pkt_mark=0x3f0 0x6',
    '100 in_port=3,ip,nw_src=169.254.0.13 0x5',
    '100 in_port=4,ip,nw_src=169.254.0.15 0x6',
  ].map((line) => {
    const [priority, match, mark] = line.split(' ');
    return `table=0 ${priority} dl_src=${MAC},${match} → ct(commit,${table}zone=64000,nat(src=172.18.0.3),exec(set_field:${mark}->ct_mark))${then}`;
  });

/** What the example says and we do not, and the other way round: each with a reason in docs/bridge.md. */
const LEFT_OUT = [
  // Nothing is handed to every network.
  `table=0 11 arp,dl_dst=ff:ff:ff:ff:ff:ff,in_port=1 → output:2,output:3,output:4,NORMAL`,
  `table=0 10 dl_dst=${MAC} → output:2,output:3,output:4,NORMAL`,
  // A primary network sends IP with its own masquerade address, asks for neighbours, and nothing else.
  `table=0 10 dl_src=${MAC},in_port=3 → NORMAL`,
  `table=0 10 dl_src=${MAC},in_port=4 → NORMAL`,
  'table=0 9 in_port=3 → drop',
  'table=0 9 in_port=4 → drop',
  // The mark of a network stays behind when a packet goes on into OVN; what the host sends there has one mark.
  `table=2 250 ip,pkt_mark=0x1002 → set_field:${MAC}->eth_dst,output:3`,
  `table=2 250 ip,pkt_mark=0x1003 → set_field:${MAC}->eth_dst,output:4`,
  `table=2 100  → set_field:${MAC}->eth_dst,output:2`,
  // What was not translated does not leave.
  ...translations(',output:1'),
  // Addresses of nodes are in a table of their own, not with each network.
  ...[2, 3, 4].map(
    (port) =>
      `table=0 700 icmp,icmp_code=4,icmp_type=3,in_port=${port},nw_dst=172.18.0.2 → drop (0x304)`,
  ),
  // Tunnels come from nodes alone.
  `table=0 205 dl_dst=${MAC},in_port=1,tp_dst=6081,udp → LOCAL`,
];
const question = (port: number, id: number): string =>
  `table=0 110 arp,arp_op=1,dl_src=${MAC},in_port=${port} → learn(table=20,hard_timeout=3,priority=100,delete_learned,cookie=0xdeff1050000000${id},limit=256,eth_type=0x806,arp_op=2,NXM_OF_ARP_SPA[]=NXM_OF_ARP_TPA[],output:NXM_OF_IN_PORT[]),NORMAL`;
const refusals = [3, 4].flatMap((port) =>
  ['172.18.0.3', '10.0.0.5'].map(
    (address) =>
      `table=0 110 dl_src=${MAC},icmp,icmp_code=3,icmp_type=3,in_port=${port},nw_src=${address} → output:1`,
  ),
);
const INTO_OVN = 'set_field:0x1745ed->pkt_mark';
/** Nothing of a network gets into the tunnels of others, whole or in pieces. */
const intoTunnels = [2, 3, 4].flatMap((port) => [
  `table=0 600 in_port=${port},tp_dst=6081,udp → drop`,
  `table=0 600 ct_state=-trk,in_port=${port},ip,nw_frag=yes → ct(table=0,zone=64004)`,
]);
/** A network tells no other node that a packet was too big. */
const pathMtu = [
  ...[2, 3, 4].map(
    (port) => `table=0 700 icmp,icmp_code=4,icmp_type=3,in_port=${port},reg1=0/0x2 → resubmit(,13)`,
  ),
  'table=13 100 ip,nw_dst=172.18.0.2 → drop',
  'table=13 0  → load:0x1->NXM_NX_REG1[1],resubmit(,0)',
];
const ADDED = [
  ...intoTunnels,
  ...pathMtu,
  'table=0 600 ct_nw_proto=17,ct_state=-inv+trk,ct_tp_dst=6081,nw_frag=yes,udp → drop',
  'table=6 10 tp_dst=6081,udp → drop',
  // A port of OVN without flows says nothing as the node.
  'table=0 2 in_port=LOCAL → NORMAL',
  `table=0 1 dl_src=${MAC} → drop`,
  `table=0 205 dl_dst=${MAC},in_port=1,nw_src=172.18.0.2,tp_dst=6081,udp → LOCAL`,
  `table=0 204 dl_dst=${MAC},in_port=1,tp_dst=6081,udp → drop`,
  `table=2 100  → ${INTO_OVN},set_field:${MAC}->eth_dst,output:2`,
  // What is sent to a node port behind which nobody is.
  ...refusals,
  // Endpoints of services that are the host's own; in the example there are no services.
  'table=6 0  → LOCAL',
  'table=7 0  → output:1',
  `table=0 11 dl_dst=${MAC} → resubmit(,20),output:2,LOCAL`,
  question(3, 2),
  question(4, 3),
  'table=0 60 in_port=3 → drop',
  'table=0 60 in_port=4 → drop',
  ...translations('', 'table=8,'),
  'table=8 110 ip,nw_src=172.18.0.3,pkt_mark=0xc000/0xffffe000 → drop',
  'table=8 100 ip,nw_src=172.18.0.3 → output:1',
  'table=8 0  → drop',
  'table=12 200 in_port=1 → load:0x1->NXM_NX_REG1[0],resubmit(,0)',
  'table=12 0  → drop',
  ...['10.244.0.0/16', '100.64.0.0/16', '100.88.0.0/16', '169.254.0.0/17'].map(
    (range) => `table=0 103 in_port=2,ip,nw_src=${range} → drop`,
  ),
  ...['0xc000/0xffffe000', '0x80000000/0x80000000'].flatMap((marks) =>
    [3, 4].map((port) => `table=0 104 in_port=${port},pkt_mark=${marks} → drop`),
  ),
  'table=0 104 in_port=2,pkt_mark=0xc000/0xffffe000 → drop',
  'table=0 104 in_port=2,pkt_mark=0x3f5 → drop',
  'table=0 103 in_port=3,ip,nw_src=10.20.0.0/16 → drop',
  'table=0 103 in_port=4,ip,nw_src=10.30.0.0/24 → drop',
  `table=2 250 ip,pkt_mark=0x1002 → ${INTO_OVN},set_field:${MAC}->eth_dst,output:3`,
  `table=2 250 ip,pkt_mark=0x1003 → ${INTO_OVN},set_field:${MAC}->eth_dst,output:4`,
  'table=0 570 icmp,icmp_type=5,in_port=LOCAL,nw_src=169.254.0.2 → drop',
  'table=0 570 in_port=1,ip,nw_src=169.254.0.0/17 → drop',
  // Where packets lose their mark on the way to the bridge, the address says for which network they are.
  ...[
    ['0x1002', '169.254.0.13'],
    ['0x1003', '169.254.0.15'],
  ].map(
    ([mark, source]) =>
      `table=0 560 in_port=LOCAL,ip,nw_dst=10.96.0.0/16,nw_src=${source} → set_field:${mark}->pkt_mark,ct(commit,table=2,zone=64001,nat(src=169.254.0.2))`,
  ),
];

const without = (lines: readonly string[], others: readonly string[]): string[] =>
  lines.filter((line) => !others.includes(line)).toSorted();

const sharedGateway = [...without(EXAMPLE, LEFT_OUT), ...ADDED].toSorted();

/** Flows that networks, not their default, can send by. */
const fromNetworks = (zone: Zone): readonly string[] =>
  flowLines(zone).filter((line) => /in_port=(?![12]\b)\d/.test(line));

describe('flows of the external bridge', () => {
  test('are those of the worked example, in shared gateway mode (reference/node.md §4.5)', () => {
    expect(EXAMPLE).toEqual(expect.arrayContaining(LEFT_OUT));
    expect(flowLines(bridgeZone).toSorted()).toEqual(sharedGateway);
  });

  test('in local gateway mode let the host judge sizes and translate (reference/node.md §4.5)', () => {
    const local = flowLines(inLocalMode(bridgeZone));
    const gone = sharedGateway.filter(
      (line) =>
        pathMtu.includes(line) ||
        line.includes('110 in_port=1,ip,nw_frag') ||
        line.includes(`102 dl_src=${MAC},in_port=2`) ||
        line.includes('104 in_port=2,pkt_mark') ||
        refusals.includes(line) ||
        (line.startsWith('table=1 100') && !line.includes('ct_mark=0x2')),
    );
    const added = [
      ...['0x1', '0x5', '0x6'].flatMap((mark) =>
        ['est', 'rel'].map(
          (state) =>
            `table=1 100 ct_mark=${mark},ct_state=+${state}+trk,ip → check_pkt_larger(1414)->NXM_NX_REG0[0],resubmit(,11)`,
        ),
      ),
      ...[2, 3, 4].flatMap((port) => [
        `table=0 650 dl_src=${MAC},in_port=${port},tp_dst=3784,udp → output:1`,
        ...['tcp', 'udp', 'sctp'].map((protocol) => {
          const match = ['nw_src=172.18.0.3', `in_port=${port}`, protocol].toSorted().join(',');
          return `table=0 175 ${match} → ct(table=4,zone=64001)`;
        }),
      ]),
      'table=0 176 in_port=2,pkt_mark=0xc000/0xffffe000 → drop',
      'table=0 176 in_port=2,pkt_mark=0x3f5 → drop',
      'table=0 180 dl_src=02:42:ac:12:00:03,in_port=2,ip,nw_src=172.18.0.3,pkt_mark=0x3f2 → ct(commit,zone=64000,exec(set_field:0x1->ct_mark)),output:1',
      'table=0 181 in_port=2,ip,nw_dst=10.96.0.0/16,pkt_mark=0x3f2 → drop',
      'table=11 10 reg0=0x1 → LOCAL',
      'table=11 5 ct_mark=0x5 → output:3',
      'table=11 5 ct_mark=0x6 → output:4',
      'table=11 1  → output:2',
    ];
    expect(gone).toHaveLength(pathMtu.length + 1 + 1 + 2 + refusals.length + 6);
    expect(without(local, [])).toEqual([...without(sharedGateway, gone), ...added].toSorted());
  });

  test('without checks of sizes local gateway mode hands replies on at once (reference/node.md §4.4)', () => {
    const zone = inLocalMode({
      ...bridgeZone,
      node: { ...bridgeZone.node, gatewayMtuSupport: false },
    });
    expect(flowLines(zone)).toContain('table=1 100 ct_mark=0x5,ct_state=+est+trk,ip → output:3');
    expect(flowLines(zone).filter((line) => line.startsWith('table=11'))).toEqual([]);
  });

  test('take tunnels from what settings name besides nodes, or from everybody', () => {
    const to = (tunnelSources: readonly string[] | 'any'): readonly string[] =>
      flowLines({ ...bridgeZone, settings: { ...bridgeZone.settings, tunnelSources } }).filter(
        (line) => line.includes(`dl_dst=${MAC},in_port=1`) && line.includes('6081'),
      );
    expect(to(['203.0.113.0/24', '172.18.0.2', 'fc00::/64']).toSorted()).toEqual([
      `table=0 204 dl_dst=${MAC},in_port=1,tp_dst=6081,udp → drop`,
      `table=0 205 dl_dst=${MAC},in_port=1,nw_src=172.18.0.2,tp_dst=6081,udp → LOCAL`,
      `table=0 206 dl_dst=${MAC},in_port=1,nw_src=172.18.0.2,tp_dst=6081,udp → LOCAL`,
      `table=0 206 dl_dst=${MAC},in_port=1,nw_src=203.0.113.0/24,tp_dst=6081,udp → LOCAL`,
    ]);
    expect(to('any')).toEqual([`table=0 205 dl_dst=${MAC},in_port=1,tp_dst=6081,udp → LOCAL`]);
  });

  test('have twins for IPv6, and neighbour discovery (reference/node.md §4.7)', () => {
    const lines = flowLines(dualBridgeZone);
    const twins = [
      `table=0 100 dl_src=${MAC},in_port=3,ipv6,ipv6_src=fd69::b → ct(commit,table=8,zone=64000,nat(src=fc00:f853::3),exec(set_field:0x4->ct_mark))`,
      'table=8 100 ipv6,ipv6_src=fc00:f853::3 → output:1',
      `table=0 500 in_port=LOCAL,ipv6,ipv6_dst=fd00:10:96::/112 → ct(commit,table=2,zone=64001,nat(src=fd69::2))`,
      `table=0 560 in_port=LOCAL,ipv6,ipv6_dst=fd00:10:96::/112,ipv6_src=fd69::b → set_field:0x1001->pkt_mark,ct(commit,table=2,zone=64001,nat(src=fd69::2))`,
      'table=0 103 in_port=3,ipv6,ipv6_src=fd20:103::/48 → drop',
      `table=0 12 icmp6,icmp_type=135,nd_target=fc00:f853::3 → output:2,NORMAL`,
      `table=0 102 dl_src=${MAC},icmp6,icmp_type=135,in_port=2 → ct(commit,zone=64000,exec(set_field:0x1->ct_mark)),NORMAL`,
      `table=0 102 dl_src=${MAC},icmp6,icmp_type=136,in_port=LOCAL → ct(commit,zone=64000,exec(set_field:0x2->ct_mark)),NORMAL`,
      'table=1 14 icmp6,icmp_type=136 → resubmit(,20),output:2,LOCAL',
      'table=4 0 ipv6 → ct(commit,table=3,zone=64002,nat(src=fd69::1))',
      `table=0 110 dl_src=${MAC},icmp6,icmp_type=135,in_port=3,nw_ttl=255 → learn(table=20,hard_timeout=3,priority=100,delete_learned,cookie=0xdeff10500000001,limit=256,eth_type=0x86dd,nw_proto=58,icmpv6_type=136,NXM_NX_ND_TARGET[],output:NXM_OF_IN_PORT[]),NORMAL`,
    ];
    expect(lines).toEqual(expect.arrayContaining(twins));
  });

  test('lead every primary network to the services that all may use, and to no others', () => {
    const zone: Zone = {
      ...bridgeZone,
      allowedDefaultServices: [{ key: 'default/kubernetes', clusterIps: ['10.96.0.1'] }],
    };
    expect(flowLines(zone)).toContain(
      `table=2 300 ip,nw_dst=10.96.0.1 → ${INTO_OVN},set_field:${MAC}->eth_dst,output:2`,
    );
  });
});

/** Flows that services make. */
const serviceLines = (zone: Zone): readonly string[] => {
  const before = flowLines({ ...zone, services: [], endpointSlices: [] });
  return flowLines(zone).filter((line) => !before.includes(line));
};

describe('services from outside (reference/node.md §4.6)', () => {
  const to = (match: string, actions: string): string =>
    `table=1 50 ${match.split(',').toSorted().join(',')} → ${actions}`;
  const from = (match: string, actions = 'output:1'): string =>
    `table=0 110 ${match.split(',').toSorted().join(',')} → ${actions}`;

  test('go to the network of the service in shared gateway mode, and answers leave with the address that was asked', () => {
    expect(serviceLines(serving).filter((line) => line.includes('30081'))).toEqual(
      ['172.18.0.3', '10.0.0.5'].flatMap((address) => [
        to(`in_port=1,tcp,nw_dst=${address},tp_dst=30081`, 'output:3'),
        from(`in_port=3,dl_src=${MAC},tcp,nw_src=${address},tp_src=30081`),
      ]),
    );
    expect(serviceLines(serving).filter((line) => line.includes('5.5.5.5'))).toEqual([
      from('arp,arp_op=1,in_port=1,arp_tpa=5.5.5.5', 'LOCAL'),
      to('in_port=1,tcp,nw_dst=5.5.5.5,tp_dst=80', 'output:3'),
      from(`in_port=3,dl_src=${MAC},tcp,nw_src=5.5.5.5,tp_src=80`),
      to('icmp,icmp_code=4,icmp_type=3,in_port=1,nw_dst=5.5.5.5', 'output:3'),
      from(`icmp,icmp_code=3,icmp_type=3,in_port=3,dl_src=${MAC},nw_src=5.5.5.5`),
    ]);
  });

  test('reach an endpoint of the host itself with the address of the client, by a zone of their own', () => {
    expect(serviceLines(serving).filter((line) => line.includes('64003'))).toEqual([
      ...['172.18.0.3', '10.0.0.5'].map((address) =>
        to(
          `in_port=1,tcp,nw_dst=${address},tp_dst=30090`,
          'ct(commit,table=6,zone=64003,nat(dst=172.18.0.3:8080))',
        ),
      ),
      from('in_port=LOCAL,tcp,nw_src=172.18.0.3,tp_src=8080', 'ct(table=7,zone=64003,nat)'),
    ]);
    expect(
      serviceLines(inLocalMode(serving)).filter((line) => line.includes('64003')),
    ).toHaveLength(3);
  });

  test('go by the host in local gateway mode: no flow leads to a network', () => {
    for (const line of serviceLines(inLocalMode(serving))) expect(line).not.toMatch(/output:[23]/);
  });

  test('have twins for IPv6, for families that the service has', () => {
    const zone = withServices(
      dualBridgeZone,
      service('blue/six', {
        type: 'NodePort',
        clusterIPs: ['fd00:10:96::7'],
        externalIPs: ['fd05::5', '5.5.5.5'],
        ports: [{ port: 53, nodePort: 30053, protocol: 'UDP' }],
      }),
      slice('blue/six', ['fd20:103:0:1::5 on ovn-worker'], { network: 'blue_blue' }),
    );
    const lines = serviceLines(zone);
    expect(lines).toEqual(
      expect.arrayContaining([
        to('in_port=1,udp6,ipv6_dst=fc00:f853::3,tp_dst=30053', 'output:3'),
        from(`in_port=3,dl_src=${MAC},udp6,ipv6_src=fd05::5,tp_src=53`),
        from('icmp6,icmp_code=0,icmp_type=135,in_port=1,nd_target=fd05::5', 'LOCAL'),
        to('icmp6,icmp_code=0,icmp_type=2,in_port=1,ipv6_dst=fd05::5', 'output:3'),
        from(`icmp6,icmp_code=4,icmp_type=1,in_port=3,dl_src=${MAC},ipv6_src=fd05::5`),
      ]),
    );
    for (const line of lines) expect(line).not.toContain('5.5.5.5');
  });

  test('have ports of the node that a pod has beside them, at the address that it asks for, in shared gateway mode alone', () => {
    const zone: Zone = {
      ...dualBridgeZone,
      attachments: [bluePod],
      hostPortRequests: [
        {
          namespace: 'blue',
          name: 'pod1',
          created: '',
          ports: [
            { protocol: 'TCP', hostPort: 8080, containerPort: 80, hostIp: '172.18.0.3' },
            { protocol: 'UDP', hostPort: 8080, containerPort: 80, hostIp: '127.0.0.1' },
          ],
        },
      ],
    };
    const lines = (of: Zone): readonly string[] =>
      flowLines(of).filter((line) => line.includes('8080'));
    expect(lines(zone)).toEqual([
      to('in_port=1,nw_dst=172.18.0.3,tcp,tp_dst=8080', 'output:3'),
      from(`dl_src=${MAC},in_port=3,nw_src=172.18.0.3,tcp,tp_src=8080`),
    ]);
    expect(lines(inLocalMode(zone))).toEqual([]);
  });

  test('have none where the node opens no node ports, or a service has nothing outside', () => {
    const { gateway } = bridgeZone.node;
    const zone: Zone = {
      ...serving,
      node: {
        ...bridgeZone.node,
        ...(gateway && { gateway: { ...gateway, nodePortEnable: false } }),
      },
    };
    expect(serviceLines(zone).filter((line) => line.includes('300'))).toEqual([]);
    expect(serviceLines(serving).filter((line) => line.includes('10.96.1.9'))).toEqual([]);
  });
});

describe('services of connected networks that overlap (reference/node.md §4.10)', () => {
  const connected = (zone: Zone): readonly string[] =>
    flowLines(zone)
      .filter((line) => /^table=0 5[27]0 /.test(line))
      .toSorted();
  const TO = (port: number): string =>
    `set_field:0x1745ed->pkt_mark,set_field:0a:58:a9:fe:00:04->eth_src,set_field:0a:58:ac:12:00:03->eth_dst,output:${port}`;

  test('lead from gateway router by the host to gateway router, by cluster IP and port, and back, in both modes', () => {
    const asks = (client: number, source: string, ip: string, server: number): string[] =>
      (ip === '10.96.1.1' ? ['tcp,tp_dst=80'] : ['tcp,tp_dst=80', 'tp_dst=53,udp']).flatMap(
        (port) => [
          `520 in_port=${client},nw_dst=${ip},nw_src=${source},${port} → set_field:0x1745ed->pkt_mark,resubmit(,3)`,
          `570 in_port=LOCAL,nw_dst=${ip},nw_src=${source},${port} → ${TO(server)}`,
        ],
      );
    const answers = (ip: string, source: string, client: number): string =>
      `570 in_port=LOCAL,ip,nw_dst=${source},nw_src=${ip} → ${TO(client)}`;
    const flows = [
      '570 icmp,icmp_type=5,in_port=LOCAL,nw_src=169.254.0.2 → drop',
      '570 in_port=1,ip,nw_src=169.254.0.0/17 → drop',
      ...asks(3, '169.254.0.11', '10.96.2.2', 4),
      ...asks(4, '169.254.0.13', '10.96.1.1', 3),
      ...asks(5, '169.254.0.15', '10.96.1.1', 3),
      ...asks(5, '169.254.0.15', '10.96.2.2', 4),
      answers('10.96.2.2', '169.254.0.11', 3),
      answers('10.96.1.1', '169.254.0.13', 4),
      answers('10.96.1.1', '169.254.0.15', 5),
      answers('10.96.2.2', '169.254.0.15', 5),
    ]
      .map((flow) => `table=0 ${flow}`)
      .toSorted();
    expect(connected(overlappingZone)).toEqual(flows);
    expect(connected(inLocalMode(overlappingZone))).toEqual(flows);
  });

  test('go with the connection and with the service', () => {
    expect(connected({ ...overlappingZone, connects: [] })).toHaveLength(2);
    expect(connected({ ...overlappingZone, services: [] })).toHaveLength(2);
  });
});

describe('a primary network', () => {
  test.for([
    ['shared', bridgeZone],
    ['local', inLocalMode(bridgeZone)],
    ['dual', dualBridgeZone],
  ] as const)('never sends with the address of a pod (%s)', ([, zone]) => {
    // Nothing that leaves is without a translation, but BFD of the router itself, questions for neighbours, and refusals of a node port.
    const ways = fromNetworks(zone).filter((line) => /output:1$|NORMAL$/.test(line));
    const refusal = /icmp_type=[13],.*(nw_src=(172\.18\.0\.3|10\.0\.0\.5)|ipv6_src=fc00:f853::3) /;
    for (const line of ways)
      if (!refusal.test(line))
        expect(line).toMatch(/nat\(src=(172\.18\.0\.3|fc00:f853::3)\)|tp_dst=3784|→ learn\(/);
    const drops = fromNetworks(zone).filter((line) => / 60 in_port=\d+ → drop/.test(line));
    expect(drops).toHaveLength(zone.networks.length - 1);
  });

  test('is never flooded; the default network is', () => {
    expect(portsOf(bridgeRows(bridgeZone)).map(({ port }) => port)).toEqual([
      '{patch-breth0_blue_l3net_ovn-worker-to-br-int}',
      '{patch-breth0_cluster_udn_green_ovn-worker-to-br-int}',
    ]);
  });

  test('costs as many flows as any other, and no flow names two of them', () => {
    const counts = [1, 2, 50].map((count) => flowsOf(bridgeRows(crowdedBridgeZone(count))).length);
    const [one = 0, two = 0, fifty = 0] = counts;
    expect(fifty - one).toBe(49 * (two - one));
    for (const { match, actions } of flowsOf(bridgeRows(crowdedBridgeZone(50)))) {
      const named = new Set(`${match} ${actions}`.match(/net_\d+_/g));
      expect(named.size).toBeLessThan(2);
    }
  });
});

test.each([
  ['shared', 2],
  ['local', 1],
] as const)(
  'a node more costs the same however many networks there are, in %s gateway mode',
  (mode, cost) => {
    const countOf = (networks: number, nodes: number): number => {
      const remoteNodes = Array.from({ length: nodes }, (_, index) => furtherNode(index + 10));
      const wanted: Zone = { ...crowdedBridgeZone(networks), remoteNodes };
      return flowsOf(bridgeRows(mode === 'local' ? inLocalMode(wanted) : wanted)).length;
    };
    expect(countOf(2, 9) - countOf(2, 0)).toBe(9 * cost);
    expect(countOf(20, 9) - countOf(20, 0)).toBe(9 * cost);
  },
);

test('each flow has a key of its own, and a rule of its feature', () => {
  const rows = bridgeRows(crowdedBridgeZone(3));
  expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
  const rules = Object.assign({}, ...bridgeFeatures.map((feature) => feature.rules)) as object;
  for (const { rule } of rows) expect(rules).toHaveProperty([rule]);
  expect(Object.keys(rules).toSorted()).toEqual(
    [
      ...new Set(
        [
          ...rows,
          ...bridgeRows(inLocalMode(bridgeZone)),
          ...bridgeRows(sharing),
          ...bridgeRows(serving),
          ...bridgeRows(egressZone),
          ...bridgeRows(egressCardZone),
          ...bridgeRows(egressMoveZone),
          ...bridgeRows(overlappingZone),
        ].map(({ rule }) => rule),
      ),
    ].toSorted(),
  );
});

const sharing: Zone = {
  ...bridgeZone,
  allowedDefaultServices: [{ key: 'default/kubernetes', clusterIps: ['10.96.0.1'] }],
};

/** A load balancer on network B, one that the host itself serves, and one that nobody reaches from outside. */
const serving: Zone = withServices(
  bridgeZone,
  service(
    'blue/plain',
    {
      type: 'LoadBalancer',
      clusterIPs: ['10.96.1.3'],
      ports: [{ port: 80, nodePort: 30081 }],
    },
    { loadBalancer: { ingress: [{ ip: '5.5.5.5' }] } },
  ),
  slice('blue/plain', ['10.20.1.3 on ovn-worker'], { network: 'blue_l3net' }),
  service('kube-system/agent', {
    type: 'NodePort',
    clusterIPs: ['10.96.0.7'],
    externalTrafficPolicy: 'Local',
    ports: [{ port: 80, nodePort: 30090 }],
  }),
  slice('kube-system/agent', ['172.18.0.3 on ovn-worker']),
  service('blue/inside', { clusterIPs: ['10.96.1.9'] }),
  slice('blue/inside', ['10.20.1.3 on ovn-worker'], { network: 'blue_l3net' }),
);

/** Tables that frames of the host reach, and what was meant for it; the others see what has a tag. */
const WITHOUT_TAG = new Set([2, 5, 7, 11]);

describe('a gateway with a VLAN (reference/node.md §4.1)', () => {
  const push = 'push_vlan:0x8100,set_field:4101->vlan_vid';
  const zones = [
    ['shared gateway', bridgeZone],
    ['local gateway', inLocalMode(bridgeZone)],
    ['services', serving],
    ['services, local gateway', inLocalMode(serving)],
    ['what all may use', sharing],
    ['both families', dualBridgeZone],
    ['both families, local gateway', inLocalMode(dualBridgeZone)],
  ] as const;

  test('has tags at the uplink and at patch ports, and none at the host', () => {
    expect(flowLines(inVlan(bridgeZone))).toEqual(
      expect.arrayContaining([
        `table=0 205 dl_dst=${MAC},dl_vlan=5,in_port=1,nw_src=172.18.0.2,tp_dst=6081,udp → pop_vlan,LOCAL`,
        `table=0 204 dl_dst=${MAC},dl_vlan=5,in_port=1,tp_dst=6081,udp → drop`,
        `table=0 200 in_port=LOCAL,tp_dst=6081,udp,vlan_tci=0x0000/0x1fff → ${push},output:1`,
        `table=0 100 in_port=LOCAL,ip,vlan_tci=0x0000/0x1fff → ct(commit,zone=64000,exec(set_field:0x2->ct_mark)),${push},output:1`,
        `table=0 100 dl_src=${MAC},dl_vlan=5,in_port=3,ip,nw_src=169.254.0.13 → ct(commit,table=8,zone=64000,nat(src=172.18.0.3),exec(set_field:0x5->ct_mark))`,
        `table=0 50 dl_dst=${MAC},dl_vlan=5,ip → ct(table=1,zone=64000,nat)`,
        `table=0 12 arp,arp_op=1,arp_tpa=172.18.0.3,dl_vlan=5 → output:2,NORMAL`,
        `table=0 11 dl_dst=${MAC},dl_vlan=5 → resubmit(,20),output:2,pop_vlan,LOCAL`,
        'table=0 60 in_port=3 → drop',
        'table=0 0  → NORMAL (0x0)',
        'table=1 100 ct_mark=0x5,ct_state=+est+trk,dl_vlan=5,ip → output:3',
        'table=1 100 ct_mark=0x2,ct_state=+est+trk,dl_vlan=5,ip → pop_vlan,LOCAL',
        'table=1 13 dl_vlan=5,in_port=1,tp_dst=3784,udp → output:2,pop_vlan,LOCAL',
        `table=1 10 dl_dst=${MAC},dl_vlan=5 → pop_vlan,LOCAL`,
        `table=2 250 ip,pkt_mark=0x1002 → ${INTO_OVN},set_field:${MAC}->eth_dst,${push},output:3`,
        `table=3 32768 dl_vlan=5 → move:NXM_OF_ETH_DST[]->NXM_OF_ETH_SRC[],set_field:${MAC}->eth_dst,pop_vlan,LOCAL`,
        'table=6 0 dl_vlan=5 → pop_vlan,LOCAL',
        `table=7 0  → ${push},output:1`,
      ]),
    );
  });

  test('counts sizes without the tag', () => {
    expect(flowLines(inVlan(inLocalMode(bridgeZone)))).toEqual(
      expect.arrayContaining([
        'table=1 100 ct_mark=0x5,ct_state=+est+trk,dl_vlan=5,ip → pop_vlan,check_pkt_larger(1414)->NXM_NX_REG0[0],resubmit(,11)',
        'table=11 10 reg0=0x1 → LOCAL',
        `table=11 5 ct_mark=0x5 → ${push},output:3`,
        `table=11 1  → ${push},output:2`,
      ]),
    );
  });

  test.for(zones)('has the flows that there are without one (%s)', ([, zone]) => {
    const untagged = flowLines(inVlan(zone)).map((line) =>
      line
        .replace(/,?(dl_vlan=5|vlan_tci=0x0000\/0x1fff)\b/, '')
        .replace(`${push},`, '')
        .replace('pop_vlan,', '')
        .replace(/^(table=\d+ \d+ ),/, '$1'),
    );
    expect(untagged).toEqual(flowLines(zone));
  });

  test.for(zones)('hands no frame to anybody with the wrong tag (%s)', ([, zone]) => {
    for (const line of flowLines(inVlan(zone))) {
      const [, number = '', match = '', actions = ''] =
        /^table=(\d+) \d+ (.*) → (.*?)(?: \(0x\w+\))?$/.exec(line) ?? [];
      const table = Number(number);
      if (actions === 'drop') continue;
      const isFromHost = match.includes('in_port=LOCAL');
      // What matches nothing else of ours is switched.
      if (table === 0 && !['', 'in_port=LOCAL'].includes(match))
        expect(match).toContain(isFromHost ? 'vlan_tci=0x0000' : 'dl_vlan=5');
      let hasTag = !isFromHost && !WITHOUT_TAG.has(table);
      for (const word of actions.split(/,(?![^()]*\))/)) {
        if (word === 'pop_vlan') hasTag = false;
        if (word.startsWith('push_vlan')) hasTag = true;
        if (word === 'LOCAL') expect([line, hasTag]).toEqual([line, false]);
        if (word.startsWith('output:')) expect([line, hasTag]).toEqual([line, true]);
        const goesOnIn = /table=(\d+)|resubmit\(,(\d+)\)/.exec(word);
        const next = goesOnIn?.[1] ?? goesOnIn?.[2];
        if (next !== undefined)
          expect([line, hasTag]).toEqual([line, !WITHOUT_TAG.has(Number(next))]);
      }
    }
  });

  test('switches nothing of the host as long as its port is not in the VLAN', () => {
    const rows = flowsOf(bridgeRows(inVlan(dualBridgeZone)));
    const switched = rows.filter(
      ({ match, actions }) => /in_port=(LOCAL,|{:host)/.test(match) && actions.endsWith('NORMAL'),
    );
    expect(switched.length).toBeGreaterThan(2);
    for (const { match } of switched) expect(match).toContain('in_port={:host-in-vlan-5}');
  });
});

test.for([
  ['shared', [105, 104]],
  ['local', [180, 176]],
] as const)(
  'what the default network marked for its EgressIP leaves with an address of this node alone, in %s gateway mode',
  ([mode, [passes, drops]]) => {
    const ofMark = (zone: Zone): readonly string[] =>
      flowLines(mode === 'local' ? inLocalMode(zone) : zone)
        .filter((line) => line.includes('pkt_mark=0x3f5'))
        .map((line) => line.replace(/ \(0x\w+\)$/, ''));
    const none = [`table=0 ${drops} in_port=2,pkt_mark=0x3f5 → drop`];
    expect(ofMark(egressZone).toSorted()).toEqual(
      [
        ...none,
        `table=0 ${passes} dl_src=02:42:ac:12:00:03,in_port=2,ip,nw_src=172.18.0.200,pkt_mark=0x3f5 → set_field:0->pkt_mark,resubmit(,0)`,
        `table=0 ${passes} dl_src=02:42:ac:12:00:03,in_port=2,ipv6,ipv6_src=fc00:f853::200,pkt_mark=0x3f5 → set_field:0->pkt_mark,resubmit(,0)`,
      ].toSorted(),
    );
    for (const zone of [bridgeZone, egressCardZone, egressClassZone])
      expect(ofMark(zone)).toEqual(none);
  },
);

test("what is marked for an EgressIP never leaves with the node's address, whatever its connection had before", () => {
  expect(flowLines(dualBridgeZone).filter((line) => line.startsWith('table=8 110'))).toEqual([
    'table=8 110 ip,nw_src=172.18.0.3,pkt_mark=0xc000/0xffffe000 → drop',
    'table=8 110 ipv6,ipv6_src=fc00:f853::3,pkt_mark=0xc000/0xffffe000 → drop',
  ]);
});

test('what leaves by another network card goes to the host and comes back from there, known by an address of its EgressIP', () => {
  const ofLink = (zone: Zone): readonly string[] =>
    flowLines(zone)
      .filter((line) => line.includes('169.254.39.16'))
      .map((line) => line.replace(/ \(0x\w+\)$/, ''))
      .toSorted();
  expect(ofLink(egressCardZone)).toEqual([
    'table=0 103 in_port=1,ip,nw_src=169.254.39.16 → drop',
    'table=0 105 dl_src=02:42:ac:12:00:03,in_port=3,ip,pkt_mark=0xc350 → ct(commit,table=8,zone=64000,nat(src=169.254.39.16),exec(set_field:0x4->ct_mark))',
    'table=0 500 in_port=LOCAL,ip,nw_dst=169.254.39.16 → set_field:02:42:ac:12:00:03->eth_dst,ct(table=1,zone=64000,nat)',
    'table=8 100 ip,nw_src=169.254.39.16 → resubmit(,3)',
  ]);
  expect(ofLink(inVlan(egressCardZone))).toContain(
    'table=0 500 in_port=LOCAL,ip,nw_dst=169.254.39.16,vlan_tci=0x0000/0x1fff → set_field:02:42:ac:12:00:03->eth_dst,push_vlan:0x8100,set_field:4101->vlan_vid,ct(table=1,zone=64000,nat)',
  );
});
