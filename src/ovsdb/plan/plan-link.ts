import { ChangeDraft } from './plan-draft.ts';
import type { PlanTables } from './plan-table.ts';

/** Joins changes that must not be sent one without the other. */
export function linkChanges(changes: readonly ChangeDraft[], tables: PlanTables): void {
  for (const change of changes) {
    for (const entry of change.leansOn) {
      const other = entry.change;
      if (other === undefined || other.action !== 'insert') continue;
      change.needs.push(other);
    }
  }
  for (const change of changes) {
    if (change.action !== 'delete') linkMembers(change, tables);
  }
}

/** A new row that lives only by our reference, or a set that must not be empty, goes with its other half. */
function linkMembers(change: ChangeDraft, tables: PlanTables): void {
  for (const column of change.columns) {
    const target = tables.get(column.type.key.refTable ?? '');
    if (target === undefined || target.isRoot) continue;
    for (const entry of change.leansOn) {
      const other = entry.table === target ? entry.change : undefined;
      if (other instanceof ChangeDraft && other.action === 'insert') other.needs.push(change);
    }
  }
  for (const membership of change.memberships) {
    const table = tables.get(membership.table);
    const other = table?.known(membership.key)?.change;
    if (!(other instanceof ChangeDraft) || other.action !== 'insert') continue;
    // What isolates is complete from the start: a port group comes with its ACLs.
    const isPart = change.isolates && other.isolates;
    if (isPart || table?.sets.get(membership.column)?.type.min === 1) other.needs.push(change);
  }
}
