import type { ColumnType } from '../data/column-type.ts';
import { datumEquals } from '../data/datum.ts';
import type { AtomCodec } from '../storage/atom-codec.ts';
import type { ColumnCodec } from '../storage/column-codec.ts';
import type { StoredColumn } from '../storage/table-store.ts';
import type { Datum } from '../data/value.ts';
import type { ReplicaTable } from './replica-table.ts';
import { expressible, withoutLimits } from './row.ts';

/** A column that two definitions of a table have. */
interface SharedColumn {
  readonly before: StoredColumn;
  readonly column: StoredColumn;
  readonly free: ColumnType;
  /** Rows with the old default have the new one, which is the same: there is nothing to copy. */
  readonly isSameDefault: boolean;
  /** Members are of the same types, in the same form: codes can be translated one by one. */
  readonly isSameForm: boolean;
}

/**
 * Copies rows between tables that do not share their pools. A value of a column that has another type now is copied where the
 * new type can express it: it is then compared with what the server has, and reported as the old value if that differs. One that it can't express is
 * reported as the old value in any case.
 */
export function copyRows(from: ReplicaTable, to: ReplicaTable): void {
  const { store } = to;
  const columns = store.columns.flatMap((column): readonly SharedColumn[] => {
    const before = from.store.column(column.name);
    return before === undefined ? [] : [shared(before, column)];
  });
  const unexpressed = new Map<number, Map<number, Datum>>();
  for (const slot of from.store.slots()) {
    const uuid = store.pools.uuids.intern(
      from.store.pools.uuids.atom(from.store.uuids[slot] as number),
    );
    const copy = store.insert(uuid);
    for (const shape of columns) {
      const { before, column } = shape;
      const cell = from.store.cell(slot, before.position);
      if (shape.isSameDefault && cell === before.codec.defaultCell) continue;
      const now = copiedCell(shape, cell);
      if (now !== undefined) {
        store.set(copy, column.position, now);
        continue;
      }
      if (!from.monitored.has(column.name)) continue;
      const values = unexpressed.get(copy) ?? new Map<number, Datum>();
      unexpressed.set(copy, values.set(column.position, before.codec.datum(cell)));
    }
    store.finish(copy);
  }
  to.unexpressed = unexpressed;
}

function shared(before: StoredColumn, column: StoredColumn): SharedColumn {
  const [old, now] = [before.codec, column.codec];
  return {
    before,
    column,
    free: withoutLimits(now.type),
    isSameDefault:
      old.kind === now.kind && datumEquals(old.datum(old.defaultCell), now.datum(now.defaultCell)),
    isSameForm:
      old.kind === now.kind &&
      old.type.key.type === now.type.key.type &&
      old.type.value?.type === now.type.value?.type,
  };
}

/** The cell of the same value; undefined when the column can't hold it. */
function copiedCell(
  { before, column, free, isSameForm }: SharedColumn,
  cell: number,
): number | undefined {
  const { codec } = column;
  if (isSameForm && codec.allows(before.codec.size(cell)))
    return translated(before.codec, codec, cell);
  const value = expressible(free, before.codec.datum(cell));
  return value === undefined ? undefined : codec.cell(value.datum);
}

function translated(from: ColumnCodec, to: ColumnCodec, cell: number): number {
  if (from.kind === 'scalar') return copiedAtom(from.keys, to.keys, cell);
  if (from.kind === 'optional')
    return cell === 0 ? 0 : copiedAtom(from.keys, to.keys, cell - 1) + 1;
  const words = from.codes(cell);
  for (let at = 0; at < words.length; at++) {
    const isValue = from.kind === 'map' && at % 2 === 1;
    const [old, now] = isValue ? [from.values, to.values] : [from.keys, to.keys];
    words[at] = copiedAtom(old as AtomCodec, now as AtomCodec, words[at] as number);
  }
  return to.sequences.internWords(words, words.length);
}

const copiedAtom = (from: AtomCodec, to: AtomCodec, code: number): number =>
  to.intern(from.atom(code));
