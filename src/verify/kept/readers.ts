/** Who has read what: when a value changes, whoever read it is judged again, and nobody else. */

/** Something that is judged by itself. */
export interface Unit {
  readonly name: string;
  /** Its steps, after each of which others may have their turn. */
  judge(): Iterator<undefined, void>;
  /** It takes many steps: those that take one come first. */
  readonly isLong: boolean;
  /** What it read when it was judged last, as the sets of readers that it is in. */
  readonly reads: Set<Set<Unit>>;
}

interface Running {
  readonly unit: Unit;
  readonly steps: Iterator<undefined, void>;
}

export class Readers {
  readonly #byKind = new Map<string, Map<string, Set<Unit>>>();
  readonly #stale = new Set<Unit>();
  /** Those of many steps. */
  readonly #later = new Set<Unit>();
  #running: Running | undefined;
  #current: Unit | undefined;

  /** The unit that is judged at the moment reads the value of that key. */
  note(kind: string, key: string): void {
    const unit = this.#current;
    if (unit === undefined) return;
    const ofKind = this.#byKind.get(kind) ?? new Map<string, Set<Unit>>();
    this.#byKind.set(kind, ofKind);
    const readers = ofKind.get(key) ?? new Set<Unit>();
    ofKind.set(key, readers);
    readers.add(unit);
    unit.reads.add(readers);
  }

  /** The value of that key is another one. */
  changed(kind: string, key: string): void {
    for (const unit of this.#byKind.get(kind)?.get(key) ?? []) this.add(unit);
  }

  /** Keys of a kind that somebody reads. */
  keysOf(kind: string): readonly string[] {
    const ofKind = this.#byKind.get(kind);
    if (ofKind === undefined) return [];
    const keys: string[] = [];
    for (const [key, readers] of ofKind)
      if (readers.size > 0) keys.push(key);
      else ofKind.delete(key);
    return keys;
  }

  add(unit: Unit): void {
    (unit.isLong ? this.#later : this.#stale).add(unit);
  }

  remove(unit: Unit): void {
    this.#stale.delete(unit);
    this.#later.delete(unit);
    if (this.#running?.unit === unit) this.#running = undefined;
    this.#forget(unit);
  }

  /** Units that are to be judged again. */
  get waiting(): number {
    return this.#stale.size + this.#later.size + (this.#running === undefined ? 0 : 1);
  }

  /** Takes a step of one of those that wait; false when there is none. */
  step(): boolean {
    const [unit] = this.#stale;
    if (unit !== undefined) {
      this.#stale.delete(unit);
      this.#begin(unit);
      return true;
    }
    if (this.#running === undefined) {
      const [next] = this.#later;
      if (next === undefined) return false;
      this.#later.delete(next);
      this.#begin(next);
      return true;
    }
    this.#go(this.#running);
    return true;
  }

  #begin(unit: Unit): void {
    this.#forget(unit);
    const running = { unit, steps: unit.judge() };
    if (unit.isLong) this.#running = running;
    this.#go(running);
  }

  /** What it has read and is another one before its end has it judged again after that. */
  #go({ unit, steps }: Running): void {
    this.#current = unit;
    let isDone: boolean | undefined = true;
    try {
      isDone = steps.next().done;
    } finally {
      this.#current = undefined;
      if (isDone === true && this.#running?.unit === unit) this.#running = undefined;
    }
  }

  #forget(unit: Unit): void {
    for (const readers of unit.reads) readers.delete(unit);
    unit.reads.clear();
  }
}
