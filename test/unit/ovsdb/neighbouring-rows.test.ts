import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OvsdbError, Replica, type ReplicaRow } from 'ovsdb-client-ts';
import { VALUES_SCHEMA } from '../../support/ovsdb/ovsdb-values.ts';

const latin = (text: string): Buffer => Buffer.from(text, 'latin1');

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** A value as text: most often one of a few, as in neighbouring rows of a database, else anything else. */
const oneOf = (usual: readonly string[], others: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );
const aText = oneOf(
  ['"a"', '"b"', '""', '"a longer text than sixteen bytes"'],
  [
    '"\\u0061"',
    '"a\\"b"',
    '"\xc3\xa9"',
    '"\xff"',
    '"\x01"',
    '"}},"',
    '7',
    'null',
    '["set",[]]',
    '["set",["a"]]',
    '"\x7f"',
  ],
);
const anInteger = oneOf(
  ['0', '1', '23', '999999999'],
  ['-1', '01', '1e2', '1.5', '1234567890', '9223372036854775807', '9223372036854775808', '"1"'],
);
const aUuid = oneOf(
  [`["uuid","${uuid(1)}"]`, `["uuid","${uuid(2)}"]`, `["uuid","${uuid(0)}"]`],
  [
    '["uuid","00000000-0000-4000-8000-00000000000g"]',
    '["uuid","1"]',
    '["named-uuid","a"]',
    `["uuid" , "${uuid(3)}"]`,
    '["uuid","00000000-0000-4000-8000-\\u003000000000001"]',
    '"a"',
  ],
);
const aSet = (atom: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.tuple(atom, atom).map((members) => `["set",[${members.join(',')}]]`),
    },
    { weight: 1, arbitrary: atom },
    { weight: 1, arbitrary: fc.constant('["set",[]]') },
  );
const aMap = (key: string, other: string, value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(oneOf([key], [other, '"c"']), value, oneOf([other], [key, '"c"']), value)
    .map(([a, x, b, y]) => `["map",[[${a},${x}],[${b},${y}]]]`);

const VALUES: Readonly<Record<string, fc.Arbitrary<string>>> = {
  s: aText,
  s_optional: aText,
  s_set: aSet(aText),
  ss_map: aMap('"a"', '"b"', aText),
  i: anInteger,
  i_optional: anInteger,
  i_set: aSet(anInteger),
  i_map: aMap('1', '2', anInteger),
  r: oneOf(['1', '2'], ['1.5', '1e300']),
  b: oneOf(['true', 'false'], ['1']),
  u: aUuid,
  u_set: aSet(aUuid),
  u_map: aMap(`["uuid","${uuid(1)}"]`, `["uuid","${uuid(2)}"]`, anInteger),
  s_map: aMap('"b"', '"a"', anInteger),
  // The schema has no such column.
  unknown: oneOf(['1', '2'], ['[{}]']),
};

/** Rows of few columns, the same ones most often, as text. */
function rowsOf(kind: string, ids: fc.Arbitrary<string>): fc.Arbitrary<string[]> {
  return fc
    .uniqueArray(fc.constantFrom(...Object.keys(VALUES)), { minLength: 1, maxLength: 4 })
    .chain((columns) => {
      const row = (names: readonly string[]): fc.Arbitrary<string> =>
        fc
          .tuple(ids, fc.constantFrom('', '', '', '', ' '), ...names.map((name) => VALUES[name]!))
          .map(([id, space, ...values]) => {
            const cells = names.map((name, i) => `"${name}":${values[i]}`);
            return `"${id}":{${space}"${kind}":{${cells.join(',')}}}`;
          });
      return fc.array(
        fc.oneof(
          { weight: 12, arbitrary: row(columns) },
          { weight: 1, arbitrary: row(columns.toReversed()) },
          { weight: 1, arbitrary: row([...columns, ...columns.slice(0, 1)]) },
          { weight: 1, arbitrary: fc.constant(`"${uuid(1)}":{"${kind}":{}}`) },
        ),
        { minLength: 3, maxLength: 12 },
      );
    });
}

const someIds = (most: number): fc.Arbitrary<string> =>
  oneOf(
    Array.from({ length: most }, (_, n) => uuid(n + 1)),
    [uuid(0), uuid(1).replace('4', 'A'), uuid(1).slice(1), `${uuid(1).slice(1)}x`],
  );

type Mode = 'contents' | 'changes';

const columnNames = [...(VALUES_SCHEMA.tables.get('T')?.columns.keys() ?? [])];
const valuesOf = (row: ReplicaRow | undefined): unknown =>
  row && Object.fromEntries(columnNames.map((name) => [name, row.column(name)]));

/** Reads one message, in pieces. */
function read(
  replica: Replica,
  rows: readonly string[],
  mode: Mode,
  cuts: readonly number[] = [],
): void {
  const bytes = latin(`{"T":{${rows.join(',')}}}`);
  const reader = replica.reader('update2', mode);
  const places = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b);
  let at = 0;
  for (const place of [...places, bytes.length]) at = reader.push(bytes, at, Math.max(at, place));
  replica.show(reader, true);
}

/** What a message does that is given row by row to replicas which have seen no other row. */
function oneByOne(
  rows: readonly string[],
  mode: Mode,
  make: () => Replica,
): ReadonlyMap<string, unknown> | string {
  const result = new Map<string, unknown>();
  for (const row of rows) {
    const replica = make();
    try {
      read(replica, [row], mode);
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      return error.code;
    }
    const id = /[^"]+/.exec(row)?.[0].toLowerCase() ?? '';
    result.set(id, valuesOf(replica.row('T', id)));
  }
  return result;
}

function together(read: () => Replica): ReadonlyMap<string, unknown> | string {
  try {
    return new Map([...read().rows('T')].map((row) => [row.uuid, valuesOf(row)]));
  } catch (error) {
    if (!(error instanceof OvsdbError)) throw error;
    return error.code;
  }
}

const asObject = (result: ReadonlyMap<string, unknown> | string): unknown =>
  typeof result === 'string' ? result : Object.fromEntries(result);

const cutting = fc.array(fc.nat(), { maxLength: 3 });

describe('neighbouring rows, whose columns and values the reader expects to be alike,', () => {
  test('mean what each means by itself', () => {
    fc.assert(
      fc.property(rowsOf('initial', someIds(9)), cutting, (rows, cuts) => {
        const alone = oneByOne(rows, 'contents', () => new Replica(VALUES_SCHEMA));
        const all = together(() => {
          const replica = new Replica(VALUES_SCHEMA);
          read(replica, rows, 'contents', cuts);
          return replica;
        });
        expect(asObject(all)).toEqual(asObject(alone));
      }),
      { numRuns: 120 },
    );
  });

  test('mean so as differences, too, one message after the other', () => {
    const before = Array.from(
      { length: 9 },
      (_, n) =>
        `"${uuid(n + 1)}":{"initial":{"s_set":["set",["a","c"]],"ss_map":["map",[["a","a"]]],"i":1}}`,
    );
    const loaded = (): Replica => {
      const replica = new Replica(VALUES_SCHEMA);
      read(replica, before, 'contents');
      return replica;
    };
    const differences = rowsOf('modify', someIds(9));
    fc.assert(
      fc.property(fc.array(differences, { minLength: 1, maxLength: 3 }), cutting, (given, cuts) => {
        // The last one of a row counts, within a message.
        const messages = given.map((rows) => [
          ...new Map(rows.map((row) => [row.slice(0, 38), row])).values(),
        ]);
        const history = (mine: (id: string) => boolean, isWhole: boolean) => () => {
          const replica = loaded();
          for (const rows of messages) {
            const chosen = rows.filter((row) => mine(row.slice(1, 37)));
            if (isWhole) read(replica, chosen, 'changes', cuts);
            else for (const row of chosen) read(replica, [row], 'changes');
          }
          return replica;
        };
        const all = together(history(() => true, true));
        const alone = messages.flat().map((row) => {
          const id = row.slice(1, 37);
          const only = together(history((other) => other === id, false));
          return typeof only === 'string' ? only : [id.toLowerCase(), only.get(id.toLowerCase())];
        });
        if (typeof all === 'string') expect(alone).toContain(all);
        else
          expect(alone).toEqual(
            messages.flat().map((row) => {
              const id = row.slice(1, 37).toLowerCase();
              return [id, all.get(id)];
            }),
          );
      }),
      { numRuns: 40 },
    );
  });

  /** Rows that are alike, then one more. */
  const after = (column: string, values: readonly string[], last: string, id = uuid(9)) => {
    const replica = new Replica(VALUES_SCHEMA);
    const rows = [...values, last].map(
      (value, n, { length }) =>
        `"${n === length - 1 ? id : uuid(n + 1)}":{"initial":{"${column}":${value}}}`,
    );
    read(replica, rows, 'contents');
    return replica.row('T', id)?.column(column);
  };
  const sets = ['["set",["a","b"]]', '["set",["a","c"]]', '["set",["d","e"]]'];
  const maps = ['["map",[["a",1],["b",2]]]', '["map",[["a",3],["b",4]]]'];

  test('have sets in order, and no member twice', () => {
    expect(after('s_set', sets, '["set",["x","f"]]')).toEqual(['f', 'x']);
    expect(() => after('s_set', sets, '["set",["x","x"]]')).toThrow('has a member twice');
    expect(after('s_map', maps, '["map",[["a",5],["b",6]]]')).toEqual(
      new Map([
        ['a', 5],
        ['b', 6],
      ]),
    );
    const turned = maps.map((map) => map.replace('"a"', '"z"'));
    expect(after('s_map', turned, '["map",[["z",5],["b",6]]]')).toEqual(
      new Map([
        ['b', 6],
        ['z', 5],
      ]),
    );
  });

  test('have maps in order, too, whatever their keys', () => {
    const keys = ['["map",[["a",1],["b",2]]]', '["map",[["c",1],["d",2]]]'];
    expect(after('s_map', keys, '["map",[["z",5],["e",6]]]')).toEqual(
      new Map([
        ['e', 6],
        ['z', 5],
      ]),
    );
    expect(() => after('s_map', keys, '["map",[["z",5],["z",6]]]')).toThrow('has a member twice');
  });

  test('are refused when one has no UUID of a row', () => {
    expect(() =>
      after('s', ['"a"', '"b"', '"c"'], '"d"', uuid(0).replace('4', '0').replace('8', '0')),
    ).toThrow('"00000000-0000-0000-0000-000000000000" is not the UUID of a row');
  });

  test('are read right after what they had in common was given back', () => {
    const replica = new Replica(VALUES_SCHEMA);
    read(replica, [], 'contents');
    const { bytes: _, ...kept } = replica.statistics;
    for (let round = 0; round < 20; round++) {
      // Values that nobody has any more by then, and others that get their ids.
      const rows = Array.from(
        { length: 3 },
        (_, n) =>
          `"${uuid(n + 1)}":{"insert":{"s":"fixed","s_set":["set",["fixed, too","x${n}"]],"i":1234567890123,"ss_map":["map",[["key","value"],["l","${round}"]]]}}`,
      );
      read(replica, rows, 'changes');
      for (let n = 0; n < 3; n++) {
        expect(valuesOf(replica.row('T', uuid(n + 1)))).toMatchObject({
          s: 'fixed',
          s_set: ['fixed, too', `x${n}`],
          i: 1234567890123,
          ss_map: new Map([
            ['key', 'value'],
            ['l', String(round)],
          ]),
        });
      }
      const gone = Array.from({ length: 3 }, (_, n) => `"${uuid(n + 1)}":{"delete":null}`);
      read(replica, gone, 'changes');
      const others = `"${uuid(50)}":{"insert":{"s":"other ${round}","s_set":["set",["p${round}","q"]],"i":${round + 7234567890123}}}`;
      read(replica, [others], 'changes');
      read(replica, [`"${uuid(50)}":{"delete":null}`], 'changes');
      expect(replica.size('T')).toBe(0);
    }
    const { bytes: _bytes, ...counts } = replica.statistics;
    expect(counts).toMatchObject(kept);
  });
});
