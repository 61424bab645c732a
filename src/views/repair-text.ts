/** What somebody else had changed and what was put right, row by row, for people. Pure. */
import { clipped, visibleText } from '../api/visible-text.ts';
import type { Plan } from '../desired/ovsdb/changes.ts';
import { SETTINGS } from '../desired/rows.ts';
import type { PlannedChange } from '../node/reconcile/host-plan.ts';
import { changedColumns } from './plan-text.ts';

export interface RepairedRow {
  readonly table: string;
  /** For which the row is there. */
  readonly object: string | undefined;
  /** Which row, and what had been done to it. */
  readonly text: string;
}

const LONGEST = 300;

const rowOf = (table: string, object: string | undefined, text: string): RepairedRow => ({
  table,
  object: object === SETTINGS ? undefined : object,
  text: clipped(visibleText(text), LONGEST),
});

/** Of a database: values as they were found, and as they are again. */
export const repairedRows = ({
  changes,
  nameOf,
}: Pick<Plan, 'changes' | 'nameOf'>): readonly RepairedRow[] =>
  changes.map((change) => {
    const { table, key, object, action } = change;
    const row = `${table} ${key}`;
    if (action === 'insert') return rowOf(table, object, `${row} was removed`);
    if (action === 'delete') return rowOf(table, object, `${row} was there twice`);
    return rowOf(table, object, `${row} was changed: ${changedColumns(change, nameOf).join('; ')}`);
  });

/** Of the host: an object in the words of the program that changes it. */
export const repairedHostRows = (changes: readonly PlannedChange[]): readonly RepairedRow[] =>
  changes.map(({ table, key, object, action, before, after }) => {
    if (action === 'add') return rowOf(table, object, `${table} ${after ?? key} was removed`);
    if (action === 'remove') return rowOf(table, object, `${table} ${before ?? key} was added`);
    return rowOf(table, object, `${table} ${key} was changed: ${before ?? ''} → ${after ?? ''}`);
  });
