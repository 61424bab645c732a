import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bitsOf,
  contains,
  containsAddress,
  formatAddress,
  formatPrefix,
  lastOf,
  linkLocalOfMac,
  macOf,
  macOfAddress,
  nextPrefix,
  nthAddress,
  nthInterface,
  overlaps,
  parseAddress,
  parseInterfaceAddress,
  parseMac,
  parsePrefix,
  randomMac,
  type Address,
  type Prefix,
} from '../../../src/allocators/addresses.ts';

const address = (text: string): Address => {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new Error(`no address: ${text}`);
  return parsed;
};
const prefix = (text: string): Prefix => {
  const parsed = parsePrefix(text);
  if (parsed === undefined) throw new Error(`no prefix: ${text}`);
  return parsed;
};

const anyAddress: fc.Arbitrary<Address> = fc.oneof(
  fc.bigInt(0n, (1n << 32n) - 1n).map((value) => ({ family: 'v4' as const, value })),
  fc
    .bigInt(0n, (1n << 128n) - 1n)
    .filter((value) => value >> 32n !== 0xffffn)
    .map((value) => ({ family: 'v6' as const, value })),
);
const anyPrefix = anyAddress.chain((one) =>
  fc.integer({ min: 0, max: bitsOf(one.family) }).map((length) => {
    const host = BigInt(bitsOf(one.family) - length);
    return { family: one.family, base: (one.value >> host) << host, length };
  }),
);

const rewritten = (text: string): string | undefined => {
  const parsed = parseAddress(text);
  return parsed === undefined ? undefined : formatAddress(parsed);
};

describe('text', () => {
  test.each([
    ['10.0.0.1', '10.0.0.1'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['::1', '::1'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['fd97:0:0:2::', 'fd97:0:0:2::'],
    ['FD01:0000:0:1:0:0:0:0', 'fd01:0:0:1::'],
    ['64:ff9b::1.2.3.4', '64:ff9b::102:304'],
    ['1:2:3:4:5:6:1.2.3.4', '1:2:3:4:5:6:102:304'],
  ])('%s is written %s', (text, canonical) => {
    expect(rewritten(text)).toBe(canonical);
  });

  test.each([
    '',
    'blue',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    '256.1.1.1',
    '01.2.3.4',
    '010.0.0.1',
    '1.2.3.4/24',
    '1.2.3.4 ',
    ' 1.2.3.4',
    '1.2.3.a',
    ':',
    ':::',
    'fd00:::1',
    '1::2::3',
    '12345::',
    'fe80::1%eth0',
    '::ffff:1.2.3.4',
    '::ffff:10.0.0.1',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7::8',
    '::1.2.3.4:1',
    'g::',
  ])('%j is no address', (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });

  test.each([
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/24',
    '10.0.0.0/-1',
    'fd00::/129',
    '10.0.0.0/08',
    '10.0.0.0/16/24',
    '/24',
  ])('%j is no network', (text) => {
    expect(parsePrefix(text)).toBeUndefined();
  });

  test('host bits of a network are cleared, those of an interface kept', () => {
    expect(formatPrefix(prefix('10.20.2.5/24'))).toBe('10.20.2.0/24');
    expect(parseInterfaceAddress('10.20.2.5/24')).toEqual({
      family: 'v4',
      value: 0x0a140205n,
      length: 24,
    });
  });

  test('of any kind is read without a crash', () => {
    const text = fc.string({ unit: fc.constantFrom(...'0123456789abcdef:./%-'.split('')) });
    fc.assert(
      fc.property(text, (source) => {
        const canonical = rewritten(source);
        expect(canonical === undefined || rewritten(canonical) === canonical).toBe(true);
        expect(() => parsePrefix(source)).not.toThrow();
      }),
    );
  });

  test('what is written is read back', () => {
    fc.assert(
      fc.property(anyAddress, (one) => {
        expect(address(formatAddress(one))).toEqual(one);
      }),
    );
    fc.assert(
      fc.property(anyPrefix, (one) => {
        expect(prefix(formatPrefix(one))).toEqual(one);
      }),
    );
  });
});

test('two prefixes overlap exactly when one holds the base or the last address of the other', () => {
  fc.assert(
    fc.property(anyPrefix, anyPrefix, (a, b) => {
      const inside =
        containsAddress(a, { family: b.family, value: b.base }) ||
        containsAddress(a, { family: b.family, value: lastOf(b) }) ||
        containsAddress(b, { family: a.family, value: a.base });
      expect(overlaps(a, b)).toBe(inside);
    }),
  );
});

test.each([
  ['10.0.0.0/8', '10.1.0.0/16', true],
  ['10.1.0.0/16', '10.0.0.0/8', true],
  ['10.0.0.0/16', '10.1.0.0/16', false],
  ['0.0.0.0/0', '::/0', false],
])('%s and %s overlap: %s', (a, b, overlap) => {
  expect(overlaps(prefix(a), prefix(b))).toBe(overlap);
});

test.each([
  ['100.88.0.0/16', 16, '100.89.0.0/16'],
  ['100.88.0.0/15', 16, '100.90.0.0/16'],
  ['255.255.0.0/16', 16, undefined],
  ['fd97::/63', 64, 'fd97:0:0:2::/64'],
])('after %s comes, with /%i, %s', (text, length, next) => {
  const found = nextPrefix(prefix(text), length);
  expect(found && formatPrefix(found)).toBe(next);
});

describe('MAC addresses', () => {
  test.each([
    ['10.20.2.5', '0a:58:0a:14:02:05'],
    ['100.65.0.4', '0a:58:64:41:00:04'],
    ['fd99::4', '0a:58:29:37:8e:56'],
    ['2600:db8:0:2::3', '0a:58:a2:2f:f1:67'],
  ])('of %s: %s', (ip, mac) => {
    expect(macOfAddress(address(ip))).toBe(mac);
  });

  test('the link-local address is made of the MAC', () => {
    expect(linkLocalOfMac('0a:58:0a:14:02:01')).toBe('fe80::858:aff:fe14:201');
  });

  test('random ones are local and unicast', () => {
    expect(randomMac(() => Uint8Array.of(0xff, 0, 1, 2, 3, 4))).toBe('fe:00:01:02:03:04');
    expect(randomMac(() => Uint8Array.of(0, 0, 1, 2, 3, 4))).toBe('02:00:01:02:03:04');
  });

  test('are written in lower case with colons', () => {
    expect(parseMac('CA:FE:C0:FF:EE:00')).toBe('ca:fe:c0:ff:ee:00');
    expect(parseMac('ca:fe:c0:ff:ee')).toBeUndefined();
    expect(parseMac('ca:fe:c0:ff:ee:0g')).toBeUndefined();
  });
});

describe('MAC of an address in text (reference/topology.md §2, reference/node.md §1.4)', () => {
  test.each([
    ['103.103.0.1', '0a:58:67:67:00:01'],
    ['169.254.0.4', '0a:58:a9:fe:00:04'],
    ['fd20:0:0:2::2', '0a:58:71:49:7b:37'],
    ['fd20:0:0:2::1', '0a:58:11:e5:af:2a'],
    ['fd30::2', '0a:58:48:16:d2:dc'],
    ['fd30::1', '0a:58:69:eb:d1:63'],
    ['fd69::1', '0a:58:37:85:74:a5'],
    ['fd69::4', '0a:58:1b:ac:71:41'],
    ['fd69::d', '0a:58:8f:28:41:67'],
    ['fd69::f', '0a:58:ae:00:25:95'],
  ])('of %s is %s', (address, mac) => {
    expect(macOf(address)).toBe(mac);
  });
});

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

  test('lie in it, each offset at a distance of its own', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 65535 }), fc.boolean(), (offset, isV6) => {
        const cidr = isV6 ? 'fd97::/64' : '100.88.0.0/16';
        const address = nthAddress(cidr, offset);
        const value = parseAddress(address)?.value ?? -1n;
        const base = parsePrefix(cidr)?.base ?? -1n;
        return contains(cidr, address) && value - base === BigInt(offset);
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
