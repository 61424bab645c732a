/** A map whose readers are known: of one value by its key, or of all of them. */
import type { Readers } from './readers.ts';

export class NotedMap<K extends string | number, V> implements ReadonlyMap<K, V> {
  readonly #readers: Readers;
  readonly #one: string;
  readonly #all: string;
  readonly #values: () => ReadonlyMap<K, V>;
  readonly #find: (key: K) => V | undefined;

  /** `one`, `all`: kinds under which reads are known. */
  constructor(
    readers: Readers,
    one: string,
    all: string,
    values: () => ReadonlyMap<K, V>,
    find = (key: K): V | undefined => values().get(key),
  ) {
    this.#readers = readers;
    this.#one = one;
    this.#all = all;
    this.#values = values;
    this.#find = find;
  }

  get(key: K): V | undefined {
    this.#readers.note(this.#one, String(key));
    return this.#find(key);
  }

  has(key: K): boolean {
    return this.get(key) !== undefined;
  }

  get size(): number {
    return this.#whole().size;
  }

  forEach(call: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this.#whole()) call(value, key, this);
  }

  entries(): MapIterator<[K, V]> {
    return this.#whole().entries();
  }

  keys(): MapIterator<K> {
    return this.#whole().keys();
  }

  values(): MapIterator<V> {
    return this.#whole().values();
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries();
  }

  #whole(): ReadonlyMap<K, V> {
    this.#readers.note(this.#all, '');
    return this.#values();
  }
}
