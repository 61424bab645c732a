import { describe, expect, test } from 'vitest';
import type { Node } from '../../../../src/api/types.ts';
import type { LocalNode, NodeAddresses } from '../../../../src/model/model.ts';
import { isLocalNode, nodeKind } from '../../../../src/model/read/nodes.ts';
import type { ReadContext } from '../../../../src/model/read/object-kind.ts';
import { valueOf } from '../../../../src/model/read/reading.ts';
import { nodeObject } from '../../../support/zone/zone-nodes.ts';

const plain = nodeObject('n1', {
  id: 2,
  chassis: 'c1111111-1111-4111-8111-111111111111',
  address: '172.18.0.3',
  hasGateway: true,
  isLocalMode: false,
  hasNodePorts: true,
  vlan: 0,
  hasMtuSupport: true,
  hostAddresses: new Set(['10.9.9.9/24']),
  subnets: new Map(),
});
const annotated = (annotations: Readonly<Record<string, string | undefined>>): Node => ({
  ...plain,
  metadata: {
    ...plain.metadata,
    annotations: Object.fromEntries(
      Object.entries({ ...plain.metadata.annotations, ...annotations }).filter(
        (entry): entry is [string, string] => entry[1] !== undefined,
      ),
    ),
  },
});
const from = (nodeName: string) => ({ nodeName }) as ReadContext<never>;
const here = (node: Node = plain) => nodeKind.read(node, from('n1'));
const there = (node: Node = plain) => nodeKind.read(node, from('other'));

describe('another node', () => {
  test('is id, chassis, tunnel and transit addresses, and addresses of its host', () => {
    expect(valueOf(there())).toEqual({
      name: 'n1',
      id: 2,
      chassisId: 'c1111111-1111-4111-8111-111111111111',
      encapIps: ['172.18.0.3'],
      transitAddresses: { v4: '100.88.0.2/16' },
      hostAddresses: ['172.18.0.3/16', '10.9.9.9/24'],
    });
  });

  test('waits for what the cluster manager gives it', () => {
    expect(there(annotated({ 'k8s.ovn.org/node-id': undefined }))).toEqual({
      kind: 'pending',
      waitsFor: 'node id (annotation k8s.ovn.org/node-id)',
    });
  });

  test('has a problem without what it says of itself, and who is to write it', () => {
    expect(there(annotated({ 'k8s.ovn.org/node-chassis-id': undefined }))).toMatchObject({
      kind: 'problem',
      message: expect.stringContaining('the node itself writes it') as string,
    });
  });

  test('that says nothing had no rows; one that is torn may have had some', () => {
    expect(nodeKind.isTorn(annotated({ 'k8s.ovn.org/node-id': undefined }))).toBe(false);
    expect(nodeKind.isTorn(annotated({ 'k8s.ovn.org/node-id': 'x' }))).toBe(true);
  });
});

describe('the node of the zone', () => {
  const local = (node?: Node): LocalNode | undefined => {
    const found = valueOf(here(node));
    return found !== undefined && isLocalNode(found) ? found : undefined;
  };

  test('is that, its gateway and its own addresses', () => {
    expect(local()).toMatchObject({
      primaryAddresses: { v4: '172.18.0.3' },
      gatewayMtuSupport: true,
      egressAddresses: [],
      gateway: { mode: 'shared', bridge: 'br-ex', nextHops: ['172.18.0.254'], vlan: 0 },
    });
  });

  test('may have no gateway, and may ask OVN not to check sizes', () => {
    const none = annotated({ 'k8s.ovn.org/l3-gateway-config': '{"default":{"mode":""}}' });
    expect(local(none)?.gateway).toBeUndefined();
    expect(
      local(annotated({ 'k8s.ovn.org/gateway-mtu-support': 'false' }))?.gatewayMtuSupport,
    ).toBe(false);
  });
});

describe('where a node is reached', () => {
  const [, addresses] = nodeKind.also;
  const read = (node: Node, before?: NodeAddresses): NodeAddresses =>
    addresses.read(node, { before } as ReadContext<NodeAddresses>);

  test('is what it says of itself and what Kubernetes says of it, each once', () => {
    const status = { addresses: [{ type: 'InternalIP', address: '172.18.0.9' }] };
    expect(read({ ...plain, status })).toEqual({
      name: 'n1',
      own: ['172.18.0.9', '172.18.0.3'],
      all: ['172.18.0.3', '10.9.9.9'],
      nextHops: ['172.18.0.254'],
    });
  });

  test('is what was read before where an annotation is torn', () => {
    const torn = annotated({ 'k8s.ovn.org/host-cidrs': 'x' });
    expect(read(torn, read(plain)).all).toEqual(['172.18.0.3', '10.9.9.9']);
    expect(read(torn).all).toEqual([]);
  });
});
