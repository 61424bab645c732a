/** Desired rows as text: one line each, every column, and the rows that hold it. */

import { SetVersion } from '../../../src/facts/counted-set.ts';
import { RowReference, type DesiredRow, type DesiredValue } from '../../../src/desired/rows.ts';

function atomText(value: unknown): string {
  if (value instanceof RowReference) return `${value.table}/${value.key}`;
  return String(value);
}

/** A kept set is in no order. */
export const plain = (value: DesiredValue | undefined): DesiredValue | undefined =>
  value instanceof SetVersion ? [...value].sort() : value;

function valueText(value: DesiredValue): string {
  if (value instanceof SetVersion) return `[${[...value].sort().join(', ')}]`;
  if (Array.isArray(value)) return `[${value.map(atomText).join(', ')}]`;
  if (value instanceof RowReference || typeof value !== 'object') return atomText(value);
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  const texts = entries.map(([key, item]) => `${atomText(key)}=${atomText(item)}`);
  return `{${texts.sort().join(' ')}}`;
}

/** `Logical_Switch join external_ids={…}`; `<` and the set columns that hold the row at the end. */
function rowText(row: DesiredRow): string {
  const columns = Object.entries(row.columns)
    .filter(([column, value]) => column !== 'name' || value !== row.key)
    .map(([column, value]) => `${column}=${valueText(value)}`)
    .sort();
  const containers = row.containers.map(({ table, key, column }) => `< ${table}/${key}.${column}`);
  return [
    row.table,
    row.key,
    ...columns,
    ...(row.partial ? ['(partial)'] : []),
    ...containers,
  ].join(' ');
}

export const rowTexts = (rows: readonly DesiredRow[]): string[] => rows.map(rowText).sort();
