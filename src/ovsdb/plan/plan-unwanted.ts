import type { DesiredRow, DesiredValue } from './desired.ts';
import type { Entry } from './plan-entry.ts';
import type { PlanTable } from './plan-table.ts';
import type { Atom } from '../data/value.ts';

/** Members of shared columns that a wish had: they go, unless another wish has them too. */
export function rememberUnwanted(table: PlanTable, entry: Entry, row: DesiredRow): void {
  for (const column of table.columns) {
    const isShared = column.kind === 'shared' || (row.partial === true && column.kind === 'exact');
    const value = row.columns[column.name];
    if (!isShared || value === undefined || column.type.max === 1) continue;
    entry.unwanted ??= new Map();
    const members = entry.unwanted.get(column.name) ?? new Set<Atom>();
    for (const member of wantedKeys(value)) members.add(member);
    entry.unwanted.set(column.name, members);
  }
}

/** Members of a set, or keys of a map, that a wish names. */
function wantedKeys(value: DesiredValue): readonly Atom[] {
  if (Array.isArray(value)) return (value as readonly unknown[]).filter(isAtom);
  if (value instanceof Map)
    return [...(value as ReadonlyMap<unknown, unknown>).keys()].filter(isAtom);
  return isAtom(value) ? [value] : Object.keys(value);
}

const isAtom = (value: unknown): value is Atom => typeof value !== 'object';
