/**
 * One line per rule of the CRDs (api.md §1): an object that obeys it, one that breaks it alone, and the message.
 * With `old`, both are updates of that object. Used against our validation and against a real API server.
 */
import { cudn, layer2, localnet, udn } from './objects.ts';
import { boundCases } from './bound-cases.ts';
import {
  cnc,
  connectSubnets,
  egress,
  evpn,
  firewall,
  flat,
  flat2,
  flat3,
  flatCluster,
  ip,
  l2,
  l2Secondary,
  l3,
  l3Subnets,
  ln,
  mac,
  manyCidrs,
  manySubnets,
  network,
  noOverlay,
  osn,
  primary2,
  primary3,
  secondary2,
  secondary3,
  selectors,
  type RuleCase,
} from './rule-objects.ts';

export type { RuleCase };

const shared: readonly RuleCase[] = [
  {
    rule: 'CIDR',
    valid: l3Subnets({ cidr: '10.20.0.7/16' }),
    invalid: l3Subnets({ cidr: '10.20.0.0' }),
    message: 'CIDR is invalid',
  },
  {
    rule: 'CIDR length',
    valid: l3Subnets({ cidr: '2001:db8:0000:0000:0000:0000:0000:0000/48' }),
    invalid: l3Subnets({ cidr: `10.20.0.0/16${' '.repeat(40)}` }),
    message: 'Too long: may not be more than 43 bytes',
  },
  {
    rule: 'DualStackCIDRs',
    valid: l2({ subnets: ['10.100.0.0/16', 'fd00::/64'] }),
    invalid: l2({ subnets: ['10.100.0.0/16', '10.101.0.0/16'] }),
    message: 'When 2 CIDRs are set, they must be from different IP families',
  },
  {
    rule: 'IP',
    valid: l2({ defaultGatewayIPs: ['10.100.0.1'] }),
    invalid: l2({ defaultGatewayIPs: ['10.100.0'] }),
    message: 'IP is invalid',
  },
  {
    rule: 'DualStackIPs',
    valid: l2({
      subnets: ['10.100.0.0/16', 'fd00::/64'],
      defaultGatewayIPs: ['10.100.0.1', 'fd00::1'],
    }),
    invalid: l2({
      subnets: ['10.100.0.0/16', 'fd00::/64'],
      defaultGatewayIPs: ['10.100.0.1', '10.100.0.2'],
    }),
    message: 'When 2 IPs are set, they must be from different IP families',
  },
];

const userDefinedNetwork: readonly RuleCase[] = [
  {
    rule: 'UDN topology',
    valid: l3({}),
    invalid: udn({ topology: 'Localnet' }),
    message: 'Unsupported value: "Localnet": supported values: "Layer2", "Layer3"',
  },
  {
    rule: 'UDN layer3',
    valid: l3({}),
    invalid: udn({ topology: 'Layer3' }),
    message: 'spec.layer3 is required when topology is Layer3 and forbidden otherwise',
  },
  {
    rule: 'UDN layer3 forbidden',
    valid: l2({}),
    invalid: udn({ ...primary2, layer3: primary3.layer3 }),
    message: 'spec.layer3 is required when topology is Layer3 and forbidden otherwise',
  },
  {
    rule: 'UDN layer2',
    valid: l2({}),
    invalid: udn({ topology: 'Layer2' }),
    message: 'spec.layer2 is required when topology is Layer2 and forbidden otherwise',
  },
  {
    rule: 'UDN topology immutable',
    old: l3({}),
    valid: l3({}),
    invalid: l2({}),
    message: 'Topology is immutable',
  },
  {
    rule: 'UDN layer2 immutable',
    old: l2({}),
    valid: l2({}),
    invalid: l2({ mtu: 1400 }),
    message: 'Layer2 is immutable',
  },
  {
    rule: 'UDN spec',
    valid: l3({}),
    invalid: { ...(l3({}) as Record<string, unknown>), spec: undefined },
    message: 'spec: Required value',
  },
  {
    rule: 'UDN spec.topology',
    valid: l3({}),
    invalid: udn({ layer3: primary3.layer3 }),
    message: 'spec.topology: Required value',
  },
];

const layer3Rules: readonly RuleCase[] = [
  {
    rule: 'L3 role',
    valid: l3({}),
    invalid: l3({ role: 'Third' }),
    message: 'Unsupported value: "Third": supported values: "Primary", "Secondary"',
  },
  {
    rule: 'L3 role required',
    valid: l3({}),
    invalid: udn({ topology: 'Layer3', layer3: { subnets: [{ cidr: '10.0.0.0/16' }] } }),
    message: 'spec.layer3.role: Required value',
  },
  {
    rule: 'L3 role immutable',
    old: l3({}),
    valid: l3({}),
    invalid: l3({ role: 'Secondary' }),
    message: 'role is immutable',
  },
  {
    rule: 'L3 mtu least',
    valid: l3({ mtu: 576 }),
    invalid: l3({ mtu: 575 }),
    message: 'should be greater than or equal to 576',
  },
  {
    rule: 'L3 mtu most',
    valid: l3({ mtu: 65536 }),
    invalid: l3({ mtu: 65537 }),
    message: 'should be less than or equal to 65536',
  },
  {
    rule: 'L3 mtu type',
    valid: l3({ mtu: 1500 }),
    invalid: l3({ mtu: '1500' }),
    message: 'must be of type integer: "string"',
  },
  {
    rule: 'L3 mtu immutable',
    old: l3({ mtu: 1400 }),
    valid: l3({ mtu: 1400 }),
    invalid: l3({ mtu: 1500 }),
    message: 'mtu is immutable',
  },
  {
    rule: 'L3 subnets least',
    valid: l3({}),
    invalid: l3({ subnets: [] }),
    message: 'should have at least 1 items',
  },
  {
    rule: 'L3 subnets most',
    valid: l3({ subnets: manySubnets(400) }),
    invalid: l3({ subnets: manySubnets(401) }),
    message: 'Too many: 401: must have at most 400 items',
  },
  {
    rule: 'L3 subnet cidr',
    valid: l3({}),
    invalid: l3Subnets({ hostSubnet: 24 }),
    message: 'spec.layer3.subnets[0].cidr: Required value',
  },
  {
    rule: 'L3 hostSubnet least',
    valid: l3Subnets({ cidr: '0.0.0.0/0', hostSubnet: 1 }),
    invalid: l3Subnets({ cidr: '0.0.0.0/0', hostSubnet: 0 }),
    message: 'should be greater than or equal to 1',
  },
  {
    rule: 'L3 hostSubnet most',
    valid: l3Subnets({ cidr: 'fd00::/64', hostSubnet: 127 }),
    invalid: l3Subnets({ cidr: 'fd00::/64', hostSubnet: 128 }),
    message: 'should be less than or equal to 127',
  },
  {
    rule: 'L3 hostSubnet longer',
    valid: l3Subnets({ cidr: '10.0.0.0/16', hostSubnet: 17 }),
    invalid: l3Subnets({ cidr: '10.0.0.0/16', hostSubnet: 16 }),
    message: 'HostSubnet must be smaller than CIDR subnet',
  },
  {
    rule: 'L3 hostSubnet IPv4',
    valid: l3Subnets({ cidr: '10.0.0.0/16', hostSubnet: 31 }),
    invalid: l3Subnets({ cidr: '10.0.0.0/16', hostSubnet: 32 }),
    message: 'HostSubnet must < 32 for ipv4 CIDR',
  },
  {
    rule: 'L3 joinSubnets immutable',
    old: l3({ joinSubnets: ['100.66.0.0/16'] }),
    valid: l3({ joinSubnets: ['100.66.0.0/16'] }),
    invalid: l3({ joinSubnets: ['100.67.0.0/16'] }),
    message: 'joinSubnets is immutable',
  },
  {
    rule: 'L3-1',
    old: l3({ role: 'Secondary' }),
    valid: l3({ role: 'Secondary' }),
    invalid: l3({ role: 'Secondary', subnets: [{ cidr: '10.20.0.0/16' }, { cidr: 'fd00::/48' }] }),
    message: 'Subnets is immutable for Secondary role',
  },
  {
    rule: 'L3-2',
    valid: l3({ role: 'Secondary', subnets: [{ cidr: '10.0.0.0/16' }, { cidr: 'fd00::/48' }] }),
    invalid: l3({
      role: 'Secondary',
      subnets: [{ cidr: '10.0.0.0/16' }, { cidr: '10.1.0.0/16' }, { cidr: 'fd00::/48' }],
    }),
    message: 'Secondary networks may define at most 2 subnets',
  },
  {
    rule: 'L3-3',
    valid: l3({ role: 'Primary', subnets: [{ cidr: '10.0.0.0/16' }, { cidr: '10.1.0.0/16' }] }),
    invalid: l3({ role: 'Secondary', subnets: [{ cidr: '10.0.0.0/16' }, { cidr: '10.1.0.0/16' }] }),
    message: 'When 2 CIDRs are set for Secondary networks, they must be from different IP families',
  },
  {
    rule: 'L3-4',
    valid: l3({ joinSubnets: ['100.66.0.0/16'] }),
    invalid: l3({ role: 'Secondary', joinSubnets: ['100.66.0.0/16'] }),
    message: 'JoinSubnets is only supported for Primary network',
  },
  {
    rule: 'L3-5',
    valid: l3({ mtu: 1280, subnets: [{ cidr: 'fd00::/48' }] }),
    invalid: l3({ mtu: 1279, subnets: [{ cidr: 'fd00::/48' }] }),
    message: 'MTU should be greater than or equal to 1280 when IPv6 subnet is used',
  },
  {
    rule: 'L3-5 with two IPv6 subnets',
    valid: l3({ mtu: 1279, subnets: [{ cidr: '10.0.0.0/16' }] }),
    invalid: l3({ mtu: 1279, subnets: [{ cidr: 'fd00::/48' }, { cidr: 'fd01::/48' }] }),
    message: 'MTU should be greater than or equal to 1280 when IPv6 subnet is used',
  },
  {
    rule: 'L3-6',
    old: l3({}),
    valid: l3({ subnets: [{ cidr: '10.20.0.0/16' }, { cidr: '10.21.0.0/16' }] }),
    invalid: l3({ subnets: [{ cidr: '10.21.0.0/16' }] }),
    message: 'Removing existing subnets is not allowed',
  },
  {
    rule: 'L3-7',
    valid: l3({ subnets: [{ cidr: '10.20.0.0/16' }, { cidr: '10.21.0.0/16' }] }),
    invalid: l3({ subnets: [{ cidr: '10.20.0.0/16' }, { cidr: '10.20.128.0/17' }] }),
    message: 'Subnets must not overlap or contain each other',
  },
  {
    rule: 'L3-8',
    valid: l3({ subnets: [{ cidr: '10.20.0.0/16' }, { cidr: '10.21.0.0/16' }] }),
    invalid: l3({ subnets: [{ cidr: '10.20.0.0/16' }, { cidr: '10.20.0.0/16' }] }),
    message: 'Subnets with same CIDR are not allowed',
  },
  {
    rule: 'L3-6 and L3-9 with very many subnets',
    old: l3({ subnets: manySubnets(399, 28) }),
    valid: l3({ subnets: manySubnets(400, 28) }),
    invalid: l3({
      subnets: [...manySubnets(399, 28).slice(1), { cidr: '11.0.0.0/24', hostSubnet: 28 }],
    }),
    message: 'Removing existing subnets is not allowed',
  },
  {
    rule: 'L3-9 changed',
    old: l3({ subnets: [{ cidr: '10.20.0.0/16', hostSubnet: 24 }] }),
    valid: l3({
      subnets: [
        { cidr: '10.20.0.0/16', hostSubnet: 24 },
        { cidr: '10.21.0.0/16', hostSubnet: 24 },
      ],
    }),
    invalid: l3({ subnets: [{ cidr: '10.20.0.0/16', hostSubnet: 25 }] }),
    message: 'hostSubnet is immutable',
  },
  {
    rule: 'L3-9 removed',
    old: l3({ subnets: [{ cidr: '10.20.0.0/16', hostSubnet: 24 }] }),
    valid: l3({ subnets: [{ cidr: '10.20.0.0/16', hostSubnet: 24 }] }),
    invalid: l3({ subnets: [{ cidr: '10.20.0.0/16' }] }),
    message: 'hostSubnet is immutable',
  },
  {
    rule: 'L3-9 added',
    old: l3({}),
    valid: l3({}),
    invalid: l3({ subnets: [{ cidr: '10.20.0.0/16', hostSubnet: 24 }] }),
    message: 'hostSubnet is immutable',
  },
  {
    rule: 'L3-10',
    valid: l3({
      subnets: [
        { cidr: '10.20.0.0/16', hostSubnet: 24 },
        { cidr: '10.21.0.0/16', hostSubnet: 24 },
        { cidr: 'fd00::/48' },
      ],
    }),
    invalid: l3({
      subnets: [
        { cidr: '10.20.0.0/16', hostSubnet: 24 },
        { cidr: '10.21.0.0/16', hostSubnet: 25 },
      ],
    }),
    message: 'Subnets from the same IP family must use the same hostSubnet value',
  },
  {
    rule: 'L3-10 unset',
    valid: l3({
      subnets: [
        { cidr: 'fd00::/48', hostSubnet: 64 },
        { cidr: 'fd01::/48', hostSubnet: 64 },
      ],
    }),
    invalid: l3({ subnets: [{ cidr: 'fd00::/48', hostSubnet: 64 }, { cidr: 'fd01::/48' }] }),
    message: 'Subnets from the same IP family must use the same hostSubnet value',
  },
];

const layer2Rules: readonly RuleCase[] = [
  {
    rule: 'L2 mtu',
    valid: l2({ mtu: 576 }),
    invalid: l2({ mtu: 575 }),
    message: 'should be greater than or equal to 576',
  },
  {
    rule: 'L2 subnets',
    valid: l2({}),
    invalid: l2({ subnets: ['10.0.0.0/16', 'fd00::/64', 'fd01::/64'] }),
    message: 'Too many: 3: must have at most 2 items',
  },
  {
    rule: 'L2 reservedSubnets',
    valid: l2({ reservedSubnets: manyCidrs(25) }),
    invalid: l2({ reservedSubnets: manyCidrs(26) }),
    message: 'Too many: 26: must have at most 25 items',
  },
  {
    rule: 'L2 infrastructureSubnets',
    valid: l2({ infrastructureSubnets: manyCidrs(4) }),
    invalid: l2({ infrastructureSubnets: manyCidrs(5) }),
    message: 'Too many: 5: must have at most 4 items',
  },
  {
    rule: 'L2 ipam',
    valid: l2({ ipam: { mode: 'Enabled' } }),
    invalid: l2({ ipam: {} }),
    message: 'should have at least 1 properties',
  },
  {
    rule: 'L2 ipam.mode',
    valid: l2({ ipam: { mode: 'Enabled' } }),
    invalid: l2({ ipam: { mode: 'Perhaps' } }),
    message: 'supported values: "Enabled", "Disabled"',
  },
  {
    rule: 'L2 ipam.lifecycle',
    valid: l2({ ipam: { lifecycle: 'Persistent' } }),
    invalid: l2({ ipam: { lifecycle: 'Brief' } }),
    message: 'supported values: "Persistent"',
  },
  {
    rule: 'L2 ipam persistent',
    valid: l2({ ipam: { mode: 'Enabled', lifecycle: 'Persistent' } }),
    invalid: l2Secondary({ ipam: { mode: 'Disabled', lifecycle: 'Persistent' } }),
    message: 'lifecycle Persistent is only supported when ipam.mode is Enabled',
  },
  {
    rule: 'L2-1',
    valid: l2({}),
    invalid: l2Secondary({}),
    message: 'Subnets is required with ipam.mode is Enabled or unset',
  },
  {
    rule: 'L2-2',
    valid: l2Secondary({ ipam: { mode: 'Disabled' } }),
    invalid: l2Secondary({ subnets: ['10.0.0.0/24'], ipam: { mode: 'Disabled' } }),
    message: 'Subnets must be unset when ipam.mode is Disabled',
  },
  {
    rule: 'L2-3',
    valid: l2Secondary({ ipam: { mode: 'Disabled' } }),
    invalid: layer2({ role: 'Primary', ipam: { mode: 'Disabled' } }),
    message: 'Disabled ipam.mode is only supported for Secondary network',
  },
  {
    rule: 'L2-4',
    valid: l2({ joinSubnets: ['100.66.0.0/16'] }),
    invalid: l2({ role: 'Secondary', joinSubnets: ['100.66.0.0/16'] }),
    message: 'JoinSubnets is only supported for Primary network',
  },
  {
    rule: 'L2-5',
    valid: l2({ mtu: 1280, subnets: ['fd00::/64'] }),
    invalid: l2({ mtu: 1279, subnets: ['10.0.0.0/24', 'fd00::/64'] }),
    message: 'MTU should be greater than or equal to 1280 when IPv6 subnet is used',
  },
  {
    rule: 'L2-6',
    valid: l2({ defaultGatewayIPs: ['10.100.0.1'] }),
    invalid: l2({ role: 'Secondary', defaultGatewayIPs: ['10.100.0.1'] }),
    message: 'defaultGatewayIPs is only supported for Primary network',
  },
  {
    rule: 'L2-7',
    valid: l2({ defaultGatewayIPs: ['10.100.0.1'] }),
    invalid: l2({ defaultGatewayIPs: ['10.101.0.1'] }),
    message: 'defaultGatewayIPs must belong to one of the subnets specified in the subnets field',
  },
  {
    rule: 'L2-8',
    valid: l2({
      subnets: ['10.100.0.0/16', 'fd00::/64'],
      defaultGatewayIPs: ['10.100.0.1', 'fd00::1'],
    }),
    invalid: l2({ subnets: ['10.100.0.0/16', 'fd00::/64'], defaultGatewayIPs: ['10.100.0.1'] }),
    message: 'defaultGatewayIPs must be specified for all IP families',
  },
  {
    rule: 'L2-9',
    valid: l2({ reservedSubnets: ['10.100.1.0/24'] }),
    invalid: l2Secondary({ reservedSubnets: ['10.100.1.0/24'], ipam: { mode: 'Disabled' } }),
    message: 'reservedSubnets must be unset when subnets is unset',
  },
  {
    rule: 'L2-10',
    valid: l2({ reservedSubnets: ['10.100.1.0/24'] }),
    invalid: l2({ role: 'Secondary', reservedSubnets: ['10.100.1.0/24'] }),
    message: 'reservedSubnets is only supported for Primary network',
  },
  {
    rule: 'L2-11',
    valid: l2({ infrastructureSubnets: ['10.100.1.0/24'] }),
    invalid: l2Secondary({ infrastructureSubnets: ['10.100.1.0/24'], ipam: { mode: 'Disabled' } }),
    message: 'infrastructureSubnets must be unset when subnets is unset',
  },
  {
    rule: 'L2-12',
    valid: l2({ infrastructureSubnets: ['10.100.1.0/24'] }),
    invalid: l2({ role: 'Secondary', infrastructureSubnets: ['10.100.1.0/24'] }),
    message: 'infrastructureSubnets is only supported for Primary network',
  },
  {
    rule: 'L2-13',
    valid: l2({ infrastructureSubnets: ['10.100.1.0/24'], defaultGatewayIPs: ['10.100.1.1'] }),
    invalid: l2({ infrastructureSubnets: ['10.100.1.0/24'], defaultGatewayIPs: ['10.100.2.1'] }),
    message: 'defaultGatewayIPs have to belong to infrastructureSubnets',
  },
  {
    rule: 'L2-14',
    valid: l2({ reservedSubnets: ['10.100.1.0/24'] }),
    invalid: l2({ reservedSubnets: ['10.101.1.0/24'] }),
    message: 'reservedSubnets must be subnetworks of the networks specified in the subnets field',
  },
  {
    rule: 'L2-15',
    valid: l2({ infrastructureSubnets: ['10.100.1.0/24'] }),
    invalid: l2({ infrastructureSubnets: ['10.0.0.0/8'] }),
    message:
      'infrastructureSubnets must be subnetworks of the networks specified in the subnets field',
  },
  {
    rule: 'L2-16',
    valid: l2({ infrastructureSubnets: ['10.100.1.0/24'], reservedSubnets: ['10.100.2.0/24'] }),
    invalid: l2({ infrastructureSubnets: ['10.100.1.0/24'], reservedSubnets: ['10.100.1.128/25'] }),
    message: 'infrastructureSubnets and reservedSubnets must not overlap',
  },
  {
    rule: 'L2-17',
    valid: l2({ infrastructureSubnets: ['10.100.1.0/24'] }),
    invalid: l2({ infrastructureSubnets: ['10.100.1.1/24'] }),
    message: 'infrastructureSubnets must be a masked network address (no host bits set)',
  },
  {
    rule: 'L2-18',
    valid: l2({ reservedSubnets: ['10.100.1.0/24'] }),
    invalid: l2({ reservedSubnets: ['10.100.1.1/24'] }),
    message: 'reservedSubnets must be a masked network address (no host bits set)',
  },
  {
    rule: 'L2 excludeSubnets',
    valid: l2({ excludeSubnets: ['10.100.1.0/24'] }),
    invalid: l2Secondary({ excludeSubnets: ['10.100.1.0/24'], ipam: { mode: 'Disabled' } }),
    message: 'excludeSubnets must be unset when subnets is unset',
  },
];

const clusterRules: readonly RuleCase[] = [
  {
    rule: 'CUDN namespaceSelector',
    valid: network(primary3),
    invalid: cudn({ namespaceSelector: undefined, network: primary3 }),
    message: 'spec.namespaceSelector: Required value',
  },
  {
    rule: 'CUDN network',
    valid: network(primary3),
    invalid: cudn({}),
    message: 'spec.network: Required value',
  },
  {
    rule: 'CUDN topology immutable',
    old: network(primary3),
    valid: network(primary3),
    invalid: network(primary2),
    message: 'Topology is immutable',
  },
  {
    rule: 'CUDN layer2 immutable',
    old: network(primary2),
    valid: network(primary2),
    invalid: network(secondary2),
    message: 'Layer2 is immutable',
  },
  {
    rule: 'CUDN localnet immutable',
    old: ln({}),
    valid: ln({}),
    invalid: ln({ mtu: 1400 }),
    message: 'Localnet is immutable',
  },
  {
    rule: 'CUDN selector mutable',
    old: network(primary3),
    valid: cudn({ namespaceSelector: { matchLabels: { a: 'b' } }, network: primary3 }),
    invalid: cudn({ namespaceSelector: { matchLabels: { a: 1 } }, network: primary3 }),
    message: 'must be of type string: "integer"',
  },
  {
    rule: 'uplinks count',
    valid: cudn({ network: primary3, uplinks: ['eth1'] }),
    invalid: cudn({ network: primary3, uplinks: ['eth1', 'eth2'] }),
    message: 'Too many: 2: must have at most 1 item',
  },
  {
    rule: 'uplinks name',
    valid: cudn({ network: primary3, uplinks: ['eth-1'] }),
    invalid: cudn({ network: primary3, uplinks: ['Eth1'] }),
    message: "should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'",
  },
  {
    rule: 'uplinks immutable',
    old: cudn({ network: primary3, uplinks: ['eth1'] }),
    valid: cudn({ network: primary3, uplinks: ['eth1'] }),
    invalid: cudn({ network: primary3, uplinks: ['eth2'] }),
    message: 'uplinks is immutable',
  },
  {
    rule: 'uplinks primary',
    valid: cudn({ network: primary2, uplinks: ['eth1'] }),
    invalid: cudn({ network: secondary2, uplinks: ['eth1'] }),
    message: 'spec.uplinks is supported only for primary Layer2 and Layer3 networks',
  },
  {
    rule: 'uplinks EVPN',
    valid: cudn({ network: { ...primary3, ...noOverlay }, uplinks: ['eth1'] }),
    invalid: cudn({ network: { ...primary3, ...evpn(ip) }, uplinks: ['eth1'] }),
    message: 'spec.uplinks is not supported with EVPN transport',
  },
  {
    rule: 'N-1',
    valid: network(primary3),
    invalid: network({ topology: 'Layer3' }),
    message: 'spec.layer3 is required when topology is Layer3 and forbidden otherwise',
  },
  {
    rule: 'N-2',
    valid: network(primary2),
    invalid: network({ topology: 'Layer2' }),
    message: 'spec.layer2 is required when topology is Layer2 and forbidden otherwise',
  },
  {
    rule: 'N-3',
    valid: ln({}),
    invalid: network({ topology: 'Localnet' }),
    message: 'spec.localnet is required when topology is Localnet and forbidden otherwise',
  },
  {
    rule: 'N-4',
    valid: network(primary3, noOverlay),
    invalid: network(secondary3, noOverlay),
    message: "transport 'NoOverlay' is only supported for Layer3 primary networks",
  },
  {
    rule: 'N-4 layer2',
    valid: network(primary3, noOverlay),
    invalid: network(primary2, noOverlay),
    message: "transport 'NoOverlay' is only supported for Layer3 primary networks",
  },
  {
    rule: 'N-5',
    valid: network(primary3, noOverlay),
    invalid: network(primary3, { transport: 'NoOverlay' }),
    message: "spec.noOverlay is required when type transport is 'NoOverlay'",
  },
  {
    rule: 'N-6',
    valid: network(primary3),
    invalid: network(primary3, { noOverlay: noOverlay.noOverlay }),
    message: "spec.noOverlay is forbidden when transport type is not 'NoOverlay'",
  },
  {
    rule: 'N-7',
    valid: network(primary2, evpn(mac)),
    invalid: network(secondary2, evpn(mac)),
    message: "transport 'EVPN' is only supported for Layer2 or Layer3 primary networks",
  },
  {
    rule: 'N-8',
    valid: network(primary3, evpn(ip)),
    invalid: network(primary3, { transport: 'EVPN' }),
    message: "spec.evpn field is required when transport is 'EVPN'",
  },
  {
    rule: 'N-9',
    valid: network(primary3),
    invalid: network(primary3, { evpn: { vtep: 'a', ...ip } }),
    message: "spec.evpn field is forbidden when transport is not 'EVPN'",
  },
  {
    rule: 'N-10',
    valid: network(primary2, evpn({ ...mac, ...ip })),
    invalid: network(primary2, evpn(ip)),
    message: "spec.evpn.macVRF field is required for Layer2 topology when transport is 'EVPN'",
  },
  {
    rule: 'N-11',
    valid: network(primary3, evpn(ip)),
    invalid: network(primary3, evpn(mac)),
    message: "spec.evpn.ipVRF field is required for Layer3 topology when transport is 'EVPN'",
  },
  {
    rule: 'N-12',
    valid: network(primary3, evpn(ip)),
    invalid: network(primary3, evpn({ ...mac, ...ip })),
    message: "spec.evpn.macVRF field is forbidden for Layer3 topology when transport is 'EVPN'",
  },
  {
    rule: 'transport',
    valid: network(primary3, noOverlay),
    invalid: network(primary3, { transport: 'Pigeon' }),
    message: 'supported values: "NoOverlay", "EVPN"',
  },
  {
    rule: 'transport immutable',
    old: network(primary3, noOverlay),
    valid: network(primary3, noOverlay),
    invalid: network(primary3, evpn(ip)),
    message: 'Transport is immutable',
  },
  {
    rule: 'noOverlay immutable',
    old: network(primary3, noOverlay),
    valid: network(primary3, noOverlay),
    invalid: network(primary3, {
      transport: 'NoOverlay',
      noOverlay: { outboundSNAT: 'Disabled', routing: 'Managed' },
    }),
    message: 'NoOverlay is immutable',
  },
  {
    rule: 'evpn VRF',
    valid: network(primary3, evpn(ip)),
    invalid: network(primary3, evpn({})),
    message: 'at least one of macVRF or ipVRF must be specified',
  },
  {
    rule: 'evpn VNI',
    valid: network(primary2, evpn({ ...mac, ...ip })),
    invalid: network(primary2, evpn({ ...mac, ipVRF: { vni: 100 } })),
    message: 'macVRF and ipVRF must use different VNIs',
  },
  {
    rule: 'evpn VNI range',
    valid: network(primary3, evpn({ ipVRF: { vni: 16777215 } })),
    invalid: network(primary3, evpn({ ipVRF: { vni: 16777216 } })),
    message: 'should be less than or equal to 16777215',
  },
  {
    rule: 'evpn VTEP',
    valid: network(primary3, evpn(ip)),
    invalid: network(primary3, { transport: 'EVPN', evpn: { vtep: '', ...ip } }),
    message: 'should be at least 1 chars long',
  },
];

const localnetRules: readonly RuleCase[] = [
  {
    rule: 'LN role',
    valid: ln({}),
    invalid: ln({ role: 'Primary' }),
    message: 'Unsupported value: "Primary": supported values: "Secondary"',
  },
  {
    rule: 'LN physicalNetworkName',
    valid: ln({ physicalNetworkName: 'a' }),
    invalid: ln({ physicalNetworkName: 'a:b' }),
    message: 'physicalNetworkName cannot contain `,` or `:` characters',
  },
  {
    rule: 'LN physicalNetworkName comma',
    valid: ln({ physicalNetworkName: 'a.b' }),
    invalid: ln({ physicalNetworkName: 'a,b' }),
    message: 'physicalNetworkName cannot contain `,` or `:` characters',
  },
  {
    rule: 'LN physicalNetworkName empty',
    valid: ln({ physicalNetworkName: 'a'.repeat(253) }),
    invalid: ln({ physicalNetworkName: '' }),
    message: 'should be at least 1 chars long',
  },
  {
    rule: 'LN physicalNetworkName length',
    valid: ln({ physicalNetworkName: 'a'.repeat(253) }),
    invalid: ln({ physicalNetworkName: 'a'.repeat(254) }),
    message: 'Too long: may not be more than 253 bytes',
  },
  {
    rule: 'LN excludeSubnets',
    valid: ln({ excludeSubnets: manyCidrs(25) }),
    invalid: ln({ excludeSubnets: manyCidrs(26) }),
    message: 'Too many: 26: must have at most 25 items',
  },
  {
    rule: 'LN vlan id',
    valid: ln({ vlan: { mode: 'Access', access: { id: 4094 } } }),
    invalid: ln({ vlan: { mode: 'Access', access: { id: 4095 } } }),
    message: 'should be less than or equal to 4094',
  },
  {
    rule: 'LN vlan mode',
    valid: ln({ vlan: { mode: 'Access', access: { id: 1 } } }),
    invalid: ln({ vlan: { mode: 'Trunk' } }),
    message: 'supported values: "Access"',
  },
  {
    rule: 'LN vlan access',
    valid: ln({ vlan: { mode: 'Access', access: { id: 1 } } }),
    invalid: ln({ vlan: { mode: 'Access' } }),
    message: "vlan access config is required when vlan mode is 'Access', and forbidden otherwise",
  },
  {
    rule: 'LN-1 required',
    valid: ln({}),
    invalid: localnet({}),
    message: 'Subnets is required with ipam.mode is Enabled or unset, and forbidden otherwise',
  },
  {
    rule: 'LN-1 forbidden',
    valid: localnet({ ipam: { mode: 'Disabled' } }),
    invalid: ln({ ipam: { mode: 'Disabled' } }),
    message: 'Subnets is required with ipam.mode is Enabled or unset, and forbidden otherwise',
  },
  {
    rule: 'LN-2',
    valid: ln({ excludeSubnets: ['192.168.0.0/28'] }),
    invalid: localnet({ excludeSubnets: ['192.168.0.0/28'], ipam: { mode: 'Disabled' } }),
    message: 'excludeSubnets must be unset when subnets is unset',
  },
  {
    rule: 'LN-3',
    valid: ln({ mtu: 1280, subnets: ['fd00::/64'] }),
    invalid: ln({ mtu: 1279, subnets: ['fd00::/64'] }),
    message: 'MTU should be greater than or equal to 1280 when an IPv6 subnet is used',
  },
];

const primarySelector = {
  networkSelectionType: 'PrimaryUserDefinedNetworks',
  primaryUserDefinedNetworkSelector: { namespaceSelector: {} },
};
const clusterSelector = {
  networkSelectionType: 'ClusterUserDefinedNetworks',
  clusterUserDefinedNetworkSelector: { networkSelector: {} },
};
const both = { namespaceSelector: {}, networkSelector: {} };
const inconsistent = (type: string, field: string): string =>
  `Inconsistent selector: both networkSelectionType ${type} and ${field} have to be set or neither`;

const connectRules: readonly RuleCase[] = [
  {
    rule: 'CNC selection',
    valid: selectors(clusterSelector, primarySelector),
    invalid: selectors({ networkSelectionType: 'DefaultNetwork' }),
    message: 'Only ClusterUserDefinedNetworks or PrimaryUserDefinedNetworks can be selected',
  },
  {
    rule: 'CNC one selector per type',
    valid: selectors(clusterSelector, primarySelector),
    invalid: selectors(primarySelector, primarySelector),
    message: 'Duplicate value: {"networkSelectionType":"PrimaryUserDefinedNetworks"}',
  },
  {
    rule: 'CNC selectors',
    valid: selectors(clusterSelector),
    invalid: selectors(),
    message: 'should have at least 1 items',
  },
  {
    rule: 'CNC subnets',
    valid: connectSubnets({ cidr: '192.168.0.0/16', networkPrefix: 24 }),
    invalid: connectSubnets(),
    message: 'should have at least 1 items',
  },
  {
    rule: 'CNC subnets immutable',
    old: cnc({}),
    valid: cnc({ connectivity: ['ServiceNetwork'] }),
    invalid: connectSubnets({ cidr: '192.168.0.0/16', networkPrefix: 25 }),
    message: 'connectSubnets is immutable',
  },
  {
    rule: 'CNC families',
    valid: connectSubnets(
      { cidr: '192.168.0.0/16', networkPrefix: 24 },
      { cidr: 'fd01::/112', networkPrefix: 120 },
    ),
    invalid: connectSubnets(
      { cidr: '192.168.0.0/16', networkPrefix: 24 },
      { cidr: '192.169.0.0/16', networkPrefix: 24 },
    ),
    message: 'When 2 CIDRs are set, they must be from different IP families',
  },
  {
    rule: 'CNC host bits',
    valid: connectSubnets(
      { cidr: 'fd01::/112', networkPrefix: 120 },
      { cidr: '192.168.0.0/16', networkPrefix: 24 },
    ),
    invalid: connectSubnets(
      { cidr: '192.168.0.0/16', networkPrefix: 24 },
      { cidr: 'fd01::/64', networkPrefix: 96 },
    ),
    message:
      'For dual-stack, networkPrefix must have matching host bits: (32 - ipv4NetworkPrefix) must equal (128 - ipv6NetworkPrefix)',
  },
  {
    rule: 'CNC host bits, in the older spelling',
    valid: cnc({
      connectivity: undefined,
      connectivityEnabled: ['PodNetwork', 'ClusterIPServiceNetwork'],
      connectSubnets: [
        { cidr: '192.168.0.0/16', networkPrefix: 24 },
        { cidr: 'fd01::/64', networkPrefix: 96 },
      ],
    }),
    invalid: cnc({
      connectSubnets: [
        { cidr: 'fd01::/64', networkPrefix: 96 },
        { cidr: '192.168.0.0/16', networkPrefix: 24 },
      ],
    }),
    message: 'For dual-stack, networkPrefix must have matching host bits',
  },
  {
    rule: 'CNC CIDR',
    valid: connectSubnets({ cidr: '192.168.0.0/16', networkPrefix: 24 }),
    invalid: connectSubnets({ cidr: '192.168.0.1/16', networkPrefix: 24 }),
    message: 'CIDR must be a valid network address',
  },
  {
    rule: 'CNC networkPrefix',
    valid: connectSubnets({ cidr: '192.168.0.0/16', networkPrefix: 17 }),
    invalid: connectSubnets({ cidr: '192.168.0.0/16', networkPrefix: 16 }),
    message: 'NetworkPrefix must be longer than the CIDR prefix length',
  },
  {
    rule: 'CNC networkPrefix IPv4',
    valid: connectSubnets({ cidr: '192.168.0.0/16', networkPrefix: 31 }),
    invalid: connectSubnets({ cidr: '192.168.0.0/16', networkPrefix: 32 }),
    message: 'NetworkPrefix must < 32 for ipv4 CIDR',
  },
  {
    rule: 'CNC networkPrefix most',
    valid: connectSubnets({ cidr: 'fd01::/64', networkPrefix: 127 }),
    invalid: connectSubnets({ cidr: 'fd01::/64', networkPrefix: 128 }),
    message: 'should be less than or equal to 127',
  },
  {
    rule: 'CNC networkPrefix required',
    valid: cnc({}),
    invalid: connectSubnets({ cidr: '192.168.0.0/16' }),
    message: 'spec.connectSubnets[0].networkPrefix: Required value',
  },
  {
    rule: 'CNC connectivity',
    valid: cnc({ connectivity: ['PodNetwork', 'ServiceNetwork'] }),
    invalid: cnc({ connectivity: ['PodNetwork', 'PodNetwork'] }),
    message: 'connectivity cannot contain duplicate values',
  },
  {
    rule: 'CNC connectivityEnabled',
    valid: cnc({ connectivity: undefined, connectivityEnabled: ['ClusterIPServiceNetwork'] }),
    invalid: cnc({
      connectivity: undefined,
      connectivityEnabled: ['ServiceNetwork', 'ClusterIPServiceNetwork'],
    }),
    message: 'connectivityEnabled cannot contain duplicate values',
  },
  {
    rule: 'CNC connectivity value',
    valid: cnc({}),
    invalid: cnc({ connectivity: ['Everything'] }),
    message: 'Unsupported value: "Everything"',
  },
  {
    rule: 'CNC one spelling',
    valid: cnc({}),
    invalid: cnc({ connectivityEnabled: ['PodNetwork'] }),
    message: 'exactly one of connectivity and connectivityEnabled must be set',
  },
  {
    rule: 'CNC some spelling',
    valid: cnc({}),
    invalid: cnc({ connectivity: undefined }),
    message: 'exactly one of connectivity and connectivityEnabled must be set',
  },
  ...(
    [
      ['ClusterUserDefinedNetworks', 'clusterUserDefinedNetworkSelector', { networkSelector: {} }],
      [
        'PrimaryUserDefinedNetworks',
        'primaryUserDefinedNetworkSelector',
        { namespaceSelector: {} },
      ],
      ['SecondaryUserDefinedNetworks', 'secondaryUserDefinedNetworkSelector', both],
      ['NetworkAttachmentDefinitions', 'networkAttachmentDefinitionSelector', both],
    ] as const
  ).map(([type, field, content]) => ({
    rule: `selector ${type}`,
    valid: selectors(clusterSelector, primarySelector),
    invalid: selectors(
      type === 'PrimaryUserDefinedNetworks' ? clusterSelector : primarySelector,
      content === both ? { ...clusterSelector, [field]: content } : { networkSelectionType: type },
    ),
    message: inconsistent(type, field),
  })),
];

const flatRules: readonly RuleCase[] = [
  {
    rule: 'flat: spec immutable',
    old: flat(flat2),
    valid: flat(flat2),
    invalid: flat({ ...flat2, mtu: 1400 }),
    message: 'Spec is immutable',
  },
  {
    rule: 'flat: template immutable',
    old: flatCluster(flat2),
    valid: flatCluster(flat2),
    invalid: flatCluster({ ...flat2, mtu: 1400 }),
    message: 'Spec is immutable',
  },
  {
    rule: 'flat: Layer3 subnets',
    valid: flat(flat3),
    invalid: flat({ topology: 'Layer3', role: 'Primary' }),
    message: 'Subnets is required for Layer3 topology',
  },
  {
    rule: 'flat: primary localnet',
    valid: flatCluster({ topology: 'Localnet', role: 'Secondary', subnets: ['10.0.0.0/24'] }),
    invalid: flatCluster({ topology: 'Localnet', role: 'Primary', subnets: ['10.0.0.0/24'] }),
    message: 'Topology localnet is not supported for primary network',
  },
  {
    rule: 'flat: ipamLifecycle',
    valid: flat({ ...flat2, ipamLifecycle: 'Persistent' }),
    invalid: flat({ ...flat3, ipamLifecycle: 'Persistent' }),
    message: 'ipamLifecycle is supported for Layer2 and Localnet topologies',
  },
  {
    rule: 'flat: ipam.lifecycle',
    valid: flat({ ...flat2, ipam: { lifecycle: 'Persistent' } }),
    invalid: flat({ ...flat3, ipam: { lifecycle: 'Persistent' } }),
    message: 'ipam.lifecycle is supported for Layer2 and Localnet topologies',
  },
  {
    rule: 'flat: persistent',
    valid: flat({ ...flat2, ipam: { mode: 'Enabled', lifecycle: 'Persistent' } }),
    invalid: flat({
      topology: 'Layer2',
      role: 'Secondary',
      ipam: { mode: 'Disabled', lifecycle: 'Persistent' },
    }),
    message: 'lifecycle Persistent is only supported when ipam.mode is Enabled',
  },
  {
    rule: 'flat: ipam.mode',
    valid: flat({ topology: 'Layer2', role: 'Secondary', ipam: { mode: 'Disabled' } }),
    invalid: flat({ topology: 'Layer2', role: 'Primary', ipam: { mode: 'Disabled' } }),
    message:
      'Disabled ipam.mode is only supported for Layer2 and Localnet topologies of Secondary networks',
  },
  {
    rule: 'flat: no subnets without IPAM',
    valid: flat({ topology: 'Layer2', role: 'Secondary', ipam: { mode: 'Disabled' } }),
    invalid: flat({ ...flat2, role: 'Secondary', ipam: { mode: 'Disabled' } }),
    message: 'Subnets must be unset when ipam.mode is Disabled',
  },
  {
    rule: 'flat: subnets with IPAM',
    valid: flat(flat2),
    invalid: flat({ topology: 'Layer2', role: 'Primary' }),
    message: 'Subnets is required with ipam.mode is Enabled or unset',
  },
  {
    rule: 'flat: joinSubnets',
    valid: flat({ ...flat2, joinSubnets: ['100.66.0.0/16', 'fd66::/64'] }),
    invalid: flat({ ...flat2, joinSubnets: [] }),
    message: 'Unexpected number of join subnets',
  },
  {
    rule: 'flat: role',
    valid: flat(flat2),
    invalid: flat({ topology: 'Layer2', subnets: ['10.0.0.0/24'] }),
    message: 'spec.role: Required value',
  },
  {
    rule: 'flat: template',
    valid: flatCluster({ spec: flat2 }),
    invalid: flatCluster({ ...flat2, spec: flat2 }),
    message: 'template holds either the fields of the network, with topology and role, or spec',
  },
];

const otherKinds: readonly RuleCase[] = [
  {
    rule: 'EgressIP',
    valid: egress('EgressIP', { egressIPs: ['1.2.3.4'], namespaceSelector: {} }),
    invalid: egress('EgressIP', { egressIPs: ['1.2.3.4'] }),
    message: 'spec.namespaceSelector: Required value',
  },
  {
    rule: 'EgressFirewall name',
    valid: firewall({}),
    invalid: {
      ...(firewall({}) as Record<string, unknown>),
      metadata: { name: 'other', namespace: 'blue' },
    },
    message: "should match '^default$'",
  },
  {
    rule: 'EgressFirewall type',
    valid: firewall({ type: 'Allow' }),
    invalid: firewall({ type: 'Maybe' }),
    message: "should match '^Allow|Deny$'",
  },
  {
    rule: 'EgressFirewall protocol',
    valid: firewall({ ports: [{ protocol: 'SCTP', port: 1 }] }),
    invalid: firewall({ ports: [{ protocol: 'ICMP', port: 1 }] }),
    message: "should match '^TCP|UDP|SCTP$'",
  },
  {
    rule: 'EgressFirewall port',
    valid: firewall({ ports: [{ protocol: 'TCP', port: 65535 }] }),
    invalid: firewall({ ports: [{ protocol: 'TCP', port: 65536 }] }),
    message: 'should be less than or equal to 65535',
  },
  {
    rule: 'EgressFirewall to',
    valid: firewall({ to: { dnsName: '*.example.com.' } }),
    invalid: firewall({ to: {} }),
    message: 'should have at least 1 properties',
  },
  {
    rule: 'EgressFirewall to one',
    valid: firewall({ to: { nodeSelector: {} } }),
    invalid: firewall({ to: { nodeSelector: {}, cidrSelector: '1.2.3.0/24' } }),
    message: 'must have at most 1 item',
  },
  {
    rule: 'EgressFirewall dnsName',
    valid: firewall({ to: { dnsName: 'example.com' } }),
    invalid: firewall({ to: { dnsName: 'a b' } }),
    message: 'should match ',
  },
  {
    rule: 'EgressQoS dscp',
    valid: egress('EgressQoS', { egress: [{ dscp: 63 }] }),
    invalid: egress('EgressQoS', { egress: [{ dscp: 64 }] }),
    message: 'should be less than or equal to 63',
  },
  {
    rule: 'EgressQoS dstCIDR',
    valid: egress('EgressQoS', { egress: [{ dscp: 1, dstCIDR: '1.2.3.0/24' }] }),
    invalid: egress('EgressQoS', { egress: [{ dscp: 1, dstCIDR: 'x' }] }),
    message: 'must be of type cidr',
  },
  {
    rule: 'EgressService',
    valid: egress('EgressService', { sourceIPBy: 'Network' }),
    invalid: egress('EgressService', { sourceIPBy: 'Luck' }),
    message: 'supported values: "LoadBalancerIP", "Network"',
  },
  {
    rule: 'OVNSecondaryNetwork subnet',
    valid: osn({ subnet: '10.1.0.0/24' }),
    invalid: osn({ subnet: '10.1.0.0' }),
    message: 'CIDR is invalid',
  },
  {
    rule: 'OVNSecondaryNetwork mtu',
    valid: osn({ mtu: 65535 }),
    invalid: osn({ mtu: 65536 }),
    message: 'should be less than or equal to 65535',
  },
  {
    rule: 'OVNSecondaryNetwork immutable',
    old: osn({ subnet: '10.1.0.0/24' }),
    valid: osn({ subnet: '10.1.0.0/24' }),
    invalid: osn({ subnet: '10.2.0.0/24' }),
    message: 'Spec is immutable',
  },
  {
    rule: 'IPAMClaim',
    valid: {
      apiVersion: 'k8s.cni.cncf.io/v1alpha1',
      kind: 'IPAMClaim',
      metadata: { name: 'a', namespace: 'blue' },
      spec: { network: 'n', interface: 'i' },
    },
    invalid: {
      apiVersion: 'k8s.cni.cncf.io/v1alpha1',
      kind: 'IPAMClaim',
      metadata: { name: 'a', namespace: 'blue' },
      spec: { network: 'n' },
    },
    message: 'spec.interface: Required value',
  },
  {
    rule: 'NetworkAttachmentDefinition',
    valid: {
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: { name: 'a', namespace: 'blue' },
      spec: { config: '{}' },
    },
    invalid: {
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: { name: 'a', namespace: 'blue' },
      spec: { config: {} },
    },
    message: 'must be of type string: "object"',
  },
];

const named = (metadata: object): object => ({ ...(l3({}) as Record<string, unknown>), metadata });
const owner = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  name,
  uid: `uid-${name}`,
});
const metadataRules: readonly RuleCase[] = [
  {
    rule: 'name',
    valid: named({ name: 'a.b-c', namespace: 'blue' }),
    invalid: named({ name: 'A_b', namespace: 'blue' }),
    message:
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'",
  },
  {
    rule: 'name length',
    valid: named({ name: 'a'.repeat(253), namespace: 'blue' }),
    invalid: named({ name: 'a'.repeat(254), namespace: 'blue' }),
    message: 'must be no more than 253 characters',
  },
  {
    rule: 'name required',
    valid: named({ name: 'a', namespace: 'blue' }),
    invalid: named({ namespace: 'blue' }),
    message: 'name or generateName is required',
  },
  {
    rule: 'label key',
    valid: named({ name: 'a', namespace: 'blue', labels: { 'example.com/team': 'a' } }),
    invalid: named({ name: 'a', namespace: 'blue', labels: { 'a/b/c': 'a' } }),
    message: 'a valid label key must consist of',
  },
  {
    rule: 'label value',
    valid: named({ name: 'a', namespace: 'blue', labels: { team: '' } }),
    invalid: named({ name: 'a', namespace: 'blue', labels: { team: 'a b' } }),
    message: 'a valid label must be an empty string or consist of alphanumeric characters',
  },
  {
    rule: 'annotation key',
    valid: named({ name: 'a', namespace: 'blue', annotations: { 'Example.com/Note': '{}' } }),
    invalid: named({ name: 'a', namespace: 'blue', annotations: { '-': 'a' } }),
    message: 'name part must consist of alphanumeric characters',
  },
  {
    rule: 'label without a value',
    valid: named({ name: 'a', namespace: 'blue', labels: { team: null } }),
    invalid: named({ name: 'a', namespace: 'blue', labels: { 'a/b/c': null } }),
    message: 'a valid label key must consist of',
  },
  {
    rule: 'finalizers',
    valid: named({ name: 'a', namespace: 'blue', finalizers: ['example.com/keep'] }),
    invalid: named({ name: 'a', namespace: 'blue', finalizers: ['keep it'] }),
    message: 'name part must consist of alphanumeric characters',
  },
  {
    rule: 'generateName',
    valid: named({ name: 'a', namespace: 'blue', generateName: 'a-' }),
    invalid: named({ name: 'a', namespace: 'blue', generateName: 'AB-' }),
    message: 'a lowercase RFC 1123 subdomain must consist of',
  },
  {
    rule: 'one controller',
    valid: named({ name: 'a', namespace: 'blue', ownerReferences: [owner('a'), owner('b')] }),
    invalid: named({
      name: 'a',
      namespace: 'blue',
      ownerReferences: [
        { ...owner('a'), controller: true },
        { ...owner('b'), controller: true },
      ],
    }),
    message: 'Only one reference can have Controller set to true',
  },
  {
    rule: 'events own nothing',
    valid: named({ name: 'a', namespace: 'blue', ownerReferences: [owner('a')] }),
    invalid: named({
      name: 'a',
      namespace: 'blue',
      ownerReferences: [{ ...owner('a'), kind: 'Event' }],
    }),
    message: '/v1, Kind=Event is disallowed from being an owner',
  },
  {
    rule: 'annotations size',
    valid: named({ name: 'a', namespace: 'blue', annotations: { a: 'a'.repeat(262143) } }),
    invalid: named({ name: 'a', namespace: 'blue', annotations: { a: 'a'.repeat(262144) } }),
    message: 'may not be more than 262144 bytes',
  },
];

export const ruleCases: readonly RuleCase[] = [
  ...metadataRules,
  ...shared,
  ...userDefinedNetwork,
  ...layer3Rules,
  ...layer2Rules,
  ...clusterRules,
  ...localnetRules,
  ...connectRules,
  ...flatRules,
  ...otherKinds,
  ...boundCases,
];
