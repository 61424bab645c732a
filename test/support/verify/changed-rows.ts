/** Rows of a snapshot that somebody has changed. */
import { list, member, rowsOf, type Row, type Tables } from '../../../src/verify/rows.ts';
import type { Snapshot } from '../../../src/verify/snapshot.ts';

export type Change = (row: Row) => Row;

/** Of rows of one table that a change is about. */
export interface RowFault {
  readonly table: string;
  readonly isAt: (row: Row, northbound: Tables) => boolean;
  readonly change: Change;
}

export const idOf = (row: Row): string => member(row, 'external_ids', 'k8s.ovn.org/id') ?? '';

export const isAcl =
  (id: RegExp, action: string) =>
  (row: Row): boolean =>
    id.test(idOf(row)) && row['action'] === action;

/** A set or list with the first ones left out. */
export const without =
  (column: string, count = 1): Change =>
  (row) => ({
    ...row,
    [column]: [
      'set',
      list(row, column)
        .slice(count)
        .map((one) => (column === 'ports' ? ['uuid', one] : one)),
    ],
  });

/** One that matches nothing more, and does nothing. */
export const gone: Change = (row) => ({ ...row, match: '0' });

/** Throws where no row is meant: nothing would be found. */
export function faulty(right: Snapshot, { table, isAt, change }: RowFault): Snapshot {
  const rows = rowsOf(right.northbound, table);
  const isFaulty = (row: Row): boolean => isAt(row, right.northbound);
  if (!rows.some(isFaulty)) throw new Error(`no row of ${table} is meant`);
  const northbound = new Map([
    ...right.northbound,
    [table, rows.map((row) => (isFaulty(row) ? change(row) : row))] as const,
  ]);
  return { ...right, northbound };
}
