import type { AtomicType } from '../data/value.ts';
import type { ColumnType } from '../data/column-type.ts';
import { BooleanCodec, NumberCodec, type AtomCodec } from './atom-codec.ts';
import { Members } from './cell-values.ts';
import { ColumnCodec } from './column-codec.ts';
import { SequencePool } from './sequence-pool.ts';
import { StringPool } from './string-pool.ts';
import { UuidPool } from './uuid-pool.ts';

/** Everything that is stored once for all tables of a replica. */
export class Pools {
  readonly strings = new StringPool();
  readonly uuids = new UuidPool();
  readonly #integers = new NumberCodec('integer');
  readonly #reals = new NumberCodec('real');
  readonly #codecs: Readonly<Record<AtomicType, AtomCodec>> = {
    string: this.strings,
    uuid: this.uuids,
    integer: this.#integers,
    real: this.#reals,
    boolean: new BooleanCodec(),
  };
  readonly #sequences = new Map<string, SequencePool>();
  /** One value is read at a time. */
  readonly #members = new Members();

  /** Sets of `key`, or maps of `key` to `value`. */
  #sequencesOf(key: AtomicType, value: AtomicType = key): SequencePool {
    const name = `${key}:${value}`;
    let pool = this.#sequences.get(name);
    if (pool === undefined) {
      pool = new SequencePool(this.#codecs[key], this.#codecs[value]);
      this.#sequences.set(name, pool);
    }
    return pool;
  }

  column(type: ColumnType): ColumnCodec {
    return new ColumnCodec(
      type,
      this.#codecs[type.key.type],
      type.value === undefined ? undefined : this.#codecs[type.value.type],
      this.#sequencesOf(type.key.type, type.value?.type),
      this.#members,
    );
  }

  /** Frees what no row uses any more. Only between messages: what is being read has no references yet. */
  sweep(): void {
    // Members of sets and maps become unused with these.
    for (const pool of this.#sequences.values()) pool.sweep();
    this.strings.sweep();
    this.uuids.sweep();
    this.#integers.pool.sweep();
    this.#reals.pool.sweep();
  }

  /** Distinct things kept, for metrics. */
  get statistics(): {
    strings: number;
    uuids: number;
    numbers: number;
    sequences: number;
    bytes: number;
  } {
    const sequences = [...this.#sequences.values()];
    return {
      strings: this.strings.count,
      uuids: this.uuids.count,
      numbers: this.#integers.pool.count + this.#reals.pool.count,
      sequences: sequences.reduce((sum, pool) => sum + pool.count, 0),
      bytes: this.strings.reserved + sequences.reduce((sum, pool) => sum + pool.reserved, 0),
    };
  }
}
