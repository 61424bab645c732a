/** Rows of a database in memory as text: the same rows, the same text, whatever their UUIDs. */
import type { Atom, Datum, ReplicaRow } from 'ovsdb-client-ts';
import type { MemoryDatabase } from './memory-database.ts';

/** Columns that others fill: of these nothing is compared. */
const VOLATILE: ReadonlySet<string> = new Set(['nb_cfg', 'up', 'status', 'tag', 'ipv6_prefix']);

export const members = (datum: Datum): readonly Atom[] =>
  Array.isArray(datum) ? (datum as readonly Atom[]) : datum === undefined ? [] : [datum as Atom];

export const idsOf = (row: ReplicaRow): ReadonlyMap<string, string> => {
  const ids = row.column('external_ids');
  return ids instanceof Map ? (ids as ReadonlyMap<string, string>) : new Map();
};

/** One row as text, references by what they refer to; `isOmitted` references are left out of sets. */
export function textOf(
  database: MemoryDatabase,
  row: ReplicaRow,
  isOmitted: (uuid: string) => boolean,
): string {
  const columns = [...(database.schema.tables.get(row.table)?.columns.values() ?? [])];
  const texts = columns.flatMap(({ name, type }) => {
    if (VOLATILE.has(name)) return [];
    const { refTable } = type.key;
    const value = row.column(name);
    // Whoever has an egress IP is another controller's to say.
    const isOpen =
      name === 'addresses' &&
      idsOf(row).get('k8s.ovn.org/owner-type')?.startsWith('Egress') === true;
    if (value === undefined || isOpen) return [];
    if (refTable !== undefined) {
      const found = members(value)
        .map(String)
        .filter((uuid) => !isOmitted(uuid))
        .map((uuid) => {
          const target = database.row(refTable, uuid);
          return target === undefined ? 'nothing' : `(${nameOf(database, target, isOmitted)})`;
        })
        .sort();
      return found.length === 0 ? [] : [`${name}=[${found.join(' ')}]`];
    }
    if (value instanceof Map) {
      const pairs = [...(value as ReadonlyMap<Atom, Atom>)].map(([k, v]) => `${k}=${v}`).sort();
      return pairs.length === 0 ? [] : [`${name}={${pairs.join(' ')}}`];
    }
    const list = members(value).map(String).sort();
    return list.length === 0 ? [] : [`${name}=${list.join(',')}`];
  });
  return `${row.table} ${texts.join(' ')}`;
}

function nameOf(
  database: MemoryDatabase,
  row: ReplicaRow,
  isOmitted: (uuid: string) => boolean,
): string {
  const name = database.hasColumn(row.table, 'name') ? row.column('name') : undefined;
  return typeof name === 'string' && name !== ''
    ? `${row.table} ${name}`
    : textOf(database, row, isOmitted);
}

/** Every row but those of others, as text. */
export const contents = (
  database: MemoryDatabase,
  others: ReadonlySet<string>,
): readonly string[] =>
  [...database.schema.tables.keys()]
    .flatMap((table) => database.rows(table))
    .filter(({ uuid }) => !others.has(uuid))
    .map((row) => textOf(database, row, (uuid) => others.has(uuid)))
    .sort();

/** Throws where two lists of rows differ. */
export function same(what: string, found: readonly string[], wanted: readonly string[]): void {
  const more = found.filter((text) => !wanted.includes(text));
  const less = wanted.filter((text) => !found.includes(text));
  if (more.length + less.length > 0 || found.length !== wanted.length)
    throw new Error(
      `${what}: ${found.length} rows, not ${wanted.length}\n${[...more.map((one) => `  + ${one}`), ...less.map((one) => `  - ${one}`)].join('\n')}`,
    );
}
