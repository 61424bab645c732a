/** Ways to write and to follow changes on top of the client, which needs none of them: transactions built step by step, changes as a loop or merged, references as rows. */
import '../node-floor.ts';
export { changes } from './change-stream.ts';
export { ChangeTracker, type TrackedChange } from './change-tracker.ts';
export { fetchColumns } from './fetch-columns.ts';
export { InsertedRow, type RowToChange } from './inserted-row.ts';
export { referredRows, newReferrers } from './references.ts';
export { transact, transactWithRetry } from './transact.ts';
export { Transaction } from './transaction.ts';
export type { Change, NewRow } from '../schema/column.ts';
