import { uuidFromName } from '../data/uuid.ts';
import type { Uuid } from '../data/value.ts';

/** Namespace of the UUIDs of rows that we insert: two writers, or a retry, give the same row the same UUID. */
export const ROW_NAMESPACE = '6f1d2f5e-7c0b-4f43-9d59-0d5a9c1c7a31' as Uuid;

/** What the UUID of a row is made from. */
export const rowName = (database: string, table: string, key: string): string =>
  `${database}/${table}/${key}`;

/** UUID of a new row. `attempt` counts up from 1 when another row has the UUID already. */
export const rowUuid = (database: string, table: string, key: string, attempt = 1): Uuid =>
  uuidFromName(
    ROW_NAMESPACE,
    `${rowName(database, table, key)}${attempt === 1 ? '' : `#${attempt}`}`,
  );
