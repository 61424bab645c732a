/** Addresses of a network's pool for services. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  containsAddress,
  formatAddress,
  parseAddress,
  parsePrefix,
  type Address,
  type Family,
  type Prefix,
} from '../../../src/allocators/addresses.ts';
import {
  assignAddresses,
  type ServiceAddresses,
  type ServiceRequest,
} from '../../../src/allocators/service-addresses.ts';

const at = (text: string): Address => parseAddress(text) ?? expect.unreachable(text);
const range = (text: string): Prefix => parsePrefix(text) ?? expect.unreachable(text);
const all = (texts: readonly string[]): readonly Address[] => texts.map(at);

interface Asked {
  readonly held?: readonly string[];
  readonly wanted?: readonly string[];
  readonly families?: readonly Family[];
}
const request = (key: string, { held = [], wanted = [], families = ['v4'] }: Asked = {}) => ({
  key,
  families,
  held: all(held),
  wanted: all(wanted),
});
const assign = (
  ranges: readonly string[],
  requests: readonly ServiceRequest[],
  excluded: readonly string[] = [],
): Record<string, ServiceAddresses> =>
  Object.fromEntries(
    assignAddresses({ ranges: ranges.map(range), excluded: all(excluded) }, requests),
  );
const has = (...addresses: readonly string[]): ServiceAddresses => ({ addresses, refusals: [] });

test('each has the lowest free address of each of its families, without those that are for something else', () => {
  expect(
    assign(
      ['10.0.0.0/30', '10.0.9.0/32', 'fd00::/126'],
      [
        request('a/1'),
        request('a/2', { families: ['v6', 'v4'] }),
        request('a/3'),
        request('a/4'),
        request('a/5'),
      ],
      ['10.0.0.1', 'fd00::'],
    ),
  ).toEqual({
    'a/1': has('10.0.0.0'),
    'a/2': has('10.0.0.2', 'fd00::1'),
    'a/3': has('10.0.0.3'),
    'a/4': has('10.0.9.0'),
    'a/5': { addresses: [], refusals: [{ code: 'exhausted', family: 'v4' }] },
  });
});

test('who has one keeps it, whoever came first; of two the first keeps it, and the other gets another one', () => {
  expect(
    assign(
      ['10.0.0.0/29'],
      [
        request('a/1'),
        request('a/2', { held: ['10.0.0.5'] }),
        request('a/3', { held: ['10.0.0.0'] }),
        request('a/4', { held: ['10.0.0.5'] }),
      ],
    ),
  ).toEqual({
    'a/1': has('10.0.0.1'),
    'a/2': has('10.0.0.5'),
    'a/3': has('10.0.0.0'),
    'a/4': has('10.0.0.2'),
  });
});

test('what is held outside of the pool, of another family or for something else is left', () => {
  expect(
    assign(
      ['10.0.0.0/29', 'fd00::/126'],
      [
        request('a/1', { held: ['10.0.1.5'] }),
        request('a/2', { held: ['fd00::2'] }),
        request('a/3', { held: ['10.0.0.7'] }),
      ],
      ['10.0.0.7'],
    ),
  ).toEqual({ 'a/1': has('10.0.0.0'), 'a/2': has('10.0.0.1'), 'a/3': has('10.0.0.2') });
});

test('who asks for a free address gets it before those that take any, and gives its former one back', () => {
  expect(
    assign(
      ['10.0.0.0/31'],
      [request('a/1'), request('a/2', { held: ['10.0.0.1'], wanted: ['10.0.0.0'] })],
    ),
  ).toEqual({ 'a/1': has('10.0.0.1'), 'a/2': has('10.0.0.0') });
});

test('who asks for what it can not have is told why, keeps what it has, and gets no other', () => {
  expect(
    assign(
      ['10.0.0.0/29'],
      [
        request('a/1', { held: ['10.0.0.3'] }),
        request('a/2', { wanted: ['10.0.0.3'] }),
        request('a/3', { wanted: ['10.0.0.3'], held: ['10.0.0.4'] }),
        request('a/4', { wanted: ['192.0.2.1'] }),
        request('a/5', { wanted: ['fd00::1'] }),
        request('a/6', { wanted: ['10.0.0.6', '10.0.0.7'] }),
        request('a/7', { families: ['v6'] }),
      ],
    ),
  ).toEqual({
    'a/1': has('10.0.0.3'),
    'a/2': { addresses: [], refusals: [{ code: 'taken', address: '10.0.0.3', owner: 'a/1' }] },
    'a/3': {
      addresses: ['10.0.0.4'],
      refusals: [{ code: 'taken', address: '10.0.0.3', owner: 'a/1' }],
    },
    'a/4': { addresses: [], refusals: [{ code: 'outside', address: '192.0.2.1' }] },
    'a/5': { addresses: ['10.0.0.0'], refusals: [{ code: 'other-family', address: 'fd00::1' }] },
    'a/6': { addresses: ['10.0.0.6'], refusals: [{ code: 'surplus', address: '10.0.0.7' }] },
    'a/7': { addresses: [], refusals: [{ code: 'no-range', family: 'v6' }] },
  });
});

const RANGES = ['10.0.0.0/30', '10.0.0.8/31', 'fd00::/127'].map(range);
const EXCLUDED = all(['10.0.0.2']);
const address = fc
  .constantFrom('10.0.0.', 'fd00::')
  .chain((start) => fc.integer({ min: 0, max: 9 }).map((last) => at(`${start}${last}`)));
const requests = fc
  .uniqueArray(
    fc.record({
      key: fc.integer({ min: 0, max: 30 }).map((n) => `a/${n}`),
      families: fc.subarray<Family>(['v4', 'v6'], { minLength: 1 }),
      held: fc.array(address, { maxLength: 3 }),
      wanted: fc.oneof(fc.constant([]), fc.array(address, { maxLength: 2 })),
    }),
    { selector: ({ key }) => key, maxLength: 12 },
  )
  .map((list): readonly ServiceRequest[] => list);

test('no address is given twice, none outside of the pool, and asked again with what was given everybody keeps it', () => {
  const space = { ranges: RANGES, excluded: EXCLUDED };
  fc.assert(
    fc.property(requests, (asked) => {
      const given = assignAddresses(space, asked);
      const texts = [...given.values()].flatMap(({ addresses }) => addresses);
      expect(new Set(texts).size).toBe(texts.length);
      for (const text of texts) {
        expect(RANGES.some((one) => containsAddress(one, at(text)))).toBe(true);
        expect(EXCLUDED.map(formatAddress)).not.toContain(text);
      }
      for (const { key, families } of asked) {
        const { addresses = [], refusals = [] } = given.get(key) ?? {};
        expect(addresses.every((text) => families.includes(at(text).family))).toBe(true);
        // Whoever lacks one is told why.
        if (addresses.length < families.length) expect(refusals).not.toEqual([]);
      }
      const again = asked.map((one) => ({
        ...one,
        held: all(given.get(one.key)?.addresses ?? []),
      }));
      const second = assignAddresses(space, again);
      // Who asked in vain may have what somebody gave back since.
      for (const { key, wanted } of asked)
        if (wanted.length === 0)
          expect(second.get(key)?.addresses).toEqual(
            expect.arrayContaining([...(given.get(key)?.addresses ?? [])]),
          );
    }),
  );
});
