import { expect, test } from 'vitest';
import type { EgressIP, LabelSelector, Node } from '../../../../src/api/types.ts';
import {
  egressNodeSelectors,
  isByLabel,
  isEgressNode,
} from '../../../../src/model/rules/egress-node-selectors.ts';

const LABEL = 'k8s.ovn.org/egress-assignable';
const egressIp = (egressNodeSelector?: LabelSelector): EgressIP => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name: 'out' },
  spec: { egressIPs: [], namespaceSelector: {}, ...(egressNodeSelector && { egressNodeSelector }) },
});
const node = (labels: Readonly<Record<string, string>>): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n1', labels },
});
const dmz: LabelSelector = { matchLabels: { zone: 'dmz' } };

test('the label makes an egress node, whatever its value, and so does what an object selects', () => {
  expect(isEgressNode(node({ [LABEL]: 'false' }), [])).toBe(true);
  expect(isEgressNode(node({ zone: 'dmz' }), [])).toBe(false);
  expect(isEgressNode(node({ zone: 'dmz' }), [dmz])).toBe(true);
  expect(isEgressNode(node({}), [{}])).toBe(true);
});

test('selectors are there once, and what can be read as none selects nothing', () => {
  const wrong: LabelSelector = { matchExpressions: [{ key: 'zone', operator: 'NotIn' }] };
  expect(egressNodeSelectors([egressIp(), egressIp(dmz), egressIp(dmz), egressIp(wrong)])).toEqual([
    dmz,
  ]);
});

test('an object without a selector goes by the label, as one that has it from a CRD with a default', () => {
  const stored = { matchExpressions: [{ key: LABEL, operator: 'Exists' }] };
  expect([egressIp(), egressIp(stored), egressIp(dmz), egressIp({})].map(isByLabel)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
