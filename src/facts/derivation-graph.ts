/**
 * In which order facts follow from each other. Nobody writes it down: a table comes behind those that its keys come from, and behind each
 * that it was found to read.
 */
import type { Key } from './keys.ts';
import type { ReadRecorder, Step } from './reads.ts';

/** Ends a run that reads what is not up to date yet: it is run again behind that. */
class NotYet extends Error {}

/** A fact that could not be worked out. */
export interface FactFailure {
  readonly table: string;
  readonly key: Key;
  /** What it is about. */
  readonly object: string;
  readonly error: unknown;
}

/** How facts are brought up to date; nothing where others keep them as keys come and go. */
interface StepWork {
  readonly isDirty?: () => boolean;
  readonly run?: () => void;
  readonly failures?: () => Iterable<FactFailure>;
}

/** Facts that are brought up to date together: a derived table, or one that others keep as keys come and go. */
export class GraphStep implements Step {
  readonly name: string;
  /** Steps that are behind this one in the order have a higher rank. */
  rank = 0;
  work: StepWork = {};
  readonly #graph: DerivationGraph;
  readonly #before = new Set<GraphStep>();
  readonly #behind = new Set<GraphStep>();

  constructor(graph: DerivationGraph, name: string) {
    this.#graph = graph;
    this.name = name;
  }

  get isDirty(): boolean {
    return this.work.isDirty?.() ?? false;
  }

  run(): void {
    this.work.run?.();
  }

  /** Facts of it that could not be worked out. */
  failures(): Iterable<FactFailure> {
    return this.work.failures?.() ?? [];
  }

  /** Something that is worked out reads this. Throws when it has to wait. */
  noteRead(): void {
    const reader = this.#graph.running;
    if (reader === undefined || reader === this || reader.#before.has(this)) return;
    reader.comesBehind(this);
    if (this.#graph.isAnyDirtyBefore(reader)) throw new NotYet();
  }

  /** From now on this step comes behind that one. */
  comesBehind(other: Step): void {
    if (!(other instanceof GraphStep) || other === this || this.#before.has(other)) return;
    this.#before.add(other);
    const circle = this.#wayTo(other);
    if (circle !== undefined) {
      this.#graph.noteCircle([...circle, this].map(({ name }) => name).join(' → '));
      return;
    }
    other.#behind.add(this);
    this.#raise(other.rank + 1);
    this.#graph.reorder();
  }

  #raise(rank: number): void {
    if (this.rank >= rank) return;
    this.rank = rank;
    for (const step of this.#behind) step.#raise(rank + 1);
  }

  /** The way from this step to one behind it. */
  #wayTo(other: GraphStep): readonly GraphStep[] | undefined {
    const came = new Map<GraphStep, GraphStep | undefined>([[this, undefined]]);
    for (const step of came.keys()) {
      if (step === other) {
        const way: GraphStep[] = [];
        for (let at: GraphStep | undefined = step; at !== undefined; at = came.get(at))
          way.unshift(at);
        return way;
      }
      for (const next of step.#behind) if (!came.has(next)) came.set(next, step);
    }
    return undefined;
  }
}

export class DerivationGraph {
  readonly recorder: ReadRecorder;
  /** Steps that follow from themselves, as one text each. There are none: a test says so. */
  readonly circles: string[] = [];
  /** The step of which something is worked out. */
  running: GraphStep | undefined;
  /** Grows with each refresh. */
  wave = 0;
  #steps: GraphStep[] = [];
  #isReordered = false;

  constructor(recorder: ReadRecorder) {
    this.recorder = recorder;
  }

  add(name: string): GraphStep {
    const step = new GraphStep(this, name);
    this.#steps.push(step);
    this.#isReordered = true;
    return step;
  }

  /** Names of the steps, in their order. */
  get order(): readonly string[] {
    return this.#steps.toSorted((a, b) => a.rank - b.rank).map(({ name }) => name);
  }

  /** Facts that could not be worked out: each stays what it was, and who asks for it by its key is told so. */
  *failures(): Generator<FactFailure, void> {
    for (const step of this.#steps) yield* step.failures();
  }

  /** Brings everything up to date that is not. Never throws: what can't be worked out is a failure of its key. */
  refresh(): void {
    this.wave += 1;
    for (let isDirty = true; isDirty;) {
      isDirty = false;
      if (this.#isReordered) this.#steps.sort((a, b) => a.rank - b.rank);
      this.#isReordered = false;
      for (const step of this.#steps) {
        if (!step.isDirty) continue;
        isDirty = true;
        step.run();
        if (this.#isReordered) break;
      }
    }
  }

  /**
   * Runs `task`, which works out something of a step. Returns false when it has to wait for facts that it was not known to read: it is to be
   * run again.
   */
  work(step: GraphStep, task: () => void): boolean {
    this.running = step;
    try {
      task();
      return true;
    } catch (error) {
      if (error instanceof NotYet) return false;
      throw error;
    } finally {
      this.running = undefined;
    }
  }

  isAnyDirtyBefore(step: GraphStep): boolean {
    return this.#steps.some((other) => other.rank < step.rank && other.isDirty);
  }

  reorder(): void {
    this.#isReordered = true;
  }

  noteCircle(circle: string): void {
    this.circles.push(circle);
  }
}
