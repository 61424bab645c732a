import { describe, expect, test } from 'vitest';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import type { ElementColumns, NftRuleColumns } from '../../../../src/node/nftables/nft-rows.ts';
import type { ChainColumns } from '../../../../src/node/nftables/ruleset.ts';
import type { Attachment, HostNetworkPod } from '../../../../src/model/model.ts';
import { DEFAULT_NETWORK } from '../../../../src/model/read/networks.ts';
import type { ServiceFacts } from '../../../../src/model/read/services.ts';
import { hostUnits } from '../../../support/host/host-units.ts';
import { nftZone, sharedNftZone } from '../../../support/host/nft-zone.ts';
import { bluePod, factsOf, type Zone } from '../../../support/zone/zones.ts';

const rowsOf = (zone: Zone): readonly DesiredRow[] =>
  hostUnits(zone)
    .flatMap(({ rows }) => rows)
    .filter(({ database }) => database === 'nftables');
const rows = rowsOf(nftZone);
const shared = rowsOf(sharedNftZone);

const columnsOf = <C>(of: readonly DesiredRow[], table: string): readonly C[] =>
  of.filter((row) => row.table === table).map(({ columns }) => columns as unknown as C);
const chain = (name: string, of = rows): string[] =>
  columnsOf<NftRuleColumns>(of, 'rule')
    .filter((rule) => rule.chain === name)
    .map(({ text }) => text);
const elements = (set: string, of = rows): string[] =>
  columnsOf<ElementColumns>(of, 'element')
    .filter((one) => one.set === set)
    .map(({ element, value }) => (value === undefined ? element : `${element} : ${value}`));
const hooks = (of: readonly DesiredRow[]): string[] =>
  columnsOf<ChainColumns>(of, 'chain')
    .filter(({ hook }) => hook !== undefined)
    .map(({ name, type, hook, priority }) => `${name}: ${type} ${hook} ${priority}`);

/** Connections of pods of the default network with services of primary networks (reference/node.md §3.10). */
/** Connections of pods of the default network by node ports of this node that are of primary networks. */
const NODE_PORTS = ['v4', 'v6'].map(
  (family) =>
    `ct status dnat ct original ${family === 'v4' ? 'ip' : 'ip6'} daddr @local-node-ips-${family} ct protocol . ct original proto-dst @udn-node-ports`,
);
const ACCESS = [
  'ct original ip saddr @default-access-pods-v4 ct original ip daddr . ct protocol . ct original proto-dst @default-access-services-v4',
  'ct original ip6 saddr @default-access-pods-v6 ct original ip6 daddr . ct protocol . ct original proto-dst @default-access-services-v6',
];

const UNANSWERED =
  /^Service blue\/portless: externalTrafficPolicy: Local without node ports: .* leave allocateLoadBalancerNodePorts on$/;
const problemsOf = (zone: Zone): readonly string[] =>
  hostUnits(zone).flatMap(({ problems }) => problems);
/** But those of the service that is not answered in local gateway mode. */
const otherProblems = (zone: Zone): readonly string[] =>
  problemsOf(zone).filter((text) => !UNANSWERED.test(text));

test('every row has a unit, an object and a rule of its feature', () => {
  for (const { unit, rows: built, failure, problems } of hostUnits(nftZone)) {
    expect(failure).toBeUndefined();
    expect(problems.filter((text) => !UNANSWERED.test(text))).toEqual([]);
    for (const row of built) expect([unit, row.object, row.rule]).not.toContain('');
  }
});

test('chains come in where the contract says, and masquerade in local gateway mode alone (reference/node.md §3.1)', () => {
  const common = [
    'dns-networks: filter prerouting -150',
    'dns-prerouting: nat prerouting -100',
    'dns-postrouting: nat postrouting 100',
    'dns-input: filter input 0',
    'services-prerouting: nat prerouting -100',
    'services-output: nat output -100',
    'services-itp-mark: route output -150',
    'udn-service-prerouting: filter prerouting -150',
    'udn-service-output: filter output -150',
    'no-pmtud: filter output 0',
    'mgmtport-snat: nat postrouting 100',
    'mgmtport-forward: filter forward 0',
    'tunnel-forward: filter forward 0',
    'tunnel-input: filter input 0',
    'tunnel-output: filter output 0',
    'mgmtport-mark: filter postrouting 101',
    'udn-isolation: filter output 0',
    'udn-host-devices: filter output 0',
    'udn-host-services: filter output 0',
    'egress-services: nat postrouting 100',
    'egress-service-filter: filter postrouting 101',
    'egress-ip-snat: nat postrouting 100',
    'egress-ip-input: filter input 0',
    'egress-ip-sec-filter: filter postrouting 101',
  ];
  expect(hooks(shared)).toEqual(common);
  expect(hooks(rows).filter((text) => !common.includes(text))).toEqual([
    'ovn-kube-local-gw-masq: nat postrouting 101',
    'egress-ip-connmark: filter prerouting -150',
  ]);
});

test('egress services and egress addresses find their chains and maps (reference/node.md §3.7)', () => {
  expect(chain('egress-services')).toEqual([
    ...[...ACCESS, ...NODE_PORTS].map((connection) => `${connection} return`),
    'meta mark 1008 return',
    'snat ip to ip saddr map @egress-service-snat-v4',
    'snat ip6 to ip6 saddr map @egress-service-snat-v6',
    'ip saddr @egress-service-networks-v4 masquerade',
    'ip6 saddr @egress-service-networks-v6 masquerade',
  ]);
  expect(chain('egress-service-filter')).toEqual([
    ...[...ACCESS, ...NODE_PORTS].map((connection) => `${connection} accept`),
    'meta mark 1008 accept',
    ...['ip', 'ip6'].flatMap((ip) => {
      const set = (name: string): string => `@egress-service-${name}-${ip === 'ip' ? 'v4' : 'v6'}`;
      return [
        `ct original ${ip} saddr . ${ip} saddr ${set('sources')} accept`,
        `ct original ${ip} saddr ${set('networks')} ${ip} saddr != ${set('networks')} accept`,
        `ct direction original ct original ${ip} saddr ${set('pods')} drop`,
      ];
    }),
    'ip saddr 169.254.58.152-169.254.122.151 drop',
    'ip6 saddr fd69::3a98-fd69::7a97 drop',
  ]);
  expect(chain('egress-ip-snat')).toEqual([
    'snat ip to ip saddr . oifname map @egress-ip-snat-v4',
    'snat ip6 to ip6 saddr . oifname map @egress-ip-snat-v6',
  ]);
  expect(chain('egress-ip-sec-filter')).toEqual([
    'ip saddr 10.244.0.0/16 meta mark 1009 drop',
    'ip6 saddr fd00:10:244::/48 meta mark 1009 drop',
    'ct original ip saddr . oifname @egress-ip-forwarded-v4 oifname . ip saddr != @egress-ip-addresses-v4 drop',
    'ct original ip6 saddr . oifname @egress-ip-forwarded-v6 oifname . ip6 saddr != @egress-ip-addresses-v6 drop',
    'ip saddr 169.254.39.16-169.254.58.151 drop',
    'ip6 saddr fd69::2710-fd69::3a97 drop',
    'ip saddr @egress-ip-leased-v4 fib saddr type != local drop',
    'ip6 saddr @egress-ip-leased-v6 fib saddr type != local drop',
  ]);
  expect(chain('egress-ip-input')).toEqual([
    'ct direction original ip daddr @egress-ip-here-v4 drop',
    'ct direction original ip6 daddr @egress-ip-here-v6 drop',
  ]);
  expect(chain('egress-ip-connmark')).toEqual([
    'meta mark 0 meta mark set ct mark',
    'meta mark 1008 ct mark set meta mark',
  ]);
});

describe('what leaves the node (reference/node.md §3.2)', () => {
  test('is masqueraded by OVN, pod subnet and network', () => {
    expect(chain('ovn-kube-local-gw-masq')).toEqual([
      'ip saddr 169.254.0.1 masquerade',
      'ip6 saddr fd69::1 masquerade',
      'jump ovn-kube-pod-subnet-masq',
      'jump ovn-kube-udn-masq',
    ]);
    expect(chain('ovn-kube-pod-subnet-masq')).toEqual([
      'ip saddr 10.244.0.0/24 masquerade',
      'ip6 saddr fd00:10:244::/64 masquerade',
    ]);
    expect(chain('ovn-kube-udn-masq')).toEqual([
      'ip saddr != 169.254.0.0/29 ip daddr != 10.96.0.0/16 ip saddr 169.254.0.0/17 masquerade',
      'ip6 saddr != fd69::/125 ip6 daddr != fd00:10:96::/112 ip6 saddr fd69::/112 masquerade',
    ]);
  });

  test('has the address of the management port, through which it goes, unless the host forwards it', () => {
    const own = chain('mgmtport-snat').filter((text) => !text.startsWith('oifname "breth0"'));
    expect(own).toEqual([
      'oifname != "ovn-k8s-mp0" return',
      'meta iif != 0 return',
      'meta l4proto . th dport @mgmtport-no-snat-nodeports return',
      'ip saddr 10.244.0.2 return',
      'ip daddr . meta l4proto . th dport @mgmtport-no-snat-services-v4 return',
      'snat ip to 10.244.0.2',
      'ip6 saddr fd00:10:244::2 return',
      'ip6 daddr . meta l4proto . th dport @mgmtport-no-snat-services-v6 return',
      'snat ip6 to fd00:10:244::2',
    ]);
  });
});

describe("the host's ports on networks", () => {
  const networks = 'meta sdifname "ovn-k8s-mp*"';
  const FROM_DEFAULT_AND_BACK = ['iifname "ovn-k8s-mp0"', 'oifname "ovn-k8s-mp0"'].flatMap(
    (way) => [
      ...[...ACCESS, ...NODE_PORTS].map((connection) => `${way} ${connection} accept`),
      `${way} ct reply ip daddr 169.254.0.11-169.254.39.6 drop`,
      `${way} ct reply ip6 daddr fd69::b-fd69::2706 drop`,
    ],
  );
  const EGRESS_SERVICES = [
    'iifname "ovn-k8s-mp0" ip saddr @egress-service-pods-v4 accept',
    'iifname "ovn-k8s-mp0" ip6 saddr @egress-service-pods-v6 accept',
    'ip saddr 169.254.58.152-169.254.122.151 ip saddr != @egress-service-pods-v4 drop',
    'ip6 saddr fd69::3a98-fd69::7a97 ip6 saddr != @egress-service-pods-v6 drop',
    'iifname "ovn-k8s-mp0" meta mark 1011 drop',
  ];

  test('lead to no other one; of no connection they forward nothing, from a primary network its masquerade address, and replies to what the host translated', () => {
    expect(chain('mgmtport-forward')).toEqual([
      'meta iifgroup 974110 drop',
      'iifname "ovn-k8s-mp0" oifname "ovn-k8s-mp0" ct status dnat ct original ip daddr 169.254.0.6 accept',
      'iifname "ovn-k8s-mp0" oifname "ovn-k8s-mp0" ct status dnat ct original ip6 daddr fd69::6 accept',
      'iifname "ovn-k8s-mp*" oifname "ovn-k8s-mp*" drop',
      `${networks} oifname "ovn-k8s-mp*" drop`,
      'iifname "ovn-k8s-mp*" ct state invalid drop',
      `${networks} ct state invalid drop`,
      `${networks} ct direction reply ct status snat accept`,
      `${networks} ct direction reply ct status dnat accept`,
      `${networks} ct state related ct status snat accept`,
      `${networks} ct state related ct status dnat accept`,
      'meta sdifname . ip saddr @udn-forwarded-v4 accept',
      'meta sdifname . ip6 saddr @udn-forwarded-v6 accept',
      `${networks} drop`,
      ...FROM_DEFAULT_AND_BACK,
      'iifname "ovn-k8s-mp0" ct direction original ip saddr . oifname @egress-ip-forwarded-v4 accept',
      'iifname "ovn-k8s-mp0" ct direction original ip6 saddr . oifname @egress-ip-forwarded-v6 accept',
      'iifname "ovn-k8s-mp0" meta mark 1009 drop',
      'ip saddr 169.254.39.16-169.254.58.151 ip saddr . oifname != @egress-ip-forwarded-v4 drop',
      'ip6 saddr fd69::2710-fd69::3a97 ip6 saddr . oifname != @egress-ip-forwarded-v6 drop',
      ...EGRESS_SERVICES,
      'iifname "ovn-k8s-mp0" ct direction original ip saddr @egress-elsewhere-v4 ip daddr != @remote-node-ips-v4 drop',
      'iifname "ovn-k8s-mp0" ct direction original ip6 saddr @egress-elsewhere-v6 ip6 daddr != @remote-node-ips-v6 drop',
      // Nothing of other nodes' pods but what EgressServices bring.
      'iifname "ovn-k8s-mp0" ip saddr 10.244.0.0/24 accept',
      'iifname "ovn-k8s-mp0" ip6 saddr fd00:10:244::/64 accept',
      'iifname "ovn-k8s-mp0" ip saddr 10.244.0.0/16 drop',
      'iifname "ovn-k8s-mp0" ip6 saddr fd00:10:244::/48 drop',
    ]);
    expect(elements('udn-forwarded-v4')).toEqual(['"ovn-k8s-mp1" . 169.254.0.12']);
    expect(elements('udn-forwarded-v6')).toEqual(['"ovn-k8s-mp1" . fd69::c']);
  });

  test('forward of the default network, in shared gateway mode, what is for services, replies to that, and egress', () => {
    const all = chain('mgmtport-forward', shared);
    const own = 'iifname "ovn-k8s-mp0"';
    expect(all.slice(all.indexOf(EGRESS_SERVICES[0] ?? ''))).toEqual([
      ...EGRESS_SERVICES,
      `${own} ct status dnat accept`,
      `${own} ct direction reply ct status snat accept`,
      `${own} ct direction reply ct status dnat accept`,
      `${own} ct state related ct status snat accept`,
      `${own} ct state related ct status dnat accept`,
      `${own} meta mark 1008 accept`,
      `${own} drop`,
    ]);
  });
});

test("nothing of networks and services gets to the tunnels' port, nor of pods on the host's network but in OVN's tunnels", () => {
  const drops = [
    'iifname "ovn-k8s-mp*" udp dport 6081 drop',
    'meta sdifname "ovn-k8s-mp*" udp dport 6081 drop',
    'ct status dnat udp dport 6081 drop',
  ];
  expect(chain('tunnel-forward')).toEqual(drops);
  expect(chain('tunnel-input')).toEqual([...drops, 'udp dport 6081 jump tunnel-sources']);
  expect(chain('tunnel-output')).toEqual([
    'udp dport 6081 meta mark != 1525229 socket cgroupv2 level 2 "kubepods" drop',
  ]);
  expect(chain('mgmtport-mark')).toEqual(['oifname "ovn-k8s-mp*" meta mark set 0x1745ed']);
});

test("pods on the host's network send nothing by the host's ends of pods' interfaces, and nothing to everybody on the default network", () => {
  const ofPods = 'socket cgroupv2 level 2 "kubepods" drop';
  expect(chain('udn-host-devices').slice(-3)).toEqual([
    `meta oifgroup 974110 ${ofPods}`,
    `oifname "ovn-k8s-mp0" fib daddr type multicast ${ofPods}`,
    `oifname "ovn-k8s-mp0" fib daddr type broadcast ${ofPods}`,
  ]);
});

describe("the tunnels' port", () => {
  const peers = ['ip saddr @tunnel-peers-v4 accept', 'ip6 saddr @tunnel-peers-v6 accept'];
  const withSources = (tunnelSources: readonly string[] | 'any'): readonly DesiredRow[] =>
    rowsOf({ ...nftZone, settings: { ...nftZone.settings, tunnelSources } });

  test('is for nodes, by the ends of their tunnels; who else sends there is dropped and counted', () => {
    expect(chain('tunnel-sources')).toEqual([...peers, 'counter drop']);
    expect(elements('tunnel-peers-v4')).toEqual(['172.18.0.4']);
    expect(elements('tunnel-peers-v6')).toEqual([]);
  });

  test('costs one element for a node that comes, of either family, whatever networks have', () => {
    const [remote] = nftZone.remoteNodes;
    if (remote === undefined) throw new Error('the zone has no other node');
    const more = { ...remote, name: 'late', id: 77, chassisId: 'late', hostAddresses: [] };
    const one = (encapIps: readonly string[]): readonly string[] =>
      rowsOf({
        ...nftZone,
        remoteNodes: [...nftZone.remoteNodes, { ...more, encapIps }],
      })
        .map(({ table, key }) => `${table} ${key}`)
        .filter((key) => !rows.some((row) => `${row.table} ${row.key}` === key));
    expect(one(['172.18.0.9'])).toEqual(['element tunnel-peers-v4 172.18.0.9']);
    expect(one(['FC00:0::9'])).toEqual(['element tunnel-peers-v6 fc00::9']);
  });

  test('is for what settings name besides, or for everybody', () => {
    expect(chain('tunnel-sources', withSources(['203.0.113.0/24', 'fd00::7']))).toEqual([
      ...peers,
      'ip saddr 203.0.113.0/24 accept',
      'ip6 saddr fd00::7 accept',
      'counter drop',
    ]);
    const open = withSources('any');
    expect(chain('tunnel-sources', open)).toEqual([]);
    expect(chain('tunnel-input', open)).not.toContain('udp dport 6081 jump tunnel-sources');
  });
});

describe('services (reference/node.md §3.3)', () => {
  test('are reached by node port and external address', () => {
    expect(chain('services').slice(0, 3)).toEqual([
      'dnat ip to ip daddr . meta l4proto . th dport map @external-ips-v4',
      'dnat ip6 to ip6 daddr . meta l4proto . th dport map @external-ips-v6',
      'fib daddr type local dnat ip to meta l4proto . th dport map @nodeports-v4',
    ]);
    expect(elements('nodeports-v4')).toContain('tcp . 30081 : 10.96.1.3 . 80');
    expect(elements('nodeports-v6')).toContain('tcp . 30081 : fd00:10:96::1:3 . 80');
    expect(elements('external-ips-v4')).toContain('5.5.5.5 . tcp . 80 : 10.96.1.3 . 80');
    expect(elements('external-ips-v6')).toEqual(['fd05::5 . tcp . 80 : fd00:10:96::1:3 . 80']);
  });

  test('are also those of the node when they come out of a VRF, whose table does not know its addresses as local', () => {
    const { node } = nftZone;
    const hostAddresses = ['172.18.0.3/16', '10.0.0.5/24', 'fc00:f853:ccd:e793::3/64'];
    const zone = rowsOf({ ...nftZone, node: { ...node, hostAddresses } });
    expect(chain('services', zone).slice(4)).toEqual([
      'ip daddr @local-node-ips-v4 dnat ip to meta l4proto . th dport map @nodeports-v4',
      'ip6 daddr @local-node-ips-v6 dnat ip6 to meta l4proto . th dport map @nodeports-v6',
    ]);
    expect(elements('local-node-ips-v4', zone)).toEqual(['172.18.0.3', '10.0.0.5']);
    expect(elements('local-node-ips-v6', zone)).toEqual(['fc00:f853:ccd:e793::3']);
  });

  test('have no local external policy for pods, which come by the ports of the host on their networks', () => {
    expect(chain('services-prerouting')).toEqual([
      'iifname != "ovn-k8s-mp*" jump services-etp',
      'iifname != "ovn-k8s-mp*" jump services-etp-no-nodeport',
      'jump services',
    ]);
    expect(chain('services-output')).toEqual(['jump services-itp', 'jump services']);
  });

  test('with a local external policy keep the address of the client', () => {
    expect(elements('mgmtport-no-snat-nodeports')).toEqual(['tcp . 30080', 'udp . 30053']);
    expect(elements('nodeports-etp-local-v4')).toEqual([
      'tcp . 30080 : 169.254.0.3 . 30080',
      'udp . 30053 : 169.254.0.3 . 30053',
    ]);
    expect(elements('nodeports-etp-local-v4', shared)).toEqual([]);
    expect(elements('external-ips-etp-local-v4', shared)).toEqual([
      '172.19.0.9 . tcp . 80 : 169.254.0.3 . 30080',
      '172.19.0.9 . udp . 53 : 169.254.0.3 . 30053',
    ]);
  });

  test('without node ports are spread over the endpoints of the node', () => {
    expect(chain('services-etp-no-nodeport')).toEqual(
      ['5.5.5.7', '5.5.5.6'].map(
        (address) =>
          `ip daddr ${address} tcp dport 80 dnat ip to numgen random mod 2 map { 0 : 103.103.0.3 . 8080, 1 : 103.103.0.4 . 8080 }`,
      ),
    );
    expect(new Set(elements('mgmtport-no-snat-services-v4'))).toEqual(
      new Set(['103.103.0.3 . tcp . 8080', '103.103.0.4 . tcp . 8080']),
    );
  });

  test('without node ports are not answered from outside on primary networks in local gateway mode, which is told', () => {
    expect(problemsOf(nftZone)).toEqual([expect.stringMatching(UNANSWERED)]);
    expect(problemsOf(sharedNftZone)).toEqual([]);
  });

  test('with a local internal policy stay on the node', () => {
    expect(elements('itp-services-to-redirect-v4')).toEqual(['10.96.0.8 . tcp . 80 : 8080']);
    expect(elements('itp-services-to-mark-v4')).toEqual(['10.96.0.9 . tcp . 80']);
    expect(elements('itp-services-to-mark-v6')).toEqual(['fd00:10:96::9 . tcp . 80']);
  });
});

test('what is marked for a primary network goes to the bridge with an address of the network (reference/node.md §3.4)', () => {
  expect(chain('mgmtport-snat').slice(0, 2)).toEqual([
    'oifname "breth0" ip daddr 10.96.0.0/16 snat ip to meta mark map @udn-host-sources-v4',
    'oifname "breth0" ip6 daddr fd00:10:96::/112 snat ip6 to meta mark map @udn-host-sources-v6',
  ]);
  expect(elements('udn-host-sources-v4')).toEqual(['4097 : 169.254.0.11']);
  expect(elements('udn-host-sources-v6')).toEqual(['4097 : fd69::b']);
});

test('what is for a primary network is marked for it before that (reference/node.md §3.4)', () => {
  expect(chain('udn-mark-0x1001')).toEqual(['meta mark set 0x1001']);
  expect(chain('udn-service-prerouting')).toEqual([
    'iifname != "ovn-k8s-mp0" jump udn-service-mark',
    'iifname "ovn-k8s-mp0" ip saddr @default-access-pods-v4 ip daddr . meta l4proto . th dport @default-access-services-v4 ip daddr vmap @udn-mark-cluster-ips-v4',
    'iifname "ovn-k8s-mp0" ip6 saddr @default-access-pods-v6 ip6 daddr . meta l4proto . th dport @default-access-services-v6 ip6 daddr vmap @udn-mark-cluster-ips-v6',
    'iifname "ovn-k8s-mp0" ip daddr @local-node-ips-v4 meta l4proto . th dport vmap @udn-mark-nodeports',
    'iifname "ovn-k8s-mp0" ip6 daddr @local-node-ips-v6 meta l4proto . th dport vmap @udn-mark-nodeports',
  ]);
  expect(chain('udn-service-output')).toEqual([
    'jump udn-service-mark',
    'ip daddr vmap @udn-mark-cluster-ips-v4',
    'ip6 daddr vmap @udn-mark-cluster-ips-v6',
  ]);
  expect(elements('udn-mark-cluster-ips-v4')).toContain('10.96.1.3 : jump udn-mark-0x1001');
  expect(elements('udn-mark-cluster-ips-v4').join()).not.toMatch(/10\.96\.0\./);
  expect(chain('udn-service-mark')).toEqual([
    'fib daddr type local meta l4proto . th dport vmap @udn-mark-nodeports',
    'ip daddr @local-node-ips-v4 meta l4proto . th dport vmap @udn-mark-nodeports',
    'ip6 daddr @local-node-ips-v6 meta l4proto . th dport vmap @udn-mark-nodeports',
    'ip daddr . meta l4proto . th dport vmap @udn-mark-external-ips-v4',
    'ip6 daddr . meta l4proto . th dport vmap @udn-mark-external-ips-v6',
  ]);
  expect(chain('mgmtport-snat').filter((text) => text.includes('ct status dnat'))).toEqual([
    'oifname "breth0" meta mark 0 ct status dnat ct original ip daddr @local-node-ips-v4 ct protocol . ct original proto-dst @default-node-ports ip saddr 169.254.0.11-169.254.39.6 ip daddr 10.96.0.0/16 snat ip to 169.254.0.2',
    'oifname "breth0" meta mark 0 ct status dnat ct original ip6 daddr @local-node-ips-v6 ct protocol . ct original proto-dst @default-node-ports ip6 saddr fd69::b-fd69::2706 ip6 daddr fd00:10:96::/112 snat ip6 to fd69::2',
  ]);
  const marked = elements('udn-mark-nodeports');
  expect(marked).toContain('tcp . 30080 : jump udn-mark-0x1001');
  expect(marked.join()).not.toContain('30090');
  // From the default network by these; into it with the host's address.
  expect(elements('udn-node-ports')).toEqual(marked.map((one) => one.split(' : ')[0]));
  expect(elements('default-node-ports').join()).toContain('tcp . 30090');
  expect(elements('udn-mark-external-ips-v6')).toEqual([
    'fd05::5 . tcp . 80 : jump udn-mark-0x1001',
  ]);
});

test('host processes stay away from pods with a primary network, but for kubelet and open ports (reference/node.md §3.6)', () => {
  expect(chain('udn-isolation')).toEqual(
    [
      ['ip', 'v4', 'icmp'],
      ['ip6', 'v6', 'ipv6-icmp'],
    ].flatMap(([ip, family, icmp]) => [
      `${ip} daddr . meta l4proto . th dport @udn-open-ports-${family} accept`,
      `${ip} daddr @udn-open-ports-icmp-${family} meta l4proto ${icmp} accept`,
      `socket cgroupv2 level 2 "kubelet.service" ${ip} daddr @udn-pod-default-ips-${family} accept`,
      `${ip} daddr @udn-pod-default-ips-${family} drop`,
    ]),
  );
  expect(elements('udn-pod-default-ips-v6')).toEqual(['fd00:10:244::5']);
  expect(elements('udn-open-ports-v4')).toEqual(['10.244.0.5 . tcp . 8080']);
  expect(elements('udn-open-ports-icmp-v4')).toEqual(['10.244.0.5']);
});

describe("pods on the host's network (reference/node.md §3.8)", () => {
  const UID = '0f6b2c1e-58a4-4c0f-9a39-1d2e3f405162';
  const withPods = (...pods: HostNetworkPod[]): Zone => ({ ...nftZone, hostNetworkPods: pods });
  const of = (namespace: string, uid = UID): HostNetworkPod => ({ namespace, name: 'agent', uid });
  const matched = `socket cgroupv2 level 2 "pod${UID}"`;

  test("services of primary networks are looked at by their networks' chains, those of the default network by none", () => {
    expect(chain('udn-host-services')).toEqual([
      'ip daddr vmap @udn-service-ips-v4',
      'ip6 daddr vmap @udn-service-ips-v6',
    ]);
    expect(elements('udn-service-ips-v4')).toEqual(
      expect.arrayContaining([
        '10.96.1.3 : jump udn-host-services-0x1001',
        '10.96.1.4 : jump udn-host-services-0x1001',
      ]),
    );
    expect(elements('udn-service-ips-v6')).toContain(
      'fd00:10:96::1:3 : jump udn-host-services-0x1001',
    );
    expect(elements('udn-service-ips-v4').join()).not.toMatch(/10\.96\.0\./);
    expect(chain('udn-host-services-0x1001')).toEqual(['jump udn-host-pods']);
    expect(chain('udn-host-pods')).toEqual([]);
  });

  test("send by the host's port on a network what its chain lets through, those of its namespaces", () => {
    const order = (text: string): number | undefined =>
      columnsOf<NftRuleColumns>(rows, 'rule').find((rule) => rule.text === text)?.order;
    const [answers = '', first = '', last = ''] = chain('udn-host-devices').toSorted(
      (a, b) => (order(a) ?? 0) - (order(b) ?? 0),
    );
    expect(answers).toBe('oifname "ovn-k8s-mp*" meta mark 1012 accept');
    expect(first).toBe('oifname vmap @udn-host-ports');
    expect(last).toBe(
      'oifname "ovn-k8s-mp*" oifname != "ovn-k8s-mp0" socket cgroupv2 level 2 "kubepods" drop',
    );
    expect(elements('udn-host-ports')).toEqual(['"ovn-k8s-mp1" : jump udn-host-services-0x1001']);
  });

  test('of a namespace with a primary network they reach its services, and those of no other', () => {
    const built = rowsOf(withPods(of('blue')));
    expect(chain('udn-host-services-0x1001', built).toSorted()).toEqual([
      'jump udn-host-pods',
      `${matched} accept`,
    ]);
    expect(chain('udn-host-pods', built)).toEqual([`${matched} drop`]);
    const orders = columnsOf<NftRuleColumns>(built, 'rule')
      .filter((rule) => rule.chain === 'udn-host-services-0x1001')
      .toSorted((a, b) => a.order - b.order);
    expect(orders.at(-1)?.text).toBe('jump udn-host-pods');
  });

  test('of other namespaces they reach what host processes reach', () => {
    expect(JSON.stringify(rowsOf(withPods(of('kube-system'))))).not.toContain(UID);
  });

  test('with a uid that is in no cgroup they are a problem, and no words of a command', () => {
    const zone = withPods(of('blue', '" accept; flush ruleset; "'));
    expect(JSON.stringify(rowsOf(zone))).not.toContain('flush');
    expect(otherProblems(zone)).toEqual([expect.stringContaining('is in no cgroup')]);
  });
});

test('what is no address gets into no command, and is said', () => {
  const hostile = '5.5.5.5 . tcp . 80 : jump x } ; flush ruleset #';
  const zoneWith = (changed: Partial<ServiceFacts>): Zone => ({
    ...nftZone,
    services: (nftZone.services ?? []).map((one) =>
      one.key === 'blue/plain' ? { ...one, ...changed } : one,
    ),
  });
  const external = zoneWith({ externalIps: [hostile] });
  expect(JSON.stringify(rowsOf(external))).not.toContain('flush');
  expect([...factsOf(external).modelProblems()]).toEqual([
    {
      object: 'Service blue/plain',
      message: expect.stringContaining('is no IP address') as string,
    },
  ]);
  const cluster = zoneWith({ clusterIps: [hostile] });
  expect(JSON.stringify(rowsOf(cluster))).not.toContain('flush');
  expect(otherProblems(cluster)).toEqual([expect.stringContaining('is no IP address')]);
});

describe('ports of the node that a pod has (reference/node.md §3.3, §3.4)', () => {
  const zoneWith = (attachment: Attachment, zone = nftZone): Zone => ({
    ...zone,
    services: [],
    endpointSlices: [],
    attachments: [attachment],
    hostPortRequests: [
      {
        namespace: attachment.namespace,
        name: attachment.pod,
        created: '',
        ports: [
          { protocol: 'TCP', hostPort: 8080, containerPort: 80 },
          { protocol: 'UDP', hostPort: 53, containerPort: 5353, hostIp: '127.0.0.1' },
        ],
      },
    ],
  });
  const sets = (of: Zone, family = 'v4'): Record<string, string[]> => {
    const found = rowsOf(of);
    return Object.fromEntries(
      ['external-ips-etp-local', 'external-ips', 'udn-mark-external-ips'].map((set) => [
        set,
        elements(`${set}-${family}`, found),
      ]),
    );
  };

  test.each([nftZone, sharedNftZone])('lead to the pod on the default network', (zone) => {
    const onDefault: Attachment = {
      ...bluePod,
      namespace: 'kube-system',
      network: DEFAULT_NETWORK,
      nadKey: 'default',
      addresses: ['10.244.0.9/24', 'fd00:10:244::9/64'],
    };
    expect(sets(zoneWith(onDefault, zone))).toEqual({
      'external-ips-etp-local': [],
      'external-ips': [
        '172.18.0.3 . tcp . 8080 : 10.244.0.9 . 80',
        '127.0.0.1 . udp . 53 : 10.244.0.9 . 5353',
      ],
      'udn-mark-external-ips': [],
    });
    expect(sets(zoneWith(onDefault, zone), 'v6')['external-ips']).toEqual([
      'fc00:f853::3 . tcp . 8080 : fd00:10:244::9 . 80',
    ]);
  });

  test('lead to a primary network by its mark: from outside to its router, in local gateway mode, else to its gateway router', () => {
    expect(sets(zoneWith(bluePod))).toEqual({
      'external-ips-etp-local': ['172.18.0.3 . tcp . 8080 : 169.254.0.3 . 8080'],
      'external-ips': [
        '172.18.0.3 . tcp . 8080 : 10.96.0.0 . 8080',
        '127.0.0.1 . udp . 53 : 10.96.0.0 . 53',
      ],
      'udn-mark-external-ips': [
        '172.18.0.3 . tcp . 8080 : jump udn-mark-0x1001',
        '127.0.0.1 . udp . 53 : jump udn-mark-0x1001',
      ],
    });
    expect(sets(zoneWith(bluePod, sharedNftZone))['external-ips-etp-local']).toEqual([]);
  });
});
