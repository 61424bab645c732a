import { describe, expect, test } from 'vitest';
import type { EgressQoS } from '../../../../src/api/types.ts';
import {
  networkQosKind,
  readEgressQos,
  readNetworkQos,
  type Qos,
} from '../../../../src/model/read/qos.ts';

const egressQos = (...egress: object[]) =>
  readEgressQos({
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressQoS',
    metadata: { namespace: 'blue', name: 'default' },
    spec: { egress },
  } as EgressQoS);
const networkQos = (spec: object) =>
  readNetworkQos({
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'NetworkQoS',
    metadata: { namespace: 'blue', name: 'gold' },
    spec: { priority: 5, egress: [], ...spec },
  });
const withRule = (rule: object) => networkQos({ egress: [{ dscp: 46, ...rule }] });
const every = { id: 'blue_LS{}', namespace: 'blue', podSelector: {}, isLegacy: false };

test('an EgressQoS: rules in their order, blocks in canonical form', () => {
  const podSelector = { matchLabels: { app: 'bulk' } };
  expect(egressQos({ dscp: 46, dstCIDR: '203.0.113.7/24' }, { dscp: 0, podSelector })).toEqual({
    kind: 'value',
    value: {
      kind: 'EgressQoS',
      namespace: 'blue',
      name: 'default',
      created: '',
      priority: 0,
      rules: [
        {
          pods: every,
          dscp: 46,
          to: [{ kind: 'block', block: { cidr: '203.0.113.0/24', except: [] } }],
          ports: [],
        },
        {
          pods: { ...every, id: 'blue_LS{ML:{app: bulk,},}', podSelector },
          dscp: 0,
          to: [],
          ports: [],
        },
      ],
    } satisfies Qos,
  });
});

test('an EgressQoS without rules marks nothing', () => {
  const { metadata, ...rest } = { metadata: { namespace: 'blue', name: 'default' } };
  const object = { apiVersion: 'k8s.ovn.org/v1', kind: 'EgressQoS', metadata, ...rest };
  expect(readEgressQos(object as EgressQoS)).toMatchObject({ value: { rules: [] } });
});

test('a NetworkQoS: networks, destinations, ports, rates', () => {
  const selector = { matchLabels: { a: 'b' } };
  const reading = networkQos({
    networkSelectors: [
      {
        networkSelectionType: 'ClusterUserDefinedNetworks',
        clusterUserDefinedNetworkSelector: { networkSelector: selector },
      },
      {
        networkSelectionType: 'NetworkAttachmentDefinitions',
        networkAttachmentDefinitionSelector: { namespaceSelector: {}, networkSelector: selector },
      },
    ],
    egress: [
      {
        dscp: 46,
        bandwidth: { rate: 1000, burst: 100 },
        classifier: {
          to: [
            { ipBlock: { cidr: 'FD00::1/64', except: ['fd00::/96'] } },
            { podSelector: {} },
            { namespaceSelector: {} },
          ],
          ports: [{ protocol: 'TCP', port: 80 }, { protocol: 'UDP' }],
        },
      },
    ],
  });
  expect(reading).toEqual({
    kind: 'value',
    value: {
      kind: 'NetworkQoS',
      namespace: 'blue',
      name: 'gold',
      created: '',
      priority: 5,
      networks: [
        { kind: 'cluster', selector },
        { kind: 'nads', namespaceSelector: {}, selector },
      ],
      rules: [
        {
          pods: every,
          dscp: 46,
          rate: 1000,
          burst: 100,
          to: [
            { kind: 'block', block: { cidr: 'fd00::/64', except: ['fd00::/96'] } },
            { kind: 'pods', selection: every },
            {
              kind: 'pods',
              selection: {
                id: 'LS{}_LS{}_LNM',
                namespaceSelector: {},
                podSelector: {},
                isLegacy: true,
              },
            },
          ],
          ports: [{ protocol: 'tcp', port: 80 }, { protocol: 'udp' }],
        },
      ],
    } satisfies Qos,
  });
  if (reading.kind !== 'value') return expect.unreachable();
  expect(networkQosKind.needsOtherPods(reading.value)).toBe(true);
  const alone = withRule({ classifier: { to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] } });
  expect(alone.kind === 'value' && networkQosKind.needsOtherPods(alone.value)).toBe(false);
});

describe('what nothing can be made of is a problem, with field, value and what holds until it is corrected', () => {
  const torn = { matchExpressions: [{ key: 'a', operator: 'Near' }] };
  test.each([
    [
      egressQos({ dscp: 1 }, { dscp: 1, dstCIDR: '8.8.8/8' }),
      'spec.egress[1].dstCIDR: Invalid value: "8.8.8/8": must be addresses in CIDR notation',
    ],
    [egressQos({ dscp: 1, podSelector: torn }), 'spec.egress[0].podSelector: Invalid value'],
    [
      egressQos(...Array.from({ length: 1001 }, () => ({ dscp: 1 }))),
      'spec.egress has 1001 rules: write at most 1000',
    ],
    [networkQos({ podSelector: torn }), 'spec.podSelector: Invalid value'],
    [
      networkQos({ networkSelectors: [{ networkSelectionType: 'DefaultNetwork' }] }),
      'spec.networkSelectors[0].networkSelectionType: Invalid value: "DefaultNetwork": must be ClusterUserDefinedNetworks or NetworkAttachmentDefinitions',
    ],
    [
      networkQos({
        networkSelectors: [
          {
            networkSelectionType: 'ClusterUserDefinedNetworks',
            clusterUserDefinedNetworkSelector: { networkSelector: torn },
          },
        ],
      }),
      'spec.networkSelectors[0].clusterUserDefinedNetworkSelector.networkSelector: Invalid value',
    ],
    [
      withRule({ bandwidth: { burst: 7 } }),
      'spec.egress[0].bandwidth.burst: Invalid value: 7: needs a rate',
    ],
    [
      withRule({ classifier: { ports: [{ port: 80 }] } }),
      'spec.egress[0].classifier.ports[0].protocol: Invalid value: "": must be TCP, UDP or SCTP',
    ],
    [
      withRule({ classifier: { ports: [{ protocol: 'TCPx' }] } }),
      'ports[0].protocol: Invalid value: "TCPx": must be TCP, UDP or SCTP',
    ],
    [
      withRule({ classifier: { to: [{}] } }),
      'spec.egress[0].classifier.to[0]: Invalid value: {}: must have ipBlock, podSelector or namespaceSelector',
    ],
    [
      withRule({ classifier: { to: [{ ipBlock: { cidr: '10.0.0.0' } }] } }),
      'spec.egress[0].classifier.to[0].ipBlock.cidr: Invalid value: "10.0.0.0"',
    ],
    [
      withRule({
        classifier: { to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['11.0.0.0/16'] } }] },
      }),
      'ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
    ],
  ])('%#', (reading, message) => {
    if (reading.kind !== 'problem') return expect.unreachable();
    expect(reading.message).toContain(message);
    expect(reading.message).toContain('it marks and limits nothing');
  });
});
