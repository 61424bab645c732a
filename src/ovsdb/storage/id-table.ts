/** Open-addressing table of ids whose hashes and contents live elsewhere. Ids are positive. */
export class IdTable {
  /** 0: free. */
  #slots: Uint32Array<ArrayBuffer> = new Uint32Array(16);
  #mask = 15;
  #size = 0;
  readonly #hashOf: (id: number) => number;

  constructor(hashOf: (id: number) => number) {
    this.#hashOf = hashOf;
  }

  /** The slots to probe: start at `first(hash)`, go on with `next`, stop at 0. */
  get slots(): Uint32Array {
    return this.#slots;
  }

  get mask(): number {
    return this.#mask;
  }

  /** The same ids, to be changed independently. */
  copy(hashOf: (id: number) => number): IdTable {
    const copy = new IdTable(hashOf);
    copy.#slots = this.#slots.slice();
    copy.#mask = this.#mask;
    copy.#size = this.#size;
    return copy;
  }

  /** Takes over the ids of another table, which is not to be used afterwards. */
  take(other: IdTable): void {
    this.#slots = other.#slots;
    this.#mask = other.#mask;
    this.#size = other.#size;
  }

  /** Adds an id that is known to be absent. */
  add(id: number, hash: number): void {
    if ((this.#size + 1) * 3 > this.#slots.length * 2) this.#grow();
    this.#place(id, hash);
    this.#size++;
  }

  #place(id: number, hash: number): void {
    let at = hash & this.#mask;
    while (this.#slots[at] !== 0) at = (at + 1) & this.#mask;
    this.#slots[at] = id;
  }

  /** Makes room for so many ids in all. */
  reserve(size: number): void {
    while (size * 3 > this.#slots.length * 2) this.#grow();
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length * 2);
    this.#mask = this.#slots.length - 1;
    for (const id of old) if (id !== 0) this.#place(id, this.#hashOf(id));
  }

  /** Removes an id, closing the gap so that no tombstones are needed. */
  remove(id: number, hash: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let at = hash & mask;
    while (slots[at] !== id) {
      if (slots[at] === 0) return;
      at = (at + 1) & mask;
    }
    let hole = at;
    let probe = at;
    for (;;) {
      probe = (probe + 1) & mask;
      const other = slots[probe] as number;
      if (other === 0) break;
      const home = this.#hashOf(other) & mask;
      // May move into the hole unless its home lies cyclically after it.
      if (((probe - home) & mask) >= ((probe - hole) & mask)) {
        slots[hole] = other;
        hole = probe;
      }
    }
    slots[hole] = 0;
    this.#size--;
  }
}

/** A longer copy of a column of numbers: half as much again, so that little is wasted. */
export function grown(array: Uint32Array, atLeast: number): Uint32Array<ArrayBuffer> {
  const copy = new Uint32Array(Math.max(atLeast, array.length + (array.length >> 1), 16));
  copy.set(array);
  return copy;
}
