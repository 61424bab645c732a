import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bitsOf,
  containsAddress,
  formatPrefix,
  lastOf,
  parsePrefix,
  type Family,
  type Prefix,
} from '../../../src/allocators/addresses.ts';
import { withoutPrefixes } from '../../../src/allocators/prefix-subtraction.ts';

const prefix = (text: string): Prefix => {
  const parsed = parsePrefix(text);
  if (parsed === undefined) throw new Error(`no prefix: ${text}`);
  return parsed;
};
const left = (block: string, ...exceptions: string[]): string[] =>
  [...withoutPrefixes(prefix(block), exceptions.map(prefix))].map(formatPrefix);

describe('a block without exceptions', () => {
  test.each<[string, string, string[], string[]]>([
    ['none', '10.0.0.0/8', [], ['10.0.0.0/8']],
    ['a half', '10.0.0.0/8', ['10.128.0.0/9'], ['10.0.0.0/9']],
    [
      'a part',
      '198.51.100.0/24',
      ['198.51.100.8/29'],
      [
        '198.51.100.0/29',
        '198.51.100.16/28',
        '198.51.100.32/27',
        '198.51.100.64/26',
        '198.51.100.128/25',
      ],
    ],
    ['its first address', '10.0.0.0/30', ['10.0.0.0/32'], ['10.0.0.1/32', '10.0.0.2/31']],
    ['its last address', '10.0.0.0/30', ['10.0.0.3/32'], ['10.0.0.0/31', '10.0.0.2/32']],
    ['one exception twice', '10.0.0.0/30', ['10.0.0.0/31', '10.0.0.0/31'], ['10.0.0.2/31']],
    ['one within another', '10.0.0.0/29', ['10.0.0.2/32', '10.0.0.0/30'], ['10.0.0.4/30']],
    ['one beside another', '10.0.0.0/29', ['10.0.0.2/31', '10.0.0.0/31'], ['10.0.0.4/30']],
    ['both halves', '10.0.0.0/8', ['10.0.0.0/9', '10.128.0.0/9'], []],
    ['all of it', '10.0.0.0/8', ['10.0.0.0/8'], []],
    ['more than all of it', '10.0.0.0/8', ['0.0.0.0/0'], []],
    ['what lies outside', '10.0.0.0/8', ['11.0.0.0/8', '9.255.255.255/32'], ['10.0.0.0/8']],
    ['what is of the other family', '10.0.0.0/8', ['::/0'], ['10.0.0.0/8']],
    ['half of the address space', '0.0.0.0/0', ['0.0.0.0/1'], ['128.0.0.0/1']],
    ['half of that of IPv6', '::/0', ['8000::/1'], ['::/1']],
    ['an address', 'fd00::/126', ['fd00::1/128'], ['fd00::/128', 'fd00::2/127']],
  ])('%s', (_, block, exceptions, expected) => {
    expect(left(block, ...exceptions)).toEqual(expected);
  });

  test('an exception leaves at most one prefix per bit by which it is longer than the block', () => {
    expect(left('0.0.0.0/0', '203.0.113.77/32')).toHaveLength(32);
    expect(left('::/0', '2001:db8::77/128')).toHaveLength(128);
  });

  test('who takes only some pays for no more', () => {
    const exceptions = Array.from({ length: 5000 }, (_, i) => prefix(`2001:db8:${i}::1/128`));
    const found = withoutPrefixes(prefix('::/0'), exceptions).take(3);
    expect([...found].map(formatPrefix)).toEqual(['::/3', '2000::/16', '2001::/21']);
  });
});

/** Prefixes of the highest 8 addresses' bits: small enough to look at each address. */
const smallPrefix = (family: Family): fc.Arbitrary<Prefix> =>
  fc.record({ value: fc.nat(255), host: fc.nat(8) }).map(({ value, host }) => ({
    family,
    base: BASE[family] + BigInt((value >> host) << host),
    length: bitsOf(family) - host,
  }));
const BASE = { v4: 0x0a000000n, v6: 0xfd00n << 112n } as const;

describe.each(['v4', 'v6'] as const)('any block of %s and any exceptions', (family) => {
  test('what is left has each address that no exception has, once, in order and in as few prefixes as can be', () => {
    fc.assert(
      fc.property(
        smallPrefix(family),
        fc.array(smallPrefix(family), { maxLength: 12 }),
        (block, exceptions) => {
          const found = [...withoutPrefixes(block, exceptions)];
          const addresses = Array.from({ length: 256 }, (_, i) => ({
            family,
            value: BASE[family] + BigInt(i),
          }));
          for (const address of addresses) {
            const isLeft =
              containsAddress(block, address) &&
              !exceptions.some((one) => containsAddress(one, address));
            const times = found.filter((one) => containsAddress(one, address)).length;
            expect(times).toBe(isLeft ? 1 : 0);
          }
          for (const [i, one] of found.entries()) {
            const after = found[i + 1];
            if (after === undefined) continue;
            expect(lastOf(one) < after.base).toBe(true);
            // No two neighbours are the halves of one prefix.
            const areHalves =
              one.length === after.length &&
              lastOf(one) + 1n === after.base &&
              (one.base >> BigInt(bitsOf(family) - one.length)) % 2n === 0n;
            expect(areHalves).toBe(false);
          }
        },
      ),
    );
  });
});
