import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseSchema, Replica, type JsonValue } from '../../../src/ovsdb/index.ts';
import type { UpdateFormat } from '../../../src/ovsdb/replica/update-reader.ts';
import { ENDLESS, LATER } from '../../../src/ovsdb/turn.ts';
import {
  cuts,
  Follower,
  keptValues,
  pieces,
  turnLengths,
  turns,
} from '../../support/sliced-replica.ts';

/** Sets and maps of thousands of members, in order or not: read as they arrive, sorted, changed and told of in pieces. */

const many = (key: string, value?: string): JsonValue => ({
  type: { key, ...(value === undefined ? {} : { value }), min: 0, max: 'unlimited' },
});

const SCHEMA = parseSchema({
  name: 'D',
  tables: {
    T: {
      columns: {
        name: { type: 'string' },
        numbers: many('integer'),
        texts: many('string'),
        ids: many('uuid'),
        map: many('string', 'integer'),
        tail: { type: 'string' },
      },
    },
  },
});

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** Members `from` to `to`, and the values of the map's keys. */
interface Row {
  readonly from: number;
  readonly to: number;
  readonly value: number;
}

const row: fc.Arbitrary<Row> = fc
  .record({
    from: fc.nat(300),
    length: fc.oneof(fc.nat(400), fc.integer({ min: 4000, max: 9000 })),
    value: fc.nat(2),
  })
  .map(({ from, length, value }) => ({ from, to: from + length, value }));

const NONE: Row = { from: 0, to: 0, value: 0 };

/** Numbers in the row and not in the other. */
const beyond = (a: Row, b: Row): number[] =>
  Array.from({ length: a.to - a.from }, (_, n) => a.from + n).filter(
    (n) => n < b.from || n >= b.to,
  );

const text = (n: number): string => `m"é${String(n).padStart(6, '0')}`;

/** How a server tells of rows. */
interface Telling {
  readonly format: UpdateFormat;
  /** Members come in no order. */
  readonly isShuffled: boolean;
}

const IN_ORDER: Telling = { format: 'update2', isShuffled: false };

const shuffled = (numbers: readonly number[]): number[] =>
  numbers
    .map((n) => [(n * 48_271) % 8191, n] as const)
    .sort(([a, m], [b, n]) => a - b || n - m)
    .map(([, n]) => n);

/** All columns, with these members and keys. */
function columnsOf(
  row: Row,
  members: readonly number[],
  keys: readonly number[],
  valueOf: (n: number) => number,
  isShuffled: boolean,
): JsonValue {
  const [some, pairs] = isShuffled ? [shuffled(members), shuffled(keys)] : [members, keys];
  return {
    name: `${row.from}`,
    numbers: ['set', some],
    texts: ['set', some.map(text)],
    ids: ['set', some.map((n) => ['uuid', uuid(n)])],
    map: ['map', pairs.map((n) => [text(n), valueOf(n)])],
    tail: `${row.to}`,
  };
}

function whole(row: Row, isShuffled: boolean): JsonValue {
  const members = beyond(row, NONE);
  return columnsOf(row, members, members, () => row.value, isShuffled);
}

/** What the server tells of a row that was another: all of it for one that was none. */
function told(before: Row | undefined, now: Row | undefined, telling = IN_ORDER): JsonValue {
  const { format, isShuffled } = telling;
  if (format === 'update') {
    const old = before === undefined ? {} : { old: whole(before, isShuffled) };
    return now === undefined ? old : { ...old, new: whole(now, isShuffled) };
  }
  if (now === undefined) return { delete: null };
  if (before === undefined) return { insert: whole(now, isShuffled) };
  const apart = [...beyond(before, now), ...beyond(now, before)].sort((a, b) => a - b);
  const changed =
    before.value === now.value
      ? []
      : beyond(now, NONE).filter((n) => n >= before.from && n < before.to);
  const keys = [...apart, ...changed].sort((a, b) => a - b);
  const valueOf = (n: number): number => (n >= now.from && n < now.to ? now.value : before.value);
  return { modify: columnsOf(now, apart, keys, valueOf, isShuffled) };
}

const step = fc.record({
  row: fc.option(row, { nil: undefined }),
  of: fc.integer({ min: 1, max: 2 }),
});

/** A first reply and an update for each step. */
function messagesOf(
  steps: readonly { row: Row | undefined; of: number }[],
  telling = IN_ORDER,
): string {
  const rows = new Map<number, Row>();
  const messages: JsonValue[] = [{ id: 1, result: [false, uuid(0), {}], error: null }];
  for (const { row: now, of } of steps) {
    const before = rows.get(of);
    if (before === undefined && now === undefined) continue;
    const update = told(before, now, telling);
    if (now === undefined) rows.delete(of);
    else rows.set(of, now);
    messages.push({
      method: 'update3',
      id: null,
      params: ['m', uuid(0), { T: { [uuid(of)]: update } }],
    });
  }
  return messages.map((message) => JSON.stringify(message)).join('');
}

const everything = (replica: Replica): unknown =>
  [...replica.rows('T')].map((found) => JSON.stringify(found)).sort();

test('are the same, and told the same, whatever the pieces and the turns', () => {
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 1, maxLength: 4 }),
      cuts,
      turnLengths,
      fc.constantFrom(1, 1000, 1e9),
      fc.record({
        format: fc.constantFrom<UpdateFormat>('update', 'update2'),
        isShuffled: fc.boolean(),
      }),
      (steps, places, ends, streamFrom, telling) => {
        const bytes = Buffer.from(messagesOf(steps, telling));
        const { format } = telling;
        const atOnce = new Follower(SCHEMA, ENDLESS, 1e9, everything, format);
        atOnce.push(bytes);
        const sliced = new Follower(SCHEMA, turns(ends), streamFrom, everything, format);
        for (const piece of pieces(bytes, places)) sliced.push(piece);
        expect(sliced.seen).toEqual(atOnce.seen);
        expect(keptValues(sliced.replica)).toEqual(keptValues(atOnce.replica));
        const model = steps.reduce(
          (rows, { row: now, of }) =>
            now === undefined
              ? rows.filter(([n]) => n !== of)
              : [...rows.filter(([n]) => n !== of), [of, now] as const],
          [] as readonly (readonly [number, Row])[],
        );
        for (const [n, { from, to, value }] of model) {
          const found = sliced.replica.row('T', uuid(n));
          const expected = Array.from({ length: to - from }, (_, i) => from + i);
          expect(found?.column('numbers')).toEqual(expected);
          expect(found?.column('texts')).toEqual(expected.map(text));
          expect(found?.column('ids')).toEqual(expected.map(uuid));
          expect(found?.column('map')).toEqual(new Map(expected.map((m) => [text(m), value])));
          expect([found?.column('name'), found?.column('tail')]).toEqual([`${from}`, `${to}`]);
        }
        expect(sliced.replica.size('T')).toBe(model.length);
      },
    ),
    { numRuns: 80 },
  );
});

test('are read as they arrive, and changed and told of in many turns', () => {
  const replica = new Replica(SCHEMA);
  replica.apply({}, 'update2', 'contents');
  const long = { from: 0, to: 50_000, value: 1 };
  const other = { from: 25_000, to: 75_000, value: 2 };
  const pauses = [told(undefined, long), told(long, other)].map((update) => {
    const bytes = Buffer.from(JSON.stringify({ T: { [uuid(1)]: update } }));
    const reader = replica.reader('update2', 'changes');
    const half = bytes.length >> 1;
    const end = reader.push(bytes, 0, half);
    // No more is left of the first half than the member that was cut.
    expect(end).toBeGreaterThan(half - 100);
    reader.push(bytes, end, bytes.length);
    const { sequence } = replica;
    let count = 0;
    for (const work = replica.showing(reader, true, LATER); work.next().done !== true;) count++;
    expect(replica.sequence).toBe(sequence + 1);
    return count;
  });
  expect(replica.row('T', uuid(1))?.memberCount('texts')).toBe(50_000);
  // One for some thousand members of each difference.
  expect(pauses[1]).toBeGreaterThan((pauses[0] ?? 0) + 50);
  let heard = 0;
  replica.subscribe(({ tables }) => {
    heard += tables.get('T')?.rows.length ?? 0;
  });
  const gone = replica.reader('update2', 'changes');
  const bytes = Buffer.from(JSON.stringify({ T: { [uuid(1)]: { delete: null } } }));
  gone.push(bytes, 0, bytes.length);
  // And one for each thousand members that somebody wants to hear of.
  expect([...replica.showing(gone, true, LATER)].length).toBeGreaterThan(200);
  expect(heard).toBe(1);
});

test('are sorted in many turns when they come in no order', () => {
  const long = { from: 0, to: 50_000, value: 1 };
  const [update] = [told(undefined, long, { format: 'update2', isShuffled: true })];
  const params = ['m', uuid(0), { T: { [uuid(1)]: update } }];
  const bytes = Buffer.from(JSON.stringify({ id: null, method: 'update3', params }));
  const follower = new Follower(SCHEMA, LATER, 1000, () => undefined);
  follower.push(Buffer.from(messagesOf([])));
  let pauses = 0;
  follower.onPause = () => pauses++;
  for (let at = 0; at < bytes.length; at += 65_536) follower.push(bytes.subarray(at, at + 65_536));
  // Each of the four is sorted in runs of 256, which are then merged.
  expect(pauses).toBeGreaterThan(4 * 200);
  expect(follower.replica.row('T', uuid(1))?.column('numbers')).toEqual(beyond(long, NONE));
});

test('are sorted when they are out of order just where they are cut', () => {
  const half = Array.from({ length: 400 }, (_, n) => n);
  const numbers = [...half.map((n) => n + 400), ...half];
  const bytes = Buffer.from(
    JSON.stringify({ T: { [uuid(1)]: { insert: { numbers: ['set', numbers] } } } }),
  );
  const boundary = bytes.indexOf('799,0') + 4;
  for (let cut = boundary - 10; cut < boundary + 10; cut++) {
    const replica = new Replica(SCHEMA);
    replica.apply({}, 'update2', 'contents');
    const reader = replica.reader('update2', 'changes');
    const end = reader.push(bytes, 0, cut);
    expect(end).toBeGreaterThan(cut - 5);
    reader.push(bytes, end, bytes.length);
    replica.show(reader, true);
    expect(replica.row('T', uuid(1))?.column('numbers')).toEqual([
      ...half,
      ...numbers.slice(0, 400),
    ]);
  }
});

test('a row of `update` is read as it arrives, and so is what it was before', () => {
  const long = { from: 0, to: 50_000, value: 1 };
  const replica = new Replica(SCHEMA);
  replica.apply({}, 'update', 'contents');
  for (const [before, now] of [
    [undefined, long],
    [long, { ...long, value: 2 }],
    [{ ...long, value: 2 }, undefined],
  ] as const) {
    const update = told(before, now, { format: 'update', isShuffled: false });
    const bytes = Buffer.from(JSON.stringify({ T: { [uuid(1)]: update } }));
    const reader = replica.reader('update', 'changes');
    let end = 0;
    for (let at = 65_536; at < bytes.length; at += 65_536) {
      end = reader.push(bytes, end, at);
      // No more is left than a member that was cut.
      expect(end).toBeGreaterThan(at - 100);
    }
    reader.push(bytes, end, bytes.length);
    expect(reader.isDone).toBe(true);
    replica.show(reader, true);
    expect(replica.row('T', uuid(1))?.memberCount('map')).toBe(
      now === undefined ? undefined : 50_000,
    );
  }
});

test('a mistake in a part that was kept makes the update useless and not the connection', () => {
  const replies: unknown[] = [];
  const good = messagesOf([{ of: 1, row: { from: 0, to: 5000, value: 1 } }]);
  for (const wrong of [
    good.replace('4000,', '"x",'),
    // Given twice, far apart: found when they are sorted.
    good.replace(',4999]', ',4999,7]'),
    good.replace(/\[\["uuid"/, '[["uid"'),
  ]) {
    expect(wrong).not.toBe(good);
    const follower = new Follower(SCHEMA, ENDLESS, 1000, () => undefined);
    const bytes = Buffer.from(wrong);
    expect(() => {
      for (let at = 0; at < bytes.length; at += 5000) follower.push(bytes.subarray(at, at + 5000));
    }).toThrow(/not an integer|a number was expected|member twice|expected \["uuid"/);
    replies.push(follower.replica.size('T'));
  }
  expect(replies).toEqual([0, 0, 0]);
});
