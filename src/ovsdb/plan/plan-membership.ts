import type { ChangeDraft } from './plan-draft.ts';
import type { Entry } from './plan-entry.ts';
import type { RowIndex } from './plan-index.ts';
import type { LeftOut } from './plan-left-out.ts';
import type { Removals } from './plan-removal.ts';
import type { Resolver } from './plan-resolve.ts';
import type { ReplicaRow, ReplicaView } from '../replica/replica-view.ts';

/** In which sets of other rows a row belongs, and in which it is. */
export class MembershipPlan {
  /** Rows that leave a set by its row's removal: to be looked at again, should that row be wanted after all. */
  readonly waiting = new Set<Entry>();
  readonly #index: RowIndex;
  readonly #replica: ReplicaView;
  readonly #resolver: Resolver;
  readonly #removals: Removals;
  readonly #leftOut: LeftOut;

  constructor(
    index: RowIndex,
    replica: ReplicaView,
    resolver: Resolver,
    removals: Removals,
    leftOut: LeftOut,
  ) {
    this.#index = index;
    this.#replica = replica;
    this.#resolver = resolver;
    this.#removals = removals;
    this.#leftOut = leftOut;
  }

  /** Sets that must hold the row, and those that hold it and must not. False when the row can't be placed. */
  plan(entry: Entry, change: ChangeDraft): boolean {
    const { kept } = entry;
    const places = entry.containers();
    let missing = 0;
    /** Places in which the row lives: one of them is enough, without any it would vanish at once. */
    let homes = 0;
    let reachable = 0;
    for (const place of places) {
      const table = this.#index.tables.get(place.table);
      if (table !== undefined && (!table.isPresent || !table.sets.has(place.column))) {
        if (table.isPresent) this.#leftOut.column(table.name, place.column);
        continue;
      }
      const isHome = table?.sets.get(place.column)?.isStrong === true;
      if (isHome) homes++;
      const container = this.#resolver.target(place);
      if (container?.uuid === undefined) {
        this.#resolver.unresolved(entry, place, `belongs into ${place.column} of`);
        missing++;
        continue;
      }
      if (isHome) reachable++;
      const holder = container.kept;
      if (kept !== undefined && holder?.includes(place.column, kept.uuid) === true) continue;
      change.leanOn(container);
      change.memberships.push({
        action: 'add',
        table: place.table,
        key: place.key,
        uuid: container.uuid,
        column: place.column,
      });
    }
    if (kept !== undefined) {
      // A row that can't be put where it belongs stays where it is.
      if (missing === 0) this.#leaveWrongSets(entry, kept, change);
      return true;
    }
    return homes === 0 || reachable > 0;
  }

  #leaveWrongSets(entry: Entry, kept: ReplicaRow, change: ChangeDraft): void {
    const { container } = entry.table.rules;
    for (const { table, column, uuid } of this.#replica.referrers(entry.table.name, kept.uuid)) {
      const holders = this.#index.tables.get(table);
      const set = holders?.sets.get(column);
      const holder = holders && this.#resolver.holder(holders, uuid);
      if (set === undefined || holder === undefined) continue;
      if (this.#removals.goes(uuid)) {
        this.#removals.wait(uuid, entry);
        this.waiting.add(entry);
        continue;
      }
      const isKept = holder.kept?.uuid === uuid;
      if (isKept && entry.isIn(holder, column)) continue;
      if (isKept && holder.row !== undefined) {
        if (holder.row?.columns[column] !== undefined) continue;
      } else {
        // A set of others: ours leaves it only when it can't be in two places.
        const isPlace =
          (container?.table === table && container.column === column) ||
          entry.containers().some((c) => c.table === table && c.column === column);
        if (!set.isStrong || !isPlace) continue;
      }
      change.memberships.push({ action: 'remove', table, key: holder.key, uuid, column });
    }
  }
}
