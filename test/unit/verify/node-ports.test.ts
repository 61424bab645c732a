/** What a proof says of nftables that lets pods of the default network to node ports of others. */
import { expect, test } from 'vitest';
import type { Service } from '../../../src/api/types.ts';
import { certificateOf } from '../../../src/verify/certificate/certify.ts';
import { recheck } from '../../../src/verify/recheck/recheck.ts';
import type { Snapshot } from '../../../src/verify/snapshot.ts';
import { prove, type Verdict } from '../../../src/verify/verify.ts';
import { HOST, nad, OBJECTS, snapshot } from '../../support/verify/small-zone.ts';

const TABLE = { family: 'inet', table: 'ovn-kubernetes' };
const ADDRESSES = '@local-node-ips-v4';
const PORTS = '@udn-node-ports';

const match = (left: unknown, right: unknown): object => ({ match: { op: '==', left, right } });
const rule = (chain: string, ...expr: readonly object[]): object => ({
  rule: { ...TABLE, chain, handle: 7, expr },
});
const STATUS = match({ ct: { key: 'status' } }, 'dnat');
const original = (...sets: readonly string[]): readonly object[] =>
  sets.map((set) => match({ ct: { key: 'ip daddr', dir: 'original' } }, set));
const accept = (...asked: readonly object[]): object =>
  rule('mgmtport-forward', match({ meta: { key: 'iifname' } }, 'ovn-k8s-mp0'), ...asked, {
    accept: null,
  });
const source = (...asked: readonly object[]): object =>
  rule('mgmtport-snat', match({ meta: { key: 'oifname' } }, 'breth0'), ...asked, {
    snat: { family: 'ip', addr: '169.254.0.2' },
  });
const ports = (name: string, ...numbers: readonly number[]): object => ({
  set: { ...TABLE, name, elem: numbers.map((one) => ({ concat: ['tcp', one] })) },
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

function snapshotWith(...nftables: readonly object[]): Snapshot {
  const found = snapshot({
    objects: {
      ...OBJECTS,
      attachmentDefinitions: [nad('blue', 1), nad('green', 2)],
      services: [service('blue', 30_080), service('monitoring', 30_090)],
    },
  });
  return { ...found, host: { ...HOST, nftables } };
}
const verdictOf = (...nftables: readonly object[]): Verdict =>
  prove(snapshotWith(...nftables)).verdict;
const told = ({ violations }: Verdict, where: RegExp): readonly string[] =>
  violations.filter((one) => where.test(one.where)).map(({ what }) => what);

test('a node port of a network is an edge from the default network, of its service', () => {
  const verdict = verdictOf(
    ports('udn-node-ports', 30_080),
    ports('default-node-ports', 30_090),
    accept(STATUS, ...original(ADDRESSES, PORTS)),
    source(STATUS, ...original(ADDRESSES, '@default-node-ports')),
  );
  expect(verdict.edges).toContainEqual(
    expect.objectContaining({ from: 'default', to: 'blue_net', object: 'Service blue/web' }),
  );
  expect(told(verdict, /node-ports|rule 7/)).toEqual([]);
});

test('a certificate with that edge holds, and none in which a service opens another network’s ports', () => {
  const found = snapshotWith(ports('udn-node-ports', 30_080));
  const made = { time: '2026-01-02T03:04:05.000Z', heddle: '0.0.0' };
  const certificate = certificateOf(found, prove(found), made);
  const about = (users: typeof certificate.users): readonly string[] =>
    recheck({ ...certificate, users }).filter((text) => text.includes('Service blue/web'));
  expect(about(certificate.users)).toEqual([]);
  const moved = certificate.users.map((user) => ({ ...user, networks: ['green_net'] }));
  expect(about(moved)).toEqual([expect.stringContaining('neither joins nor users has it')]);
});

test.each([
  ['udn-node-ports', 'nobody', 31_000, 'of no service of a primary network'],
  ['udn-node-ports', 'the default network', 30_090, 'of no service of a primary network'],
  ['default-node-ports', 'nobody', 31_000, 'of no service of the default network'],
  ['default-node-ports', 'a primary network', 30_080, 'of no service of the default network'],
])('in set %s a port of %s is a violation', (set, _, port, what) => {
  expect(told(verdictOf(ports(set, port)), /node-ports/)).toEqual([expect.stringContaining(what)]);
});

test.each([
  ['lets pass what is sent to the node', accept(STATUS, ...original(ADDRESSES))],
  ['lets pass what is sent to the port, wherever', accept(STATUS, ...original(PORTS))],
  ['lets pass what the host has not led', accept(...original(ADDRESSES, PORTS))],
  ["gives the host's address to whatever it led", source(STATUS)],
  ["gives the host's address to all", source()],
  [
    "gives the host's address to what was sent to a network's port",
    source(STATUS, ...original(ADDRESSES, PORTS)),
  ],
])('a rule that %s is a violation', (_, planted) => {
  expect(told(verdictOf(ports('udn-node-ports', 30_080), planted), /rule 7/)).toEqual([
    expect.stringContaining('what need not have been sent to a node port'),
  ]);
});
