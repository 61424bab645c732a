import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  formatAddress,
  formatInterfaceAddress,
  parseAddress,
  parsePrefix,
  type Address,
  type Prefix,
} from '../../../src/allocators/addresses.ts';
import { AddressPool } from '../../../src/allocators/address-pool.ts';

const prefix = (text: string): Prefix => {
  const parsed = parsePrefix(text);
  if (parsed === undefined) throw new Error(`no prefix: ${text}`);
  return parsed;
};
const address = (text: string): Address => {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new Error(`no address: ${text}`);
  return parsed;
};
const given = (pool: AddressPool, owner: string): string =>
  pool.allocate(owner).map(formatInterfaceAddress).join(' ');

test('a node subnet without gateway and management port begins at .3', () => {
  const pool = new AddressPool({
    subnets: [prefix('10.20.2.0/24')],
    excluded: [prefix('10.20.2.1/32'), prefix('10.20.2.2/32')],
  });
  expect(given(pool, 'a')).toBe('10.20.2.3/24');
  expect(given(pool, 'a')).toBe('10.20.2.3/24');
  expect(given(pool, 'b')).toBe('10.20.2.4/24');
});

test('network and broadcast address are nobody’s; IPv6 has no broadcast', () => {
  const pool = new AddressPool({ subnets: [prefix('10.0.0.0/30')] });
  expect([given(pool, 'a'), given(pool, 'b')]).toEqual(['10.0.0.1/30', '10.0.0.2/30']);
  expect(() => pool.allocate('c')).toThrow('subnet address pool exhausted');
  const six = new AddressPool({ subnets: [prefix('fd00::/126')] });
  expect(['a', 'b', 'c'].map((owner) => given(six, owner))).toEqual([
    'fd00::1/126',
    'fd00::2/126',
    'fd00::3/126',
  ]);
  expect(() => six.allocate('d')).toThrow('exhausted');
});

test.each(['10.0.0.0/31', '10.0.0.0/32', 'fd00::/128'])('%s has no host', (subnet) => {
  expect(() => new AddressPool({ subnets: [prefix(subnet)] }).allocate('a')).toThrow('exhausted');
});

test('dual stack: one address of each family or none', () => {
  const pool = new AddressPool({ subnets: [prefix('10.0.0.0/24'), prefix('fd00::/127')] });
  expect(given(pool, 'a')).toBe('10.0.0.1/24 fd00::1/127');
  expect(() => pool.allocate('b')).toThrow('exhausted');
  pool.release('a');
  expect(given(pool, 'c')).toBe('10.0.0.3/24 fd00::1/127');
});

test('reserved subnets are for those who ask', () => {
  const pool = new AddressPool({
    subnets: [prefix('10.0.0.0/29')],
    onRequestOnly: [prefix('10.0.0.0/30')],
  });
  expect(given(pool, 'a')).toBe('10.0.0.4/29');
  pool.reserve('b', [address('10.0.0.2')]);
  expect(pool.addressesOf('b').map(formatInterfaceAddress)).toEqual(['10.0.0.2/29']);
});

describe('stored and requested addresses', () => {
  const pool = (): AddressPool =>
    new AddressPool({
      subnets: [prefix('10.0.0.0/24'), prefix('fd00::/64')],
      excluded: [prefix('10.0.0.1/32')],
    });

  test('are adopted, and released again', () => {
    const adopted = pool();
    adopted.reserve('a', [address('10.0.0.9'), address('fd00::9')]);
    adopted.reserve('a', [address('fd00::9'), address('10.0.0.9')]);
    expect(adopted.ownerOf(address('fd00::9'))).toBe('a');
    expect(adopted.release('a').map(formatInterfaceAddress)).toEqual(['10.0.0.9/24', 'fd00::9/64']);
    expect(adopted.ownerOf(address('fd00::9'))).toBeUndefined();
    expect(adopted.release('a')).toEqual([]);
  });

  test.each([
    ['10.0.0.9', '10.0.0.9 is already allocated to a'],
    ['10.0.0.1', '10.0.0.1 is not for pods: 10.0.0.1/32 is kept free'],
    ['10.0.0.0', '10.0.0.0 is no host address of 10.0.0.0/24, fd00::/64'],
    ['10.0.0.255', '10.0.0.255 is no host address'],
    ['10.0.1.3', '10.0.1.3 is no host address'],
  ])('%s: %s', (text, message) => {
    const busy = pool();
    busy.reserve('a', [address('10.0.0.9')]);
    expect(() => busy.reserve('b', [address('fd00::9'), address(text)])).toThrow(message);
    expect(busy.ownerOf(address('fd00::9'))).toBeUndefined();
  });

  test('an owner with addresses can’t have others', () => {
    const busy = pool();
    busy.reserve('a', [address('10.0.0.9')]);
    expect(() => busy.reserve('a', [address('10.0.0.10')])).toThrow(
      'a holds [10.0.0.9], not [10.0.0.10]',
    );
  });

  test('an IPv6 address beyond the first 65536 can be asked for', () => {
    const busy = pool();
    busy.reserve('a', [address('fd00::1:2:3:4')]);
    busy.release('a');
    expect(busy.owners()).toEqual([]);
  });
});

test('no two owners ever share an address', () => {
  const owner = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
  const step = fc.oneof(
    fc.record({ kind: fc.constant('allocate' as const), owner }),
    fc.record({ kind: fc.constant('release' as const), owner }),
    fc.record({
      kind: fc.constant('reserve' as const),
      owner,
      host: fc.integer({ min: 0, max: 9 }),
    }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const pool = new AddressPool({
        subnets: [prefix('10.0.0.0/29')],
        excluded: [prefix('10.0.0.1/32')],
      });
      const model = new Map<string, string>();
      for (const one of steps) {
        if (one.kind === 'release') {
          pool.release(one.owner);
          model.delete(one.owner);
        } else if (one.kind === 'reserve') {
          const text = `10.0.0.${one.host}`;
          const possible = one.host >= 2 && one.host <= 6 && ![...model.values()].includes(text);
          if (model.get(one.owner) === text || (possible && !model.has(one.owner))) {
            pool.reserve(one.owner, [address(text)]);
            model.set(one.owner, text);
          } else expect(() => pool.reserve(one.owner, [address(text)])).toThrow();
        } else if (model.has(one.owner) || model.size < 5) {
          const [ip] = pool.allocate(one.owner);
          const text = ip === undefined ? '' : formatAddress(ip);
          if (model.has(one.owner)) expect(text).toBe(model.get(one.owner));
          else expect([...model.values()]).not.toContain(text);
          model.set(one.owner, text);
        } else expect(() => pool.allocate(one.owner)).toThrow('exhausted');
      }
      expect(pool.owners().toSorted()).toEqual([...model.keys()].toSorted());
    }),
  );
});

/** A /8 of which twenty prefixes, each the lower half of what is left, leave 10.255.255.240/28. */
const nearlyAllWithheld = (): { subnets: readonly Prefix[]; onRequestOnly: readonly Prefix[] } => {
  const subnet = prefix('10.0.0.0/8');
  let { base } = subnet;
  const onRequestOnly = Array.from({ length: 20 }, (_, index): Prefix => {
    const half = { family: 'v4' as const, base, length: index + 9 };
    base += 2n ** BigInt(32 - half.length);
    return half;
  });
  return { subnets: [subnet], onRequestOnly };
};

test('addresses of a subnet of which nearly all is withheld are found at once, and so is that none is left', () => {
  const pool = new AddressPool(nearlyAllWithheld());
  expect(given(pool, 'first')).toBe('10.255.255.240/8');
  for (let index = 1; index < 15; index += 1) pool.allocate(`a${index}`);
  // Trying them one by one takes seconds for each, and the test longer than it may.
  for (let index = 0; index < 1000; index += 1)
    expect(() => pool.allocate('one more')).toThrow('exhausted');
});

test('hands out what trying one address after the other would', () => {
  const within = fc
    .tuple(fc.integer({ min: 0, max: 63 }), fc.integer({ min: 26, max: 32 }))
    .map(([host, length]): Prefix => {
      const size = 2n ** BigInt(32 - length);
      const value = address('10.0.0.0').value + BigInt(host);
      return { family: 'v4', base: value - (value % size), length };
    });
  fc.assert(
    fc.property(
      fc.array(within, { maxLength: 4 }),
      fc.array(within, { maxLength: 4 }),
      fc.array(fc.boolean(), { maxLength: 80 }),
      (excluded, onRequestOnly, steps) => {
        const pool = new AddressPool({ subnets: [prefix('10.0.0.0/26')], excluded, onRequestOnly });
        const { value: base } = address('10.0.0.0');
        const isFree = (value: bigint): boolean =>
          ![...excluded, ...onRequestOnly].some(
            (one) => value >= one.base && value < one.base + 2n ** BigInt(32 - one.length),
          );
        const held: { owner: string; value: bigint }[] = [];
        let next = 1;
        steps.forEach((isAllocation, step) => {
          if (!isAllocation) {
            const released = held.shift();
            if (released !== undefined) pool.release(released.owner);
            return;
          }
          const owner = `owner ${step}`;
          const tried = Array.from(
            { length: 62 },
            (_, index) => 1 + ((next - 1 + index) % 62),
          ).find((offset) => {
            const value = base + BigInt(offset);
            return isFree(value) && held.every((other) => other.value !== value);
          });
          if (tried === undefined) expect(() => pool.allocate(owner)).toThrow('exhausted');
          else {
            const value = base + BigInt(tried);
            expect(pool.allocate(owner)).toEqual([{ family: 'v4', value, length: 26 }]);
            held.push({ owner, value });
            next = tried + 1;
          }
        });
      },
    ),
  );
});
