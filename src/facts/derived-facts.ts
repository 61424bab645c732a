/** Facts that follow from other facts, worked out again when what they were worked out from changes. */
import { errorText } from '../api/error-text.ts';
import { tupleKey, type KeySource } from './keys.ts';
import { forgetReads, type Cell, type Reader } from './reads.ts';
import type { DerivationGraph, FactFailure, GraphStep } from './derivation-graph.ts';
import { FactTable, type FactTableOptions } from './fact-table.ts';
import { FailedFact } from './unreadable.ts';

/** One that is worked out more often in one refresh follows from itself. */
const MOST_RUNS = 1000;

/** One key of a derived table, worked out again when what it was worked out from changes. */
class Derivation implements Reader {
  reads: readonly Cell[] = [];
  readonly tuple: readonly string[];
  readonly #dirty: Set<Derivation>;
  /** The refresh in which it was worked out last, and how often. */
  wave = 0;
  runs = 0;

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
  readonly #graph: DerivationGraph;
  readonly #step: GraphStep;
  readonly #derive: (...key: readonly string[]) => V | undefined;
  readonly #derivations = new Map<string, Derivation>();
  readonly #dirty = new Set<Derivation>();
  readonly #failed = new Map<string, FactFailure>();

  constructor(
    name: string,
    graph: DerivationGraph,
    source: KeySource,
    derive: (...key: readonly string[]) => V | undefined,
    options: FactTableOptions<V> = {},
  ) {
    this.#graph = graph;
    this.#derive = derive;
    this.#step = graph.add({
      name,
      isDirty: () => this.#dirty.size > 0,
      run: () => this.#refresh(),
      failures: () => this.#failed.values(),
    });
    for (const step of source.steps) this.#step.comesBehind(step);
    this.table = new FactTable(name, graph.recorder, options, this.#step);
    for (const tuple of source.tuples()) this.#keyChanged(tuple, true);
    source.onKeys((tuple, isPresent) => this.#keyChanged(tuple, isPresent));
  }

  get isDirty(): boolean {
    return this.#dirty.size > 0;
  }

  /** Works out what is not up to date, until something before it in the order is not. */
  #refresh(): void {
    for (const derivation of this.#dirty) {
      this.#dirty.delete(derivation);
      if (!this.#work(derivation)) {
        // It waits where it was: in which order facts come does not follow from what was known of the order of tables.
        const rest = [...this.#dirty];
        this.#dirty.clear();
        for (const one of [derivation, ...rest]) this.#dirty.add(one);
        return;
      }
    }
  }

  /** Returns false if it has to wait. */
  #work(derivation: Derivation): boolean {
    const { tuple } = derivation;
    const key = tupleKey(...tuple);
    const { wave } = this.#graph;
    derivation.runs = derivation.wave === wave ? derivation.runs + 1 : 1;
    derivation.wave = wave;
    let value: V | undefined;
    try {
      if (derivation.runs > MOST_RUNS) {
        forgetReads(derivation);
        throw new Error('it follows from itself');
      }
      const run = (): void => {
        value = this.#derive(...tuple);
      };
      if (!this.#graph.work(this.#step, () => this.#graph.recorder.run(derivation, run)))
        return false;
      this.table.put(key, value);
    } catch (error) {
      this.#failed.set(key, { table: this.table.name, key: tuple, error });
      this.table.fail(key, `${this.table.name} of ${tuple.join(' ')}: ${errorText(error)}`);
      return true;
    }
    this.#failed.delete(key);
    return true;
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
    this.#failed.delete(key);
    this.table.delete(key);
  }
}

/** True if the fact itself could not be worked out, and not one that it follows from. */
export const isToBlame = ({ error }: FactFailure): boolean => !(error instanceof FailedFact);
