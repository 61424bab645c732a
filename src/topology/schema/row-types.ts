/** What the generated types of desired rows are made of (`npm run generate`). */

import type { RowReference } from '../../ovsdb/plan/desired.ts';

/** Another desired row. */
export type Reference = RowReference;

export type StringMap = Readonly<Record<string, string>> | ReadonlyMap<string, string>;
