/**
 * Sets of the database that were compared with a version of a wanted set: from then on only members can differ that moved on one
 * of the two sides, and only these are compared.
 */
import { members, type ReplicaRow } from 'ovsdb-client-ts';
import type { SetVersion } from '../../facts/counted-set.ts';

/** What a set lacks, and what it has too much. */
export interface SetDifference {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

interface Compared {
  readonly version: SetVersion;
  /** The set in the database is the version but for these, at most. */
  readonly open: Set<string>;
}

export class ComparedSets {
  /** By the UUID of the row, then by column. */
  readonly #compared = new Map<string, Map<string, Compared>>();

  /** How a set of a row differs from the wanted one. */
  difference(row: ReplicaRow, column: string, wanted: SetVersion): SetDifference {
    let columns = this.#compared.get(row.uuid);
    const known = columns?.get(column);
    const moved = known?.version.movedUntil(wanted);
    const difference =
      known === undefined || moved === undefined
        ? ofAll(new Set(members(row.column(column)) as readonly string[]), wanted)
        : ofSome(moved.union(known.open), row, column, wanted);
    const open = new Set([...difference.add, ...difference.remove]);
    if (columns === undefined)
      this.#compared.set(row.uuid, (columns = new Map<string, Compared>()));
    columns.set(column, { version: wanted, open });
    return difference;
  }

  /** Columns of a row that were compared. */
  columns(uuid: string): Iterable<string> {
    return this.#compared.get(uuid)?.keys() ?? [];
  }

  /** Members came into a set of the database, or left it. */
  moved(uuid: string, column: string, those: Iterable<string>): void {
    const compared = this.#compared.get(uuid)?.get(column);
    for (const member of those) compared?.open.add(member);
  }

  /** The row is another one, or gone. */
  forget(uuid: string): void {
    this.#compared.delete(uuid);
  }
}

function ofAll(found: ReadonlySet<string>, wanted: SetVersion): SetDifference {
  return {
    add: [...wanted].filter((member) => !found.has(member)),
    remove: [...found].filter((member) => !wanted.has(member)),
  };
}

function ofSome(
  suspects: Iterable<string>,
  row: ReplicaRow,
  column: string,
  wanted: SetVersion,
): SetDifference {
  const add: string[] = [];
  const remove: string[] = [];
  for (const member of suspects) {
    const isFound = row.includes(column, member);
    if (isFound !== wanted.has(member)) (isFound ? remove : add).push(member);
  }
  return { add, remove };
}
