import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  box,
  DESTINATION,
  difference,
  EVERYTHING,
  intersection,
  PORT,
  PROTOCOL,
  SOURCE,
  SOURCE_PORT,
  STATE,
  STATES,
  type HeaderSet,
} from '../../../../src/verify/headers/boxes.ts';
import { addressesNamed, type MatchContext } from '../../../../src/verify/headers/matched.ts';
import { between } from '../../../../src/verify/headers/ranges.ts';
import {
  arriving,
  passing,
  readAcl,
  tracked,
  type Direction,
  type Passed,
} from '../../../../src/verify/headers/stages.ts';
import type { Row } from '../../../../src/verify/rows.ts';
import {
  aclsWith,
  addressOf,
  packet,
  passes,
  rowOf,
  SETS,
  setOf,
  type Packet,
  type RandomAcl,
  type Term,
} from '../../../support/verify/random-acls.ts';

const context: MatchContext = {
  inport: { name: 'a', isIn: (group) => GROUPS.has(group) },
  outport: { name: 'a', isIn: (group) => GROUPS.has(group) },
  hasGroup: () => true,
  addresses: (name) => (name in SETS ? addressesNamed(setOf(name)) : undefined),
};

const GROUPS: ReadonlySet<string> = new Set(['mine']);
const acls = aclsWith(['allow', 'allow-related', 'drop', 'reject', 'pass']);

const at = (all: readonly RandomAcl[], direction: Direction) => ({
  acls: all.map(rowOf).map(readAcl),
  direction,
  context,
  isClosed: false,
});

const one = (value: number) => between(value, value);
const headerOf = ({ source, destination, protocol, port, state }: Packet): HeaderSet => [
  box({
    [SOURCE]: addressesNamed([addressOf('source', source)]),
    [DESTINATION]: addressesNamed([addressOf('destination', destination)]),
    [PROTOCOL]: one(protocol),
    [SOURCE_PORT]: one(1),
    [PORT]: one(port),
    [STATE]: one(STATES[state]),
  }),
];

const isIn = (packet: Packet, set: HeaderSet): boolean =>
  intersection(headerOf(packet), set).length > 0;
const isPerhaps = (packet: Packet, { perhaps }: Passed): boolean =>
  perhaps.some(({ headers }) => isIn(packet, headers));

const packets = fc.array(packet, { minLength: 50, maxLength: 50 });
describe('what ACLs let pass', () => {
  test('as a set is what they let pass of each packet', () => {
    fc.assert(
      fc.property(
        acls,
        packets,
        fc.constantFrom<Direction[]>('from-lport', 'to-lport'),
        (all, some, direction) => {
          const passed = passing(arriving(EVERYTHING), at(all, direction));
          expect([...passed.undecided]).toEqual([]);
          for (const packet of some) {
            const wanted = passes(packet, all, direction);
            expect(isIn(packet, passed.surely)).toBe(wanted);
            expect(isPerhaps(packet, passed)).toBe(wanted);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('what one can not read may be true or not, and decides only where it matters', () => {
    fc.assert(
      fc.property(acls, fc.nat(), fc.boolean(), packets, (all, which, truth, some) => {
        fc.pre(all.length > 0);
        const index = which % all.length;
        const secret: Term = { text: 'reg0 == 5', holds: () => truth };
        const real = all.map((acl, i) => (i === index ? { ...acl, term: secret } : acl));
        for (const direction of ['from-lport', 'to-lport'] as const) {
          const passed = passing(arriving(EVERYTHING), at(real, direction));
          for (const packet of some) {
            const wanted = passes(packet, real, direction);
            if (isIn(packet, passed.surely)) expect(wanted).toBe(true);
            if (!isPerhaps(packet, passed)) expect(wanted).toBe(false);
          }
        }
      }),
      { numRuns: 150 },
    );
  });
});

const acl = (match: string, columns: Row = {}): Row => ({
  direction: 'to-lport',
  tier: 2,
  priority: 1000,
  action: 'allow-related',
  match,
  ...columns,
});
const toPort = (...rows: readonly Row[]) => ({
  acls: rows.map(readAcl),
  direction: 'to-lport' as const,
  context,
  isClosed: false,
});

describe('undecided is', () => {
  test('an expression that can not be read: it lets nothing surely pass', () => {
    const drop = acl('ip4', { action: 'drop', priority: 900 });
    const odd = acl('ip4 && tcp || udp');
    const { perhaps, surely, undecided } = passing(arriving(EVERYTHING), toPort(odd, drop));
    expect([...undecided]).toEqual([[odd, expect.stringContaining('side by side')]]);
    expect(difference(surely, [box({})])).toEqual([]);
    expect(perhaps.map(({ row }) => row)).toEqual([odd, undefined].slice(0, perhaps.length));
  });

  test('two rows of one priority that decide otherwise of the same packets', () => {
    const [allow, drop] = [acl('tcp'), acl('tcp.dst == 80', { action: 'drop' })];
    const { surely, undecided } = passing(arriving(EVERYTHING), toPort(allow, drop));
    expect([...undecided.keys()]).toEqual([allow]);
    expect(isIn({ source: 0, destination: 1, protocol: 6, port: 80, state: 'new' }, surely)).toBe(
      false,
    );
    expect(isIn({ source: 0, destination: 1, protocol: 6, port: 81, state: 'new' }, surely)).toBe(
      true,
    );
  });

  test('what would take too many sets', () => {
    const withBit = (bit: number) =>
      Array.from({ length: 128 }, (_, i) => i).filter((i) => (i >> bit) % 2 === 1);
    const rows = [0, 1, 2, 3, 4, 5, 6].flatMap((bit) => {
      const addresses = withBit(bit)
        .map((one) => addressOf('source', one))
        .join(', ');
      const ports = withBit(bit).join(', ');
      return [
        `ip4.src == {${addresses}} && ip4.dst == {${addresses}}`,
        `tcp.src == {${ports}} && tcp.dst == {${ports}}`,
      ].map((match, i) => acl(match, { action: 'drop', priority: 2 * bit + i }));
    });
    const { surely, undecided } = passing(arriving(EVERYTHING), toPort(...rows));
    expect(surely).toEqual([]);
    expect([...undecided.keys()]).toEqual(rows);
    for (const why of undecided.values()) expect(why).toContain('more than 1024 sets');
  });
});

test('where nothing is dropped that no ACL is about, it passes by no row; else it is dropped', () => {
  const drop = acl('tcp', { action: 'drop' });
  expect(passing(arriving(EVERYTHING), toPort(drop)).perhaps.map(({ row }) => row)).toEqual([
    undefined,
  ]);
  expect(passing(arriving(EVERYTHING), { ...toPort(drop), isClosed: true }).perhaps).toEqual([]);
});

test('what an allow-stateless matches is not tracked: no other row sees it begin', () => {
  const stateless = acl('tcp.dst == 80', { action: 'allow-stateless', priority: 5 });
  const drop = acl('ct.new', { action: 'drop', priority: 9 });
  const place = toPort(stateless, drop);
  const passed = passing(arriving(tracked(EVERYTHING, 'new', place, true)), place);
  expect(passed.perhaps.map(({ row }) => row)).toEqual([stateless]);
  const untracked = passing(arriving(tracked(EVERYTHING, 'new', place, false)), place);
  expect(untracked.perhaps.map(({ row }) => row)).toEqual([stateless, undefined]);
});

test('a row that names a group without a port on the switch does nothing there, whatever else it asks', () => {
  const place = {
    ...toPort(
      acl('tcp || inport == @away', { action: 'drop' }),
      acl('outport != @away', { action: 'drop', tier: 1 }),
      acl('udp || inport == @away', { action: 'allow-stateless', tier: 3 }),
      acl('ct.new', { action: 'drop', tier: 3, priority: 1 }),
    ),
    context: { ...context, hasGroup: (name: string) => name === 'mine' },
  };
  const passed = passing(arriving(tracked(EVERYTHING, 'new', place, true)), place);
  expect(passed.perhaps).toEqual([]);
  expect([...passed.undecided]).toEqual([]);
  const established = passing(arriving(tracked(EVERYTHING, 'established', place, true)), place);
  expect(established.perhaps.map(({ row }) => row)).toEqual([undefined]);
});
