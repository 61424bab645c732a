/** Who read what: the one mechanism by which a change of a fact finds what has to be worked out again. */
import { eachOf, withMember, withoutMember, type Members } from './members.ts';

/** Something that is worked out from facts, and again once one that it read has changed. */
export interface Reader {
  /** What it read last; written by the recorder alone. */
  reads: readonly Cell[];
  /** A fact that it read is another now. */
  invalidate(): void;
}

/** Facts that are worked out together, before whoever reads them. */
export interface Step {
  /** Something reads them. */
  noteRead(): void;
}

/** One thing that can be read: a fact, a field of a fact, a bucket of an index. */
export class Cell {
  #readers: Members<Reader>;

  add(reader: Reader): void {
    this.#readers = withMember(this.#readers, reader);
  }

  delete(reader: Reader): void {
    this.#readers = withoutMember(this.#readers, reader);
  }

  get isRead(): boolean {
    return this.#readers !== undefined;
  }

  invalidate(): void {
    for (const reader of eachOf(this.#readers)) reader.invalidate();
  }
}

/** Below this many cells a map of them is not worth looking through. */
const FEW_CELLS = 64;

/** Cells by key, made when they are read. Those that nobody reads any more go when the map has doubled. */
export class CellMap {
  readonly #cells = new Map<string, Cell>();
  #limit = FEW_CELLS;

  get size(): number {
    return this.#cells.size;
  }

  note(key: string, recorder: ReadRecorder): void {
    if (!recorder.isRecording) return;
    let cell = this.#cells.get(key);
    if (cell === undefined) this.#cells.set(key, (cell = new Cell()));
    recorder.note(cell);
  }

  /** Not to be called while something is recorded: a cell has its reader only when the reader has run. */
  invalidate(key: string): void {
    this.#cells.get(key)?.invalidate();
    if (this.#cells.size <= this.#limit) return;
    for (const [name, cell] of this.#cells) if (!cell.isRead) this.#cells.delete(name);
    this.#limit = Math.max(FEW_CELLS, 2 * this.#cells.size);
  }
}

/** Notes what is read while a reader runs. One for all tables whose facts are read together. */
export class ReadRecorder {
  #reads: Set<Cell> | undefined;

  note(cell: Cell): void {
    this.#reads?.add(cell);
  }

  get isRecording(): boolean {
    return this.#reads !== undefined;
  }

  /** Runs `task` and makes what it read the reads of `reader`, also when it throws: the next change of any of it is another chance. */
  run<T>(reader: Reader, task: () => T): T {
    const outer = this.#reads;
    const reads = new Set<Cell>();
    this.#reads = reads;
    try {
      return task();
    } finally {
      this.#reads = outer;
      for (const cell of reader.reads) if (!reads.has(cell)) cell.delete(reader);
      for (const cell of reads) cell.add(reader);
      reader.reads = [...reads];
    }
  }

  /** Runs `task` without noting anything, inside of a reader's run as well. */
  aside<T>(task: () => T): T {
    const outer = this.#reads;
    this.#reads = undefined;
    try {
      return task();
    } finally {
      this.#reads = outer;
    }
  }
}

/** The reader is gone: nothing invalidates it any more. */
export function forgetReads(reader: Reader): void {
  for (const cell of reader.reads) cell.delete(reader);
  reader.reads = [];
}
