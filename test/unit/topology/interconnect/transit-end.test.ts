import { expect, test } from 'vitest';
import { transitEnd } from '../../../../src/topology/interconnect/transit-end.ts';

test("a node's end of the transit switches has the MAC of its first transit address, IPv4 before IPv6", () => {
  expect(transitEnd({ v6: 'fd97::2/64', v4: '100.88.0.2/16' })).toEqual({
    mac: '0a:58:64:58:00:02',
    interfaces: ['100.88.0.2/16', 'fd97::2/64'],
  });
});

test('a node without transit addresses has none', () => {
  expect(transitEnd({})).toBeUndefined();
});
