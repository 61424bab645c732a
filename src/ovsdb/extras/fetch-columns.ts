import { parseDatum } from '../data/datum.ts';
import { resultsOf } from '../data/outcome.ts';
import type { TransactOptions, Transactor } from '../data/operation.ts';
import type { ReplicaView } from '../replica/replica-view.ts';
import { columnOf, tableOf } from '../data/schema.ts';
import type { Datum, JsonValue } from '../data/value.ts';

/**
 * Asks the server for columns of one row: for large or rarely needed ones that are not followed. Undefined when the server has no
 * such row. Throws `unknown table`, `unknown column`, or an `OutcomeError`.
 */
export async function fetchColumns(
  client: Transactor & { readonly replica: ReplicaView },
  table: string,
  uuid: string,
  columns: readonly string[],
  options?: TransactOptions,
): Promise<ReadonlyMap<string, Datum> | undefined> {
  const schema = tableOf(client.replica.schema, table);
  const types = columns.map((name) => [name, columnOf(schema, name).type] as const);
  const outcome = await client.transact(
    [{ op: 'select', table, where: [['_uuid', '==', ['uuid', uuid]]], columns }],
    options,
  );
  const row = resultsOf(outcome)[0]?.rows?.[0];
  if (row === undefined) return undefined;
  return new Map(types.map(([name, type]) => [name, parseDatum(type, row[name] as JsonValue)]));
}
