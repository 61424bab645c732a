import { array, assert, constantFrom, integer, property, record } from 'fast-check';
import { expect, test } from 'vitest';
import { PortSet } from '../../../src/reach/port-set.ts';

const PROTOCOLS = ['tcp', 'udp', 'sctp'] as const;
const port = integer({ min: 0, max: 12 });
const ports = array(
  record({ protocol: constantFrom(...PROTOCOLS), first: port, more: integer({ min: 0, max: 4 }) }),
  { maxLength: 6 },
).map((list) =>
  list.reduce(
    (all, { protocol, first, more }) => all.or(PortSet.of(protocol, first, first + more)),
    PortSet.NONE,
  ),
);

test('what is joined, common and left is so port by port', () => {
  assert(
    property(ports, ports, (a, b) => {
      for (const protocol of PROTOCOLS)
        for (let one = 0; one <= 20; one += 1) {
          const [inA, inB] = [a.has(protocol, one), b.has(protocol, one)];
          expect(a.or(b).has(protocol, one)).toBe(inA || inB);
          expect(a.and(b).has(protocol, one)).toBe(inA && inB);
          expect(a.without(b).has(protocol, one)).toBe(inA && !inB);
        }
      expect(a.without(b).isEmpty).toBe(a.or(b).without(b).isEmpty);
    }),
  );
});

test('sets that are the same read the same', () => {
  assert(
    property(ports, ports, (a, b) => {
      expect(a.without(b).or(a.and(b)).texts()).toEqual(a.texts());
    }),
  );
});

test.each([
  [PortSet.ALL, ['everything']],
  [PortSet.ALL.without(PortSet.of('tcp', 22)), ['everything but tcp 22']],
  [PortSet.of('tcp', 80).or(PortSet.of('tcp', 443)), ['tcp 80, 443']],
  [PortSet.of('udp', 0, 65_535).or(PortSet.ICMP), ['udp all ports', 'icmp']],
  [PortSet.of('tcp', 8000, 8010).or(PortSet.of('tcp', 8011, 8020)), ['tcp 8000-8020']],
  [PortSet.NONE, []],
])('is told in words', (set, texts) => {
  expect(set.texts()).toEqual(texts);
});

test('ports of a rule by a name are those that the end has', () => {
  const rule = [
    { protocol: 'tcp', name: 'web' },
    { protocol: 'udp', port: 53 },
  ] as const;
  const numberOf = (protocol: string): number | undefined => (protocol === 'tcp' ? 8080 : 1);
  expect(PortSet.ofRule(rule, numberOf).texts()).toEqual(['tcp 8080', 'udp 53']);
  expect(PortSet.ofRule(rule, () => undefined).texts()).toEqual(['udp 53']);
  expect(PortSet.ofRule([], numberOf).texts()).toEqual(['everything']);
  expect(PortSet.ofRule([{ protocol: 'tcp' }], numberOf).texts()).toEqual(['tcp all ports']);
  expect(PortSet.ofRule([{ protocol: 'tcp', port: 1, endPort: 9 }], numberOf).texts()).toEqual([
    'tcp 1-9',
  ]);
});
