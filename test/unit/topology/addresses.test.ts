import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  contains,
  endsIn,
  isAddress,
  nthAddress,
  nthInterface,
} from '../../../src/topology/addresses.ts';

describe('addresses of a network', () => {
  test.each([
    ['100.65.0.0/16', 5000, '100.65.19.136'],
    ['255.255.255.0/24', 255, '255.255.255.255'],
    ['fd99::/64', 2, 'fd99::2'],
    ['fd69::/112', 12, 'fd69::c'],
    ['fd20:103:0:1::/64', 1, 'fd20:103:0:1::1'],
  ])('%s + %i is %s', (cidr, offset, address) => {
    expect(nthAddress(cidr, offset)).toBe(address);
  });

  test('carry the prefix length as interfaces', () => {
    expect(nthInterface('100.65.0.0/16', 2)).toBe('100.65.0.2/16');
  });

  test('beyond its end are refused with the subnet and what to do', () => {
    expect(() => nthAddress('10.0.0.0/30', 4)).toThrow(
      'address 4 is outside of 10.0.0.0/30: use a larger subnet or fewer nodes and networks',
    );
    expect(() => nthAddress('fd69::/125', 11)).toThrow('outside of fd69::/125');
  });

  test('lie in it and end in their offset', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 65535 }), fc.boolean(), (offset, isV6) => {
        const cidr = isV6 ? 'fd97::/64' : '100.88.0.0/16';
        const address = nthAddress(cidr, offset);
        return isAddress(address) && contains(cidr, address) && endsIn(address, offset);
      }),
    );
  });

  test.each([
    ['10.0.0.0/8', '10.1.0.0/16', true],
    ['10.1.0.0/16', '10.0.0.0/8', false],
    ['10.0.0.0/8', 'fd00::1', false],
    ['0.0.0.0/0', '1.2.3.4', true],
    ['fd00::/8', 'fd12::/16', true],
  ])('%s holds %s: %s', (cidr, address, expected) => {
    expect(contains(cidr, address)).toBe(expected);
  });
});
