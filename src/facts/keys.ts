/** Keys that come and go, and how sources of them are put together. */
import type { Step } from './reads.ts';

/** Keys that come and go: what the units of a feature, or the keys of a derived table, range over. */
export interface KeySource {
  /** Every key there is, each as a tuple. */
  tuples(): Iterable<readonly string[]>;
  /** What the keys come from, as far as it is worked out. */
  readonly steps: readonly Step[];
  /** Hears of each key that comes or goes from now on. */
  onKeys(listener: (tuple: readonly string[], isPresent: boolean) => void): void;
}

/** One text for a tuple of texts, another one for any other tuple. */
export const tupleKey = (...parts: readonly string[]): string =>
  parts.length === 1 ? (parts[0] ?? '') : JSON.stringify(parts);

/** Every pair of a key of one source with a key of another one. */
export function pairs(first: KeySource, second: KeySource): KeySource {
  return {
    steps: [...first.steps, ...second.steps],
    *tuples() {
      for (const a of first.tuples()) for (const b of second.tuples()) yield [...a, ...b];
    },
    onKeys(listener) {
      // Both halves of a pair may come or go with one fact: what counts is what each source announced so far.
      const [left, right] = [new Announced(first), new Announced(second)];
      first.onKeys((a, isPresent) => {
        if (left.take(a, isPresent))
          for (const b of right.tuples()) listener([...a, ...b], isPresent);
      });
      second.onKeys((b, isPresent) => {
        if (right.take(b, isPresent))
          for (const a of left.tuples()) listener([...a, ...b], isPresent);
      });
    },
  };
}

/** The keys that a source has by what it announced. */
class Announced {
  readonly #tuples = new Map<string, readonly string[]>();

  constructor(source: KeySource) {
    for (const tuple of source.tuples()) this.take(tuple, true);
  }

  tuples(): Iterable<readonly string[]> {
    return this.#tuples.values();
  }

  /** Returns false for what was announced already. */
  take(tuple: readonly string[], isPresent: boolean): boolean {
    const key = tupleKey(...tuple);
    if (this.#tuples.has(key) === isPresent) return false;
    if (isPresent) this.#tuples.set(key, tuple);
    else this.#tuples.delete(key);
    return true;
  }
}

/** Keys that some source has. */
export function union(...sources: readonly KeySource[]): KeySource {
  const all = (): readonly (readonly string[])[] =>
    sources.flatMap((source) => [...source.tuples()]);
  return {
    steps: sources.flatMap(({ steps }) => steps),
    tuples: () => new Map(all().map((tuple) => [tupleKey(...tuple), tuple])).values(),
    onKeys(listener) {
      // A source may announce a key twice: what counts is who has it.
      const holders = new Map<string, Set<KeySource>>();
      const take = (source: KeySource, tuple: readonly string[]): boolean => {
        const key = tupleKey(...tuple);
        const known = holders.get(key);
        if (known === undefined) holders.set(key, new Set([source]));
        else known.add(source);
        return known === undefined;
      };
      const leave = (source: KeySource, tuple: readonly string[]): boolean => {
        const key = tupleKey(...tuple);
        const known = holders.get(key);
        if (known?.delete(source) !== true || known.size > 0) return false;
        return holders.delete(key);
      };
      for (const source of sources) for (const tuple of source.tuples()) take(source, tuple);
      for (const source of sources)
        source.onKeys((tuple, isPresent) => {
          if ((isPresent ? take : leave)(source, tuple)) listener(tuple, isPresent);
        });
    },
  };
}

/** A source with one key, of no texts: for what there is one of. */
export const ONE: KeySource = {
  steps: [],
  tuples: () => [[]],
  onKeys: () => undefined,
};
