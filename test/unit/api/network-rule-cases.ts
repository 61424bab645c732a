/** Rules of UserDefinedNetwork, of its layer3 section, and of addresses. */
import { udn } from './objects.ts';
import {
  l2,
  l3,
  l3Subnets,
  manySubnets,
  primary2,
  primary3,
  type RuleCase,
} from './rule-objects.ts';

export const shared: readonly RuleCase[] = [
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

export const userDefinedNetwork: readonly RuleCase[] = [
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

export const layer3Rules: readonly RuleCase[] = [
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
