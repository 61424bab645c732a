import { describe, expect, test } from 'vitest';
import { evaluateCondition, parseCondition, tableOf } from 'ovsdb-client-ts/values';
import {
  parseSchema,
  Replica,
  type Datum,
  type JsonValue,
  type ReplicaChanges,
} from 'ovsdb-client-ts';
import { type MonitoredColumns } from '../../../src/ovsdb/replica/definition.ts';
import { outcome, refused } from '../../support/run/outcome.ts';

const SCHEMA = parseSchema({
  name: 'db',
  tables: {
    Simple: {
      columns: {
        i: { type: 'integer' },
        r: { type: 'real' },
        b: { type: 'boolean' },
        s: { type: 'string' },
        u: { type: 'uuid' },
        o: { type: { key: 'integer', min: 0 } },
        ia: { type: { key: 'integer', min: 0, max: 'unlimited' } },
        some: { type: { key: 'integer', max: 3 } },
        m: { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } },
      },
      isRoot: true,
    },
    Link: {
      columns: {
        i: { type: 'integer' },
        one: { type: { key: { type: 'uuid', refTable: 'Link' }, min: 0 } },
        many: {
          type: {
            key: { type: 'uuid', refTable: 'Simple', refType: 'weak' },
            min: 0,
            max: 'unlimited',
          },
        },
      },
      isRoot: true,
    },
  },
});

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const ref = (n: number): JsonValue => ['uuid', uuid(n)];
type Rows = { readonly [row: number]: JsonValue };

/** A replica that is told what the server would send, and what it told its subscriber. */
class Session {
  readonly replica: Replica;
  readonly events: string[] = [];

  constructor(monitored?: MonitoredColumns) {
    this.replica = new Replica(SCHEMA, monitored === undefined ? {} : { monitored });
    this.replica.subscribe((changes: ReplicaChanges) => {
      for (const table of changes.tables.values()) {
        for (const row of table.rows) {
          const columns = row.kind === 'modified' ? ` ${[...row.old.keys()].join(',')}` : '';
          this.events.push(`${table.table} ${row.kind} ${Number(row.uuid.slice(-12))}${columns}`);
        }
      }
    });
  }

  static #named(rows: Rows): JsonValue {
    return Object.fromEntries(Object.entries(rows).map(([n, row]) => [uuid(Number(n)), row]));
  }

  /** Complete contents: rows by number. */
  contents(simple: Rows, link: Rows = {}): unknown {
    const initial = (rows: Rows): Rows =>
      Object.fromEntries(Object.entries(rows).map(([n, row]) => [n, { initial: row }]));
    const update = { Simple: Session.#named(initial(simple)), Link: Session.#named(initial(link)) };
    return outcome(() => this.replica.apply(update, 'update2', 'contents'));
  }

  changes(simple: Rows, link: Rows = {}): unknown {
    const update = { Simple: Session.#named(simple), Link: Session.#named(link) };
    return outcome(() => this.replica.apply(update, 'update2'));
  }

  value(row: number, column: string, table = 'Simple'): unknown {
    return this.replica.row(table, uuid(row))?.column(column);
  }

  /** Takes what was told since the last time. */
  told(): string[] {
    return this.events.splice(0).sort();
  }
}

function loaded(simple: Rows, link: Rows = {}): Session {
  const session = new Session();
  expect(session.contents(simple, link)).toBeUndefined();
  session.told();
  return session;
}

describe('complete contents', () => {
  test('no rows', () => {
    const session = new Session();
    expect(session.replica.ready).toBe(false);
    expect(session.contents({})).toBeUndefined();
    expect(session.replica.ready).toBe(true);
    expect([...session.replica.rows('Simple')]).toEqual([]);
  });

  test('columns that are not named have their default', () => {
    const session = loaded({ 1: {} });
    const row = session.replica.row('Simple', uuid(1));
    expect(JSON.parse(JSON.stringify(row))).toEqual({
      _uuid: uuid(1),
      i: 0,
      r: 0,
      b: false,
      s: '',
      u: '00000000-0000-0000-0000-000000000000',
      ia: [],
      some: [0],
      m: {},
    });
    expect(row?.column('o')).toBeUndefined();
  });

  test.each<[string, JsonValue, unknown]>([
    ['i', 9007199254740993n, 9007199254740993n],
    ['i', -9223372036854775808n, -9223372036854775808n],
    ['r', 1e37, 1e37],
    ['r', 5, 5],
    ['b', true, true],
    ['s', '\u{1d11e}"\\\n', '\u{1d11e}"\\\n'],
    ['u', ref(7), uuid(7)],
    ['o', 5, 5],
    ['o', ['set', []], undefined],
    ['o', ['set', [5]], 5],
    ['ia', 5, [5]],
    ['ia', ['set', [3, 1, 2]], [1, 2, 3]],
    ['some', 1, [1]],
    [
      'm',
      [
        'map',
        [
          ['b', '2'],
          ['a', '1'],
        ],
      ],
      new Map([
        ['a', '1'],
        ['b', '2'],
      ]),
    ],
  ])('%s', (column, json, value) => {
    expect(loaded({ 1: { [column]: json } }).value(1, column)).toEqual(value);
  });

  test('everything is new to a subscriber', () => {
    const session = new Session();
    session.contents({ 1: { i: 1 }, 2: {} }, { 3: {} });
    expect(session.told()).toEqual(['Link inserted 3', 'Simple inserted 1', 'Simple inserted 2']);
  });

  test('loaded again, only what differs is told', () => {
    const session = loaded({ 1: { i: 1 }, 2: { i: 2, ia: ['set', [1, 2]] }, 3: { s: 'x' } });
    expect(
      session.contents({ 1: { i: 1 }, 2: { i: 3, ia: ['set', [2, 1]] }, 4: {} }),
    ).toBeUndefined();
    expect(session.told()).toEqual([
      'Simple deleted 3',
      'Simple inserted 4',
      'Simple modified 2 i',
    ]);
    expect(
      session.contents({ 4: {}, 2: { ia: ['set', [1, 2]], i: 3 }, 1: { i: 1, s: '' } }),
    ).toBeUndefined();
    expect(session.told()).toEqual([]);
    expect(session.contents({})).toBeUndefined();
    expect(session.told()).toEqual(['Simple deleted 1', 'Simple deleted 2', 'Simple deleted 4']);
  });
});

describe('changes', () => {
  test.each<[string, JsonValue, JsonValue, unknown]>([
    ['i', 1, 2, 2],
    ['i', 1, 0, 0],
    ['s', 'a', '', ''],
    ['b', true, false, false],
    ['u', ref(1), ref(2), uuid(2)],
    ['o', 1, ['set', []], undefined],
    ['o', ['set', []], 1, 1],
    ['o', 1, 2, 2],
    ['ia', ['set', [1, 2]], 2, [1]],
    ['ia', ['set', [1, 2]], ['set', [2, 3]], [1, 3]],
    ['ia', 1, 1, []],
    ['ia', ['set', []], ['set', [2, 1]], [1, 2]],
    ['some', ['set', [1, 2, 3]], ['set', [1, 2, 3, 4, 5, 6]], [4, 5, 6]],
    [
      'm',
      [
        'map',
        [
          ['a', '1'],
          ['b', '2'],
        ],
      ],
      [
        'map',
        [
          ['a', '1'],
          ['b', '3'],
          ['c', '4'],
        ],
      ],
      new Map([
        ['b', '3'],
        ['c', '4'],
      ]),
    ],
    ['m', ['map', [['a', '1']]], ['map', [['a', '1']]], new Map()],
  ])('%s: %j changed by %j', (column, before, change, after) => {
    const session = loaded({ 1: { [column]: before } });
    expect(session.changes({ 1: { modify: { [column]: change } } })).toBeUndefined();
    expect(session.value(1, column)).toEqual(after);
    expect(session.told()).toEqual([`Simple modified 1 ${column}`]);
  });

  test.each<[string, JsonValue, JsonValue]>([
    ['i', 1, 1],
    ['ia', ['set', [1, 2]], ['set', []]],
    ['m', ['map', [['a', '1']]], ['map', []]],
  ])('%s: %j changed by %j is no change', (column, before, change) => {
    const session = loaded({ 1: { [column]: before } });
    const { sequence } = session.replica;
    expect(session.changes({ 1: { modify: { [column]: change } } })).toBeUndefined();
    expect(session.told()).toEqual([]);
    expect(session.replica.sequence).toBe(sequence);
  });

  test('rows inserted, changed and deleted by one message are seen together', () => {
    const session = loaded({ 1: { i: 1 }, 2: { i: 2 } });
    let seen: Datum[] = [];
    session.replica.subscribe(() => {
      seen = Array.from(session.replica.rows('Simple'), (row) => row.column('i'));
    });
    session.changes({ 1: { delete: null }, 2: { modify: { i: 20 } }, 3: { insert: { i: 30 } } });
    expect(new Set(seen)).toEqual(new Set([20, 30]));
    expect(session.told()).toEqual([
      'Simple deleted 1',
      'Simple inserted 3',
      'Simple modified 2 i',
    ]);
  });

  test('a subscriber learns what was there before', () => {
    const session = loaded({ 1: { i: 1, s: 'a' }, 2: { i: 2 } });
    const old = new Map<string, unknown>();
    session.replica.subscribe(({ tables }) => {
      for (const row of tables.get('Simple')?.rows ?? [])
        old.set(row.kind, [row.old.get('i'), row.old.get('s')]);
    });
    session.changes({ 1: { modify: { i: 5 } }, 2: { delete: null } });
    expect(Object.fromEntries(old)).toEqual({ deleted: [2, ''], modified: [1, undefined] });
  });

  test.each<[string, Rows, string]>([
    ['a row that is not there changes', { 9: { modify: { i: 1 } } }, 'inconsistent'],
    ['a row that is not there goes', { 9: { delete: null } }, 'inconsistent'],
    ['a row that is there comes', { 1: { insert: { i: 1 } } }, 'inconsistent'],
    ['too few members are left', { 1: { modify: { some: ['set', [0]] } } }, 'constraint violation'],
    [
      'too many members are left',
      { 1: { modify: { some: ['set', [1, 2, 3]] } } },
      'constraint violation',
    ],
    ['a value of another type', { 1: { modify: { i: 'one' } } }, 'syntax error'],
    ['a real for an integer', { 1: { modify: { i: 0.5 } } }, 'syntax error'],
    ['a member twice', { 1: { modify: { ia: ['set', [1, 1]] } } }, 'ovsdb error'],
    [
      'a key twice',
      {
        1: {
          modify: {
            m: [
              'map',
              [
                ['a', '1'],
                ['a', '2'],
              ],
            ],
          },
        },
      },
      'ovsdb error',
    ],
    ['no kind of update', { 1: { replace: { i: 1 } } }, 'syntax error'],
    ['an empty update', { 1: {} }, 'syntax error'],
    ['two kinds at once', { 1: { modify: { i: 1 }, delete: null } }, 'syntax error'],
    ['a row that is no object', { 1: { insert: [] } }, 'syntax error'],
    ['null', { 1: null }, 'syntax error'],
  ])('refused as a whole: %s', (_name, rows, code) => {
    const session = loaded({ 1: { i: 7 } });
    const { sequence } = session.replica;
    expect(session.changes({ 2: { insert: { i: 2 } }, ...rows })).toEqual(refused(code));
    expect([...session.replica.rows('Simple')].map((row) => [row.uuid, row.column('i')])).toEqual([
      [uuid(1), 7],
    ]);
    expect(session.told()).toEqual([]);
    expect(session.replica.sequence).toBe(sequence);
    expect(session.changes({ 2: { insert: { i: 2 } } })).toBeUndefined();
  });

  test.each<[string, JsonValue, string]>([
    ['an unknown table', { Other: { [uuid(1)]: { insert: {} } } }, 'inconsistent'],
    ['a row name that is no UUID', { Simple: { 'not-a-uuid': { insert: {} } } }, 'syntax error'],
    ['a table that is no object', { Simple: [] }, 'syntax error'],
    ['no object at all', [], 'syntax error'],
  ])('refused: %s', (_name, update, code) => {
    const session = loaded({});
    expect(outcome(() => session.replica.apply(update, 'update2'))).toEqual(refused(code));
  });

  test('columns of a newer server are passed over, whatever they hold', () => {
    const session = loaded({
      1: { newer: ['map', [[['uuid', 'x'], { deep: [1, 'a"}]'] }]]], i: 4 },
    });
    expect(session.value(1, 'i')).toBe(4);
    expect(session.changes({ 1: { modify: { newer: null } } })).toBeUndefined();
    expect(session.told()).toEqual([]);
  });

  test('columns of an older server are at their default', () => {
    const session = new Session(new Map([['Simple', new Set(['i'])]]));
    session.replica.apply(
      { Simple: { [uuid(1)]: { initial: { i: 4, s: 'unasked' } } } },
      'update2',
      'contents',
    );
    expect(session.value(1, 'i')).toBe(4);
    expect(session.value(1, 's')).toBe('');
    expect(session.replica.hasColumn('Simple', 'i')).toBe(true);
    expect(session.replica.hasColumn('Simple', 's')).toBe(false);
    expect(session.replica.hasTable('Link')).toBe(false);
    expect([...session.replica.rows('Link')]).toEqual([]);
  });
});

describe('references', () => {
  const referrers = (session: Session, table: string, row: number): string[] =>
    session.replica
      .referrers(table, uuid(row))
      .map((from) => `${from.table}.${from.column} ${Number(from.uuid.slice(-12))}`)
      .sort();

  test('may come before what they refer to, in one message or in two', () => {
    const session = loaded(
      {},
      { 1: { one: ref(2), many: ['set', [ref(10), ref(11)]] }, 2: { one: ref(1) } },
    );
    expect(session.value(1, 'one', 'Link')).toBe(uuid(2));
    expect(referrers(session, 'Link', 2)).toEqual(['Link.one 1']);
    expect(session.replica.row('Simple', uuid(10))).toBeUndefined();
    session.changes({ 10: { insert: { i: 10 } } });
    expect(session.replica.row('Simple', uuid(10))?.column('i')).toBe(10);
    expect(referrers(session, 'Simple', 10)).toEqual(['Link.many 1']);
  });

  test('to itself, taken away, and to a row that goes', () => {
    const session = loaded({ 10: {} }, { 1: { one: ref(1), many: ref(10) } });
    expect(referrers(session, 'Link', 1)).toEqual(['Link.one 1']);
    session.changes(
      { 10: { delete: null } },
      { 1: { modify: { one: ['set', []], many: ref(10) } } },
    );
    expect(referrers(session, 'Link', 1)).toEqual([]);
    expect(referrers(session, 'Simple', 10)).toEqual([]);
    expect(session.value(1, 'many', 'Link')).toEqual([]);
  });
});

describe('updates of RFC 7047', () => {
  const change = (session: Session, rows: Rows): unknown =>
    outcome(() =>
      session.replica.apply(
        {
          Simple: Object.fromEntries(
            Object.entries(rows).map(([n, row]) => [uuid(Number(n)), row]),
          ),
        },
        'update',
      ),
    );

  test('insert, modify, delete', () => {
    const session = loaded({});
    expect(change(session, { 1: { new: { i: 1, ia: ['set', [1, 2]] } } })).toBeUndefined();
    expect(session.value(1, 'ia')).toEqual([1, 2]);
    expect(
      change(session, { 1: { old: { ia: ['set', [1, 2]] }, new: { i: 1, ia: ['set', [2, 3]] } } }),
    ).toBeUndefined();
    expect(session.value(1, 'ia')).toEqual([2, 3]);
    expect(change(session, { 1: { old: { i: 1 } } })).toBeUndefined();
    expect(session.replica.row('Simple', uuid(1))).toBeUndefined();
    expect(session.told()).toEqual([
      'Simple deleted 1',
      'Simple inserted 1',
      'Simple modified 1 ia',
    ]);
  });

  test.each<[string, JsonValue, string]>([
    ['nothing', {}, 'syntax error'],
    ['another member', { initial: { i: 1 } }, 'syntax error'],
    ['a row that is not there', { old: { i: 1 } }, 'inconsistent'],
    ['a change of a row that is not there', { old: { i: 1 }, new: { i: 2 } }, 'inconsistent'],
  ])('refused: %s', (_name, row, code) => {
    expect(change(loaded({}), { 1: row })).toEqual(refused(code));
  });
});

test('conditions are evaluated with what a row has, its UUID included', () => {
  const { replica } = new Session();
  replica.apply(
    { Simple: { [uuid(1)]: { initial: { i: 5 } }, [uuid(2)]: { initial: {} } } },
    'update2',
    'contents',
  );
  const table = tableOf(SCHEMA, 'Simple');
  const matching = (where: JsonValue): readonly string[] => {
    const condition = parseCondition(table, where);
    return [...replica.rows('Simple')]
      .filter((row) => evaluateCondition(condition, (name) => row.column(name)))
      .map((row) => row.uuid);
  };
  expect(matching([['_uuid', '==', ref(2)]])).toEqual([uuid(2)]);
  expect(
    matching([
      ['_uuid', '!=', ref(2)],
      ['i', '>', 4],
    ]),
  ).toEqual([uuid(1)]);
  expect(matching([['_uuid', 'includes', ref(3)]])).toEqual([]);
});

test('indexes and rows follow every change', () => {
  const session = loaded({ 1: { s: 'a', m: ['map', [['k', 'v']]] }, 2: { s: 'b' } });
  const found = (value: string): string[] =>
    session.replica.find('Simple', ['s'], [value]).map((row) => row.uuid);
  const tagged = (value: string): number =>
    session.replica.find('Simple', [{ column: 'm', key: 'k' }], [value]).length;
  expect([found('a'), found('b'), tagged('v')]).toEqual([[uuid(1)], [uuid(2)], 1]);
  const row = session.replica.row('Simple', uuid(1));
  session.changes({ 1: { modify: { s: 'b', m: ['map', [['k', 'w']]] } } });
  expect(row?.column('s')).toBe('b');
  expect([found('a'), found('b').toSorted(), tagged('v'), tagged('w')]).toEqual([
    [],
    [uuid(1), uuid(2)],
    0,
    1,
  ]);
  session.changes({ 1: { delete: null } });
  expect(row?.exists).toBe(false);
  expect(outcome(() => row?.column('s'))).toEqual(refused('row deleted'));
  expect([found('b'), tagged('w')]).toEqual([[uuid(2)], 0]);
});

describe('a session of monitor_cond_since', () => {
  type Reply = readonly [found: boolean, lastId: string, updates: JsonValue];

  /** Replies and updates of several connections, one behind the other, as recorded. */
  function play(
    steps: readonly (Reply | readonly [lastId: string, updates: JsonValue])[],
  ): Session {
    const session = new Session();
    for (const step of steps) {
      const updates = step.at(-1) as JsonValue;
      const isContents = step[0] === false;
      session.replica.apply(updates, 'update3', isContents ? 'contents' : 'changes');
    }
    return session;
  }

  const rows = (simple: Rows): JsonValue => ({
    Simple: Object.fromEntries(Object.entries(simple).map(([n, row]) => [uuid(Number(n)), row])),
  });
  const first: Reply = [
    false,
    uuid(901),
    rows({ 1: { initial: { i: 1, ia: ['set', [1, 2]] } }, 2: { initial: { s: 'b' } } }),
  ];

  test('what is found after a reconnect is applied to what is there', () => {
    const session = play([
      first,
      [uuid(902), rows({ 1: { modify: { ia: ['set', [2, 3]] } } })],
      [true, uuid(904), rows({ 1: { modify: { i: 5 } }, 2: { delete: null }, 3: { insert: {} } })],
      [uuid(905), rows({ 3: { modify: { m: ['map', [['k', 'v']]] } } })],
    ]);
    expect(session.value(1, 'ia')).toEqual([1, 3]);
    expect(session.value(1, 'i')).toBe(5);
    expect(session.value(3, 'm')).toEqual(new Map([['k', 'v']]));
    expect(session.told()).toEqual([
      'Simple deleted 2',
      'Simple inserted 1',
      'Simple inserted 2',
      'Simple inserted 3',
      'Simple modified 1 i',
      'Simple modified 1 ia',
      'Simple modified 3 m',
    ]);
  });

  test('what is not found replaces everything, and only what differs is told', () => {
    const session = play([
      first,
      [
        false,
        uuid(0),
        rows({ 1: { initial: { i: 2, ia: ['set', [2, 1]] } }, 3: { initial: { s: 'c' } } }),
      ],
    ]);
    expect([session.value(1, 'i'), session.value(2, 's'), session.value(3, 's')]).toEqual([
      2,
      undefined,
      'c',
    ]);
    expect(session.told()).toEqual([
      'Simple deleted 2',
      'Simple inserted 1',
      'Simple inserted 2',
      'Simple inserted 3',
      'Simple modified 1 i',
    ]);
  });

  test('found and nothing new is nothing', () => {
    const session = play([first, [true, uuid(901), {}], [uuid(902), {}]]);
    expect(session.told()).toEqual(['Simple inserted 1', 'Simple inserted 2']);
    expect(session.replica.sequence).toBe(1);
  });

  test.each<[string, JsonValue]>([
    ['a change of a row that is not there', { 9: { modify: { i: 1 } } }],
    ['the end of a row that is not there', { 9: { delete: null } }],
    ['a new row that is there already', { 1: { insert: {} } }],
  ])('found, and yet it does not fit: %s', (_name, simple) => {
    const session = play([first]);
    const before = JSON.stringify([...session.replica.rows('Simple')]);
    expect(
      outcome(() => session.replica.apply(rows(simple as Rows), 'update3', 'changes')),
    ).toEqual(refused('inconsistent'));
    expect(JSON.stringify([...session.replica.rows('Simple')])).toBe(before);
  });
});
