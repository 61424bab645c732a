/** Open-addressing table of ids whose contents live elsewhere, each beside its hash. Ids are positive. */
export class IdTable {
  /** An id (0: free) and its hash for each place, so that a wrong one is passed over without a look elsewhere. */
  #slots: Uint32Array<ArrayBuffer> = new Uint32Array(32);
  #mask = 15;
  #size = 0;

  /** Places to probe, two words each: begin at `hash & mask`, go on to the next, stop at an id of 0. */
  get slots(): Uint32Array {
    return this.#slots;
  }

  get mask(): number {
    return this.#mask;
  }

  /** Adds an id that is known to be absent. `hash` is a word without a sign. */
  add(id: number, hash: number): void {
    if ((this.#size + 1) * 3 > (this.#mask + 1) * 2) this.#grow();
    this.#place(id, hash);
    this.#size++;
  }

  #place(id: number, hash: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let at = hash & mask;
    while (slots[at * 2] !== 0) at = (at + 1) & mask;
    slots[at * 2] = id;
    slots[at * 2 + 1] = hash;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length * 2);
    this.#mask = old.length - 1;
    for (let at = 0; at < old.length; at += 2) {
      const id = old[at] as number;
      if (id !== 0) this.#place(id, old[at + 1] as number);
    }
  }

  /** Removes an id, closing the gap so that no tombstones are needed. */
  remove(id: number, hash: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let at = hash & mask;
    while (slots[at * 2] !== id) {
      if (slots[at * 2] === 0) return;
      at = (at + 1) & mask;
    }
    let hole = at;
    let probe = at;
    for (;;) {
      probe = (probe + 1) & mask;
      const other = slots[probe * 2] as number;
      if (other === 0) break;
      const home = (slots[probe * 2 + 1] as number) & mask;
      // May move into the hole unless its home lies cyclically after it.
      if (((probe - home) & mask) >= ((probe - hole) & mask)) {
        slots[hole * 2] = other;
        slots[hole * 2 + 1] = slots[probe * 2 + 1] as number;
        hole = probe;
      }
    }
    slots[hole * 2] = 0;
    this.#size--;
  }
}

/** A longer copy of a column of numbers: half as much again, so that little is wasted. */
export function grown(array: Uint32Array, atLeast: number): Uint32Array<ArrayBuffer> {
  const copy = new Uint32Array(Math.max(atLeast, array.length + (array.length >> 1), 16));
  copy.set(array);
  return copy;
}
