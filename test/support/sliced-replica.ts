import * as fc from 'fast-check';
import { Replica, type DatabaseSchema } from '../../src/ovsdb/index.ts';
import type { UpdateFormat, UpdateReader } from '../../src/ovsdb/replica/update-reader.ts';
import type { Turn, Work } from '../../src/ovsdb/turn.ts';
import { MessageStream } from '../../src/ovsdb/wire/message-stream.ts';

/** Turns that end after these numbers of steps, again and again. */
export function turns(lengths: readonly number[]): Turn {
  let left = 0;
  let next = 0;
  return {
    isOver: () => {
      if (left-- > 0) return false;
      left = lengths[next++ % lengths.length] as number;
      return true;
    },
  };
}

/** Lengths of such turns. */
export const turnLengths = fc.oneof(
  fc.constant([0]),
  fc.array(fc.nat(400), { minLength: 1, maxLength: 5 }),
);

/** Where bytes are cut. */
export const cuts = fc.array(fc.nat(), { maxLength: 8 });

export function pieces(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...sorted].map((from, i) => bytes.subarray(from, sorted[i] ?? bytes.length));
}

/** A replica that reads a stream, and whatever a subscriber sees of it. */
export class Follower {
  readonly replica: Replica;
  readonly stream: MessageStream;
  readonly seen: unknown[] = [];
  /** Called whenever others have their turn. */
  onPause: () => void = () => {};

  /** Messages larger than `streamFrom` bytes are read while they arrive; `look` is noted with each change. */
  constructor(
    schema: DatabaseSchema,
    turn: Turn,
    streamFrom: number,
    look: (replica: Replica) => unknown,
    format: UpdateFormat = 'update2',
  ) {
    this.replica = new Replica(schema, { rowsAtOnce: 128 });
    this.stream = new MessageStream(
      {
        sinkForReply: () => this.replica.reader(format, 'contents'),
        sinkForUpdate: () => this.replica.reader(format, 'changes'),
        message: (_message, sink, _head, failure) => {
          if (failure !== undefined) throw failure;
          this.stream.hold(this.#show(sink as UpdateReader, turn));
        },
      },
      {},
      streamFrom,
      turn,
    );
    this.replica.subscribe(({ sequence, tables }) => {
      const changes = [...tables].map(([table, { rows }]) => [table, rows]);
      this.seen.push({ sequence, changes, everything: look(this.replica) });
    });
  }

  *#show(reader: UpdateReader, turn: Turn): Work {
    if (yield* this.replica.showing(reader, true, turn)) yield* this.replica.tidy(turn);
  }

  push(piece: Buffer): void {
    this.stream.push(piece);
    while (this.stream.isHeld) {
      this.onPause();
      this.stream.resume();
    }
  }
}

/** Distinct values that a replica keeps. */
export function keptValues(replica: Replica): unknown {
  const { bytes: _bytes, ...rest } = replica.statistics;
  return rest;
}
