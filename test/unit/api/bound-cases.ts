/** Types, bounds, required fields and list sizes of reference/api.md §1: a value at the bound, one beyond it, and the message. */
import { layer2, layer3, localnet } from './objects.ts';
import {
  cnc,
  connectSubnets,
  egress,
  evpn,
  firewall,
  flat,
  ip,
  l2,
  l3,
  ln,
  manyCidrs,
  network,
  noOverlay,
  osn,
  primary3,
  selectors,
  type RuleCase,
} from './rule-objects.ts';
import { cudn } from './objects.ts';

const required = (rule: string, valid: object, invalid: object, field: string): RuleCase => ({
  rule: `${rule} required`,
  valid,
  invalid,
  message: `${field}: Required value`,
});
const most = (
  rule: string,
  valid: object,
  invalid: object,
  count: number,
  limit: number,
): RuleCase => ({
  rule: `${rule} most`,
  valid,
  invalid,
  message: `Too many: ${count}: must have at most ${limit} item`,
});
const SAME_FAMILY = 'When 2 CIDRs are set, they must be from different IP families';
const PRIMARY_ROLES = 'Unsupported value: "Third": supported values: "Primary", "Secondary"';
const atLeast = (limit: number): string => `should be greater than or equal to ${limit}`;
const atMost = (limit: number): string => `should be less than or equal to ${limit}`;

const layer3Bounds: readonly RuleCase[] = [
  required('L3 subnets', l3({}), layer3({ role: 'Primary' }), 'spec.layer3.subnets'),
  most(
    'L3 joinSubnets',
    l3({ joinSubnets: ['100.66.0.0/16', 'fd66::/64'] }),
    l3({ joinSubnets: ['100.66.0.0/16', 'fd66::/64', 'fd67::/64'] }),
    3,
    2,
  ),
  {
    rule: 'L3 joinSubnets least',
    valid: l3({ joinSubnets: ['100.66.0.0/16'] }),
    invalid: l3({ joinSubnets: [] }),
    message: 'should have at least 1 items',
  },
  {
    rule: 'L3 joinSubnets families',
    valid: l3({ joinSubnets: ['fd66::/64', '100.66.0.0/16'] }),
    invalid: l3({ joinSubnets: ['100.66.0.0/16', '100.67.0.0/16'] }),
    message: SAME_FAMILY,
  },
  {
    rule: 'L3 joinSubnets CIDR',
    valid: l3({ joinSubnets: ['100.66.0.1/16'] }),
    invalid: l3({ joinSubnets: ['100.66.0.0'] }),
    message: 'CIDR is invalid',
  },
  {
    rule: 'L3 subnets type',
    valid: l3({}),
    invalid: l3({ subnets: '10.0.0.0/16' }),
    message: 'must be of type array: "string"',
  },
];

const layer2Bounds: readonly RuleCase[] = [
  required('L2 role', l2({}), layer2({ subnets: ['10.100.0.0/16'] }), 'spec.layer2.role'),
  {
    rule: 'L2 role',
    valid: l2({ role: 'Secondary' }),
    invalid: l2({ role: 'Third' }),
    message: PRIMARY_ROLES,
  },
  {
    rule: 'L2 mtu most',
    valid: l2({ mtu: 65536 }),
    invalid: l2({ mtu: 65537 }),
    message: atMost(65536),
  },
  {
    rule: 'L2 subnets least',
    valid: l2({}),
    invalid: l2({ subnets: [] }),
    message: 'should have at least 1 items',
  },
  {
    rule: 'L2 subnets CIDR',
    valid: l2({ subnets: ['10.100.0.7/16'] }),
    invalid: l2({ subnets: ['10.100.0.0/16/24'] }),
    message: 'CIDR is invalid',
  },
  ...(['reservedSubnets', 'infrastructureSubnets', 'excludeSubnets'] as const).flatMap(
    (field): RuleCase[] => [
      {
        rule: `L2 ${field} least`,
        valid: l2({ [field]: ['10.100.1.0/24'] }),
        invalid: l2({ [field]: [] }),
        message: 'should have at least 1 items',
      },
      {
        rule: `L2 ${field} CIDR`,
        valid: l2({ [field]: ['10.100.1.0/24'] }),
        invalid: l2({ [field]: ['10.100.1.0'] }),
        message: 'CIDR is invalid',
      },
    ],
  ),
  most(
    'L2 excludeSubnets',
    l2({ excludeSubnets: manyCidrs(25) }),
    l2({ excludeSubnets: manyCidrs(26) }),
    26,
    25,
  ),
  most(
    'L2 defaultGatewayIPs',
    l2({ subnets: ['10.100.0.0/16', 'fd00::/64'], defaultGatewayIPs: ['10.100.0.1', 'fd00::1'] }),
    l2({
      subnets: ['10.100.0.0/16', 'fd00::/64'],
      defaultGatewayIPs: ['10.100.0.1', 'fd00::1', 'fd00::2'],
    }),
    3,
    2,
  ),
  {
    rule: 'L2 joinSubnets families',
    valid: l2({ joinSubnets: ['100.66.0.0/16', 'fd66::/64'] }),
    invalid: l2({ joinSubnets: ['fd66::/64', 'fd67::/64'] }),
    message: SAME_FAMILY,
  },
];

const clusterBounds: readonly RuleCase[] = [
  required(
    'CUDN spec.network.topology',
    network(primary3),
    network({ layer3: primary3.layer3 }),
    'spec.network.topology',
  ),
  {
    rule: 'CUDN topology',
    valid: network(primary3),
    invalid: network({ topology: 'Layer4' }),
    message: 'supported values: "Layer2", "Layer3", "Localnet"',
  },
  {
    rule: 'uplinks least',
    valid: cudn({ network: primary3, uplinks: ['a'] }),
    invalid: cudn({ network: primary3, uplinks: [] }),
    message: 'should have at least 1 items',
  },
  {
    rule: 'uplinks length',
    valid: cudn({ network: primary3, uplinks: ['a'.repeat(253)] }),
    invalid: cudn({ network: primary3, uplinks: ['a'.repeat(254)] }),
    message: 'Too long: may not be more than 253 bytes',
  },
  {
    rule: 'noOverlay outboundSNAT',
    valid: network(primary3, {
      ...noOverlay,
      noOverlay: { outboundSNAT: 'Disabled', routing: 'Unmanaged' },
    }),
    invalid: network(primary3, {
      ...noOverlay,
      noOverlay: { outboundSNAT: 'Maybe', routing: 'Managed' },
    }),
    message: 'supported values: "Enabled", "Disabled"',
  },
  {
    rule: 'noOverlay routing',
    valid: network(primary3, noOverlay),
    invalid: network(primary3, {
      ...noOverlay,
      noOverlay: { outboundSNAT: 'Enabled', routing: 'Static' },
    }),
    message: 'supported values: "Managed", "Unmanaged"',
  },
  required(
    'noOverlay outboundSNAT',
    network(primary3, noOverlay),
    network(primary3, { ...noOverlay, noOverlay: { routing: 'Managed' } }),
    'spec.network.noOverlay.outboundSNAT',
  ),
  required(
    'noOverlay routing',
    network(primary3, noOverlay),
    network(primary3, { ...noOverlay, noOverlay: { outboundSNAT: 'Enabled' } }),
    'spec.network.noOverlay.routing',
  ),
  required(
    'evpn vtep',
    network(primary3, evpn(ip)),
    network(primary3, { transport: 'EVPN', evpn: ip }),
    'spec.network.evpn.vtep',
  ),
  required(
    'evpn vni',
    network(primary3, evpn({ ipVRF: { vni: 1 } })),
    network(primary3, evpn({ ipVRF: {} })),
    'spec.network.evpn.ipVRF.vni',
  ),
  {
    rule: 'evpn vni least',
    valid: network(primary3, evpn({ ipVRF: { vni: 1 } })),
    invalid: network(primary3, evpn({ ipVRF: { vni: 0 } })),
    message: atLeast(1),
  },
  {
    rule: 'evpn routeTarget',
    valid: network(primary3, evpn({ ipVRF: { vni: 1, routeTarget: '65000:100' } })),
    invalid: network(primary3, evpn({ ipVRF: { vni: 1, routeTarget: `65000:${'1'.repeat(20)}` } })),
    message: 'Too long: may not be more than 21 bytes',
  },
];

const localnetBounds: readonly RuleCase[] = [
  required(
    'LN role',
    ln({}),
    localnet({ role: undefined, subnets: ['192.168.0.0/16'] }),
    'spec.network.localnet.role',
  ),
  required(
    'LN physicalNetworkName',
    ln({}),
    ln({ physicalNetworkName: undefined }),
    'spec.network.localnet.physicalNetworkName',
  ),
  {
    rule: 'LN mtu least',
    valid: ln({ mtu: 576 }),
    invalid: ln({ mtu: 575 }),
    message: atLeast(576),
  },
  {
    rule: 'LN mtu most',
    valid: ln({ mtu: 65536 }),
    invalid: ln({ mtu: 65537 }),
    message: atMost(65536),
  },
  {
    rule: 'LN subnets families',
    valid: ln({ subnets: ['192.168.0.0/16', 'fd00::/64'] }),
    invalid: ln({ subnets: ['192.168.0.0/16', '192.169.0.0/16'] }),
    message: SAME_FAMILY,
  },
  {
    rule: 'LN excludeSubnets CIDR',
    valid: ln({ excludeSubnets: ['192.168.0.0/28'] }),
    invalid: ln({ excludeSubnets: ['192.168.0.5'] }),
    message: 'CIDR is invalid',
  },
  {
    rule: 'LN vlan id least',
    valid: ln({ vlan: { mode: 'Access', access: { id: 1 } } }),
    invalid: ln({ vlan: { mode: 'Access', access: { id: 0 } } }),
    message: atLeast(1),
  },
  required(
    'LN vlan mode',
    ln({ vlan: { mode: 'Access', access: { id: 1 } } }),
    ln({ vlan: { access: { id: 1 } } }),
    'spec.network.localnet.vlan.mode',
  ),
  required(
    'LN vlan id',
    ln({ vlan: { mode: 'Access', access: { id: 1 } } }),
    ln({ vlan: { mode: 'Access', access: {} } }),
    'spec.network.localnet.vlan.access.id',
  ),
  {
    rule: 'LN ipam persistent',
    valid: ln({ ipam: { mode: 'Enabled', lifecycle: 'Persistent' } }),
    invalid: localnet({ ipam: { mode: 'Disabled', lifecycle: 'Persistent' } }),
    message: 'lifecycle Persistent is only supported when ipam.mode is Enabled',
  },
];

const selector = {
  networkSelectionType: 'PrimaryUserDefinedNetworks',
  primaryUserDefinedNetworkSelector: { namespaceSelector: {} },
};
const both = { namespaceSelector: {}, networkSelector: {} };
const everyType = [
  selector,
  { networkSelectionType: 'DefaultNetwork' },
  {
    networkSelectionType: 'ClusterUserDefinedNetworks',
    clusterUserDefinedNetworkSelector: { networkSelector: {} },
  },
  {
    networkSelectionType: 'SecondaryUserDefinedNetworks',
    secondaryUserDefinedNetworkSelector: both,
  },
  {
    networkSelectionType: 'NetworkAttachmentDefinitions',
    networkAttachmentDefinitionSelector: both,
  },
];
const connectBounds: readonly RuleCase[] = [
  required(
    'CNC networkSelectors',
    cnc({}),
    cnc({ networkSelectors: undefined }),
    'spec.networkSelectors',
  ),
  required(
    'CNC connectSubnets',
    cnc({}),
    cnc({ connectSubnets: undefined }),
    'spec.connectSubnets',
  ),
  required(
    'CNC cidr',
    cnc({}),
    connectSubnets({ networkPrefix: 24 }),
    'spec.connectSubnets[0].cidr',
  ),
  required(
    'CNC networkSelectionType',
    selectors(selector),
    selectors({ primaryUserDefinedNetworkSelector: { namespaceSelector: {} } }),
    'spec.networkSelectors[0].networkSelectionType',
  ),
  required(
    'CNC namespaceSelector',
    selectors(selector),
    selectors({ ...selector, primaryUserDefinedNetworkSelector: {} }),
    'spec.networkSelectors[0].primaryUserDefinedNetworkSelector.namespaceSelector',
  ),
  most('CNC networkSelectors', selectors(selector), selectors(...everyType, selector), 6, 5),
  most(
    'CNC connectSubnets',
    connectSubnets({ cidr: '192.168.0.0/16', networkPrefix: 24 }),
    connectSubnets(
      { cidr: '192.168.0.0/16', networkPrefix: 24 },
      { cidr: 'fd01::/112', networkPrefix: 120 },
      { cidr: 'fd02::/112', networkPrefix: 120 },
    ),
    3,
    2,
  ),
  most(
    'CNC connectivity',
    cnc({ connectivity: ['ServiceNetwork', 'PodNetwork'] }),
    cnc({ connectivity: ['ServiceNetwork', 'PodNetwork', 'PodNetwork'] }),
    3,
    2,
  ),
  {
    rule: 'CNC connectivity least',
    valid: cnc({ connectivity: ['ServiceNetwork'] }),
    invalid: cnc({ connectivity: [] }),
    message: 'should have at least 1 items',
  },
  {
    rule: 'CNC networkPrefix least',
    valid: connectSubnets({ cidr: '0.0.0.0/0', networkPrefix: 1 }),
    invalid: connectSubnets({ cidr: '0.0.0.0/0', networkPrefix: 0 }),
    message: atLeast(1),
  },
  {
    rule: 'CNC cidr length',
    valid: connectSubnets({ cidr: 'fd01::/112', networkPrefix: 120 }),
    invalid: connectSubnets({ cidr: `fd01::/112${' '.repeat(40)}`, networkPrefix: 120 }),
    message: 'Too long: may not be more than 43 bytes',
  },
  {
    rule: 'CNC networkSelectionType',
    valid: selectors(selector),
    invalid: selectors({ networkSelectionType: 'AllNetworks' }),
    message:
      'supported values: "DefaultNetwork", "ClusterUserDefinedNetworks", "PrimaryUserDefinedNetworks", "SecondaryUserDefinedNetworks", "NetworkAttachmentDefinitions"',
  },
];

const toward = { cidrSelector: '1.2.3.0/24' };
const rules = (...list: object[]): object => egress('EgressFirewall', { egress: list });
const claim = (spec: object): object => ({
  apiVersion: 'k8s.cni.cncf.io/v1alpha1',
  kind: 'IPAMClaim',
  metadata: { name: 'a', namespace: 'blue' },
  spec,
});
const eip = (spec: object, more: object = {}): object => ({
  ...egress('EgressIP', { egressIPs: ['1.2.3.4'], namespaceSelector: {}, ...spec }),
  ...more,
});
const otherBounds: readonly RuleCase[] = [
  required('EgressIP egressIPs', eip({}), eip({ egressIPs: undefined }), 'spec.egressIPs'),
  {
    rule: 'EgressIP families',
    valid: eip({ egressIPs: ['1.2.3.4', 'fd00::4'], podSelector: {} }),
    invalid: eip({ egressIPs: [4] }),
    message: 'must be of type string: "integer"',
  },
  required(
    'EgressIP status node',
    eip({}, { status: { items: [{ node: 'n1', egressIP: '1.2.3.4' }] } }),
    eip({}, { status: { items: [{ egressIP: '1.2.3.4' }] } }),
    'status.items[0].node',
  ),
  required('EgressFirewall egress', firewall({}), egress('EgressFirewall', {}), 'spec.egress'),
  required('EgressFirewall type', firewall({}), rules({ to: toward }), 'spec.egress[0].type'),
  required('EgressFirewall to', firewall({}), rules({ type: 'Deny' }), 'spec.egress[0].to'),
  required(
    'EgressFirewall protocol',
    firewall({ ports: [{ protocol: 'UDP', port: 53 }] }),
    firewall({ ports: [{ port: 53 }] }),
    'spec.egress[0].ports[0].protocol',
  ),
  required(
    'EgressFirewall port',
    firewall({ ports: [{ protocol: 'UDP', port: 53 }] }),
    firewall({ ports: [{ protocol: 'UDP' }] }),
    'spec.egress[0].ports[0].port',
  ),
  {
    rule: 'EgressFirewall port least',
    valid: firewall({ ports: [{ protocol: 'UDP', port: 1 }] }),
    invalid: firewall({ ports: [{ protocol: 'UDP', port: 0 }] }),
    message: atLeast(1),
  },
  {
    // The pattern is not anchored on both sides of "|"; it stays as users know it.
    rule: 'EgressFirewall type pattern',
    valid: firewall({ type: 'Allowx' }),
    invalid: firewall({ type: 'xAllow' }),
    message: "should match '^Allow|Deny$'",
  },
  {
    rule: 'EgressQoS name',
    valid: egress('EgressQoS', { egress: [{ dscp: 0 }] }),
    invalid: egress('EgressQoS', { egress: [{ dscp: 0 }] }, { name: 'other' }),
    message: "should match '^default$'",
  },
  {
    rule: 'EgressQoS dscp least',
    valid: egress('EgressQoS', { egress: [{ dscp: 0, podSelector: {} }] }),
    invalid: egress('EgressQoS', { egress: [{ dscp: -1 }] }),
    message: atLeast(0),
  },
  required(
    'EgressQoS dscp',
    egress('EgressQoS', { egress: [{ dscp: 63 }] }),
    egress('EgressQoS', { egress: [{ dstCIDR: '1.2.3.0/24' }] }),
    'spec.egress[0].dscp',
  ),
  {
    rule: 'EgressService network',
    valid: egress('EgressService', {
      sourceIPBy: 'LoadBalancerIP',
      network: '100',
      nodeSelector: {},
    }),
    invalid: egress('EgressService', { network: 100 }),
    message: 'must be of type string: "integer"',
  },
  required(
    'IPAMClaim network',
    claim({ network: 'n', interface: 'i' }),
    claim({ interface: 'i' }),
    'spec.network',
  ),
  {
    rule: 'OVNSecondaryNetwork external',
    valid: osn({ subnet: '10.1.0.0/24', hasExternalConnectivity: true }),
    invalid: osn({ subnet: '10.1.0.0/24', hasExternalConnectivity: 'yes' }),
    message: 'must be of type boolean: "string"',
  },
];

const flatBounds: readonly RuleCase[] = [
  {
    rule: 'flat: topology',
    valid: flat({ topology: 'Layer2', role: 'Primary', subnets: ['10.0.0.0/24'] }),
    invalid: flat({ topology: 'Layer4', role: 'Primary', subnets: ['10.0.0.0/24'] }),
    message: 'Unsupported value: "Layer4"',
  },
  {
    rule: 'flat: two join subnets at most',
    valid: flat({
      topology: 'Layer2',
      role: 'Primary',
      subnets: ['10.0.0.0/24'],
      joinSubnets: ['100.66.0.0/16'],
    }),
    invalid: flat({
      topology: 'Layer2',
      role: 'Primary',
      subnets: ['10.0.0.0/24'],
      joinSubnets: ['100.66.0.0/16', 'fd66::/64', 'fd67::/64'],
    }),
    message: 'Unexpected number of join subnets',
  },
];

export const boundCases: readonly RuleCase[] = [
  ...layer3Bounds,
  ...layer2Bounds,
  ...clusterBounds,
  ...localnetBounds,
  ...connectBounds,
  ...otherBounds,
  ...flatBounds,
];
