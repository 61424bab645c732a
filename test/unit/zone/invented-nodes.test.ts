import { expect, test } from 'vitest';
import {
  chassisId,
  encapIps,
  gatewayConfig,
  hostCidrs,
  primaryAddresses,
} from '../../../src/api/annotations/node-annotations.ts';
import type { Node, Pod } from '../../../src/api/types.ts';
import { inventedNodes } from '../../../src/zone/invented-nodes.ts';

const SOURCES = { nodes: [], pods: [], named: undefined, count: 1, subnets: ['10.0.0.0/8'] };
const podOn = (nodeName: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a', namespace: 'b' },
  spec: { nodeName },
});
const names = (nodes: readonly Node[]): readonly string[] =>
  nodes.map(({ metadata }) => metadata.name);

test('nodes that pods name come first, in natural order, and others are made up to the number', () => {
  const sources = { ...SOURCES, mode: 'shared', pods: [podOn('w10'), podOn('w9')] } as const;
  expect(names(inventedNodes({ ...sources, count: 4 }))).toEqual(['w9', 'w10', 'node1', 'node2']);
  expect(names(inventedNodes({ ...sources, named: 'w10' }))).toEqual(['w10', 'w9']);
});

test.each([
  { mode: 'shared', subnets: ['10.0.0.0/8'] },
  { mode: 'local', subnets: ['fd00::/48'] },
  { mode: 'disabled', subnets: ['10.0.0.0/8', 'fd00::/48'] },
] as const)('all that a node says of itself can be read, and is its own: %j', (one) => {
  const nodes = inventedNodes({ ...SOURCES, ...one, count: 300 });
  for (const read of [chassisId, encapIps, gatewayConfig, hostCidrs, primaryAddresses]) {
    const readings = nodes.map((node) => read(node));
    expect(readings.flatMap(({ errors }) => errors)).toEqual([]);
    const texts = new Set(readings.map(({ value }) => JSON.stringify(value)));
    expect(texts.size).toBe(read === gatewayConfig && one.mode === 'disabled' ? 1 : 300);
  }
  expect(gatewayConfig(nodes[0] as Node).value).toMatchObject({ mode: one.mode });
});

test('what a node says itself stays', () => {
  const annotations = { 'k8s.ovn.org/node-encap-ips': '["172.18.0.3"]' };
  const node: Node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', annotations } };
  const [found] = inventedNodes({ ...SOURCES, nodes: [node], mode: 'shared' });
  expect(found?.metadata.annotations).toMatchObject({
    ...annotations,
    'k8s.ovn.org/node-primary-ifaddr': '{"ipv4":"198.18.0.1/15"}',
  });
});
