/** What is in a Northbound database of somebody, and of all others. */

type Value = string | number | boolean | readonly [string, unknown];
type Row = Readonly<Record<string, Value>> & { readonly _uuid: readonly [string, string] };
/** Columns that count what was done. */
const COUNTERS = new Set([
  '_uuid',
  '_version',
  'nb_cfg',
  'nb_cfg_timestamp',
  'hv_cfg',
  'hv_cfg_timestamp',
  'sb_cfg',
  'sb_cfg_timestamp',
  'connections',
]);

/** Addresses of the pods of all namespaces, which is in the database while a policy asks for it. */
const isOfAllPods = ({ external_ids }: Row): boolean =>
  /:PodSelector:LS\{\}_LS\{\}/.test(JSON.stringify(external_ids));

/**
 * The rows of a Northbound database as texts, what they refer to by its name: those that name something of the attacker's (`isOwn`), and those of
 * others. `client` runs ovsdb-client.
 */
export async function northboundRows(
  remote: string,
  isOwn: (text: string) => boolean,
  client: (...words: readonly string[]) => Promise<string>,
): Promise<{ readonly own: readonly string[]; readonly others: readonly string[] }> {
  const schema = JSON.parse(await client('get-schema', remote)) as {
    tables: Record<string, object>;
  };
  const tables = Object.keys(schema.tables);
  const asked = tables.map((table) => ({ op: 'select', table, where: [] }));
  const answer = await client('transact', remote, JSON.stringify(['OVN_Northbound', ...asked]));
  const found = JSON.parse(answer) as { rows: Row[] }[];
  const textOf = (
    table: string,
    row: Row,
    inside: (uuid: string) => string | undefined,
  ): string => {
    const columns = Object.entries(row)
      .filter(([column]) => !COUNTERS.has(column))
      .map(([column, value]) => {
        const [kind, list] = Array.isArray(value) ? (value as [string, unknown]) : ['', value];
        // A reference alone stands for a set of one.
        if (kind === 'uuid') return `${column}=${inside(list as string) ?? ''}`;
        if (kind !== 'set') return `${column}=${JSON.stringify(value)}`;
        const items = (list as unknown[]).flatMap((item) => {
          if (!Array.isArray(item)) return [JSON.stringify(item)];
          const target = inside(item[1] as string);
          return target === undefined ? [] : [target];
        });
        return `${column}=${items.toSorted().join(',')}`;
      });
    return `${table} ${columns.toSorted().join(' ')}`;
  };
  const all = tables.flatMap((table, index) =>
    (found[index]?.rows ?? []).map((row) => ({ table, row, itself: textOf(table, row, () => '') })),
  );
  const named = new Map(
    all
      .filter(({ itself }) => !isOwn(itself))
      .map(({ table, row, itself }) => {
        const { name } = row as { name?: unknown };
        return [
          row._uuid[1],
          typeof name !== 'string' || name === '' ? itself : `${table} ${name}`,
        ];
      }),
  );
  return {
    own: all.map(({ itself }) => itself).filter(isOwn),
    others: all
      .filter(({ row }) => named.has(row._uuid[1]) && !isOfAllPods(row))
      .map(({ table, row }) => textOf(table, row, (uuid) => named.get(uuid)))
      .toSorted(),
  };
}

/** What is in one list alone: `- ` in the first, `+ ` in the second. */
export const difference = (
  before: readonly string[],
  after: readonly string[],
): readonly string[] => [
  ...before.filter((text) => !after.includes(text)).map((text) => `- ${text}`),
  ...after.filter((text) => !before.includes(text)).map((text) => `+ ${text}`),
];
