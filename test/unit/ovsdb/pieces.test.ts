import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseSchema, Replica, type JsonValue } from '../../../src/ovsdb/index.ts';
import type { UpdateReader } from '../../../src/ovsdb/replica/update-reader.ts';
import { ENDLESS, LATER, type Turn, type Work } from '../../../src/ovsdb/turn.ts';
import { MessageStream } from '../../../src/ovsdb/wire/message-stream.ts';
import {
  cuts,
  Follower,
  keptValues,
  pieces,
  turnLengths,
  turns,
} from '../../support/sliced-replica.ts';

/** Messages that take more than one turn of the event loop: what is seen meanwhile, and afterwards. */

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

const follower = (turn: Turn, streamFrom: number): Follower =>
  new Follower(SCHEMA, turn, streamFrom, everything);

/** A replica that never saw anything but how a history ends. */
function loadedWith(steps: readonly Step[]): Replica {
  const loaded = follower(ENDLESS, 1e9);
  loaded.push(Buffer.from(messagesOf([...steps, { changes: [], isReload: true }]).at(-1) ?? ''));
  everything(loaded.replica);
  return loaded.replica;
}

describe('messages that take more than one turn', () => {
  test('are seen as if they had taken one, whatever the pieces and the turns', () => {
    fc.assert(
      fc.property(
        history,
        cuts,
        turnLengths,
        fc.constantFrom(1, 1000, 1e9),
        (steps, places, ends, streamFrom) => {
          const bytes = Buffer.from(messagesOf(steps).join(''));
          const whole = follower(ENDLESS, 1e9);
          whole.push(bytes);
          const sliced = follower(turns(ends), streamFrom);
          let pauses = 0;
          let last: unknown;
          let lastSequence = -1;
          sliced.onPause = () => {
            // Until a message is complete nothing of it is seen, not even through an index.
            if (pauses++ % 50 !== 0) return;
            const { sequence } = sliced.replica;
            const now = everything(sliced.replica);
            if (sequence === lastSequence) expect(now).toEqual(last);
            [last, lastSequence] = [now, sequence];
          };
          for (const piece of pieces(bytes, places)) sliced.push(piece);
          expect(sliced.seen).toEqual(whole.seen);
          expect(everything(sliced.replica)).toEqual(everything(whole.replica));
          expect(keptValues(sliced.replica)).toEqual(keptValues(loadedWith(steps)));
          expect(keptValues(whole.replica)).toEqual(keptValues(sliced.replica));
        },
      ),
      { numRuns: 30 },
    );
  });

  test('and are given up leave nothing behind, wherever that happens', () => {
    fc.assert(
      fc.property(history, fc.array(fc.nat(1200), { minLength: 5 }), (steps, places) => {
        const messages = messagesOf(steps).map((text) => Buffer.from(text));
        const whole = follower(ENDLESS, 1e9);
        const sliced = follower(LATER, 1e9);
        messages.forEach((message, at) => {
          const { sequence } = sliced.replica;
          const before = everything(sliced.replica);
          let isGivenUp = false;
          let pauses = 0;
          sliced.stream.push(message);
          while (sliced.stream.isHeld) {
            if (pauses++ === places[at] && sliced.replica.sequence === sequence) {
              isGivenUp = true;
              sliced.replica.discard(LATER);
              expect(everything(sliced.replica)).toEqual(before);
            }
            sliced.stream.resume();
          }
          // What was given up is told again.
          if (isGivenUp) sliced.push(message);
          whole.push(message);
          expect(everything(sliced.replica)).toEqual(everything(whole.replica));
        });
        expect(keptValues(sliced.replica)).toEqual(keptValues(loadedWith(steps)));
      }),
      { numRuns: 60 },
    );
  });

  test('subscribers and indexes that come meanwhile miss nothing', () => {
    fc.assert(
      fc.property(fc.nat(900), port, port, (comesAt, first, second) => {
        const rows = (row: Port) => [{ from: 0, count: 200, row }];
        const messages = messagesOf([
          { changes: rows(first), isReload: false },
          { changes: rows(second), isReload: false },
        ]).map((text) => Buffer.from(text));
        const replica = new Replica(SCHEMA, { rowsAtOnce: 128 });
        const follow = (turn: Turn): MessageStream => {
          const stream: MessageStream = new MessageStream({
            sinkForReply: () => replica.reader('update2', 'contents'),
            sinkForUpdate: () => replica.reader('update2', 'changes'),
            message: (_message, sink) => {
              stream.hold(replica.showing(sink as UpdateReader, true, turn) as Work<never>);
            },
          });
          return stream;
        };
        const stream = follow(LATER);
        for (const message of messages.slice(0, 2)) {
          stream.push(message);
          while (stream.isHeld) stream.resume();
        }
        const { sequence } = replica;
        let heard: number | undefined;
        let pauses = 0;
        stream.push(messages[2] as Buffer);
        while (stream.isHeld) {
          if (pauses++ === comesAt) {
            everything(replica);
            if (replica.sequence === sequence) {
              replica.subscribe(({ tables }) => {
                heard = tables.get('Port')?.rows.length ?? 0;
              });
              heard = 0;
            }
          }
          stream.resume();
        }
        if (heard !== undefined)
          expect(heard).toBe(replica.sequence === sequence ? 0 : changedRows());
        function changedRows(): number {
          const isSame = JSON.stringify(rowJson(first)) === JSON.stringify(rowJson(second));
          return isSame ? 0 : 200;
        }
        const whole = follower(ENDLESS, 1e9);
        for (const message of messages) whole.push(message);
        expect(everything(replica)).toEqual(everything(whole.replica));
      }),
      { numRuns: 40 },
    );
  });
});

test('a listener that gives up the replica is the last to be called', () => {
  const giver = follower(LATER, 1);
  giver.replica.subscribe(() => {
    giver.replica.discard();
    giver.stream.abandon();
  });
  const [reply = ''] = messagesOf([]);
  giver.push(Buffer.from(reply));
  expect(giver.stream.isHeld).toBe(false);
  expect(giver.replica.size('Group')).toBe(1);
});
