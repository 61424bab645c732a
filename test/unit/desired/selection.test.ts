import { describe, expect, test } from 'vitest';
import { Reconciler } from '../../../src/desired/ovsdb/reconciler.ts';
import { claimedSelection } from '../../../src/desired/ovsdb/selection.ts';
import type { FoundRow, TableClaim } from '../../../src/desired/rows.ts';
import { parseSchema, Replica, type JsonValue } from 'ovsdb-client-ts';
import { keyed, TestUnit } from './northbound.ts';

/** What a plan looks at, and what becomes of one that can't see it. */

const references = (refTable: string, refType: string): JsonValue => ({
  type: { key: { type: 'uuid', refTable, refType }, min: 0, max: 'unlimited' },
});
const text: JsonValue = { type: 'string' };
const ids: JsonValue = { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } };

const SCHEMA = parseSchema({
  name: 'Small',
  version: '1.0.0',
  tables: {
    Port: { columns: { name: text, up: text, mark: text, external_ids: ids } },
    Switch: {
      isRoot: true,
      columns: {
        name: text,
        ports: references('Port', 'strong'),
        learnt: references('Port', 'weak'),
      },
    },
    Group: { isRoot: true, columns: { name: text, members: references('Port', 'strong') } },
    Watcher: { isRoot: true, columns: { name: text, seen: references('Port', 'weak') } },
  },
});

const name = (row: FoundRow): string => String(row.column('name'));
const claim = (table: string, more: Partial<TableClaim> = {}): [string, TableClaim] => [
  table,
  { database: 'Small', table, keyOf: name, ...more },
];

const CLAIMS = new Map([
  claim('Switch', { foreignColumns: ['learnt'] }),
  claim('Port', { container: { table: 'Switch', column: 'ports' }, foreignColumns: ['up'] }),
]);

/** A replica that sees these columns of a server that has all of the schema. */
function seeing(selection: {
  readonly [table: string]: { readonly columns?: readonly string[] } | true;
}) {
  const monitored = new Map<string, Set<string>>();
  const unseen = new Map<string, Set<string>>();
  for (const { name: table, columns } of SCHEMA.tables.values()) {
    const chosen = selection[table];
    const seen = new Set(chosen === undefined || chosen === true ? [] : chosen.columns);
    monitored.set(table, seen);
    unseen.set(table, new Set(columns.keys()).difference(seen));
  }
  return new Replica(SCHEMA, { monitored, unseen });
}

const marked: JsonValue = ['map', [['heddle', 'Test one']]];
const uuid = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;

describe('what a plan looks at', () => {
  test('is every column that is compared, and whatever refers to a row', () => {
    expect(claimedSelection(CLAIMS, SCHEMA)).toEqual({
      Port: { columns: ['name', 'mark', 'external_ids'] },
      // A set that others write: the plan sees whether a port is in it.
      Switch: { columns: ['name', 'ports', 'learnt'] },
      // Keeps a port alive that nobody wants. A watcher does not.
      Group: { columns: ['members'] },
    });
  });

  test('is more where the program says so', () => {
    expect(
      claimedSelection(CLAIMS, SCHEMA, { Port: ['up'], Watcher: ['name', 'new'] }),
    ).toMatchObject({
      Port: { columns: ['name', 'up', 'mark', 'external_ids'] },
      Watcher: { columns: ['name'] },
    });
  });

  test('is enough for a plan: what others changed is found, and what keeps a row alive', () => {
    const replica = seeing(claimedSelection(CLAIMS, SCHEMA));
    replica.apply(
      {
        Switch: {
          [uuid(1)]: {
            initial: {
              name: 's',
              ports: [
                'set',
                [
                  ['uuid', uuid(2)],
                  ['uuid', uuid(3)],
                ],
              ],
            },
          },
        },
        Port: {
          [uuid(2)]: { initial: { name: 'p', mark: 'theirs', external_ids: marked } },
          [uuid(3)]: { initial: { name: 'old', external_ids: marked } },
        },
        Group: { [uuid(4)]: { initial: { members: ['uuid', uuid(3)] } } },
      },
      'update2',
      'contents',
    );
    const reconciler = new Reconciler(replica, CLAIMS);
    const rows = [
      keyed('Switch', 's', { name: 's' }),
      keyed('Port', 'p', { name: 'p' }, ['Switch', 's', 'ports']),
    ];
    reconciler.set(new TestUnit('u'), rows);
    const { changes, problems } = reconciler.plan({ now: 0, isComplete: true });
    expect(
      changes.map(({ action, key, columns }) => [action, key, columns.map((c) => c.name)]),
    ).toEqual([['update', 'p', ['mark']]]);
    expect(problems.map(({ kind, key }) => [kind, key])).toEqual([['still-referred', 'old']]);
  });
});

test('a plan that can not see a column which it compares is not made', () => {
  const replica = seeing({
    ...claimedSelection(CLAIMS, SCHEMA),
    Port: { columns: ['name', 'external_ids'] },
  });
  expect(() => new Reconciler(replica, CLAIMS)).toThrow(
    'column mark of table Port is not followed, so nobody knows whether it is right: follow what claimedSelection says, or name it in foreignColumns',
  );
});
