import * as fc from 'fast-check';
import { Replica, type DatabaseSchema } from 'ovsdb-client-ts';
import type { UpdateReader } from '../../../src/ovsdb/replica/update-reader.ts';
import { MessageStream } from '../../../src/ovsdb/wire/message-stream.ts';

/** Where bytes are cut. */
export const cuts = fc.array(fc.nat(), { maxLength: 8 });

export function pieces(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...sorted].map((from, i) => bytes.subarray(from, sorted[i] ?? bytes.length));
}

/** A replica that reads a stream, and whatever a subscriber sees of it. */
export class Follower {
  readonly replica: Replica;
  readonly seen: unknown[] = [];
  stream: MessageStream;

  /** `look` is noted with each change. */
  constructor(schema: DatabaseSchema, largeRow: number, look: (replica: Replica) => unknown) {
    this.replica = new Replica(schema);
    this.stream = this.#connect(largeRow);
    this.replica.subscribe(({ sequence, tables }) => {
      const changes = [...tables].map(([table, { rows }]) => [table, rows]);
      this.seen.push({ sequence, changes, everything: look(this.replica) });
    });
  }

  #connect(largeRow: number): MessageStream {
    return new MessageStream(
      {
        sinkForReply: () => this.replica.reader('update2', 'contents'),
        sinkForUpdate: () => this.replica.reader('update2', 'changes'),
        message: (_message, updates) => {
          if (updates?.failure !== undefined) throw updates.failure;
          this.replica.show(updates?.sink as UpdateReader, true);
        },
      },
      { largeRow },
    );
  }

  /** The connection is lost, and there is another one. */
  reconnect(): void {
    this.stream.abandon();
    this.replica.discard();
    this.stream = this.#connect(1e9);
  }
}

/** Distinct values that a replica keeps. */
export function keptValues(replica: Replica): unknown {
  const { bytes: _bytes, ...rest } = replica.statistics;
  return rest;
}
