/** Who wants what of the host: of several units that want one thing one has it, and the others have a problem unless they want the same. */
import type { RowOwner } from '../../desired/engine.ts';
import type { DesiredRow } from '../../desired/rows.ts';
import { isSame } from '../../facts/same.ts';

/** Rows of a kind of state, whose tables have these columns. */
export type RowOf<Tables> = {
  [T in keyof Tables & string]: DesiredRow & { readonly table: T; readonly columns: Tables[T] };
}[keyof Tables & string];

/** A row, and who wants it. */
export interface Wanted<R extends DesiredRow = DesiredRow> {
  readonly row: R;
  readonly owner: Pick<RowOwner, 'id' | 'order'>;
}

/** Those of one table. */
export const inTable = <R extends DesiredRow, T extends R['table']>(
  wanted: Iterable<Wanted<R>>,
  table: T,
): readonly Wanted<Extract<R, { readonly table: T }>>[] =>
  [...wanted].filter(
    (one): one is Wanted<Extract<R, { readonly table: T }>> => one.row.table === table,
  );

interface Claim<R extends DesiredRow> extends Wanted<R> {
  readonly owner: RowOwner;
}

/** What a unit does not get, and who has it. */
export interface Contest<R extends DesiredRow = DesiredRow> {
  readonly row: R;
  readonly unit: string;
  readonly winner: R;
}

/** What tells an object from all others of its kind of place. */
export const idOf = ({ table, key }: { readonly table: string; readonly key: string }): string =>
  `${table} ${key}`;

const inOrder = (a: Claim<DesiredRow>, b: Claim<DesiredRow>): number =>
  a.owner.rank - b.owner.rank ||
  a.owner.order - b.owner.order ||
  (a.owner.id < b.owner.id ? -1 : 1);

/** Part of the whole that can be looked at by itself; everything is in one unless a driver says otherwise. */
type GroupOf<R> = (row: R) => string;

interface Group {
  /** Grows with each change of what is wanted. */
  version: number;
  readonly ids: Set<string>;
}

export class Claims<R extends DesiredRow = DesiredRow> {
  /** How often a unit wanted something else. */
  version = 0;
  readonly #counts = new Map<string, number>();
  readonly #groupOf: GroupOf<R>;
  readonly #groups = new Map<string, Group>();
  readonly #rows = new Map<RowOwner, readonly R[]>();
  /** Who wants an object, the one that has it first. */
  readonly #claims = new Map<string, Claim<R>[]>();
  /** Objects that more than one want. */
  readonly #contested = new Set<string>();

  constructor(groupOf: GroupOf<R> = () => '') {
    this.#groupOf = groupOf;
  }

  /** `rows`: those of the kind of state, which whoever wants them declares beside its tables. */
  set(owner: RowOwner, rows: readonly DesiredRow[]): void {
    const wanted = rows as readonly R[];
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
  *winners(): Iterable<Wanted<R>> {
    for (const [winner] of this.#claims.values()) if (winner !== undefined) yield winner;
  }

  /** Who has an object; undefined where nobody wants it. */
  winner(table: string, key: string): Wanted<R> | undefined {
    return this.#claims.get(idOf({ table, key }))?.[0];
  }

  /** Names of the groups in which something is wanted. */
  *groups(): Iterable<string> {
    for (const [name, { ids }] of this.#groups) if (ids.size > 0) yield name;
  }

  /** Another number after anything in the group was wanted otherwise. */
  versionOf(group: string): number {
    return this.#groups.get(group)?.version ?? 0;
  }

  *winnersOf(group: string): Iterable<Wanted<R>> {
    for (const id of this.#groups.get(group)?.ids ?? []) {
      const winner = this.#claims.get(id)?.[0];
      if (winner !== undefined) yield winner;
    }
  }

  *contests(): Iterable<Contest<R>> {
    for (const id of this.#contested) {
      const [winner, ...others] = this.#claims.get(id) ?? [];
      for (const { owner, row } of others)
        if (winner !== undefined && !isSame(winner.row.columns, row.columns))
          yield { row, unit: owner.id, winner: winner.row };
    }
  }

  #claim(owner: RowOwner, row: R): void {
    const id = idOf(row);
    const claims = this.#claims.get(id);
    const group = this.#group(row);
    group.version += 1;
    group.ids.add(id);
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

  #release(owner: RowOwner, row: R): void {
    const id = idOf(row);
    const left = (this.#claims.get(id) ?? []).filter((claim) => claim.owner !== owner);
    const group = this.#group(row);
    group.version += 1;
    if (left.length < 2) this.#contested.delete(id);
    if (left.length === 0) {
      if (this.#claims.delete(id)) this.#count(row.table, -1);
      group.ids.delete(id);
    } else this.#claims.set(id, left);
  }

  /** A group is never forgotten: its version must not begin anew. */
  #group(row: R): Group {
    const name = this.#groupOf(row);
    const group = this.#groups.get(name) ?? { version: 0, ids: new Set() };
    this.#groups.set(name, group);
    return group;
  }
}
