import { expect, test } from 'vitest';
import { EGRESS_SERVICE_SLOTS } from '../../../../src/allocators/node-addresses.ts';
import {
  egressServiceMark,
  egressServiceSlot,
  SERVICE_MARK_BIT,
} from '../../../../src/model/rules/egress-service-mark.ts';

test('marks have a bit that no others have, and IPv4 addresses those of their own', () => {
  expect(egressServiceMark('172.18.0.240')).toBe(0xac12_00f0);
  expect(egressServiceMark('10.0.0.1')).toBe(0x8a00_0001);
  expect(egressServiceMark('fd00::1')).toBeGreaterThanOrEqual(SERVICE_MARK_BIT);
  expect(egressServiceMark('fd00::1')).not.toBe(egressServiceMark('fd00::2'));
});

test('IPv4 addresses have the same one where they differ in the first bit alone', () => {
  expect(egressServiceMark('10.0.0.1')).toBe(egressServiceMark('138.0.0.1'));
});

test('services have a mark and a slot by their names, and two may have one slot', () => {
  expect(egressServiceMark('blue/web')).toBeGreaterThanOrEqual(SERVICE_MARK_BIT);
  expect(egressServiceMark('blue/web')).not.toBe(egressServiceMark('blue/web2'));
  for (const name of ['blue/web', 'red/web'])
    expect(egressServiceSlot(name)).toBe(egressServiceMark(name) % EGRESS_SERVICE_SLOTS);
});
