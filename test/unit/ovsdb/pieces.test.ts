import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseSchema, type JsonValue, type Replica } from 'ovsdb-client-ts';
import { cuts, Follower, keptValues, pieces } from '../../support/ovsdb/sliced-replica.ts';

/** Messages that arrive in many pieces: what is seen meanwhile, and afterwards. */

const set = (key: JsonValue): JsonValue => ({ type: { key, min: 0, max: 'unlimited' } });

const SCHEMA = parseSchema({
  name: 'Large',
  version: '1.0.0',
  tables: {
    Port: {
      isRoot: true,
      columns: {
        name: { type: 'string' },
        tag: { type: { key: 'integer', min: 0 } },
        labels: set('string'),
        peers: set({ type: 'uuid', refTable: 'Port', refType: 'weak' }),
      },
    },
    Group: { isRoot: true, columns: { name: { type: 'string' } } },
  },
});

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** A row as the server would describe it. */
interface Port {
  readonly name: string;
  readonly tag: number;
  readonly labels: readonly string[];
  readonly peers: readonly number[];
}

const port: fc.Arbitrary<Port> = fc.record({
  name: fc.nat(30).map((n) => `port-${n}`),
  tag: fc.nat(3),
  labels: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 3 }),
  peers: fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { maxLength: 2 }),
});

const rowJson = ({ name, tag, labels, peers }: Port): JsonValue => ({
  name,
  tag: tag === 0 ? ['set', []] : tag,
  labels: ['set', labels],
  peers: ['set', peers.map((peer) => ['uuid', uuid(peer)])],
});

/** Members of one array that are not in the other: the difference of two sets. */
const apart = <T>(a: readonly T[], b: readonly T[]): T[] => [
  ...a.filter((member) => !b.includes(member)),
  ...b.filter((member) => !a.includes(member)),
];

const differenceJson = (old: Port, now: Port): JsonValue =>
  rowJson({ ...now, labels: apart(old.labels, now.labels), peers: apart(old.peers, now.peers) });

/** What becomes of a range of rows in one message. */
interface Change {
  readonly from: number;
  readonly count: number;
  readonly row: Port | undefined;
}

interface Step {
  readonly changes: readonly Change[];
  /** The server tells everything, as after a reconnect, instead of what changed. */
  readonly isReload: boolean;
}

const history: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    changes: fc.array(
      fc.record({
        from: fc.nat(300),
        count: fc.oneof(fc.nat(5), fc.integer({ min: 100, max: 300 })),
        row: fc.option(port, { nil: undefined }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    isReload: fc.boolean(),
  }),
  { minLength: 1, maxLength: 4 },
);

/** The messages of a history: a first reply, then updates and replies. */
function messagesOf(steps: readonly Step[]): string[] {
  let rows = new Map<number, Port>();
  return [{ changes: [{ from: 1, count: 1, row: undefined }], isReload: true }, ...steps].map(
    ({ changes, isReload }, at) => {
      const before = rows;
      rows = new Map(rows);
      for (const { from, count, row } of changes) {
        for (let n = from + 1; n <= from + count; n++) {
          // Neighbours differ a little.
          if (row === undefined) rows.delete(n);
          else rows.set(n, { ...row, tag: (row.tag + n) % 4 });
        }
      }
      const table: { [uuid: string]: JsonValue } = {};
      if (isReload) for (const [n, row] of rows) table[uuid(n)] = { initial: rowJson(row) };
      else {
        for (const n of new Set([...before.keys(), ...rows.keys()])) {
          const [old, now] = [before.get(n), rows.get(n)];
          if (now === undefined) table[uuid(n)] = { delete: null };
          else if (old === undefined) table[uuid(n)] = { insert: rowJson(now) };
          else if (old !== now) table[uuid(n)] = { modify: differenceJson(old, now) };
        }
      }
      const updates = {
        Port: table,
        Group: { [uuid(1000)]: isReload ? { initial: {} } : undefined },
      };
      return JSON.stringify(
        isReload
          ? { id: at, result: [false, uuid(at), updates], error: null }
          : { method: 'update3', id: null, params: ['m', uuid(at), { Port: table }] },
      );
    },
  );
}

const everything = (replica: Replica): unknown => ({
  rows: [...replica.rows('Port')].map((row) => JSON.stringify(row)).sort(),
  byTag: [undefined, 1, 2, 3].map((tag) =>
    replica
      .find('Port', ['tag'], [tag])
      .map((row) => row.uuid)
      .sort(),
  ),
  inOrder: replica
    .ordered('Port', BY_NAME)
    .rows()
    .map((row) => row.uuid),
  referrers: [1, 2, 9].map((n) =>
    replica
      .referrers('Port', uuid(n))
      .map((from) => from.uuid)
      .sort(),
  ),
});

const BY_NAME = ['name', 'tag'];

const follower = (largeRow = 1e9): Follower => new Follower(SCHEMA, largeRow, everything);

/** A replica that never saw anything but how a history ends. */
function loadedWith(steps: readonly Step[]): Replica {
  const loaded = follower();
  const text = messagesOf([...steps, { changes: [], isReload: true }]).at(-1) ?? '';
  loaded.stream.push(Buffer.from(text));
  everything(loaded.replica);
  return loaded.replica;
}

describe('messages that arrive in pieces', () => {
  test('are seen as if they had arrived in one, and nothing of them before they are complete', () => {
    fc.assert(
      fc.property(history, cuts, fc.constantFrom(1, 1000, 1e9), (steps, places, largeRow) => {
        const bytes = Buffer.from(messagesOf(steps).join(''));
        const whole = follower();
        whole.stream.push(bytes);
        const cut = follower(largeRow);
        let last: unknown;
        let lastSequence = -1;
        for (const piece of pieces(bytes, places)) {
          cut.stream.push(piece);
          const { sequence } = cut.replica;
          const now = everything(cut.replica);
          if (sequence === lastSequence) expect(now).toEqual(last);
          [last, lastSequence] = [now, sequence];
        }
        expect(cut.seen).toEqual(whole.seen);
        expect(everything(cut.replica)).toEqual(everything(whole.replica));
        expect(keptValues(cut.replica)).toEqual(keptValues(loadedWith(steps)));
        expect(keptValues(whole.replica)).toEqual(keptValues(cut.replica));
      }),
      { numRuns: 25 },
    );
  });

  test('and whose connection is lost leave nothing behind, wherever that happens', () => {
    fc.assert(
      fc.property(history, fc.array(fc.nat(), { minLength: 5 }), (steps, places) => {
        const whole = follower();
        const cut = follower();
        messagesOf(steps).forEach((text, at) => {
          const message = Buffer.from(text);
          const before = everything(cut.replica);
          const kept = keptValues(cut.replica);
          const end = (places[at] ?? 0) % message.length;
          cut.stream.push(message.subarray(0, end));
          cut.reconnect();
          expect(everything(cut.replica)).toEqual(before);
          expect(keptValues(cut.replica)).toEqual(kept);
          // What was lost is told again.
          cut.stream.push(message);
          whole.stream.push(message);
          expect(everything(cut.replica)).toEqual(everything(whole.replica));
        });
        expect(keptValues(cut.replica)).toEqual(keptValues(loadedWith(steps)));
      }),
      { numRuns: 25 },
    );
  });

  test('are told to subscribers, and in indexes, that came meanwhile', () => {
    fc.assert(
      fc.property(fc.nat(), fc.boolean(), port, (place, isReload, row) => {
        const cut = new Follower(SCHEMA, 1e9, () => undefined);
        const [first = '', second = ''] = messagesOf([
          { changes: [{ from: 0, count: 200, row }], isReload },
        ]);
        cut.stream.push(Buffer.from(first));
        const message = Buffer.from(second);
        const end = place % message.length;
        cut.stream.push(message.subarray(0, end));
        everything(cut.replica);
        let heard = 0;
        cut.replica.subscribe(({ tables }) => {
          heard = tables.get('Port')?.rows.length ?? 0;
        });
        cut.stream.push(message.subarray(end));
        expect(heard).toBe(200);
        const whole = follower();
        whole.stream.push(Buffer.from(first + second));
        expect(everything(cut.replica)).toEqual(everything(whole.replica));
      }),
      { numRuns: 20 },
    );
  });
});

test('a listener that gives up the replica is the last to be called', () => {
  const giver = follower();
  giver.replica.subscribe(() => {
    giver.replica.discard();
    giver.stream.abandon();
  });
  const messages = messagesOf([
    { changes: [{ from: 0, count: 3, row: undefined }], isReload: false },
  ]);
  giver.stream.push(Buffer.from(messages.join('')));
  expect(giver.replica.sequence).toBe(1);
  expect(giver.replica.size('Group')).toBe(1);
});
