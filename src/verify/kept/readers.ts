/** Who has read what: when a value changes, whoever read it is judged again, and nobody else. */

/** Something that is judged by itself. */
export interface Unit {
  readonly name: string;
  judge(): void;
  /** What it read when it was judged last, as the sets of readers that it is in. */
  readonly reads: Set<Set<Unit>>;
}

export class Readers {
  readonly #byKind = new Map<string, Map<string, Set<Unit>>>();
  readonly #stale = new Set<Unit>();
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
    for (const unit of this.#byKind.get(kind)?.get(key) ?? []) this.#stale.add(unit);
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
    this.#stale.add(unit);
  }

  remove(unit: Unit): void {
    this.#stale.delete(unit);
    this.#forget(unit);
  }

  /** Units that are to be judged again. */
  get waiting(): number {
    return this.#stale.size;
  }

  /** Judges one of those that wait; false when there is none. */
  judgeOne(): boolean {
    for (const unit of this.#stale) {
      this.#stale.delete(unit);
      this.#forget(unit);
      this.#current = unit;
      try {
        unit.judge();
      } finally {
        this.#current = undefined;
      }
      return true;
    }
    return false;
  }

  #forget(unit: Unit): void {
    for (const readers of unit.reads) readers.delete(unit);
    unit.reads.clear();
  }
}
