/** Rules of NetworkQoS. */
import type { RuleCase } from './rule-objects.ts';

const networkQos = (spec: object): object => ({
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'NetworkQoS',
  metadata: { name: 'gold', namespace: 'blue' },
  spec: { priority: 5, egress: [{ dscp: 46 }], ...spec },
});
const rules = (...egress: object[]): object => networkQos({ egress });
const on = (...networkSelectors: object[]): object => networkQos({ networkSelectors });
const to = (destination: object): object => rules({ dscp: 46, classifier: { to: [destination] } });
const port = (one: object): object => rules({ dscp: 46, classifier: { ports: [one] } });
const rate = (bandwidth: object): object => rules({ dscp: 46, bandwidth });

const clusterSelector = {
  networkSelectionType: 'ClusterUserDefinedNetworks',
  clusterUserDefinedNetworkSelector: { networkSelector: {} },
};
const nadSelector = {
  networkSelectionType: 'NetworkAttachmentDefinitions',
  networkAttachmentDefinitionSelector: { namespaceSelector: {}, networkSelector: {} },
};
const primarySelector = {
  networkSelectionType: 'PrimaryUserDefinedNetworks',
  primaryUserDefinedNetworkSelector: { namespaceSelector: {} },
};

export const qosRules: readonly RuleCase[] = [
  {
    rule: 'NetworkQoS selection',
    valid: on(clusterSelector, nadSelector),
    invalid: on(primarySelector),
    message: 'Unsupported network selection type',
  },
  {
    rule: 'NetworkQoS immutable',
    old: on(clusterSelector),
    valid: on(clusterSelector),
    invalid: on(nadSelector),
    message: 'networkSelector is immutable',
  },
  {
    rule: 'NetworkQoS consistent selector',
    valid: on(nadSelector),
    invalid: on({ networkSelectionType: 'NetworkAttachmentDefinitions' }),
    message: 'both networkSelectionType NetworkAttachmentDefinitions',
  },
  {
    rule: 'NetworkQoS destination',
    valid: to({ podSelector: {}, namespaceSelector: {} }),
    invalid: to({ podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } }),
    message: "Can't specify both podSelector/namespaceSelector and ipBlock",
  },
  {
    rule: 'NetworkQoS priority',
    valid: networkQos({ priority: 100 }),
    invalid: networkQos({ priority: 101 }),
    message: 'should be less than or equal to 100',
  },
  {
    rule: 'NetworkQoS priority least',
    valid: networkQos({ priority: 0 }),
    invalid: networkQos({ priority: -1 }),
    message: 'should be greater than or equal to 0',
  },
  {
    rule: 'NetworkQoS priority required',
    valid: networkQos({ priority: 0 }),
    invalid: networkQos({ priority: undefined }),
    message: 'spec.priority: Required value',
  },
  {
    rule: 'NetworkQoS dscp',
    valid: rules({ dscp: 63 }),
    invalid: rules({ dscp: 64 }),
    message: 'should be less than or equal to 63',
  },
  {
    rule: 'NetworkQoS rules',
    valid: rules(...Array.from({ length: 20 }, () => ({ dscp: 1 }))),
    invalid: rules(...Array.from({ length: 21 }, () => ({ dscp: 1 }))),
    message: 'must have at most 20 item',
  },
  {
    rule: 'NetworkQoS protocol',
    valid: port({ protocol: 'TCP', port: 443 }),
    invalid: port({ protocol: 'ICMP' }),
    message: "should match '^TCP|UDP|SCTP$'",
  },
  {
    rule: 'NetworkQoS port',
    valid: port({ protocol: 'UDP', port: 65535 }),
    invalid: port({ protocol: 'UDP', port: 65536 }),
    message: 'should be less than or equal to 65535',
  },
  {
    rule: 'NetworkQoS rate',
    valid: rate({ rate: 4_294_967_295, burst: 1 }),
    invalid: rate({ rate: 4_294_967_296 }),
    message: 'should be less than or equal to 4294967295',
  },
  {
    rule: 'NetworkQoS burst least',
    valid: rate({ rate: 1, burst: 1 }),
    invalid: rate({ rate: 1, burst: 0 }),
    message: 'should be greater than or equal to 1',
  },
];
