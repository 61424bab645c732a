import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  applyDifference,
  difference,
  mergeDifferences,
  parseDatum,
  parseDifference,
} from 'ovsdb-client-ts/values';
import {
  datumEquals,
  datumToJson,
  defaultDatum,
  parseSchema,
  Replica,
  type ColumnSchema,
  type Datum,
  type JsonValue,
  type RowChange,
  type ReplicaChanges,
} from 'ovsdb-client-ts';
import { valueJson, VALUES_SCHEMA } from '../../support/ovsdb/ovsdb-values.ts';

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
/** Changes as they would be written down. */
const plain = (rows: readonly RowChange[] = []): readonly RowChange[] =>
  rows.map(({ kind, uuid: id, old }) => ({ kind, uuid: id, old }));

const columns = [...(VALUES_SCHEMA.tables.get('T')?.columns.values() ?? [])];

/** A value that the column may have, in canonical form. */
const valueOf = (column: ColumnSchema): fc.Arbitrary<Datum> =>
  valueJson(column.type.key.type, column.type.value?.type).map((json) => {
    try {
      return parseDatum(column.type, json);
    } catch {
      return defaultDatum(column.type);
    }
  });

describe('differences', () => {
  test('difference, then apply, is the identity, also over the wire', () => {
    const pair = fc
      .constantFrom(...columns)
      .chain((column) => fc.tuple(fc.constant(column.type), valueOf(column), valueOf(column)));
    fc.assert(
      fc.property(pair, ([type, before, after]) => {
        const change = difference(type, before, after);
        if (change === undefined) {
          expect(datumEquals(before, after)).toBe(true);
          return;
        }
        expect(applyDifference(type, before, change.datum)).toEqual(after);
        const wire = parseDifference(type, datumToJson(type, change.datum));
        expect(applyDifference(type, before, wire)).toEqual(after);
      }),
      { numRuns: 500 },
    );
  });

  test('two that follow one another are as good as one', () => {
    const three = fc
      .constantFrom(...columns)
      .chain((column) =>
        fc.tuple(fc.constant(column.type), valueOf(column), valueOf(column), valueOf(column)),
      );
    fc.assert(
      fc.property(three, ([type, before, between, after]) => {
        const first = difference(type, before, between);
        const second = difference(type, between, after);
        if (first === undefined || second === undefined) return;
        const both = mergeDifferences(type, before, first.datum, second.datum);
        expect(both).toEqual(difference(type, before, after));
      }),
      { numRuns: 500 },
    );
  });
});

type Contents = Map<string, Map<string, Datum>>;

/** What a naive reader of the same updates would hold. */
interface Step {
  readonly update: { readonly [uuid: string]: JsonValue };
  readonly contents: Contents;
}

const rowJson = (row: ReadonlyMap<string, Datum>): JsonValue =>
  Object.fromEntries(
    columns
      .filter((column) => !datumEquals(row.get(column.name), defaultDatum(column.type)))
      .map((column) => [column.name, datumToJson(column.type, row.get(column.name))]),
  );

const aRow: fc.Arbitrary<Map<string, Datum>> = fc
  .tuple(
    ...columns.map((column) => fc.oneof(fc.constant(defaultDatum(column.type)), valueOf(column))),
  )
  .map((values) => new Map(columns.map((column, i) => [column.name, values[i]])));

const action = fc.record({ row: fc.nat(5), values: aRow, what: fc.constantFrom('set', 'delete') });

/** A history as the server would report it, and the contents after each message. */
function history(
  messages: readonly (readonly { row: number; values: Map<string, Datum>; what: string }[])[],
): Step[] {
  let contents: Contents = new Map();
  return messages.map((actions) => {
    const before = contents;
    contents = new Map(contents);
    for (const { row, values, what } of actions) {
      if (what === 'delete') contents.delete(uuid(row + 1));
      else contents.set(uuid(row + 1), values);
    }
    const update: { [uuid: string]: JsonValue } = {};
    for (const id of new Set([...before.keys(), ...contents.keys()])) {
      const [old, now] = [before.get(id), contents.get(id)];
      if (now === undefined) update[id] = { delete: null };
      else if (old === undefined) update[id] = { insert: rowJson(now) };
      else {
        const modify = columns.flatMap((column) => {
          const change = difference(column.type, old.get(column.name), now.get(column.name));
          return change === undefined
            ? []
            : [[column.name, datumToJson(column.type, change.datum)] as const];
        });
        if (modify.length > 0) update[id] = { modify: Object.fromEntries(modify) };
      }
    }
    return { update, contents };
  });
}

const read = (replica: Replica): Contents =>
  new Map(
    [...replica.rows('T')]
      .map((row): [string, Map<string, Datum>] => [
        row.uuid,
        new Map(columns.map(({ name }) => [name, row.column(name)])),
      ])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

const sorted = (contents: Contents): Contents =>
  new Map([...contents].sort(([a], [b]) => (a < b ? -1 : 1)));

describe('a replica', () => {
  const messages = fc.array(fc.array(action, { maxLength: 4 }), { minLength: 1, maxLength: 6 });

  test('shows what the messages say, finds it by index, and reports exactly what changed', () => {
    fc.assert(
      fc.property(messages, fc.nat(5), (given, reloadAt) => {
        const replica = new Replica(VALUES_SCHEMA);
        replica.apply({}, 'update2', 'contents');
        const mirror: Contents = new Map();
        replica.subscribe((changes) => {
          follow(mirror, replica, changes);
        });
        // Made early, so that they have to follow every change.
        replica.find('T', ['i'], [0]);
        replica.find('T', [{ column: 'ss_map', key: 'a' }, 's'], ['a', 'a']);
        history(given).forEach((step, n) => {
          if (n === reloadAt) {
            const all = Object.fromEntries(
              [...step.contents].map(([id, row]) => [id, { initial: rowJson(row) }]),
            );
            replica.apply({ T: all }, 'update2', 'contents');
          } else
            replica.apply(
              Object.keys(step.update).length === 0 ? {} : { T: step.update },
              'update2',
            );
          expect(read(replica)).toEqual(sorted(step.contents));
          expect(sorted(mirror)).toEqual(sorted(step.contents));
          for (const [id, row] of step.contents) {
            expect(replica.find('T', ['i'], [row.get('i')]).map((found) => found.uuid)).toContain(
              id,
            );
          }
        });
        expect(replica.find('T', ['i'], [0])).toHaveLength(
          [...read(replica).values()].filter((row) => row.get('i') === 0).length,
        );
        const values = [...read(replica).values()].filter(
          (row) =>
            (row.get('ss_map') as ReadonlyMap<string, string>).get('a') === 'b' &&
            row.get('s') === 'a',
        );
        expect(replica.find('T', [{ column: 'ss_map', key: 'a' }, 's'], ['b', 'a'])).toHaveLength(
          values.length,
        );
      }),
      { numRuns: 60 },
    );
  });

  test('reloading the same contents is no change, and keeps nothing', () => {
    fc.assert(
      fc.property(fc.array(aRow, { maxLength: 5 }), (rows) => {
        const replica = new Replica(VALUES_SCHEMA);
        const all = {
          T: Object.fromEntries(rows.map((row, n) => [uuid(n + 1), { initial: rowJson(row) }])),
        };
        replica.apply(all, 'update2', 'contents');
        const kept = replica.statistics;
        const seen: ReplicaChanges[] = [];
        replica.subscribe((changes) => {
          seen.push(changes);
        });
        replica.apply(all, 'update2', 'contents');
        expect(seen).toEqual([]);
        expect(replica.statistics).toEqual(kept);
        replica.apply({}, 'update2', 'contents');
        expect(replica.statistics).toMatchObject({
          rows: 0,
          uuids: kept.uuids === 0 ? 0 : (expect.any(Number) as number),
        });
      }),
      { numRuns: 40 },
    );
  });

  function follow(mirror: Contents, replica: Replica, changes: ReplicaChanges): void {
    for (const change of changes.tables.get('T')?.rows ?? []) {
      const before = mirror.get(change.uuid);
      expect(before === undefined).toBe(change.kind === 'inserted');
      for (const [name, old] of change.old) expect(old).toEqual(before?.get(name));
      if (change.kind === 'deleted') mirror.delete(change.uuid);
      else {
        const row = replica.row('T', change.uuid);
        mirror.set(change.uuid, new Map(columns.map(({ name }) => [name, row?.column(name)])));
      }
    }
  }
});

const REFERENCES = parseSchema({
  name: 'References',
  version: '1.0.0',
  tables: {
    Switch: {
      isRoot: true,
      columns: {
        name: { type: 'string' },
        ports: { type: { key: { type: 'uuid', refTable: 'Port' }, min: 0, max: 'unlimited' } },
        uplink: { type: { key: { type: 'uuid', refTable: 'Port', refType: 'weak' }, min: 0 } },
        by_name: {
          type: {
            key: 'string',
            value: { type: 'uuid', refTable: 'Port' },
            min: 0,
            max: 'unlimited',
          },
        },
      },
    },
    Port: { columns: { name: { type: 'string' } } },
  },
});

test('who refers to a row, through sets, optionals and maps, followed through changes', () => {
  const replica = new Replica(REFERENCES);
  const [s, a, b] = [uuid(1), uuid(2), uuid(3)];
  const ref = (id: string): JsonValue => ['uuid', id];
  replica.apply(
    {
      Switch: {
        [s]: {
          initial: {
            ports: ['set', [ref(a), ref(b)]],
            uplink: ref(a),
            by_name: ['map', [['x', ref(a)]]],
          },
        },
      },
      Port: { [a]: { initial: {} }, [b]: { initial: {} } },
    },
    'update2',
    'contents',
  );
  const to = (id: string): string[] =>
    replica
      .referrers('Port', id)
      .map((from) => `${from.table}.${from.column}`)
      .sort();
  expect(to(a)).toEqual(['Switch.by_name', 'Switch.ports', 'Switch.uplink']);
  replica.apply(
    {
      Switch: {
        [s]: { modify: { ports: ref(a), uplink: ref(b), by_name: ['map', [['x', ref(b)]]] } },
      },
    },
    'update2',
  );
  expect(to(a)).toEqual([]);
  expect(to(b)).toEqual(['Switch.by_name', 'Switch.ports', 'Switch.uplink']);
  replica.apply({ Switch: { [s]: { delete: null } } }, 'update2');
  expect(to(b)).toEqual([]);
});

describe('an update that does not fit changes nothing', () => {
  const start = (): Replica => {
    const replica = new Replica(REFERENCES);
    replica.apply({ Port: { [uuid(1)]: { initial: { name: 'a' } } } }, 'update2', 'contents');
    return replica;
  };
  test.each<[string, JsonValue, string]>([
    [
      'modify of an unknown row',
      { Port: { [uuid(1)]: { modify: { name: 'b' } }, [uuid(9)]: { modify: { name: 'b' } } } },
      'inconsistent',
    ],
    [
      'delete of an unknown row',
      { Port: { [uuid(1)]: { modify: { name: 'b' } }, [uuid(9)]: { delete: null } } },
      'inconsistent',
    ],
    ['insert of a known row', { Port: { [uuid(1)]: { insert: { name: 'b' } } } }, 'inconsistent'],
    [
      'unknown table',
      { Port: { [uuid(1)]: { modify: { name: 'b' } } }, Bridge: { [uuid(9)]: { delete: null } } },
      'inconsistent',
    ],
    [
      'two kinds at once',
      { Port: { [uuid(1)]: { modify: { name: 'b' }, delete: null } } },
      'syntax error',
    ],
    ['another type', { Port: { [uuid(1)]: { modify: { name: 5 } } } }, 'syntax error'],
    ['no UUID', { Port: { nonsense: { insert: {} } } }, 'syntax error'],
    [
      'too many members',
      {
        Switch: {
          [uuid(5)]: {
            insert: {
              uplink: [
                'set',
                [
                  ['uuid', uuid(1)],
                  ['uuid', uuid(2)],
                ],
              ],
            },
          },
        },
      },
      'constraint violation',
    ],
    [
      'a member twice',
      {
        Switch: {
          [uuid(5)]: {
            insert: {
              ports: [
                'set',
                [
                  ['uuid', uuid(1)],
                  ['uuid', uuid(1)],
                ],
              ],
            },
          },
        },
      },
      'ovsdb error',
    ],
  ])('%s', (_what, update, code) => {
    const replica = start();
    const before = replica.statistics;
    expect(() => {
      replica.apply(update, 'update2');
    }).toThrow(expect.objectContaining({ code }) as Error);
    expect(replica.row('Port', uuid(1))?.column('name')).toBe('a');
    expect(replica.statistics).toMatchObject({
      rows: before.rows,
      strings: before.strings,
      uuids: before.uuids,
    });
  });
});

test('a row that is gone says so; its slot may belong to another', () => {
  const replica = new Replica(REFERENCES);
  replica.apply({ Port: { [uuid(1)]: { initial: { name: 'a' } } } }, 'update2', 'contents');
  const row = replica.row('Port', uuid(1));
  replica.apply(
    { Port: { [uuid(1)]: { delete: null }, [uuid(2)]: { insert: { name: 'b' } } } },
    'update2',
  );
  expect(row?.exists).toBe(false);
  expect(() => row?.column('name')).toThrow('not in the database any more');
  expect(replica.row('Port', uuid(2))?.column('name')).toBe('b');
});

test('updates of RFC 7047 bring old and new values in full', () => {
  const replica = new Replica(REFERENCES);
  replica.apply({ Port: { [uuid(1)]: { new: { name: 'a' } } } }, 'update', 'contents');
  replica.apply(
    {
      Port: {
        [uuid(1)]: { old: { name: 'a' }, new: { name: 'b' } },
        [uuid(2)]: { new: { name: 'c' } },
      },
    },
    'update',
  );
  expect([...replica.rows('Port')].map((row) => row.column('name'))).toEqual(['b', 'c']);
  replica.apply({ Port: { [uuid(1)]: { old: { name: 'b' } } } }, 'update');
  expect(replica.size('Port')).toBe(1);
});

test('a load that is cut off leaves nothing behind', () => {
  const replica = new Replica(REFERENCES);
  const before = replica.statistics;
  const bytes = Buffer.from(`{"Port":{"${uuid(1)}":{"initial":{"name":"a"}},"${uuid(2)}":{"init`);
  for (let n = 0; n < 3; n++) {
    const reader = replica.reader('update2', 'contents');
    expect(reader.push(bytes, 0, bytes.length)).toBeLessThan(bytes.length);
    expect(reader.isDone).toBe(false);
    expect(replica.size('Port')).toBe(0);
  }
  replica.discard();
  expect(replica.statistics).toMatchObject({
    strings: before.strings,
    uuids: before.uuids,
    sequences: before.sequences,
  });
});

test('a subscriber that throws harms neither the replica nor other subscribers', () => {
  const errors: unknown[] = [];
  const replica = new Replica(REFERENCES, { onListenerError: (error) => errors.push(error) });
  let seen = 0;
  replica.subscribe(() => {
    throw new Error('mine');
  });
  replica.subscribe(() => {
    seen++;
  });
  replica.apply({ Port: { [uuid(1)]: { insert: {} } } }, 'update2');
  expect(seen).toBe(1);
  expect(String(errors[0])).toBe('Error: mine');
});

test('a column of another type: what says the same is no change, what differs is told with its old value', () => {
  const schema = (columns: JsonValue) => parseSchema({ name: 'D', tables: { T: { columns } } });
  const before = schema({
    s: { type: 'string' },
    i: { type: 'integer' },
    u: { type: { key: 'string', min: 0 } },
  });
  const after = schema({
    s: { type: { key: { type: 'string', maxLength: 3 }, min: 0, max: 'unlimited' } },
    i: { type: 'real' },
    u: { type: 'integer' },
  });
  const [a, b] = ['1', '2'].map((n) => `00000000-0000-4000-8000-00000000000${n}`) as [
    string,
    string,
  ];
  const replica = new Replica(before);
  replica.apply(
    { T: { [a]: { initial: { s: 'x', i: 5 } }, [b]: { initial: { s: 'y', u: 'z' } } } },
    'update2',
    'contents',
  );
  const told: RowChange[] = [];
  replica.subscribe(({ tables }) => told.push(...plain(tables.get('T')?.rows)));
  const monitored = new Map([['T', new Set(['s', 'i', 'u'])]]);
  expect(replica.redefine(after, { monitored })).toBe(false);
  expect(replica.row('T', a)?.column('s')).toBe('x');
  replica.apply(
    { T: { [a]: { initial: { s: 'x', i: 5 } }, [b]: { initial: { s: ['set', ['y', 'z']] } } } },
    'update2',
    'contents',
  );
  // What an integer can't express is told as it was, also where the column has its default now.
  expect(told).toEqual([
    { kind: 'modified', uuid: a, old: new Map([['u', undefined]]) },
    {
      kind: 'modified',
      uuid: b,
      old: new Map<string, Datum>([
        ['s', ['y']],
        ['u', 'z'],
      ]),
    },
  ]);
  expect(replica.row('T', a)?.column('s')).toEqual(['x']);
  replica.apply({ T: { [b]: { delete: null } } }, 'update2');
  expect(told.at(-1)?.old.get('u')).toBe(0);
});

test('which members entered or left a set is told without the other members', () => {
  const set = { key: 'string', min: 0, max: 'unlimited' } as const;
  const replica = new Replica(
    parseSchema({
      name: 'D',
      tables: { T: { columns: { s: { type: set }, c: { type: 'string' } } } },
    }),
  );
  replica.apply(
    { T: { [uuid(1)]: { initial: { s: ['set', ['a', 'c', 'e', 'g']] } } } },
    'update2',
    'contents',
  );
  const moved: unknown[] = [];
  replica.subscribe(({ tables }) =>
    moved.push(...['s', 'c', 'x'].map((column) => tables.get('T')?.moved?.(uuid(1), column))),
  );
  replica.apply(
    { T: { [uuid(1)]: { modify: { s: ['set', ['b', 'c', 'h']], c: 'new' } } } },
    'update2',
  );
  expect(moved).toEqual([['b', 'c', 'h'], undefined, undefined]);
});

test('large sets of references: who refers to a row, and old values read late, stay right', () => {
  const ROWS = 200;
  const targets = Array.from({ length: ROWS }, (_, n) => uuid(100 + n));
  const references = (members: readonly string[]): JsonValue => [
    'set',
    members.map((member) => ['uuid', member]),
  ];
  const member = { key: { type: 'uuid', refTable: 'Port', refType: 'weak' } } as const;
  const schema = parseSchema({
    name: 'D',
    tables: {
      Port: { columns: { name: { type: 'string' } } },
      Group: { columns: { ports: { type: { ...member, min: 0, max: 'unlimited' } } } },
    },
  });
  const wanted = fc.array(fc.subarray(targets, { minLength: ROWS / 2 }), { minLength: 1 });
  fc.assert(
    fc.property(wanted, (steps) => {
      const replica = new Replica(schema);
      const ports = Object.fromEntries(targets.map((target) => [target, { initial: {} }]));
      const group = { [uuid(1)]: { initial: { ports: references(targets) } } };
      replica.apply({ Port: ports, Group: group }, 'update2', 'contents');
      replica.referrers('Port', uuid(1));
      const told: ReplicaChanges[] = [];
      replica.subscribe((changes) => told.push(changes));
      const shown = [targets];
      for (const members of steps) {
        const before = shown.at(-1) ?? [];
        const moved = [...new Set(before).symmetricDifference(new Set(members))];
        if (moved.length === 0) continue;
        shown.push(members);
        const modify = { ports: references(moved) };
        replica.apply({ Group: { [uuid(1)]: { modify } } }, 'update2');
        for (const target of targets)
          expect(replica.referrers('Port', target).length).toBe(members.includes(target) ? 1 : 0);
      }
      replica.apply({ Group: { [uuid(1)]: { delete: null } } }, 'update2');
      expect(targets.flatMap((target) => replica.referrers('Port', target))).toEqual([]);
      expect(told.map(({ tables }) => tables.get('Group')?.rows[0]?.old.get('ports'))).toEqual(
        shown,
      );
    }),
    { numRuns: 20 },
  );
});

test('large sets of texts: old values read late stay right', () => {
  const set = { key: 'string', min: 0, max: 'unlimited' } as const;
  const replica = new Replica(
    parseSchema({ name: 'D', tables: { T: { columns: { s: { type: set } } } } }),
  );
  const members = ['', 'ä', ...Array.from({ length: 100 }, (_, i) => `text ${i}`)];
  const value = (texts: readonly string[]): JsonValue => ['set', [...texts]];
  replica.apply({ T: { [uuid(1)]: { initial: { s: value(members) } } } }, 'update2', 'contents');
  const told: RowChange[] = [];
  replica.subscribe(({ tables }) => told.push(...(tables.get('T')?.rows ?? [])));
  replica.apply({ T: { [uuid(1)]: { modify: { s: value(['', 'text 7']) } } } }, 'update2');
  replica.apply({ T: { [uuid(1)]: { delete: null } } }, 'update2');
  // Their place is another text's by now.
  replica.apply({ T: { [uuid(2)]: { insert: { s: value(['others']) } } } }, 'update2');
  const sorted = (texts: readonly string[]): readonly string[] =>
    texts.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  expect(told[0]?.old.get('s')).toEqual(sorted(members));
  expect(told[1]?.old.get('s')).toEqual(
    sorted(members.filter((text) => text !== '' && text !== 'text 7')),
  );
});

test('a row that goes with the conversion is told with the values it had', () => {
  const schema = (type: JsonValue) =>
    parseSchema({ name: 'D', tables: { T: { columns: { c: { type } } } } });
  const replica = new Replica(schema('string'));
  replica.apply({ T: { [uuid(1)]: { initial: { c: 'x' } } } }, 'update2', 'contents');
  const told: RowChange[] = [];
  replica.subscribe(({ tables }) => told.push(...plain(tables.get('T')?.rows)));
  replica.redefine(schema('integer'), { monitored: new Map([['T', new Set(['c'])]]) });
  replica.apply({ T: {} }, 'update2', 'contents');
  expect(told).toEqual([{ kind: 'deleted', uuid: uuid(1), old: new Map([['c', 'x']]) }]);
});

test('a column that is not followed may get any type: no row changes', () => {
  const schema = (type: JsonValue) =>
    parseSchema({ name: 'D', tables: { T: { columns: { c: { type: 'string' }, d: { type } } } } });
  const monitored = new Map([['T', new Set(['c'])]]);
  const replica = new Replica(schema({ key: 'string', min: 0 }), { monitored });
  const contents = { T: { [uuid(1)]: { initial: { c: 'x' } } } };
  replica.apply(contents, 'update2', 'contents');
  const told: RowChange[] = [];
  replica.subscribe(({ tables }) => told.push(...(tables.get('T')?.rows ?? [])));
  replica.redefine(schema('integer'), { monitored });
  replica.apply(contents, 'update2', 'contents');
  expect(told).toEqual([]);
});

test('a row shows its columns, on the console and as JSON', () => {
  const schema = parseSchema({
    name: 'D',
    tables: {
      T: {
        columns: {
          i: { type: { key: 'integer', min: 0, max: 'unlimited' } },
          m: { type: { key: 'string', value: 'integer', min: 0, max: 'unlimited' } },
        },
      },
    },
  });
  const replica = new Replica(schema);
  const uuid = '00000000-0000-4000-8000-000000000001';
  const row = { i: ['set', [1, 9223372036854775807n]], m: ['map', [['a', -9007199254740993n]]] };
  replica.apply({ T: { [uuid]: { initial: row } } }, 'update2', 'contents');
  const found = replica.row('T', uuid);
  expect(JSON.stringify(found)).toBe(
    `{"_uuid":"${uuid}","i":[1,9223372036854775807],"m":{"a":-9007199254740993}}`,
  );
  expect(inspect(found, { breakLength: Infinity })).toBe(
    `{ _uuid: '${uuid}', i: [ 1, 9223372036854775807n ], m: Map(1) { 'a' => -9007199254740993n } }`,
  );
  replica.apply({ T: { [uuid]: { delete: null } } }, 'update2');
  expect(inspect(found)).toContain('(deleted)');
});
