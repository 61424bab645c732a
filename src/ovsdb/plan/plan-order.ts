import type { BatchLimits, PlannedChange } from './plan-change.ts';
import type { Atom, Datum } from '../data/value.ts';

/**
 * The order in which changes are sent, and where transactions are cut. This is the only place that decides it:
 *
 * 1. what nobody wants any more and connects something goes first;
 * 2. units that write rows which keep networks apart (ACLs, port groups) come before
 * 3. all other units: isolation before connectivity;
 * 4. isolating rows that nobody wants any more go last.
 *
 * Within a unit isolating rows come first and go last as well. Whatever a change needs (the row that holds it, the rows that it
 * refers to, the removal of the last reference to a row that goes) is sent with it or before it. A unit is not cut
 * into several transactions unless it exceeds the limits by itself.
 */

/** Changes that belong into one transaction because they need each other or come from the same need. */
export type Cluster = readonly PlannedChange[];

/** Clusters of one unit. */
export type Group = readonly Cluster[];

const isDelete = (change: PlannedChange): boolean => change.action === 'delete';

/** Place of a change within its unit. */
function stage(change: PlannedChange): number {
  if (change.isolates) return isDelete(change) ? 3 : 0;
  return isDelete(change) ? 1 : 2;
}

/** Place of a unit among the others. */
function turn(changes: readonly PlannedChange[]): number {
  if (changes.every(isDelete)) return changes.every((change) => change.isolates) ? 4 : 1;
  return changes.some((change) => change.isolates && !isDelete(change)) ? 2 : 3;
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Sorts changes and groups them by unit; `tables` gives the order of tables. */
export function inOrder(
  changes: readonly PlannedChange[],
  tables: ReadonlyMap<string, unknown>,
): readonly Group[] {
  const rank = new Map([...tables.keys()].map((table, i) => [table, i]));
  const units = new Map<string, PlannedChange[]>();
  for (const change of changes) {
    const unit = units.get(change.unit ?? '');
    if (unit === undefined) units.set(change.unit ?? '', [change]);
    else unit.push(change);
  }
  const sorted = [...units.entries()].flatMap(([unit, all]) =>
    splitRemovals(all).map((part) => ({ unit, part, turn: turn(part) })),
  );
  sorted.sort((a, b) => a.turn - b.turn || compareText(a.unit, b.unit));
  const done = new Set<PlannedChange>();
  return sorted
    .map(({ part }) => {
      part.sort(
        (a, b) =>
          stage(a) - stage(b) ||
          (rank.get(a.table) ?? 0) - (rank.get(b.table) ?? 0) ||
          compareText(a.key, b.key) ||
          compareText(a.uuid, b.uuid),
      );
      return part.map((change) => cluster(change, done)).filter((one) => one.length > 0);
    })
    .filter((group) => group.length > 0);
}

/** A unit of which nothing stays: its isolation goes after the connectivity of everybody. */
function splitRemovals(changes: PlannedChange[]): readonly PlannedChange[][] {
  if (!changes.every(isDelete)) return [changes];
  const parts = [changes.filter((c) => !c.isolates), changes.filter((c) => c.isolates)];
  return parts.filter((part) => part.length > 0);
}

/** A change with everything that it needs and that was not sent yet, needs first. */
function cluster(first: PlannedChange, done: Set<PlannedChange>): Cluster {
  const result: PlannedChange[] = [];
  const emit = (change: PlannedChange): void => {
    if (done.has(change)) return;
    done.add(change);
    for (const needed of change.needs) emit(needed);
    result.push(change);
  };
  emit(first);
  return result;
}

/** Cuts the ordered changes into transactions. */
export function inBatches(
  groups: readonly Group[],
  limits: BatchLimits,
): readonly (readonly PlannedChange[])[] {
  const batches: PlannedChange[][] = [];
  let current: PlannedChange[] = [];
  let rows = 0;
  let bytes = 0;
  const close = (): void => {
    if (current.length > 0) batches.push(current);
    current = [];
    rows = 0;
    bytes = 0;
  };
  const add = (changes: readonly PlannedChange[], size: number): void => {
    const isFull = rows + changes.length > limits.rows || bytes + size > limits.bytes;
    if (isFull) close();
    for (const change of changes) current.push(change);
    rows += changes.length;
    bytes += size;
  };
  for (const group of groups) {
    const all = group.flat();
    const size = sizeOf(all);
    if (all.length <= limits.rows && size <= limits.bytes) add(all, size);
    else for (const one of group) add(one, sizeOf(one));
  }
  close();
  return batches;
}

/** Estimated bytes of JSON of what frames an operation: names, where clause, UUIDs. */
const FRAME = 120;

function sizeOf(changes: readonly PlannedChange[]): number {
  let size = 0;
  for (const change of changes) {
    size += FRAME + FRAME * change.memberships.length;
    for (const column of change.columns) {
      size += 8 + column.name.length;
      if (column.mutations === undefined) size += datumSize(column.after);
      else for (const mutation of column.mutations) size += JSON.stringify(mutation).length;
    }
  }
  return size;
}

function datumSize(datum: Datum): number {
  if (typeof datum === 'string') return datum.length + 3;
  if (typeof datum !== 'object') return 8;
  let sum = 10;
  if (datum instanceof Map) {
    const map = datum as ReadonlyMap<Atom, Atom>;
    // Pairs would be an array each.
    for (const key of map.keys()) sum += 4 + datumSize(key);
    for (const value of map.values()) sum += datumSize(value);
  } else {
    for (const member of datum as readonly Atom[]) sum += 10 + datumSize(member);
  }
  return sum;
}
