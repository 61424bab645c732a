import type { TableStore } from '../storage/table-store.ts';
import type { Turn, Work } from '../turn.ts';
import {
  CollectedChanges,
  FreshRows,
  longValues,
  type CountedChanges,
  type KnownValues,
} from './changes.ts';
import type { ReplicaTable } from './replica-table.ts';
import { DELETE, INSERT, REPLACE, type StagedRow, type StagedTable } from './staging.ts';

/** What a message does to one table, out of sight until it is shown. */
export interface TableStep {
  readonly name: string;
  /** Whether anything is different afterwards. */
  readonly isChanged: boolean;
  /** For subscribers; undefined until they were collected. */
  readonly changes: CountedChanges | undefined;
  /** Collects the changes, between `apply` and `show`. */
  collect(turn: Turn): Work;
}

/** The staged rows of one table on their way into it: at once, or into a draft of the table that is shown when all tables are ready. */
export class TableUpdate implements TableStep {
  readonly #table: ReplicaTable;
  readonly #staged: StagedTable;
  #draft: TableStore | undefined;
  #isChanged = false;
  #changes: CountedChanges | undefined;

  constructor(staged: StagedTable) {
    this.#table = staged.table;
    this.#staged = staged;
  }

  get name(): string {
    return this.#table.name;
  }

  get isChanged(): boolean {
    return this.#isChanged;
  }

  get changes(): CountedChanges | undefined {
    return this.#changes;
  }

  /** Applies rows that are few to what is shown; collects the changes when somebody wants them, unless that was done. */
  applyAtOnce(isWanted: boolean): void {
    const { store } = this.#table;
    const collected =
      isWanted && this.#changes === undefined ? new CollectedChanges(this.name) : undefined;
    const staged = this.#staged;
    for (let row = staged.first(); row !== undefined; row = staged.next(row)) {
      const changed = changedCells(this.#table, row);
      if (changed === undefined) continue;
      this.#isChanged = true;
      if (collected !== undefined)
        collect(collected, this.#table, row, changed, unexpressed(this.#table, row));
      applyRow(store, row, changed);
    }
    this.#changes ??= collected;
  }

  /** Applies the rows to a draft of the table. */
  *apply(turn: Turn): Work {
    const staged = this.#staged;
    const { store } = this.#table;
    if (staged.fresh !== undefined) {
      this.#draft = staged.fresh;
      this.#isChanged = staged.fresh.size > 0;
      yield* staged.fresh.settleFollowers(turn);
      return;
    }
    for (let row = staged.first(); row !== undefined; row = staged.next(row)) {
      const changed = changedCells(this.#table, row);
      if (changed !== undefined) {
        this.#isChanged = true;
        this.#draft ??= store.draft();
        applyRow(this.#draft, row, changed);
      }
      if (turn.isOver()) yield;
    }
    if (this.#draft !== undefined) yield* this.#draft.settleFollowers(turn);
  }

  *collect(turn: Turn): Work {
    const staged = this.#staged;
    if (staged.fresh !== undefined) {
      this.#changes = yield* FreshRows.of(staged.fresh, turn);
      return;
    }
    const collected = new CollectedChanges(this.name);
    for (let row = staged.first(); row !== undefined; row = staged.next(row)) {
      const changed = changedCells(this.#table, row);
      if (changed !== undefined) {
        const known = yield* this.#known(row, changed, turn);
        collect(collected, this.#table, row, changed, known);
      }
      if (turn.isOver()) yield;
    }
    this.#changes = collected;
  }

  /** Old values that the cells do not hold, and those that take long to decode. */
  *#known(row: StagedRow, changed: readonly number[], turn: Turn): Work<KnownValues | undefined> {
    if (row.kind === INSERT) return undefined;
    const { store } = this.#table;
    const known = unexpressed(this.#table, row);
    if (!store.pools.hasLong) return known;
    const positions = row.kind === DELETE ? undefined : changed.filter((_word, i) => i % 2 === 0);
    return yield* longValues(store, store.slotOf(row.uuid), positions, known, turn);
  }

  /** Shows the draft, and returns it: it must be settled. */
  show(): TableStore | undefined {
    if (this.#draft !== undefined) this.#table.store.show(this.#draft);
    return this.#draft;
  }

  /** The draft will not be shown; it must be settled. */
  giveUp(): TableStore | undefined {
    this.#table.store.undraft();
    return this.#draft;
  }
}

/** All rows of a table that the database has no more. */
export class GoneTable implements TableStep {
  readonly #store: TableStore;
  readonly isChanged = true;
  #changes: CountedChanges | undefined;

  constructor(store: TableStore) {
    this.#store = store;
  }

  get name(): string {
    return this.#store.schema.name;
  }

  get changes(): CountedChanges | undefined {
    return this.#changes;
  }

  *collect(turn: Turn): Work {
    const collected = new CollectedChanges(this.name);
    for (const slot of this.#store.slots()) {
      const known = yield* longValues(this.#store, slot, undefined, undefined, turn);
      collected.deleted(this.#store, slot, known);
      if (turn.isOver()) yield;
    }
    this.#changes = collected;
  }
}

const NONE: readonly number[] = [];

/** Columns that a staged row changes, each followed by its new cell; undefined when it changes nothing. */
function changedCells(table: ReplicaTable, row: StagedRow): readonly number[] | undefined {
  const { store } = table;
  const { kind, words, from, to } = row;
  if (kind === INSERT || kind === DELETE) return NONE;
  const slot = store.slotOf(row.uuid);
  const changed: number[] = [];
  for (let i = from; i < to; i += 2) {
    const [position, cell] = [words[i] as number, words[i + 1] as number];
    if (store.cell(slot, position) !== cell) changed.push(position, cell);
  }
  if (kind === REPLACE) {
    // Columns that are not named have their default.
    for (const { position, codec } of store.columns) {
      if (store.cell(slot, position) === codec.defaultCell) continue;
      let i = from;
      while (i < to && words[i] !== position) i += 2;
      if (i >= to) changed.push(position, codec.defaultCell);
    }
    // What could not be kept differs from whatever there is now.
    for (const position of table.unexpressed.get(slot)?.keys() ?? []) {
      if (!changed.some((word, i) => i % 2 === 0 && word === position))
        changed.push(position, store.cell(slot, position));
    }
  }
  return changed.length === 0 ? undefined : changed;
}

function applyRow(store: TableStore, row: StagedRow, changed: readonly number[]): void {
  const { kind, uuid, words, from, to } = row;
  if (kind === INSERT) {
    const slot = store.insert(uuid);
    for (let i = from; i < to; i += 2) store.set(slot, words[i] as number, words[i + 1] as number);
    store.finish(slot);
    return;
  }
  const slot = store.slotOf(uuid);
  if (kind === DELETE) {
    store.delete(slot);
    return;
  }
  const columns = store.hasFollowers
    ? new Set(changed.filter((_word, i) => i % 2 === 0))
    : undefined;
  store.begin(slot, columns);
  for (let i = 0; i < changed.length; i += 2) {
    store.set(slot, changed[i] as number, changed[i + 1] as number);
  }
  store.finish(slot, columns);
}

/** Notes what a staged row is about to change in what is shown. */
function collect(
  collected: CollectedChanges,
  table: ReplicaTable,
  row: StagedRow,
  changed: readonly number[],
  known: KnownValues | undefined,
): void {
  const { store } = table;
  if (row.kind === INSERT) collected.inserted(store, row.uuid);
  else {
    const slot = store.slotOf(row.uuid);
    if (row.kind === DELETE) collected.deleted(store, slot, known);
    else if (!table.isQuiet(changed)) collected.modified(store, slot, changed, known);
  }
}

/** Old values of a row that its cells do not hold. */
const unexpressed = (table: ReplicaTable, row: StagedRow): KnownValues | undefined =>
  table.unexpressed.size === 0 ? undefined : table.unexpressed.get(table.store.slotOf(row.uuid));
