import { describe, expect, test } from 'vitest';
import {
  parseSchema,
  planSelection,
  Reconciler,
  Replica,
  type DatabaseRules,
  type JsonValue,
} from '../../../src/ovsdb/index.ts';

import { define } from '../../../src/ovsdb/session/selection.ts';

/** What a plan looks at, and what becomes of one that can't see it. */

const references = (refTable: string, refType: string): JsonValue => ({
  type: { key: { type: 'uuid', refTable, refType }, min: 0, max: 'unlimited' },
});
const text: JsonValue = { type: 'string' };

const SCHEMA = parseSchema({
  name: 'Small',
  version: '1.0.0',
  tables: {
    Port: { columns: { name: text, up: text, mark: text } },
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

const name = (row: { column(name: string): unknown }): string => String(row.column('name'));

const RULES: DatabaseRules = {
  Switch: { keyOf: name, isOurs: () => true, foreignColumns: ['learnt'] },
  Port: {
    container: { table: 'Switch', column: 'ports' },
    keyOf: name,
    isOurs: () => true,
    foreignColumns: ['up'],
  },
};

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

const uuid = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;

describe('what a plan looks at', () => {
  test('is every column that is compared, and whatever refers to a row', () => {
    expect(planSelection(RULES, SCHEMA)).toEqual({
      Port: { columns: ['name', 'mark'] },
      // A set that others write: the plan sees whether a port is in it.
      Switch: { columns: ['name', 'ports', 'learnt'] },
      // Keeps a port alive that nobody wants. A watcher does not.
      Group: { columns: ['members'] },
    });
  });

  test('is more where the program says so', () => {
    expect(planSelection(RULES, SCHEMA, { Port: ['up'], Watcher: ['name', 'new'] })).toMatchObject({
      Port: { columns: ['name', 'up', 'mark'] },
      Watcher: { columns: ['name'] },
    });
  });

  test('is enough for a plan: what others changed is found, and what keeps a row alive', () => {
    const replica = seeing(planSelection(RULES, SCHEMA));
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
          [uuid(2)]: { initial: { name: 'p', mark: 'theirs' } },
          [uuid(3)]: { initial: { name: 'old' } },
        },
        Group: { [uuid(4)]: { initial: { members: ['uuid', uuid(3)] } } },
      },
      'update2',
      'contents',
    );
    const reconciler = new Reconciler(replica, RULES);
    reconciler.setUnit('u', [
      { table: 'Switch', key: 's', columns: { name: 's' }, containers: [] },
      {
        table: 'Port',
        key: 'p',
        columns: { name: 'p' },
        containers: [{ table: 'Switch', key: 's', column: 'ports' }],
      },
    ]);
    const { changes, problems } = reconciler.plan();
    expect(
      changes.map(({ action, key, columns }) => [action, key, columns.map((c) => c.name)]),
    ).toEqual([['update', 'p', ['mark']]]);
    expect(problems.map(({ kind, key }) => [kind, key])).toEqual([['still-referred', 'old']]);
  });
});

test.each([{ columns: ['name', '_version'] }, { columns: ['name'], silent: ['_version'] }])(
  'versions of rows are no concern of a plan: %j',
  (selection) => {
    const definition = define(SCHEMA, undefined, { Watcher: selection });
    const replica = new Replica(definition.schema, definition);
    const row = { name: 'w', _version: ['uuid', uuid(9)] };
    replica.apply({ Watcher: { [uuid(1)]: { initial: row } } }, 'update2', 'contents');
    const rules = { Watcher: { keyOf: name, isOurs: () => true, foreignColumns: ['seen'] } };
    const reconciler = new Reconciler(replica, rules);
    const wish = { table: 'Watcher', key: 'w', columns: { name: 'w' }, containers: [] };
    reconciler.setUnit('unit', [wish]);
    expect(reconciler.plan().changes).toEqual([]);
    expect(planSelection(rules, replica.schema)).toEqual({ Watcher: { columns: ['name'] } });
  },
);

describe('a plan that can not see', () => {
  test('a column that it compares is not made', () => {
    const replica = seeing({ ...planSelection(RULES, SCHEMA), Port: { columns: ['name'] } });
    expect(() => new Reconciler(replica, RULES)).toThrow(
      'column mark of table Port is not followed, so nobody knows whether it is right: follow what planSelection tells, or name it in foreignColumns',
    );
  });

  test('a column that its rules read says so when they do', () => {
    const isUp: DatabaseRules = {
      ...RULES,
      Port: {
        ...(RULES['Port'] as DatabaseRules[string]),
        isOurs: (row) => row.column('up') === '',
      },
    };
    const replica = seeing(planSelection(isUp, SCHEMA));
    replica.apply({ Port: { [uuid(2)]: { initial: { name: 'p' } } } }, 'update2', 'contents');
    expect(() => new Reconciler(replica, isUp).plan()).toThrow(
      'the rules of table Port read column up, which is not followed: take it out of foreignColumns, or name it to planSelection',
    );
    const more = seeing(planSelection(isUp, SCHEMA, { Port: ['up'] }));
    more.apply({ Port: { [uuid(2)]: { initial: { name: 'p' } } } }, 'update2', 'contents');
    expect(new Reconciler(more, isUp).plan().changes.map(({ action }) => action)).toEqual([
      'delete',
    ]);
  });
});
