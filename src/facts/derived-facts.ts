/** Facts that follow from other facts, worked out again when what they were worked out from changes. */
import { errorText } from './error-text.ts';
import { tupleKey, type KeySource } from './keys.ts';
import { forgetReads, type Cell, type ReadRecorder, type Reader } from './reads.ts';
import { FactTable, type FactTableOptions } from './fact-table.ts';

/** One key of a derived table, worked out again when what it was worked out from changes. */
class Derivation implements Reader {
  reads: readonly Cell[] = [];
  readonly tuple: readonly string[];
  readonly #dirty: Set<Derivation>;

  constructor(tuple: readonly string[], dirty: Set<Derivation>) {
    this.tuple = tuple;
    this.#dirty = dirty;
    this.invalidate();
  }

  invalidate(): void {
    this.#dirty.add(this);
  }
}

/** Facts that follow from other facts: `derive` is a pure function of what it reads. */
export class DerivedFacts<V extends object> {
  readonly table: FactTable<V>;
  readonly #recorder: ReadRecorder;
  readonly #derive: (...key: readonly string[]) => V | undefined;
  readonly #derivations = new Map<string, Derivation>();
  readonly #dirty = new Set<Derivation>();
  readonly #failed = new Map<Derivation, unknown>();

  constructor(
    name: string,
    recorder: ReadRecorder,
    source: KeySource,
    derive: (...key: readonly string[]) => V | undefined,
    options: FactTableOptions<V> = {},
  ) {
    this.table = new FactTable(name, recorder, options);
    this.#recorder = recorder;
    this.#derive = derive;
    for (const tuple of source.tuples()) this.#keyChanged(tuple, true);
    source.onKeys((tuple, isPresent) => this.#keyChanged(tuple, isPresent));
  }

  get isDirty(): boolean {
    return this.#dirty.size > 0;
  }

  /**
   * Works out what is not up to date. Throws what `derive` threw for any key, after all others were worked out: the fact stays
   * what it was, and every refresh throws until it can be worked out.
   */
  refresh(): void {
    for (const derivation of this.#dirty) {
      this.#dirty.delete(derivation);
      this.#failed.delete(derivation);
      let value: V | undefined;
      try {
        value = this.#recorder.run(derivation, () => this.#derive(...derivation.tuple));
      } catch (error) {
        this.#failed.set(derivation, error);
        continue;
      }
      this.table.put(tupleKey(...derivation.tuple), value);
    }
    const [first] = this.#failed;
    if (first === undefined) return;
    const [{ tuple }, error] = first;
    throw new Error(`facts ${this.table.name} of ${tuple.join(' ')}: ${errorText(error)}`, {
      cause: error,
    });
  }

  #keyChanged(tuple: readonly string[], isPresent: boolean): void {
    const key = tupleKey(...tuple);
    const known = this.#derivations.get(key);
    if (isPresent) {
      if (known === undefined) this.#derivations.set(key, new Derivation(tuple, this.#dirty));
      return;
    }
    if (known === undefined) return;
    forgetReads(known);
    this.#derivations.delete(key);
    this.#dirty.delete(known);
    this.#failed.delete(known);
    this.table.delete(key);
  }
}
