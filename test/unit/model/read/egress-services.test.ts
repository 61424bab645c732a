import { expect, test } from 'vitest';
import type { EgressService } from '../../../../src/api/types.ts';
import { readEgressService, routingTable } from '../../../../src/model/read/egress-services.ts';

const egressService = (spec: EgressService['spec'], host?: string): EgressService => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressService',
  metadata: { namespace: 'blue', name: 'web', creationTimestamp: '2026-01-01T00:00:00Z' },
  ...(spec === undefined ? {} : { spec }),
  ...(host === undefined ? {} : { status: { host } }),
});

test('what is not said is by the address of the load balancer, and by no node', () => {
  expect(readEgressService(egressService(undefined), 'n1')).toEqual({
    key: 'blue/web',
    namespace: 'blue',
    name: 'web',
    created: '2026-01-01T00:00:00Z',
    isByNetwork: false,
    host: '',
    isHere: false,
  });
  expect(
    readEgressService(egressService({ sourceIPBy: 'Network', network: '1200' }, 'n1'), 'n1'),
  ).toMatchObject({ isByNetwork: true, host: 'n1', isHere: true, table: 1200 });
});

test.each([
  ['1', 1],
  ['254', 254],
  ['4294967295', 4_294_967_295],
  ['main', 254],
  ['default', 253],
  ['vrf-partner', 'vrf-partner'],
])('routing table %s', (text, table) => {
  expect(routingTable(text)).toEqual({ table });
});

test.each([
  ['0', 'is neither the number of a routing table nor the name of a VRF'],
  ['7', 'is a table of Heddle'],
  ['255', "is the kernel's table of local addresses"],
  ['4294967296', 'is more than 4294967295'],
  ['99999999999', 'is neither the number of a routing table nor the name of a VRF'],
  ['0x4b0', 'is neither the number of a routing table nor the name of a VRF'],
  ['1200 lookup 255', 'is neither the number of a routing table nor the name of a VRF'],
  ['-1', 'is neither the number of a routing table nor the name of a VRF'],
  ['local', "is the kernel's table of local addresses"],
  ['vrf blue', 'is neither the number of a routing table nor the name of a VRF'],
  ['a-name-of-16-lett', 'is neither the number of a routing table nor the name of a VRF'],
  ['2nd-vrf', 'is neither the number of a routing table nor the name of a VRF'],
  ['12\n00', 'is neither the number of a routing table nor the name of a VRF'],
])('table %j is refused by name', (text, why) => {
  const { table, problem } = routingTable(text);
  expect(table).toBeUndefined();
  expect(problem).toBe(
    `spec.network: ${JSON.stringify(text)} ${why}: no pod of it leaves; name a VRF, or the number of a routing table, that an administrator keeps on the nodes`,
  );
});
