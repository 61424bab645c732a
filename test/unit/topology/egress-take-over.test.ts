import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { commitPlan } from '../../../src/desired/ovsdb/commit.ts';
import { MARK } from '../../../src/desired/rows.ts';
import { hashedName, nameInReference, OBJECT_ID } from '../../../src/topology/rows/object-ids.ts';
import {
  datumToJson,
  parseSchema,
  toDatum,
  type JsonValue,
  type Operation,
  type ReplicaRow,
  type Writable,
} from 'ovsdb-client-ts';
import { MemoryDatabase } from '../../support/ovsdb/memory-database.ts';
import { OBJECT_SETS, PLAIN, type ReferenceRow } from '../../support/zone/egress-reference.ts';
import { ZoneEngine } from '../../support/zone/zone-engine.ts';
import type { Zone } from '../../support/zone/zones.ts';

const schema = parseSchema(
  JSON.parse(readFileSync('schemas/ovn-nb.ovsschema', 'utf8')) as JsonValue,
);
/** Policies and priorities that ovn-kubernetes has not. */
const OURS = /:EgressIP:(98|97|94|4|3):EIP-/;

function emptyDatabase(): MemoryDatabase {
  const database = new MemoryDatabase(schema);
  database.write({ op: 'insert', table: 'NB_Global', row: {} });
  return database;
}
let northbound: MemoryDatabase;
beforeEach(() => {
  northbound = emptyDatabase();
});

const idsOf = (row: ReplicaRow): ReadonlyMap<string, string> =>
  row.column('external_ids') as ReadonlyMap<string, string>;
const where = ({ uuid }: ReplicaRow) => [['_uuid', '==', ['uuid', uuid]]] as const;
const wire = (table: string, column: string, value: unknown): JsonValue => {
  const type = northbound.type(table, column);
  return datumToJson(type, toDatum(type, value as Writable));
};

async function apply(daemon: ZoneEngine, zone: Zone): Promise<void> {
  const { kind, refused } = await commitPlan(northbound, daemon.plan(zone, northbound));
  expect([kind, refused]).toEqual(['success', []]);
}

/** Makes rows of ours those of ovn-kubernetes: without our mark and what is ours alone, and with its names of sets and groups. */
function unmark(): void {
  const names = new Map<string, string>();
  for (const table of ['Address_Set', 'Port_Group'])
    for (const row of northbound.rows(table)) {
      const id = idsOf(row).get(OBJECT_ID);
      if (id !== undefined) names.set(hashedName(id), nameInReference(id));
    }
  const renamed = (text: string): string =>
    text.replaceAll(/\ba[\da-f]{32}\b/g, (one) => names.get(one) ?? one);
  const operations: Operation[] = [];
  for (const [table, { columns }] of schema.tables)
    for (const row of northbound.rows(table)) {
      if (!columns.has('external_ids')) continue;
      const changed: Record<string, JsonValue> = {
        external_ids: wire(
          table,
          'external_ids',
          new Map([...idsOf(row)].filter(([key]) => key !== MARK)),
        ),
      };
      for (const column of ['name', 'match'])
        if (columns.has(column) && row.column(column) !== undefined)
          changed[column] = wire(table, column, renamed(row.column(column) as string));
      operations.push({ op: 'update', table, where: [...where(row)], row: changed });
    }
  for (const row of northbound.rows('Logical_Router_Policy'))
    if (OURS.test(idsOf(row).get(OBJECT_ID) ?? ''))
      for (const router of northbound.rows('Logical_Router'))
        operations.push({
          op: 'mutate',
          table: 'Logical_Router',
          where: [...where(router)],
          mutations: [['policies', 'delete', ['uuid', row.uuid]]],
        });
  northbound.write(...operations);
}

const inReference = (text: string): string =>
  text.replaceAll(
    /([$@])\(([^)]*)\)/g,
    (_whole, sign: string, id: string) => `${sign}${nameInReference(id)}`,
  );
const named = (text: string): string => inReference(text).replace(/^[$@]/, '');

/** Writes rows as ovn-kubernetes has them; returns their UUIDs. */
function write(rows: readonly ReferenceRow[]): readonly string[] {
  const bfd = new Map<string, string>();
  return rows.map(({ table, columns, in: holders }) => {
    const values = Object.entries(columns).map(([column, value]) => {
      if (column === 'bfd') return [column, ['uuid', bfd.get(value as string) ?? '']] as const;
      const text = column === 'name' ? named(value as string) : inReference(String(value));
      const plain = typeof value === 'string' ? text : value;
      return [
        column,
        wire(table, column, isRecord(plain) ? new Map(Object.entries(plain)) : plain),
      ] as const;
    });
    const name = Object.fromEntries(values)['name'];
    if (table === 'Address_Set')
      northbound.write({ op: 'delete', table, where: [['name', '==', name ?? '']] });
    const uuid = crypto.randomUUID();
    northbound.write(
      { op: 'insert', table, uuid, row: Object.fromEntries(values) },
      ...holders.map(([holder, name, column]): Operation => ({
        op: 'mutate',
        table: holder,
        where: [['name', '==', named(name)]],
        mutations: [[column, 'insert', ['uuid', uuid]]],
      })),
    );
    if (table === 'BFD') bfd.set(`BFD ${columns['dst_ip'] as string}`, uuid);
    return uuid;
  });
}
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !(value instanceof Map) && !Array.isArray(value);

/** Object ids, or matches, of which no row is in force: each names a set or group that is not there. */
function ineffective(): string[] {
  const known = new Set(
    ['Address_Set', 'Port_Group'].flatMap((table) =>
      northbound.rows(table).map((row) => row.column('name') as string),
    ),
  );
  const rows = ['ACL', 'Logical_Router_Policy', 'QoS'].flatMap((table) =>
    northbound.rows(table).map((row) => {
      const match = row.column('match') as string;
      const names = [...match.matchAll(/[$@](a\w+)/g)].map(([, name = '']) => name);
      const id = idsOf(row).get(OBJECT_ID) ?? match.replaceAll(/\$a\w+/g, '$a…');
      return { id, isInForce: names.every((name) => known.has(name)) };
    }),
  );
  return [...Map.groupBy(rows, ({ id }) => id)]
    .filter(([, all]) => !all.some(({ isInForce }) => isInForce))
    .map(([id]) => id);
}

/** All rows, without UUIDs, sorted. */
const contents = (database: MemoryDatabase): readonly string[] =>
  [...schema.tables.values()]
    .flatMap(({ name, columns }) =>
      database
        .rows(name)
        .map((row) =>
          [
            name,
            ...[...columns].map(([column, { type }]) =>
              type.key.refTable === undefined && type.value?.refTable === undefined
                ? `${column}=${JSON.stringify(datumToJson(type, row.column(column)))}`
                : `${column}: ${row.memberCount(column)}`,
            ),
          ].join(' '),
        ),
    )
    .toSorted();

/** What goes, and what stays beside ours until then: what DNS was told stays, whatever has its set. */
const isReplaced = ({ table, columns }: ReferenceRow): boolean => {
  const id = (columns['external_ids'] as Record<string, string> | undefined)?.[OBJECT_ID] ?? '';
  return (
    /:egresssvc-served-pods:|:100:eip1_yellow\/far:/.test(id) ||
    (/HybridNodeRoute/.test(String(columns['match'])) && table === 'Logical_Router_Policy')
  );
};

describe.each(Object.entries(OBJECT_SETS))(
  '%s, left by an ovn-kubernetes',
  (_name, { zone, rows }) => {
    test.each([
      ['in one transaction', undefined],
      ['in as many as there can be', { rows: 1, bytes: 1 }],
    ])('is in force all the time while it is taken over %s', async (_how, limits) => {
      const plain = { ...PLAIN, node: zone.node };
      await apply(new ZoneEngine(plain, [northbound]), plain);
      unmark();
      const left = write(rows);
      expect(ineffective()).toEqual([]);
      const daemon = new ZoneEngine(zone, [northbound], limits === undefined ? {} : { limits });
      const seen: string[][] = [];
      const stop = northbound.subscribe(() => seen.push(ineffective()));
      await apply(daemon, zone);
      expect(seen.length > 1).toBe(limits !== undefined);
      // Adopted, and not made anew.
      const kept = rows.flatMap((row, index) =>
        isReplaced(row) ? [] : ([[row, left[index] ?? '']] as const),
      );
      const marks = kept.map(([{ table }, uuid]) => {
        const row = northbound.row(table, uuid);
        return table === 'BFD' || row === undefined ? row !== undefined : idsOf(row).has(MARK);
      });
      expect(marks).toEqual(kept.map(() => true));
      daemon.takeOver(northbound);
      await apply(daemon, zone);
      stop();
      for (const ids of seen) expect(ids).toEqual([]);
      // Nothing is left, and nothing more is to do.
      expect(daemon.plan(zone, northbound).isEmpty).toBe(true);
      const taken = northbound;
      northbound = emptyDatabase();
      await apply(new ZoneEngine(zone, [northbound]), zone);
      const resolved = (text: string): string => text.replace('"93.184.216.34"', '["set",[]]');
      expect(contents(taken).map(resolved)).toEqual(contents(northbound));
    });
  },
);
