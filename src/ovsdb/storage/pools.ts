import type { AtomicType, ColumnType } from '../data/column-type.ts';
import type { Turn } from '../turn.ts';
import { atomCodec, type AtomCodec } from './atom-codec.ts';
import { ColumnCodec } from './column-codec.ts';
import { NumberPool } from './number-pool.ts';
import { SequencePool } from './sequence-pool.ts';
import { StringPool } from './string-pool.ts';
import { UuidPool } from './uuid-pool.ts';

/** Everything that is stored once for all tables of a replica. */
export class Pools {
  readonly strings = new StringPool();
  readonly uuids = new UuidPool();
  readonly numbers = new NumberPool();
  readonly #sequences = new Map<string, SequencePool>();
  readonly #codecs = new Map<AtomicType, AtomCodec>();
  #sweeps = 0;

  atom(type: AtomicType): AtomCodec {
    let codec = this.#codecs.get(type);
    if (codec === undefined) {
      codec = atomCodec(type, this);
      this.#codecs.set(type, codec);
    }
    return codec;
  }

  /** Sets of `key`, or maps of `key` to `value`. */
  sequences(key: AtomicType, value: AtomicType | undefined): SequencePool {
    const name = value === undefined ? key : `${key}:${value}`;
    let pool = this.#sequences.get(name);
    if (pool === undefined) {
      const keys = this.atom(key);
      pool = new SequencePool(keys, value === undefined ? keys : this.atom(value));
      this.#sequences.set(name, pool);
    }
    return pool;
  }

  /** False when no value ever was so large that it should be gone through in pieces. */
  get hasLong(): boolean {
    return this.strings.hasLong || this.hasManyMembers;
  }

  /** False when no set or map ever was so large. */
  get hasManyMembers(): boolean {
    for (const pool of this.#sequences.values()) if (pool.hasLong) return true;
    return false;
  }

  column(type: ColumnType): ColumnCodec {
    return new ColumnCodec(
      type,
      this.atom(type.key.type),
      type.value === undefined ? undefined : this.atom(type.value.type),
      this.sequences(type.key.type, type.value?.type),
    );
  }

  /**
   * Gives back what no row uses any more. Only between messages: nothing may be held outside of rows. False when the turn ended first:
   * call it again.
   */
  sweep(turn: Turn): boolean {
    this.#sweeps++;
    for (const pool of this.#sequences.values()) if (!pool.sweep(turn)) return false;
    return this.strings.sweep(turn) && this.uuids.sweep(turn) && this.numbers.sweep(turn);
  }

  /** Grows whenever ids may be given to others. */
  get sweeps(): number {
    return this.#sweeps;
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
      numbers: this.numbers.count,
      sequences: sequences.reduce((sum, pool) => sum + pool.count, 0),
      bytes: this.strings.reserved + sequences.reduce((sum, pool) => sum + pool.reserved, 0),
    };
  }
}
