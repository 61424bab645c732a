/** Who wants what of the host: of several units that want one thing one has it, and the others have a problem unless they want the same. */
import type { RowOwner } from '../../desired/engine.ts';
import type { DesiredRow } from '../../desired/rows.ts';
import { isSame } from '../../desired/same.ts';

/** A row, and who wants it. */
export interface Wanted {
  readonly row: DesiredRow;
  readonly owner: Pick<RowOwner, 'id' | 'order'>;
}

interface Claim extends Wanted {
  readonly owner: RowOwner;
}

/** What a unit does not get, and who has it. */
export interface Contest {
  readonly row: DesiredRow;
  readonly unit: string;
  readonly winner: DesiredRow;
}

/** What tells an object from all others of its kind of place. */
export const idOf = ({ table, key }: { readonly table: string; readonly key: string }): string =>
  `${table} ${key}`;

const inOrder = (a: Claim, b: Claim): number =>
  a.owner.rank - b.owner.rank ||
  a.owner.order - b.owner.order ||
  (a.owner.id < b.owner.id ? -1 : 1);

export class Claims {
  /** How often a unit wanted something else. */
  version = 0;
  readonly #counts = new Map<string, number>();
  readonly #rows = new Map<RowOwner, readonly DesiredRow[]>();
  /** Who wants an object, the one that has it first. */
  readonly #claims = new Map<string, Claim[]>();
  /** Objects that more than one want. */
  readonly #contested = new Set<string>();

  set(owner: RowOwner, wanted: readonly DesiredRow[]): void {
    this.version += 1;
    for (const row of this.#rows.get(owner) ?? []) this.#release(owner, row);
    if (wanted.length === 0) this.#rows.delete(owner);
    else this.#rows.set(owner, wanted);
    for (const row of wanted) this.#claim(owner, row);
  }

  has(owner: RowOwner): boolean {
    return this.#rows.has(owner);
  }

  /** How many objects of each table there are to be. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** What there is to be. */
  *winners(): Iterable<Wanted> {
    for (const [winner] of this.#claims.values()) if (winner !== undefined) yield winner;
  }

  *contests(): Iterable<Contest> {
    for (const id of this.#contested) {
      const [winner, ...others] = this.#claims.get(id) ?? [];
      for (const { owner, row } of others)
        if (winner !== undefined && !isSame(winner.row.columns, row.columns))
          yield { row, unit: owner.id, winner: winner.row };
    }
  }

  #claim(owner: RowOwner, row: DesiredRow): void {
    const id = idOf(row);
    const claims = this.#claims.get(id);
    if (claims === undefined) {
      this.#claims.set(id, [{ owner, row }]);
      this.#count(row.table, 1);
      return;
    }
    claims.push({ owner, row });
    claims.sort(inOrder);
    this.#contested.add(id);
  }

  #count(table: string, more: number): void {
    this.#counts.set(table, (this.#counts.get(table) ?? 0) + more);
  }

  #release(owner: RowOwner, row: DesiredRow): void {
    const id = idOf(row);
    const left = (this.#claims.get(id) ?? []).filter((claim) => claim.owner !== owner);
    if (left.length < 2) this.#contested.delete(id);
    if (left.length === 0) {
      if (this.#claims.delete(id)) this.#count(row.table, -1);
    } else this.#claims.set(id, left);
  }
}
