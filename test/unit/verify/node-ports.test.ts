/** What a proof says of nftables that lets pods of the default network to node ports of others. */
import { expect, test } from 'vitest';
import type { Service } from '../../../src/api/types.ts';
import { prove, type Verdict } from '../../../src/verify/verify.ts';
import { HOST, nad, OBJECTS, snapshot } from '../../support/verify/small-zone.ts';

const TABLE = { family: 'inet', table: 'ovn-kubernetes' };
const ADDRESSES = '@local-node-ips-v4';
const PORTS = '@udn-node-ports';

const match = (left: unknown, right: unknown): object => ({ match: { op: '==', left, right } });
const accept = (...sets: readonly string[]): object => ({
  rule: {
    ...TABLE,
    chain: 'mgmtport-forward',
    handle: 7,
    expr: [
      match({ meta: { key: 'iifname' } }, 'ovn-k8s-mp0'),
      ...sets.map((set) => match({ ct: { key: 'ip daddr', dir: 'original' } }, set)),
      { accept: null },
    ],
  },
});
const ports = (...numbers: readonly number[]): object => ({
  set: { ...TABLE, name: 'udn-node-ports', elem: numbers.map((one) => ({ concat: ['tcp', one] })) },
});
const service = (namespace: string, nodePort: number): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace },
  spec: {
    clusterIPs: [`172.16.1.${nodePort - 30_000}`],
    ports: [{ port: 80, protocol: 'TCP', nodePort }],
  },
});

function verdictOf(...nftables: readonly object[]): Verdict {
  const found = snapshot({
    objects: {
      ...OBJECTS,
      attachmentDefinitions: [nad('blue', 1), nad('green', 2)],
      services: [service('blue', 30_080), service('monitoring', 30_090)],
    },
  });
  return prove({ ...found, host: { ...HOST, nftables } }).verdict;
}
const told = ({ violations }: Verdict, where: RegExp): readonly string[] =>
  violations.filter((one) => where.test(one.where)).map(({ what }) => what);

test('a node port of a network is an edge from the default network, of its service', () => {
  const verdict = verdictOf(ports(30_080), accept(ADDRESSES, PORTS));
  expect(verdict.edges).toContainEqual(
    expect.objectContaining({ from: 'default', to: 'blue_net', object: 'Service blue/web' }),
  );
  expect(told(verdict, /udn-node-ports|rule 7/)).toEqual([]);
});

test.each([
  ['nobody', 31_000],
  ['a service of the default network', 30_090],
])('a port of %s in the set is a violation', (_, port) => {
  expect(told(verdictOf(ports(port)), /udn-node-ports/)).toEqual([
    'is reached from the default network, and is of no service of a primary network',
  ]);
});

test('a rule that lets pass whatever is sent to the node is a violation', () => {
  expect(told(verdictOf(ports(30_080), accept(ADDRESSES)), /rule 7/)).toEqual([
    'lets pass what is sent to this node, and asks not for udn-node-ports',
  ]);
});
