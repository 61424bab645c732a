/** Rules of the layer2 section of UserDefinedNetwork. */
import { layer2 } from './objects.ts';
import { l2, l2Secondary, manyCidrs, type RuleCase } from './rule-objects.ts';

export const layer2Rules: readonly RuleCase[] = [
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
