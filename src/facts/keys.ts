/** Keys that come and go, and how sources of them are put together. */
import type { Step } from './reads.ts';

/** What a fact or a unit is known by: one text or several, each in its place. */
export type Key = readonly string[];

/** A key where it is one argument: that of one text is the text. */
export type Written<K extends Key> = K extends readonly [string] ? string : K;

/** One text for a key, another one for any other key. */
export function keyText(key: string | Key): string {
  const text = typeof key === 'string' ? key : key.length === 1 ? key[0] : undefined;
  if (text !== undefined && !text.startsWith('[')) return text;
  return JSON.stringify(typeof key === 'string' ? [key] : key);
}

/** The key of a text that `keyText` gave. */
export const keyOf = <K extends Key>(text: string): K =>
  (text.startsWith('[') ? JSON.parse(text) : [text]) as K;

/** A key as it is written. */
export const written = <K extends Key>(key: K): Written<K> =>
  (key.length === 1 ? key[0] : key) as Written<K>;

/** What `written` was given. */
export const keyAsWritten = <K extends Key>(key: Written<K>): K =>
  (typeof key === 'string' ? [key] : key) as K;

/** Is told of a key that came or went; `text` is that of the key. */
export type KeyListener<K extends Key> = (key: K, isPresent: boolean, text: string) => void;

/** Keys that come and go: what the units of a feature, or the keys of a derived table, range over. */
export interface KeySource<K extends Key = Key> {
  /** Every key there is. */
  keys(): Iterable<K>;
  /** What the keys come from, as far as it is worked out. */
  readonly steps: readonly Step[];
  /** Subscribes to keys that come and go from now on. */
  onKeys(listener: KeyListener<K>): void;
}

/** Every pair of a key of one source with a key of another one. */
export function pairs<A extends Key, B extends Key>(
  first: KeySource<A>,
  second: KeySource<B>,
): KeySource<[...A, ...B]> {
  return {
    steps: [...first.steps, ...second.steps],
    *keys() {
      for (const a of first.keys()) for (const b of second.keys()) yield [...a, ...b];
    },
    onKeys(listener) {
      // Both halves of a pair may come or go with one fact: what counts is what each source announced so far.
      const [left, right] = [new Announced(first), new Announced(second)];
      const tell = (a: A, b: B, isPresent: boolean): void => {
        const pair: [...A, ...B] = [...a, ...b];
        listener(pair, isPresent, keyText(pair));
      };
      first.onKeys((a, isPresent, text) => {
        if (left.take(a, isPresent, text)) for (const b of right.keys()) tell(a, b, isPresent);
      });
      second.onKeys((b, isPresent, text) => {
        if (right.take(b, isPresent, text)) for (const a of left.keys()) tell(a, b, isPresent);
      });
    },
  };
}

/** The keys that a source has by what it announced. */
class Announced<K extends Key> {
  readonly #keys = new Map<string, K>();

  constructor(source: KeySource<K>) {
    for (const key of source.keys()) this.take(key, true, keyText(key));
  }

  get size(): number {
    return this.#keys.size;
  }

  keys(): Iterable<K> {
    return this.#keys.values();
  }

  /** Returns false for what was announced already. */
  take(key: K, isPresent: boolean, text: string): boolean {
    if (this.#keys.has(text) === isPresent) return false;
    if (isPresent) this.#keys.set(text, key);
    else this.#keys.delete(text);
    return true;
  }
}

/** Keys that some source has, of 31 at most. */
export function union<K extends Key>(...sources: readonly KeySource<K>[]): KeySource<K> {
  const all = (): readonly K[] => sources.flatMap((source) => [...source.keys()]);
  return {
    steps: sources.flatMap(({ steps }) => steps),
    keys: () => new Map(all().map((key) => [keyText(key), key])).values(),
    onKeys(listener) {
      // A source may announce a key twice: what counts is who has it, a bit for each of them.
      const holders = new Map<string, number>();
      const take = (source: number, text: string, isPresent: boolean): boolean => {
        const known = holders.get(text) ?? 0;
        const now = isPresent ? known | (1 << source) : known & ~(1 << source);
        if (now === 0) holders.delete(text);
        else holders.set(text, now);
        return (known === 0) !== (now === 0);
      };
      for (const [index, source] of sources.entries())
        for (const key of source.keys()) take(index, keyText(key), true);
      for (const [index, source] of sources.entries())
        source.onKeys((key, isPresent, text) => {
          if (take(index, text, isPresent)) listener(key, isPresent, text);
        });
    },
  };
}

/** The keys of a source while another one has any. */
export function whileAny<K extends Key>(gate: KeySource, source: KeySource<K>): KeySource<K> {
  return {
    steps: [...gate.steps, ...source.steps],
    *keys() {
      if (!gate.keys()[Symbol.iterator]().next().done) yield* source.keys();
    },
    onKeys(listener) {
      const open = new Announced(gate);
      gate.onKeys((key, isPresent, text) => {
        const wasOpen = open.size > 0;
        open.take(key, isPresent, text);
        const isOpen = open.size > 0;
        if (isOpen !== wasOpen)
          for (const one of source.keys()) listener(one, isOpen, keyText(one));
      });
      source.onKeys((key, isPresent, text) => {
        if (open.size > 0) listener(key, isPresent, text);
      });
    },
  };
}

/** A source with one key, of no texts: for what there is one of. */
export const ONE: KeySource<[]> = {
  steps: [],
  keys: () => [[]],
  onKeys: () => undefined,
};
