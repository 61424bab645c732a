import { runOvs, type OvsdbServer } from './ovsdb-server.ts';

/** What a database holds, read by ovsdb-client and JSON.parse: nothing of it is ours. */

/** Text of each column, by table and UUID. */
export type Contents = ReadonlyMap<string, ReadonlyMap<string, Readonly<Record<string, string>>>>;

/** Integers of 64 bits exactly. */
function exact(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' && /^-?\d+$/.test(context?.source ?? '')
    ? BigInt(context?.source ?? '')
    : value;
}

const sorted = (texts: readonly string[]): string => `{${texts.toSorted().join(' ')}}`;

/** One text for a value however it is written: the members of a set (one may stand alone) or the pairs of a map, in order. */
function wireText(value: unknown): string {
  if (Array.isArray(value)) {
    const [tag, content] = value as readonly unknown[];
    if (tag === 'uuid') return `{${JSON.stringify(content)}}`;
    const members = content as readonly unknown[];
    if (tag === 'set') return sorted(members.map((member) => wireText(member).slice(1, -1)));
    const pairs = content as readonly (readonly [unknown, unknown])[];
    return sorted(pairs.map((pair) => pair.map((atom) => wireText(atom).slice(1, -1)).join('=')));
  }
  return `{${atomText(value)}}`;
}

const atomText = (atom: unknown): string =>
  typeof atom === 'number' || typeof atom === 'bigint'
    ? String(Number(atom) === 0 ? 0 : atom)
    : JSON.stringify(atom);

/** The same text for a value of a replica. */
export function valueText(value: unknown): string {
  if (value === undefined) return '{}';
  if (Array.isArray(value)) return sorted(value.map(atomText));
  if (value instanceof Map)
    return sorted(
      [...(value as ReadonlyMap<unknown, unknown>)].map((pair) => pair.map(atomText).join('=')),
    );
  return `{${atomText(value)}}`;
}

/** All rows of some tables, in one transaction. */
export async function contentsOf(
  server: OvsdbServer,
  database: string,
  tables: readonly string[],
): Promise<Contents> {
  const operations = tables.map((table) => ({ op: 'select', table, where: [] }));
  const text = await runOvs('ovsdb-client', [
    'transact',
    server.remote,
    JSON.stringify([database, ...operations]),
  ]);
  const results = JSON.parse(text, exact) as readonly {
    readonly rows: readonly Record<string, unknown>[];
  }[];
  return new Map(
    tables.map((table, n) => [
      table,
      new Map(
        results[n]?.rows.map((row) => [
          (row['_uuid'] as readonly [string, string])[1],
          Object.fromEntries(
            Object.entries(row)
              .filter(([name]) => !name.startsWith('_'))
              .map(([name, value]) => [name, wireText(value)]),
          ),
        ]),
      ),
    ]),
  );
}
