import type { Plan, PlannedChange } from './plan-change.ts';
import type { PlanTable, PlanTables } from './plan-table.ts';

/** Tables and keys of the rows that changes are about and that their values refer to, by UUID. */
export function namesIn(changes: readonly PlannedChange[], tables: PlanTables): Plan['names'] {
  const result = new Map<string, { table: string; key: string }>();
  const note = (table: PlanTable | undefined, atom: unknown): void => {
    if (table === undefined || typeof atom !== 'string') return;
    const entry = table.holder(atom);
    if (entry !== undefined) result.set(atom, { table: table.name, key: entry.key });
  };
  for (const { columns } of changes) {
    for (const { type, before, after } of columns) {
      const key = tables.get(type.key.refTable ?? '');
      const value = tables.get(type.value?.refTable ?? '');
      if (key === undefined && value === undefined) continue;
      for (const datum of [before, after]) {
        if (datum instanceof Map) {
          for (const [k, v] of datum) {
            note(key, k);
            note(value, v);
          }
        } else for (const atom of Array.isArray(datum) ? datum : [datum]) note(key, atom);
      }
    }
  }
  // A row is called by the key that it is to have, whatever key it has now.
  for (const { uuid, table, key } of changes) result.set(uuid, { table, key });
  return result;
}
