import type { Entry } from './plan-entry.ts';
import type { RowIndex } from './plan-index.ts';
import { ChangeDraft } from './plan-draft.ts';
import type { Resolver } from './plan-resolve.ts';
import type { Referrer, ReplicaRow, ReplicaView } from '../replica/replica-view.ts';

/** Rows of ours that nobody wants, and further rows with the key of one that is wanted. */
export class Removals {
  readonly #index: RowIndex;
  readonly #replica: ReplicaView;
  readonly #resolver: Resolver;
  /** Entry and reason, by UUID of the row that goes. */
  readonly #going = new Map<string, Going>();
  /** Wanted rows to be taken out of a row before it goes. */
  readonly #waits: (readonly [uuid: string, Entry])[] = [];

  constructor(index: RowIndex, replica: ReplicaView, resolver: Resolver) {
    this.#index = index;
    this.#replica = replica;
    this.#resolver = resolver;
  }

  collect(entry: Entry): void {
    const { claim, kept } = entry;
    if (claim?.row.partial === true) return;
    for (const row of entry.ours) {
      if (claim !== undefined && row.uuid === kept?.uuid) continue;
      if (this.#resolver.reclaimed.has(row.uuid)) continue;
      this.#going.set(row.uuid, {
        entry,
        row,
        reason: claim === undefined ? 'unwanted' : 'duplicate',
        change: undefined,
      });
    }
  }

  goes(uuid: string): boolean {
    return this.#going.has(uuid);
  }

  wait(uuid: string, entry: Entry): void {
    this.#waits.push([uuid, entry]);
  }

  plan(): readonly ChangeDraft[] {
    const result: ChangeDraft[] = [];
    for (const going of this.#going.values()) {
      const change = new ChangeDraft('delete', going.entry, going.row.uuid, going.reason);
      const obstacle = this.#references(going.row)
        .map((referrer) => this.#release(going, referrer, change))
        .find((text) => text !== undefined);
      if (obstacle !== undefined) {
        this.#resolver.problem(
          going.entry,
          'still-referred',
          `nobody wants row ${going.row.uuid} any more, but ${obstacle}: remove that reference`,
        );
        continue;
      }
      going.change = change;
      result.push(change);
    }
    return result;
  }

  /** Strong references to a row: while one is left, the row lives on. */
  #references(row: ReplicaRow): readonly Referrer[] {
    return this.#replica.referrers(row.table, row.uuid).filter(({ table, column }) => {
      const type = this.#replica.schema.tables.get(table)?.columns.get(column)?.type;
      return (
        (type?.key.refTable === row.table && type.key.refType !== 'weak') ||
        (type?.value?.refTable === row.table && type.value.refType !== 'weak')
      );
    });
  }

  /** Drops one reference; says what stands in the way. */
  #release(going: Going, referrer: Referrer, change: ChangeDraft): string | undefined {
    const { table: name, column, uuid } = referrer;
    if (this.#going.has(uuid)) return undefined;
    const table = this.#index.tables.get(name);
    const holder = table && this.#resolver.holder(table, uuid);
    const set = table?.sets.get(column);
    const shown = `${column} of ${name} "${holder?.key ?? uuid}" refers to it`;
    if (holder === undefined || table === undefined) return shown;
    const isWanted = holder.claim !== undefined && holder.kept?.uuid === uuid;
    if (isWanted && holder.row?.columns[column] !== undefined) {
      return this.#isDropped(holder, column, going.row.uuid) ? undefined : shown;
    }
    if (isWanted && set === undefined) {
      return this.#isDropped(holder, column, going.row.uuid) ? undefined : shown;
    }
    // Out of a set of others only what lives in it is taken: a row that could be elsewhere may be theirs too.
    if (set === undefined || (!isWanted && change.isRoot)) return shown;
    change.memberships.push({ action: 'remove', table: name, key: holder.key, uuid, column });
    return undefined;
  }

  /** True when the holder's own change takes the reference out. */
  #isDropped(holder: Entry, column: string, uuid: string): boolean {
    const after = holder.change?.columns.find((planned) => planned.name === column)?.after;
    if (holder.change?.columns.some((planned) => planned.name === column) !== true) return false;
    if (after instanceof Map) return ![...after].flat().includes(uuid);
    return Array.isArray(after) ? !after.includes(uuid) : after !== uuid;
  }

  /** A row goes after whatever referred to it, and after the wanted rows that it held. */
  link(): void {
    for (const going of this.#going.values()) {
      const { change } = going;
      if (change === undefined || !change.isRoot) continue;
      for (const { table, uuid } of this.#references(going.row)) {
        const holders = this.#index.tables.get(table);
        const before =
          this.#going.get(uuid)?.change ??
          (holders && this.#resolver.holder(holders, uuid)?.change);
        if (before !== undefined) change.needs.push(before);
      }
    }
    for (const [uuid, entry] of this.#waits) {
      if (entry.change !== undefined) this.#going.get(uuid)?.change?.needs.push(entry.change);
    }
  }
}

interface Going {
  readonly entry: Entry;
  readonly row: ReplicaRow;
  readonly reason: 'unwanted' | 'duplicate';
  change: ChangeDraft | undefined;
}
