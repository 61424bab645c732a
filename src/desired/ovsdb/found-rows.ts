/** The rows of the database by key: which key each has, by which row it is known, and whether it is ours. */
import type {
  ReplicaChanges,
  ReplicaRow,
  ReplicaView,
  RowChange,
  TableChanges,
} from 'ovsdb-client-ts';
import { MARK, RowReference } from '../rows.ts';
import type { ClaimedTable, ClaimedTables, Entry } from './claimed-table.ts';
import { ComparedSets } from './compared-sets.ts';

export const asMembers = (value: unknown): readonly string[] =>
  Array.isArray(value) ? (value as readonly string[]) : [];

/** Subscribers to changes of the database. */
export interface FoundRowsListener {
  /** A row of this entry appeared, changed or vanished. */
  touched(entry: Entry): void;
  /** Something else changed that decides about what the entry's owner refers to. */
  affected(entry: Entry): void;
  /** Whether rows of the table are ours may be decided otherwise now. */
  recheck(table: ClaimedTable): void;
}

/** A row whose key could not be told: unmanaged until it can. */
export interface UnreadRow {
  readonly table: ClaimedTable;
  readonly uuid: string;
  readonly error: unknown;
  readonly attempt: number;
  /** Milliseconds on the clock of plans; when it is tried again. */
  readonly until: number;
}

/** Milliseconds after the first failed attempt, doubled up to the longest. */
const [FIRST_REST, LONGEST_REST] = [100, 30_000];

/** A row to be looked at, and whether its mark changed. */
type Queue = Map<string, readonly [ClaimedTable, string, isMarkChanged: boolean]>;

export class FoundRows {
  /** UUIDs of rows without our mark that were given to us to remove. */
  readonly takenOver = new Set<string>();
  /** Sets of their rows that were compared, and what changed in them since. */
  readonly compared = new ComparedSets();
  readonly #unread = new Map<string, UnreadRow>();
  /** The clock of plans, as the last one had it. */
  #now = 0;
  readonly #replica: ReplicaView;
  readonly #tables: ClaimedTables;
  readonly #listener: FoundRowsListener;
  /** Tables of rows by whose mark rows of other tables are ours. */
  readonly #markers = new Set<string>();
  #isFilled = false;

  constructor(replica: ReplicaView, tables: ClaimedTables, listener: FoundRowsListener) {
    this.#replica = replica;
    this.#tables = tables;
    this.#listener = listener;
  }

  /** Reads which rows of the database have which keys, once. No subscriber is called. */
  fill(): void {
    if (this.#isFilled) return;
    this.#isFilled = true;
    for (const table of this.#tables.values()) {
      if (!table.isPresent) continue;
      const containers = this.#containersIn(table);
      for (const row of this.#replica.rows(table.name)) {
        const container = containers?.get(row.uuid);
        this.#attach(table, row, () =>
          container === 'several' ? this.containerOf(table, row) : container,
        );
      }
    }
  }

  /** The rows that hold those of a table without names: read from the holders, which are fewer. */
  #containersIn({
    claim,
  }: ClaimedTable): ReadonlyMap<string, RowReference | 'several'> | undefined {
    const { container } = claim;
    if (container === undefined) return undefined;
    const result = new Map<string, RowReference | 'several'>();
    if (!this.#replica.hasColumn(container.table, container.column)) return result;
    for (const holder of this.#replica.rows(container.table)) {
      const reference = this.#referenceTo(container.table, holder) ?? 'several';
      for (const uuid of asMembers(holder.column(container.column)))
        result.set(uuid, result.has(uuid) ? 'several' : reference);
    }
    return result;
  }

  /** Undefined for a holder without a key; of one whose key can't be told its members say so. */
  #referenceTo(name: string, holder: ReplicaRow): RowReference | undefined {
    try {
      const key = this.#keyOf(name, holder);
      return key === undefined ? undefined : new RowReference(name, key);
    } catch {
      return undefined;
    }
  }

  #keyOf(name: string, row: ReplicaRow): string | undefined {
    const table = this.#tables.get(name);
    return table?.claim.keyOf(row, this.containerOf(table, row));
  }

  /** The row that identifies this one. Held by several, it belongs to one of ours, or to the one with the lowest UUID. */
  containerOf(table: ClaimedTable, row: ReplicaRow): RowReference | undefined {
    const { container } = table.claim;
    if (container === undefined) return undefined;
    const holders = this.#replica
      .referrers(table.name, row.uuid)
      .filter((r) => r.table === container.table && r.column === container.column)
      .map((r) => this.#replica.row(r.table, r.uuid))
      .filter((holder) => holder !== undefined)
      .sort((a, b) => (a.uuid < b.uuid ? -1 : 1));
    const holder =
      holders.find((one) => holders.length > 1 && this.isOurs(container.table, one)) ?? holders[0];
    const key = holder === undefined ? undefined : this.#keyOf(container.table, holder);
    return key === undefined ? undefined : new RowReference(container.table, key);
  }

  /**
   * The object for which a row is there, by its mark or that of the row that it is known by; undefined = not ours. A row that
   * can't be marked is ours as well when it has the UUID that we gave it, whatever became of the row that it is known by.
   */
  markOf(name: string, row: ReplicaRow): string | undefined {
    const table = this.#tables.get(name);
    if (table === undefined) return undefined;
    if (table.claim.markedBy === undefined) return table.markOf(row);
    for (const marker of this.knownBy(table, row)) {
      const mark = this.markOf(marker.table, marker);
      if (mark !== undefined) return mark;
    }
    const key = table.byUuid.get(row.uuid)?.key;
    return key !== undefined && table.rowUuid(key) === row.uuid ? '' : undefined;
  }

  /** The rows whose mark says whose a row is: itself, or, where it can't be marked, those that it belongs to. */
  knownBy(table: ClaimedTable, row: ReplicaRow): readonly ReplicaRow[] {
    const { markedBy } = table.claim;
    if (markedBy === undefined) return [row];
    return markedBy(row, this.containerOf(table, row)).flatMap((by) => {
      const entry = this.#tables.get(by.table)?.entries.get(by.key);
      return entry === undefined ? [] : this.rowsOf(entry);
    });
  }

  /** Rows of the database that have the key of an entry. */
  rowsOf({ table, found }: Entry): readonly ReplicaRow[] {
    return found
      .map((uuid) => this.#replica.row(table.name, uuid))
      .filter((row) => row !== undefined);
  }

  isOurs(name: string, row: ReplicaRow): boolean {
    const table = this.#tables.get(name);
    if (table === undefined) return false;
    const isMarked =
      table.claim.markedBy === undefined
        ? table.isMarked(row)
        : this.markOf(name, row) !== undefined;
    return isMarked || this.takenOver.has(row.uuid);
  }

  /** Takes note of rows that appeared, changed, vanished, and of rows that became or ceased to be members of a set. */
  observe(changes: ReplicaChanges): void {
    if (!this.#isFilled) return;
    const queue: Queue = new Map();
    const enqueue = (table: ClaimedTable, uuid: string, isMarkChanged = false): void => {
      if (isMarkChanged || !queue.has(uuid)) queue.set(uuid, [table, uuid, isMarkChanged]);
    };
    for (const tableChanges of changes.tables.values()) {
      const { table: name, rows } = tableChanges;
      const table = this.#tables.get(name);
      if (table === undefined) continue;
      for (const change of rows) {
        const columns = changedColumns(change, tableChanges);
        const isMarkChanged =
          columns?.includes('external_ids') === true && this.#isMarkChanged(table, change);
        this.#noteMoved(change, columns, tableChanges);
        if (columns === undefined || isForUs(table, columns))
          enqueue(table, change.uuid, isMarkChanged);
        for (const [column, members] of table.holds)
          if (columns === undefined || columns.includes(column))
            for (const uuid of this.#movedMembers(name, column, change, tableChanges))
              enqueue(members, uuid);
      }
    }
    this.#work(queue);
  }

  /** Rows whose keys could not be told, and why. */
  get unread(): readonly UnreadRow[] {
    return [...this.#unread.values()];
  }

  /** Tries those again whose rest is over at `now`, milliseconds on a monotonic clock. */
  retry(now: number): void {
    this.#now = now;
    const queue: Queue = new Map();
    for (const { table, uuid, until } of this.#unread.values())
      if (until <= now) queue.set(uuid, [table, uuid, false]);
    this.#work(queue);
  }

  #work(queue: Queue): void {
    const enqueue = (table: ClaimedTable, uuid: string): void => {
      if (!queue.has(uuid)) queue.set(uuid, [table, uuid, false]);
    };
    for (const [table, uuid, isMarkChanged] of queue.values()) {
      const isKeyChanged = this.#identify(table, uuid);
      if (!isKeyChanged && !isMarkChanged) continue;
      // Which row stands for a key decides about all that hangs on it.
      this.noteAffected(table, uuid);
      if (this.#markers.has(table.name))
        for (const other of this.#tables.values())
          if (other.claim.markedBy !== undefined) this.#listener.recheck(other);
      const row = this.#replica.row(table.name, uuid);
      if (row === undefined) continue;
      // Other keys for the rows that are known by it.
      for (const dependent of this.#tables.values()) {
        const { container } = dependent.claim;
        if (container?.table !== table.name) continue;
        if (!this.#replica.hasColumn(table.name, container.column)) continue;
        for (const member of asMembers(row.column(container.column))) enqueue(dependent, member);
      }
    }
  }

  #isMarkChanged(table: ClaimedTable, { uuid, old }: RowChange): boolean {
    if (table.ids === undefined) return false;
    const ids = old.get('external_ids');
    const row = this.#replica.row(table.name, uuid);
    return (ids instanceof Map && ids.has(MARK)) !== (row?.includes('external_ids', MARK) === true);
  }

  /** Members that came or went in sets that were compared. */
  #noteMoved(
    change: RowChange,
    columns: readonly string[] | undefined,
    changes: TableChanges,
  ): void {
    const { uuid } = change;
    if (columns === undefined) {
      this.compared.forget(uuid);
      return;
    }
    for (const column of this.compared.columns(uuid))
      if (columns.includes(column))
        this.compared.moved(
          uuid,
          column,
          this.#movedMembers(changes.table, column, change, changes),
        );
  }

  /** What entered or left a set. */
  #movedMembers(
    table: string,
    column: string,
    change: RowChange,
    changes: TableChanges,
  ): Iterable<string> {
    const moved = changes.moved?.(change.uuid, column);
    if (moved !== undefined) return moved as readonly string[];
    const before = asMembers(change.old.get(column));
    const row = change.kind === 'deleted' ? undefined : this.#replica.row(table, change.uuid);
    const after = row === undefined ? [] : asMembers(row.column(column));
    return new Set(before).symmetricDifference(new Set(after));
  }

  /** Finds a row's key anew; true when it is another one than before. */
  #identify(table: ClaimedTable, uuid: string): boolean {
    const before = table.byUuid.get(uuid);
    const row = this.#replica.row(table.name, uuid);
    if (before !== undefined) {
      before.detach(uuid as never);
      table.byUuid.delete(uuid);
    }
    if (row === undefined) {
      this.takenOver.delete(uuid);
      this.#unread.delete(uuid);
    }
    const after =
      row === undefined ? undefined : this.#attach(table, row, () => this.containerOf(table, row));
    if (after !== undefined) this.#listener.touched(after);
    if (after?.isFoundTwice === true)
      for (const twin of after.found) this.noteAffected(table, twin);
    const isKeyChanged = before !== after;
    if (before !== undefined && isKeyChanged) {
      this.#listener.touched(before);
      for (const other of before.found) this.noteAffected(table, other);
    }
    return isKeyChanged;
  }

  #attach(
    table: ClaimedTable,
    row: ReplicaRow,
    containerOf: () => RowReference | undefined,
  ): Entry | undefined {
    let key: string | undefined;
    try {
      const container = containerOf();
      key = table.claim.keyOf(row, container);
      if (key !== undefined)
        for (const marker of table.claim.markedBy?.(row, container) ?? [])
          this.#markers.add(marker.table);
    } catch (error) {
      this.#leave(table, row.uuid, error);
      return undefined;
    }
    this.#unread.delete(row.uuid);
    if (key === undefined) return undefined;
    const entry = table.entry(key);
    entry.attach(row.uuid);
    table.byUuid.set(row.uuid, entry);
    return entry;
  }

  #leave(table: ClaimedTable, uuid: string, error: unknown): void {
    const attempt = (this.#unread.get(uuid)?.attempt ?? 0) + 1;
    const rest = Math.min(LONGEST_REST, FIRST_REST * 2 ** Math.min(attempt - 1, 20));
    this.#unread.set(uuid, { table, uuid, error, attempt, until: this.#now + rest });
  }

  /**
   * An entry is wanted from now on: of what it holds something may have to leave it, which nobody could say as long as nobody wanted it.
   * Unless it has one row, which is ours, another row may stand for it, or none.
   */
  noteWanted({ table, found, onlyFound }: Entry): void {
    if (found.length === 0 || !isLinked(table)) return;
    const row = onlyFound === undefined ? undefined : this.#replica.row(table.name, onlyFound);
    if (row !== undefined && this.isOurs(table.name, row)) this.#noteMembers(table, row);
    else for (const uuid of found) this.noteAffected(table, uuid);
  }

  #noteMembers(table: ClaimedTable, row: ReplicaRow): void {
    for (const [column, members] of table.holds)
      for (const member of asMembers(row.column(column))) {
        const entry = members.byUuid.get(member);
        if (entry !== undefined) this.#listener.affected(entry);
      }
  }

  /** Notes those that a row holds and those that refer to it in a column of their own. */
  noteAffected(table: ClaimedTable, uuid: string): void {
    const row = isLinked(table) ? this.#replica.row(table.name, uuid) : undefined;
    if (row === undefined) return;
    this.#noteMembers(table, row);
    if (!table.isReferredTo) return;
    for (const referrer of this.#replica.referrers(table.name, uuid)) {
      const other = this.#tables.get(referrer.table);
      const entry = other?.byUuid.get(referrer.uuid);
      if (entry !== undefined && other?.sets.has(referrer.column) === false)
        this.#listener.affected(entry);
    }
  }
}

/** True if other rows of ours may hang on a row of the table. */
const isLinked = ({ holds, isReferredTo }: ClaimedTable): boolean =>
  holds.length > 0 || isReferredTo;

/** False for a change of nothing but foreign columns and of sets, of which the members hear. */
const isForUs = (table: ClaimedTable, columns: readonly string[]): boolean =>
  columns.some((name) => (table.column(name)?.kind ?? 'members') !== 'members');

/** Columns that changed; undefined for a row that came or went. */
const changedColumns = (change: RowChange, changes: TableChanges): readonly string[] | undefined =>
  change.kind === 'modified'
    ? (changes.columns?.(change.uuid) ?? [...change.old.keys()])
    : undefined;
