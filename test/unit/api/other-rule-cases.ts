/** Rules of the other kinds, and of metadata. */
import { egress, firewall, l3, nc, osn, route, type RuleCase } from './rule-objects.ts';

export const otherKinds: readonly RuleCase[] = [
  {
    rule: 'EgressIP',
    valid: egress('EgressIP', { egressIPs: ['1.2.3.4'], namespaceSelector: {} }),
    invalid: egress('EgressIP', { egressIPs: ['1.2.3.4'] }),
    message: 'spec.namespaceSelector: Required value',
  },
  {
    rule: 'EgressIP trafficSelector',
    valid: egress('EgressIP', {
      egressIPs: ['1.2.3.4'],
      namespaceSelector: {},
      egressNodeSelector: {},
      trafficSelector: { matchLabels: { group: 'mgmt' } },
    }),
    invalid: egress('EgressIP', {
      egressIPs: ['1.2.3.4'],
      namespaceSelector: {},
      trafficSelector: {},
    }),
    message: 'trafficSelector must specify matchLabels or matchExpressions',
  },
  {
    rule: 'EgressTrafficClass cidr',
    valid: egress('EgressTrafficClass', {
      destinations: [{ cidr: '192.168.250.0/24' }, { cidr: '2001:db8::/32' }],
    }),
    invalid: egress('EgressTrafficClass', { destinations: [{ cidr: '192.168.250.1/24' }] }),
    message: 'CIDR must be a valid network address',
  },
  {
    rule: 'EgressTrafficClass destinations',
    valid: egress('EgressTrafficClass', { destinations: [{ cidr: '192.168.250.1/32' }] }),
    invalid: egress('EgressTrafficClass', { destinations: [] }),
    message: 'should have at least 1 items',
  },
  {
    rule: 'EgressTrafficClass protocols',
    valid: egress('EgressTrafficClass', {
      destinations: [{ cidr: '192.168.250.0/24', protocols: [] }],
    }),
    invalid: egress('EgressTrafficClass', {
      destinations: [
        { cidr: '192.168.250.0/24', protocols: [{ tcp: { destinationPort: { number: 22 } } }] },
      ],
    }),
    message: 'protocols are not supported, a destination is for all of its traffic',
  },
  {
    rule: 'AdminPolicyBasedExternalRoute nextHops',
    valid: route({ dynamic: [{ podSelector: {} }] }),
    invalid: route({}),
    message: 'should have at least 1 properties',
  },
  {
    rule: 'AdminPolicyBasedExternalRoute ip',
    valid: route({ static: [{ ip: '172.18.0.2', bfdEnabled: true }] }),
    invalid: route({ static: [{ bfdEnabled: true }] }),
    message: 'spec.nextHops.static[0].ip: Required value',
  },
  {
    rule: 'AdminPolicyBasedExternalRoute podSelector',
    valid: route({ dynamic: [{ podSelector: {}, namespaceSelector: {} }] }),
    invalid: route({ dynamic: [{ namespaceSelector: {} }] }),
    message: 'spec.nextHops.dynamic[0].podSelector: Required value',
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
    rule: 'NetworkConnect network',
    valid: nc({ network: 'a.b-c' }),
    invalid: nc({ network: 'a/b' }),
    message: "should match '^[a-z0-9]",
  },
  {
    rule: 'NetworkConnect peer',
    valid: nc({ peer: { namespace: 'red', network: 'other' } }),
    invalid: nc({ peer: { namespace: 'red.x', network: 'other' } }),
    message: "should match '^[a-z0-9]",
  },
  {
    rule: 'NetworkConnect peer network',
    valid: nc({}),
    invalid: nc({ peer: { namespace: 'red' } }),
    message: 'Required value',
  },
  {
    rule: 'NetworkConnect connectivity',
    valid: nc({ connectivity: ['ServiceNetwork', 'PodNetwork'] }),
    invalid: nc({ connectivity: ['ClusterIPServiceNetwork'] }),
    message: 'supported values: "PodNetwork", "ServiceNetwork"',
  },
  {
    rule: 'NetworkConnect connectivity twice',
    valid: nc({}),
    invalid: nc({ connectivity: ['PodNetwork', 'PodNetwork'] }),
    message: 'Duplicate value: "PodNetwork"',
  },
  {
    rule: 'NetworkConnect connectivity empty',
    valid: nc({}),
    invalid: nc({ connectivity: [] }),
    message: 'should have at least 1 items',
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
export const metadataRules: readonly RuleCase[] = [
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
