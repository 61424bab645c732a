/** Keys that come and go, and how sources of them are put together. */

/** Keys that come and go: what the units of a feature, or the keys of a derived table, range over. */
export interface KeySource {
  /** Every key there is, each as a tuple. */
  tuples(): Iterable<readonly string[]>;
  /** Hears of each key that comes or goes from now on. */
  onKeys(listener: (tuple: readonly string[], isPresent: boolean) => void): void;
}

/** One text for a tuple of texts, another one for any other tuple. */
export const tupleKey = (...parts: readonly string[]): string =>
  parts.length === 1 ? (parts[0] ?? '') : JSON.stringify(parts);

/** Every pair of a key of one source with a key of another one. */
export function pairs(first: KeySource, second: KeySource): KeySource {
  return {
    *tuples() {
      for (const a of first.tuples()) for (const b of second.tuples()) yield [...a, ...b];
    },
    onKeys(listener) {
      // A source reports a key after it took it in: a pair whose halves come together is announced twice, which listeners bear.
      first.onKeys((a, isPresent) => {
        for (const b of second.tuples()) listener([...a, ...b], isPresent);
      });
      second.onKeys((b, isPresent) => {
        for (const a of first.tuples()) listener([...a, ...b], isPresent);
      });
    },
  };
}

/** Keys that some source has. */
export function union(...sources: readonly KeySource[]): KeySource {
  const all = (): readonly (readonly string[])[] =>
    sources.flatMap((source) => [...source.tuples()]);
  return {
    tuples: () => new Map(all().map((tuple) => [tupleKey(...tuple), tuple])).values(),
    onKeys(listener) {
      const counts = new Map<string, number>();
      for (const tuple of all()) {
        const key = tupleKey(...tuple);
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
      for (const source of sources)
        source.onKeys((tuple, isPresent) => {
          const key = tupleKey(...tuple);
          const count = (counts.get(key) ?? 0) + (isPresent ? 1 : -1);
          if (count === 0) counts.delete(key);
          else counts.set(key, count);
          if (count === (isPresent ? 1 : 0)) listener(tuple, isPresent);
        });
    },
  };
}

/** A source with one key, of no texts: for what there is one of. */
export const ONE: KeySource = {
  tuples: () => [[]],
  onKeys: () => undefined,
};
