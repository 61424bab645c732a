/** How rows go that nobody wants any more: out of every set that holds them, after whatever they hold and isolate. */
import type { Referrer, ReplicaRow, ReplicaView } from 'ovsdb-client-ts';
import type { PlannedChange, PlannedMembership } from './changes.ts';
import type { Entry, OwnedRows } from './claimed-table.ts';
import type { Going, PlanPass } from './plan-pass.ts';
import { asMembers } from './found-rows.ts';
import { referencesOf } from './selection.ts';

/** Where the removals of an owner go. */
interface RemovalPlan {
  readonly owned: OwnedRows;
  readonly going: readonly Going[];
  readonly changes: PlannedChange[];
  readonly after: OwnedRows[];
}

/** Adds the removals of an owner to its plan. `report` is told of rows that can't go. */
export function planRemovals(
  pass: PlanPass,
  plan: RemovalPlan,
  report: (entry: Entry, message: string) => void,
): void {
  for (const going of plan.going) {
    const memberships: PlannedMembership[] = [];
    let obstacle: string | undefined;
    for (const referrer of pass.replica.referrers(going.row.table, going.row.uuid)) {
      if (isStrong(pass.replica, going.row, referrer))
        obstacle ??= release(pass, plan, going, referrer, memberships);
      else goAfterReferrer(pass, plan, referrer);
    }
    if (obstacle !== undefined) {
      report(
        going.entry,
        `nobody wants row ${going.row.uuid} any more, but ${obstacle}: remove that reference`,
      );
      continue;
    }
    const { table } = going.entry;
    plan.changes.push({
      action: 'delete',
      table: table.name,
      key: going.entry.key,
      uuid: going.row.uuid,
      isRoot: table.isRoot,
      isolates: table.claim.isolates === true,
      unit: plan.owned.owner.id,
      rule: undefined,
      object: undefined,
      reason: going.reason,
      columns: [],
      memberships,
    });
    goAfterMembers(pass, plan, going);
  }
}

/** While a strong reference to a row is left, it lives on. */
export function isStrong(
  replica: ReplicaView,
  row: ReplicaRow,
  { table, column }: Referrer,
): boolean {
  const type = replica.schema.tables.get(table)?.columns.get(column)?.type;
  return (
    type !== undefined && referencesOf(type).some((one) => one.table === row.table && one.isStrong)
  );
}

/** A weak reference goes with the row: first whoever has it in a column of its own must be able to do without. */
function goAfterReferrer(
  pass: PlanPass,
  plan: RemovalPlan,
  { table, column, uuid }: Referrer,
): void {
  const holders = pass.index.tables.get(table);
  const owner = pass.going.get(uuid)?.owned ?? pass.holder(holders, uuid)?.owner;
  if (owner !== undefined && owner !== plan.owned && holders?.sets.has(column) === false)
    plan.after.push(owner);
}

/** Drops one reference; says what stands in the way. */
function release(
  pass: PlanPass,
  plan: RemovalPlan,
  { entry }: Going,
  { table: name, column, uuid }: Referrer,
  memberships: PlannedMembership[],
): string | undefined {
  const holderGoes = pass.going.get(uuid);
  if (holderGoes?.owned === plan.owned) return undefined;
  const table = pass.index.tables.get(name);
  const holder = pass.holder(table, uuid);
  const obstacle = `${column} of ${name} "${holder?.key ?? uuid}" refers to it`;
  if (holder === undefined || table === undefined) return obstacle;
  const owner = holderGoes?.owned ?? holder.owner;
  if (!table.sets.has(column)) {
    // The reference is the holder's own to drop: it must have gone by then.
    if (owner === undefined || !pass.index.dirty.has(owner)) return obstacle;
    if (owner !== plan.owned) plan.after.push(owner);
    return undefined;
  }
  // Out of a set of others only what lives in it is taken: a row that could be elsewhere may be theirs too.
  if (owner === undefined && entry.table.isRoot) return obstacle;
  memberships.push({ action: 'remove', table: name, key: holder.key, uuid, column });
  return undefined;
}

/**
 * A row goes after those of other owners that it holds and that go as well, or that leave it: what isolates a port must not
 * go before the port, and nothing is taken out of a row that is gone.
 */
function goAfterMembers(pass: PlanPass, plan: RemovalPlan, { entry, row }: Going): void {
  for (const [column, members] of entry.table.holds) {
    for (const uuid of asMembers(row.column(column))) {
      const stays = pass.holder(members, uuid)?.owner;
      const other =
        pass.going.get(uuid)?.owned ??
        (stays !== undefined && pass.index.dirty.has(stays) ? stays : undefined);
      if (other !== undefined && other !== plan.owned) plan.after.push(other);
    }
  }
}
