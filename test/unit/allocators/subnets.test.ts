import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  formatPrefix,
  overlaps,
  parsePrefix,
  type Prefix,
} from '../../../src/allocators/addresses.ts';
import { SubnetAllocator, SubnetRange } from '../../../src/allocators/subnets.ts';

const prefix = (text: string): Prefix => {
  const parsed = parsePrefix(text);
  if (parsed === undefined) throw new Error(`no prefix: ${text}`);
  return parsed;
};

function allocator(...ranges: readonly (readonly [string, number])[]): SubnetAllocator {
  const subnets = new SubnetAllocator();
  for (const [range, hostLength] of ranges) subnets.addRange(prefix(range), hostLength);
  return subnets;
}

const first = (range: string, hostLength: number, count: number): string[] => {
  const subnets = allocator([range, hostLength]);
  const { family } = prefix(range);
  return Array.from({ length: count }, (_, index) =>
    formatPrefix(subnets.allocate(`node${index}`, family)),
  );
};

describe('order of node subnets (reference/api.md §14)', () => {
  test.each([
    ['10.128.0.0/14', 23, '10.128.0.0 10.129.0.0 10.130.0.0 10.131.0.0 10.128.2.0'],
    ['10.1.0.0/16', 24, '10.1.0.0 10.1.1.0 10.1.2.0'],
    ['10.1.0.0/22', 26, '10.1.0.0 10.1.1.0 10.1.2.0 10.1.3.0 10.1.0.64'],
    ['10.1.0.0/16', 21, '10.1.0.0 10.1.8.0 10.1.16.0'],
    ['10.0.0.0/8', 20, '10.0.0.0 10.1.0.0 10.2.0.0'],
    ['10.0.0.0/14', 22, '10.0.0.0 10.1.0.0 10.2.0.0 10.3.0.0 10.0.4.0 10.1.4.0'],
    ['fd01::/48', 64, 'fd01:0:0:1:: fd01:0:0:2::'],
    ['fd01::/60', 64, 'fd01:: fd01:0:0:1::'],
    ['2600:db8::/29', 64, '2600:db8:0:1:: 2600:db8:0:2::'],
  ])('%s in /%i: %s', (range, hostLength, bases) => {
    const expected = bases.split(' ').map((base) => `${base}/${hostLength}`);
    expect(first(range, hostLength, expected.length)).toEqual(expected);
  });

  test('10.1.0.0/16 in /26 fills every third octet before the next quarter', () => {
    const subnets = first('10.1.0.0/16', 26, 258);
    expect([subnets[1], subnets[255], subnets[256], subnets[257]]).toEqual([
      '10.1.1.0/26',
      '10.1.255.0/26',
      '10.1.0.64/26',
      '10.1.1.64/26',
    ]);
  });
});

test('a released subnet rests until the scan comes round', () => {
  const subnets = allocator(['10.1.0.0/16', 24]);
  for (const node of ['a', 'b', 'c']) subnets.allocate(node, 'v4');
  expect(subnets.release('b').map(formatPrefix)).toEqual(['10.1.1.0/24']);
  expect(formatPrefix(subnets.allocate('d', 'v4'))).toBe('10.1.3.0/24');
});

test('in a full range the released subnet is the next one', () => {
  const subnets = allocator(['10.1.0.0/24', 26]);
  for (const node of ['a', 'b', 'c', 'd']) subnets.allocate(node, 'v4');
  expect(() => subnets.allocate('e', 'v4')).toThrow('no subnets available');
  subnets.release('b');
  expect(formatPrefix(subnets.allocate('e', 'v4'))).toBe('10.1.0.64/26');
});

test('a further range is used when the first is full; an owner keeps what it has', () => {
  const subnets = allocator(['10.1.0.0/24', 24]);
  subnets.allocate('a', 'v4');
  expect(() => subnets.allocate('b', 'v4')).toThrow('no subnets available');
  subnets.addRange(prefix('10.9.0.0/23'), 24);
  subnets.addRange(prefix('10.9.0.0/23'), 24);
  expect(formatPrefix(subnets.allocate('b', 'v4'))).toBe('10.9.0.0/24');
  expect(formatPrefix(subnets.allocate('b', 'v4'))).toBe('10.9.0.0/24');
  expect([subnets.capacity('v4'), subnets.used('v4')]).toEqual([3, 2]);
});

test('both families are given or neither', () => {
  const subnets = allocator(['10.1.0.0/23', 24], ['fd00::/64', 64]);
  expect(subnets.allocateAll('a').map(formatPrefix)).toEqual(['10.1.0.0/24', 'fd00::/64']);
  expect(() => subnets.allocateAll('b')).toThrow('no subnets available');
  expect(subnets.subnetsOf('b')).toEqual([]);
  expect(subnets.used('v4')).toBe(1);
});

test('stored subnets are adopted; foreign, taken and wrongly sized ones refused', () => {
  const subnets = allocator(['10.1.0.0/16', 24]);
  subnets.reserve('a', prefix('10.1.7.0/24'));
  subnets.reserve('a', prefix('10.1.7.0/24'));
  expect(formatPrefix(subnets.allocate('a', 'v4'))).toBe('10.1.7.0/24');
  expect(() => subnets.reserve('b', prefix('10.1.7.0/24'))).toThrow(
    'network 10.1.7.0/24 already owned by a',
  );
  expect(() => subnets.reserve('b', prefix('10.2.0.0/24'))).toThrow(
    'network 10.2.0.0/24 does not belong to any known range',
  );
  expect(() => subnets.reserve('b', prefix('10.1.0.0/25'))).toThrow('does not belong');
});

test('impossible ranges are refused', () => {
  const subnets = new SubnetAllocator();
  expect(() => subnets.addRange(prefix('10.0.0.0/24'), 32)).toThrow('host capacity cannot be zero');
  expect(() => subnets.addRange(prefix('10.0.0.0/24'), 23)).toThrow(
    'subnet capacity cannot be larger than number of networks available',
  );
});

const anyRange = fc
  .oneof(
    fc.record({ family: fc.constant('v4' as const), length: fc.integer({ min: 8, max: 28 }) }),
    fc.record({ family: fc.constant('v6' as const), length: fc.integer({ min: 29, max: 100 }) }),
  )
  .chain(({ family, length }) =>
    fc
      .integer({ min: length, max: family === 'v4' ? 31 : 127 })
      .map(
        (hostLength) =>
          new SubnetRange(
            prefix(`${family === 'v4' ? '10.0.0.0' : 'fd00::'}/${length}`),
            hostLength,
          ),
      ),
  );

test('the number of a subnet and the subnet of a number are each other’s inverse', () => {
  fc.assert(
    fc.property(anyRange, fc.bigInt(0n, 1n << 100n), (range, wanted) => {
      const number = wanted % range.count;
      expect(range.numberOf(range.subnetAt(number))).toBe(number);
    }),
  );
});

test('subnets in use never overlap, whatever is allocated, reserved and released', () => {
  const owner = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
  const step = fc.oneof(
    fc.record({ kind: fc.constant('allocate' as const), owner }),
    fc.record({ kind: fc.constant('release' as const), owner }),
    fc.record({
      kind: fc.constant('reserve' as const),
      owner,
      octet: fc.integer({ min: 0, max: 3 }),
      part: fc.constantFrom(0, 64, 128, 192),
    }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const subnets = allocator(['10.1.0.0/23', 26], ['10.1.2.0/24', 26]);
      const model = new Map<string, string>();
      for (const one of steps) {
        if (one.kind === 'release') {
          subnets.release(one.owner);
          for (const [subnet, holder] of model) if (holder === one.owner) model.delete(subnet);
        } else if (one.kind === 'reserve') {
          const text = `10.1.${one.octet}.${one.part}/26`;
          const holder = model.get(text);
          if (one.octet < 3 && (holder === undefined || holder === one.owner)) {
            subnets.reserve(one.owner, prefix(text));
            model.set(text, one.owner);
          } else expect(() => subnets.reserve(one.owner, prefix(text))).toThrow();
        } else if (model.size < 12 || [...model.values()].includes(one.owner)) {
          const text = formatPrefix(subnets.allocate(one.owner, 'v4'));
          expect(model.get(text) ?? one.owner).toBe(one.owner);
          model.set(text, one.owner);
        } else expect(() => subnets.allocate(one.owner, 'v4')).toThrow('no subnets available');
      }
      for (const [subnet, holder] of model) expect(subnets.ownerOf(prefix(subnet))).toBe(holder);
      const all = [...model.keys()].map(prefix);
      for (const a of all) for (const b of all) expect(a !== b && overlaps(a, b)).toBe(false);
      expect(subnets.used('v4')).toBe(model.size);
    }),
  );
});
