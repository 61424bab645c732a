import type { ReplicaChanges, ReplicaView } from 'ovsdb-client-ts';
import { valueText, type Contents } from './ovsdb-oracle.ts';

type Cells = Readonly<Record<string, string>>;

/**
 * What somebody knows of a replica who has only heard its changes. Complains when they do not lead from one state to the next: a row that is told
 * twice or not at all, an old value that it did not have, a change of nothing.
 */
export class Shadow implements Disposable {
  readonly complaints: string[] = [];
  /** How often something changed. */
  events = 0;
  readonly #replica: ReplicaView;
  readonly #tables: readonly string[];
  readonly #rows = new Map<string, Map<string, Cells>>();
  readonly #stop: () => void;

  /** `look` is called after each change with the complaints. */
  constructor(
    replica: ReplicaView,
    tables: readonly string[],
    look: (complain: (text: string) => void) => void = () => undefined,
  ) {
    this.#replica = replica;
    this.#tables = tables;
    for (const table of tables) this.#rows.set(table, this.#shown(table));
    const complain = (text: string): void => {
      this.complaints.push(text);
    };
    this.#stop = replica.subscribe((changes) => {
      this.events++;
      this.#hear(changes);
      look(complain);
    });
  }

  #cells(table: string, uuid: string): Cells | undefined {
    const row = this.#replica.row(table, uuid);
    const columns = this.#replica.schema.tables.get(table)?.columns;
    if (row === undefined || columns === undefined) return undefined;
    const names = [...columns.keys()].filter((name) => this.#replica.hasColumn(table, name));
    return Object.fromEntries(names.map((name) => [name, valueText(row.column(name))]));
  }

  #shown(table: string): Map<string, Cells> {
    const rows = new Map<string, Cells>();
    for (const { uuid } of this.#replica.rows(table))
      rows.set(uuid, this.#cells(table, uuid) as Cells);
    return rows;
  }

  #hear(changes: ReplicaChanges): void {
    for (const [table, { rows }] of changes.tables) {
      const known = this.#rows.get(table);
      if (known === undefined) continue;
      for (const { kind, uuid, old } of rows) {
        const [before, now] = [known.get(uuid), this.#cells(table, uuid)];
        const isRight =
          (before === undefined) === (kind === 'inserted') &&
          (now === undefined) === (kind === 'deleted') &&
          [...old].every(([name, value]) =>
            [undefined, valueText(value)].includes(before?.[name]),
          ) &&
          (kind !== 'modified' || differs(before, now, old));
        if (!isRight) {
          const values = [...old].map(([name, value]) => `${name}=${valueText(value)}`);
          this.complaints.push(
            `${kind} ${table} ${uuid} (${values.join(' ')}): ${JSON.stringify([before, now])}`,
          );
        }
        if (now === undefined) known.delete(uuid);
        else known.set(uuid, now);
      }
    }
  }

  /** Where it, the replica and what the server has differ; the server's rows as far as `isFollowed`. */
  differences(
    contents: Contents,
    isFollowed: (table: string, row: Cells) => boolean = () => true,
  ): string[] {
    return this.#tables.flatMap((table) => {
      const shown = this.#shown(table);
      const known = this.#rows.get(table) ?? new Map<string, Cells>();
      const there = new Map(
        [...(contents.get(table) ?? [])].filter(([, row]) => isFollowed(table, row)),
      );
      const uuids = new Set([...shown.keys(), ...known.keys(), ...there.keys()]);
      return [...uuids].flatMap((uuid) => {
        const ours = shown.get(uuid);
        const told = part(known.get(uuid), ours);
        const theirs = part(there.get(uuid), ours);
        return text(part(ours, told)) === text(told) && text(ours) === text(theirs)
          ? []
          : [`${table} ${uuid}: shown ${text(ours)}, told ${text(told)}, there ${text(theirs)}`];
      });
    });
  }

  [Symbol.dispose](): void {
    this.#stop();
  }
}

/** Whether exactly the columns with an old value have another one now. */
const differs = (
  before: Cells | undefined,
  now: Cells | undefined,
  old: ReadonlyMap<string, unknown>,
): boolean =>
  old.size > 0 &&
  // A column that a conversion brought was not known before.
  Object.keys(now ?? {}).every(
    (name) => before?.[name] === undefined || (before[name] !== now?.[name]) === old.has(name),
  );

/** The columns that the other one has. */
const part = (cells: Cells | undefined, like: Cells | undefined): Cells | undefined =>
  cells === undefined || like === undefined
    ? cells
    : Object.fromEntries(Object.entries(cells).filter(([name]) => name in like));

const text = (cells: Cells | undefined): string =>
  cells === undefined
    ? 'nothing'
    : Object.entries(cells)
        .map(([name, value]) => `${name}=${value}`)
        .toSorted()
        .join(' ');
