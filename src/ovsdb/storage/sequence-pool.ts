import type { AtomCodec } from './atom-codec.ts';
import { WordPool } from './word-pool.ts';

/**
 * The members of sets in order, or key, value, key, value … of maps, as codes of their atoms. A sequence holds its members; id 0 is the
 * empty one.
 */
export class SequencePool extends WordPool {
  readonly #keys: AtomCodec;
  readonly #values: AtomCodec;

  /** Members in even places are of `keys`, those in odd places of `values`: of a set both are the same. */
  constructor(keys: AtomCodec, values: AtomCodec) {
    super();
    this.#keys = keys;
    this.#values = values;
  }

  protected override added(id: number): void {
    const [words, offset, length] = [this.words(id), this.offset(id), this.length(id)];
    for (let i = 0; i < length; i++)
      (i & 1 ? this.#values : this.#keys).retain(words[offset + i] as number);
  }

  protected override forget(id: number): void {
    const [words, offset, length] = [this.words(id), this.offset(id), this.length(id)];
    for (let i = 0; i < length; i++)
      (i & 1 ? this.#values : this.#keys).release(words[offset + i] as number);
  }
}
