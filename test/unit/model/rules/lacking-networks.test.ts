import { expect, test } from 'vitest';
import type { Pod } from '../../../../src/api/types.ts';
import { lackingNetworks } from '../../../../src/model/rules/lacking-networks.ts';
import { pod } from '../../../support/cluster/cluster.ts';

const entry = (role: string): object => ({
  ip_addresses: ['10.0.0.3/24'],
  mac_address: '0a:58:0a:00:00:03',
  role,
});
const carrying = (networks: object, asksFor?: string): Pod =>
  pod('blue/web', 'n1', {
    'k8s.ovn.org/pod-networks': JSON.stringify(networks),
    ...(asksFor === undefined ? {} : { 'k8s.v1.cni.cncf.io/networks': asksFor }),
  });
const CLOSED = { default: entry('infrastructure-locked') };
const PLAIN = { default: entry('primary') };
const OURS = new Set(['blue/mesh', 'blue/net']);

test.each<readonly [string, Pod, readonly string[]]>([
  ['a pod without addresses lacks all', pod('blue/web', 'n1'), ['any network']],
  ['one on the default network alone has it', carrying(PLAIN), []],
  ['one that is closed there lacks its own', carrying(CLOSED), ['a primary network']],
  ['… until it has that', carrying({ ...CLOSED, 'blue/net': entry('primary') }), []],
  [
    'what came first of two parts is not all',
    carrying({ 'blue/net': entry('primary') }),
    ['any network'],
  ],
  ['NADs that it names count', carrying(PLAIN, 'mesh, mesh'), ['blue/mesh', 'blue/mesh/1']],
  ['… until it has them', carrying({ ...PLAIN, 'blue/mesh': entry('secondary') }, 'mesh'), []],
  ['those of others do not', carrying(PLAIN, 'other/lan'), []],
])('%s', (_, one, lacks) => {
  expect(lackingNetworks(one, OURS)).toEqual(lacks);
});
