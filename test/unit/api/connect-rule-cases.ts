/** Rules of ClusterNetworkConnect. */
import { cnc, connectSubnets, selectors, type RuleCase } from './rule-objects.ts';

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

export const connectRules: readonly RuleCase[] = [
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
