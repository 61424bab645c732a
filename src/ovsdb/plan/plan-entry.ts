import type { Containment, DesiredRow, DesiredValue } from './desired.ts';
import { RowReference } from './desired.ts';
import type { PlanTable } from './plan-table.ts';
import type { PlannedChange } from './plan-change.ts';
import type { ReplicaRow } from '../replica/replica-view.ts';
import type { Atom, Uuid } from '../data/value.ts';

/** What is known of one key of one table: who wants the row and how, and which rows of the database have the key. */

/** One unit's wish for a row. */
export interface Claim {
  readonly unit: string;
  readonly row: DesiredRow;
}

const NO_ROWS: readonly ReplicaRow[] = [];

export class Entry {
  readonly table: PlanTable;
  readonly key: string;
  /** Where the table keeps the entry; 0 when it was dropped. */
  place = 0;
  /** The wish that counts; undefined when nobody wants the row. */
  row: DesiredRow | undefined;
  /** Wishes of further units for the same row, in order of their names. */
  rivals: readonly Claim[] | undefined;
  /** Unit whose wish counts, or that wanted the row last. */
  unit: string | undefined;
  /** Rows of the database with this key that carry our mark, but for a matched one. */
  #ours: readonly ReplicaRow[] = NO_ROWS;
  /** Rows of the database with this key that do not. */
  others: readonly ReplicaRow[] = NO_ROWS;
  /** Members of shared columns that were wanted once, by column, until the database has lost them. */
  unwanted: Map<string, Set<Atom>> | undefined;
  isDirty = false;
  /** The row was found as wanted by its UUID and contents: whose it is by the rules was not asked. */
  isAssumed = false;
  /** The only row of ours is the one with the UUID made from the key: it is found by that and not remembered. */
  isMatched = false;

  // What follows is decided anew by each pass of planning.
  pass = 0;
  /** The row of the database that stands for this entry. */
  kept: ReplicaRow | undefined;
  /** UUID by which others refer to the row, found or to be inserted; undefined when there is none. */
  uuid: string | undefined;
  /** Why there is no row to refer to. */
  isBlocked = false;
  change: PlannedChange | undefined;
  /** UUID that rows referring to this one were last planned with. */
  lastUuid: string | undefined;

  constructor(table: PlanTable, key: string) {
    this.table = table;
    this.key = key;
  }

  get claim(): Claim | undefined {
    return this.row === undefined ? undefined : { unit: this.unit ?? '', row: this.row };
  }

  /** How many desired rows refer to this one or are held by it. */
  get referenceCount(): number {
    return this.table.entries.referenceCount(this.place);
  }

  /** UUID made from the key: the one of the row that any writer would make. */
  get ownUuid(): Uuid {
    return this.table.ownUuid(this);
  }

  /** Rows of the database with this key that carry our mark. */
  get ours(): readonly ReplicaRow[] {
    if (!this.isMatched) return this.#ours;
    const row = this.table.found(this.ownUuid);
    return row === undefined ? NO_ROWS : [row];
  }

  get hasOurs(): boolean {
    return this.isMatched || this.#ours.length > 0;
  }

  /** Nothing is known any more: the entry can be dropped. */
  get isVacant(): boolean {
    return (
      this.row === undefined &&
      !this.hasOurs &&
      this.others.length === 0 &&
      this.referenceCount === 0 &&
      this.unwanted === undefined
    );
  }

  addClaim(unit: string, row: DesiredRow): void {
    const { claim } = this;
    if (claim === undefined) {
      this.row = row;
      this.unit = unit;
    } else {
      const all = [claim, ...(this.rivals ?? []), { unit, row }].sort(compareClaims);
      this.#follow(all);
      this.rivals = all.slice(1);
    }
  }

  #follow([first]: readonly Claim[]): void {
    this.row = first?.row;
    this.unit = first?.unit ?? this.unit;
  }

  /** Nothing is known of the row yet: it may be matched as a whole. */
  expectMatch(): boolean {
    if (this.hasOurs || this.others.length > 0 || this.unwanted !== undefined) return false;
    this.pass = 0;
    return true;
  }

  dropClaim(unit: string, row: DesiredRow): void {
    if (this.rivals === undefined) {
      this.row = undefined;
      return;
    }
    const rest = [this.claim as Claim, ...this.rivals];
    rest.splice(
      rest.findIndex((claim) => claim.row === row && claim.unit === unit),
      1,
    );
    this.#follow(rest);
    this.rivals = rest.length > 1 ? rest.slice(1) : undefined;
  }

  /** Every row that must hold this one, of all units that want it. */
  containers(): readonly Containment[] {
    const { row, claim } = this;
    if (row === undefined || claim === undefined) return [];
    if (this.rivals === undefined) return row.containers;
    const all = [claim, ...this.rivals].flatMap((claim) => claim.row.containers);
    return all.filter((c, i) => all.findIndex((d) => sameContainment(c, d)) === i);
  }

  isIn(container: Entry, column: string): boolean {
    return this.containers().some(
      (c) => c.column === column && c.key === container.key && c.table === container.table.name,
    );
  }

  attach(row: ReplicaRow, isOurs: boolean): void {
    if (isOurs) {
      this.#remember();
      this.#ours = this.#ours.length === 0 ? [row] : [...this.#ours, row];
    } else this.others = this.others.length === 0 ? [row] : [...this.others, row];
  }

  /** The row with the UUID made from the key is all that is wanted. */
  attachMatch(): void {
    this.isAssumed = true;
    this.isMatched = true;
    this.table.matched++;
  }

  #unmatch(): void {
    this.isMatched = false;
    this.table.matched--;
    this.lastUuid ??= this.ownUuid;
  }

  /** The matched row is to be one of several. */
  #remember(): void {
    if (!this.isMatched) return;
    this.#ours = this.ours;
    this.#unmatch();
    for (const row of this.#ours) this.table.byUuid.set(row.uuid, this);
  }

  isOurs(uuid: string): boolean {
    return this.isMatched ? uuid === this.ownUuid : this.#ours.some((row) => row.uuid === uuid);
  }

  detach(uuid: string): void {
    if (this.isMatched && uuid === this.ownUuid) this.#unmatch();
    this.#ours = without(this.#ours, uuid);
    this.others = without(this.others, uuid);
  }
}

/** By unit, then by what is wanted: which wish counts does not depend on which came first. */
function compareClaims(a: Claim, b: Claim): number {
  if (a.unit !== b.unit) return a.unit < b.unit ? -1 : 1;
  if (sameColumns(a.row, b.row)) return 0;
  return columnsText(a.row) < columnsText(b.row) ? -1 : 1;
}

const columnsText = (row: DesiredRow): string =>
  JSON.stringify(
    Object.entries(row.columns).sort(([a], [b]) => (a < b ? -1 : 1)),
    (_key, value) => {
      if (typeof value === 'bigint') return value.toString();
      return value instanceof Map
        ? [...(value as ReadonlyMap<unknown, unknown>)]
        : (value as unknown);
    },
  );

const without = (rows: readonly ReplicaRow[], uuid: string): readonly ReplicaRow[] => {
  const rest = rows.filter((row) => row.uuid !== uuid);
  return rest.length === 0 ? NO_ROWS : rest;
};

const sameContainment = (a: Containment, b: Containment): boolean =>
  a.column === b.column && a.key === b.key && a.table === b.table;

/** Calls `visit` for each reference within a value. */
export function eachReference(
  value: DesiredValue | undefined,
  visit: (reference: RowReference) => void,
): void {
  if (typeof value !== 'object') return;
  if (value instanceof RowReference) visit(value);
  else if (Array.isArray(value)) {
    for (const member of value as readonly unknown[]) {
      if (member instanceof RowReference) visit(member);
    }
  } else if (value instanceof Map) {
    for (const [k, v] of value as ReadonlyMap<unknown, unknown>) {
      if (k instanceof RowReference) visit(k);
      if (v instanceof RowReference) visit(v);
    }
  }
}

function sameAtom(a: unknown, b: unknown): boolean {
  if (a instanceof RowReference) {
    return b instanceof RowReference && a.key === b.key && a.table === b.table;
  }
  return a === b;
}

function sameValue(a: DesiredValue | undefined, b: DesiredValue | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object') return false;
  if (a instanceof RowReference) return sameAtom(a, b);
  if (Array.isArray(a)) {
    const left = a as readonly unknown[];
    const right = b as readonly unknown[];
    return (
      Array.isArray(b) &&
      left.length === right.length &&
      left.every((member, i) => sameAtom(member, right[i]))
    );
  }
  if (a instanceof Map) {
    const [left, right] = [a as ReadonlyMap<unknown, unknown>, b];
    if (!(right instanceof Map) || left.size !== right.size) return false;
    for (const [k, v] of left) if (!right.has(k) || !sameAtom(v, right.get(k))) return false;
    return true;
  }
  if (Array.isArray(b) || b instanceof Map || b instanceof RowReference) return false;
  const [left, right] = [a as Record<string, string>, b as Record<string, string>];
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && left[key] === right[key])
  );
}

/** True when two desired rows of one key have the same columns. */
export function sameColumns(a: DesiredRow, b: DesiredRow): boolean {
  if (a.columns === b.columns) return true;
  const keys = Object.keys(a.columns);
  return (
    keys.length === Object.keys(b.columns).length &&
    keys.every((key) => sameValue(a.columns[key], b.columns[key]))
  );
}

/** True when both want the same row in the same way. */
export const sameDesiredRow = (a: DesiredRow, b: DesiredRow): boolean =>
  a === b ||
  (a.table === b.table &&
    a.key === b.key &&
    a.partial === b.partial &&
    a.containers.length === b.containers.length &&
    a.containers.every((c, i) => sameContainment(c, b.containers[i] as Containment)) &&
    sameColumns(a, b));
