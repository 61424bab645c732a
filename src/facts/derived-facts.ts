/** Facts that follow from other facts, worked out again when what they were worked out from changes. */
import { errorText } from '../api/error-text.ts';
import { keyText, written, type Key, type KeySource } from './keys.ts';
import { forgetReads, type Cell, type Reader } from './reads.ts';
import type { DerivationGraph, FactFailure, GraphStep } from './derivation-graph.ts';
import { FactTable, type Buckets, type FactTableOptions } from './fact-table.ts';
import { FailedFact } from './unreadable.ts';

/** One that is worked out more often in one refresh follows from itself. */
const MOST_RUNS = 1000;

/** One key of a derived table, worked out again when what it was worked out from changes. */
class Derivation<K extends Key> implements Reader {
  reads: readonly Cell[] = [];
  readonly key: K;
  /** Of the key. */
  readonly text: string;
  readonly #dirty: Set<Derivation<K>>;
  /** The refresh in which it was worked out last, and how often. */
  wave = 0;
  runs = 0;

  constructor(key: K, text: string, dirty: Set<Derivation<K>>) {
    this.key = key;
    this.text = text;
    this.#dirty = dirty;
    this.invalidate();
  }

  invalidate(): void {
    this.#dirty.add(this);
  }
}

export interface DerivedFactsOptions<
  K extends Key,
  V,
  I extends Buckets,
  S extends Buckets,
> extends FactTableOptions<K, V, I, S> {
  /** The object that a fact is about, as `Kind namespace/name`: what is told when it can't be worked out. */
  readonly object?: (...key: K) => string;
}

/** Facts that follow from other facts, one for each key of the source: `derive` is a pure function of what it reads. */
export class DerivedFacts<
  K extends Key,
  V extends object,
  I extends Buckets = {},
  S extends Buckets = {},
> extends FactTable<K, V, I, S> {
  readonly #graph: DerivationGraph;
  readonly #step: GraphStep;
  readonly #derive: (...key: K) => V | undefined;
  readonly #objectOf: ((...key: K) => string) | undefined;
  readonly #derivations = new Map<string, Derivation<K>>();
  readonly #dirty = new Set<Derivation<K>>();
  readonly #failures = new Map<string, FactFailure>();

  constructor(
    name: string,
    graph: DerivationGraph,
    source: KeySource<K>,
    derive: (...key: K) => V | undefined,
    options: DerivedFactsOptions<K, V, I, S> = {},
  ) {
    const step = graph.add(name);
    super(name, graph.recorder, options, step);
    this.#graph = graph;
    this.#derive = derive;
    this.#objectOf = options.object;
    this.#step = step;
    step.work = {
      isDirty: () => this.#dirty.size > 0,
      run: () => this.#refresh(),
      failures: () => this.#failures.values(),
    };
    for (const before of source.steps) step.comesBehind(before);
    for (const key of source.keys()) this.#keyChanged(key, true, keyText(key));
    source.onKeys((key, isPresent, text) => this.#keyChanged(key, isPresent, text));
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
  #work(derivation: Derivation<K>): boolean {
    const { key, text } = derivation;
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
        value = this.#derive(...key);
      };
      if (!this.#graph.work(this.#step, () => this.#graph.recorder.run(derivation, run)))
        return false;
      this.putAs(text, written(key), value);
    } catch (error) {
      const object = this.#objectOf?.(...key) ?? `${this.name} ${key.join(' ')}`;
      this.#failures.set(text, { table: this.name, key, object, error });
      this.fail(written(key), `${this.name} of ${key.join(' ')}: ${errorText(error)}`);
      return true;
    }
    if (this.#failures.size > 0) this.#failures.delete(text);
    return true;
  }

  #keyChanged(key: K, isPresent: boolean, text: string): void {
    const known = this.#derivations.get(text);
    if (isPresent) {
      if (known === undefined) this.#derivations.set(text, new Derivation(key, text, this.#dirty));
      return;
    }
    if (known === undefined) return;
    forgetReads(known);
    this.#derivations.delete(text);
    this.#dirty.delete(known);
    this.#failures.delete(text);
    this.putAs(text, written(key), undefined);
  }
}

/** True if the fact itself could not be worked out, and not one that it follows from. */
export const isToBlame = ({ error }: FactFailure): boolean => !(error instanceof FailedFact);
