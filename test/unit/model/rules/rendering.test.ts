import { expect, test } from 'vitest';
import { whyNotRendered } from '../../../../src/model/rules/rendering.ts';
import { blue } from '../../../support/zone/zones.ts';

test('a network is never written as something else than it asks for', () => {
  expect(whyNotRendered(blue)).toBeUndefined();
  expect(whyNotRendered({ ...blue, transport: 'evpn' })).toContain('transport "evpn"');
  expect(whyNotRendered({ ...blue, uplink: 'eth1' })).toContain('"eth1"');
});
