import { grown } from './id-table.ts';

/** What is noted of a slot. */
const IN = 1;
const LISTED = 2;

/** A set of slots, quicker than a `Set` when many come at once. */
export class SlotSet {
  #marks = new Uint8Array(64);
  /** Slots in the order in which they came; some may be gone since, or be there twice. */
  #list: Uint32Array = new Uint32Array(64);
  #length = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(slot: number): boolean {
    return this.#marks[slot] === IN;
  }

  add(slot: number): void {
    if (this.has(slot)) return;
    if (slot >= this.#marks.length) {
      const marks = new Uint8Array(slot * 2);
      marks.set(this.#marks);
      this.#marks = marks;
    }
    if (this.#length >= this.#list.length) {
      const slots = this.slots;
      this.#list = slots.length * 2 > this.#list.length ? grown(this.#list, 0) : this.#list;
      this.#list.set(slots);
      this.#length = slots.length;
    }
    this.#marks[slot] = IN;
    this.#list[this.#length++] = slot;
    this.#size++;
  }

  /** False when it was not there. */
  delete(slot: number): boolean {
    if (!this.has(slot)) return false;
    this.#marks[slot] = 0;
    this.#size--;
    return true;
  }

  /** A copy of what is in it. */
  get slots(): Uint32Array {
    const slots = new Uint32Array(this.#size);
    const marks = this.#marks;
    let count = 0;
    for (let i = 0; i < this.#length; i++) {
      const slot = this.#list[i] as number;
      if (marks[slot] !== IN) continue;
      slots[count++] = slot;
      marks[slot] = LISTED;
    }
    for (const slot of slots) marks[slot] = IN;
    return slots;
  }

  clear(): void {
    for (let i = 0; i < this.#length; i++) this.#marks[this.#list[i] as number] = 0;
    this.#length = 0;
    this.#size = 0;
  }

  copy(): SlotSet {
    const copy = new SlotSet();
    copy.#marks = this.#marks.slice();
    copy.#list = this.#list.slice();
    copy.#length = this.#length;
    copy.#size = this.#size;
    return copy;
  }
}
