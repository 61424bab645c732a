/** What the generated types of desired rows are made of (`npm run generate`). */

import type { RowReference } from '../../desired/rows.ts';

/** Another desired row. */
export type Reference = RowReference;

export type StringMap = Readonly<Record<string, string>> | ReadonlyMap<string, string>;
