import { beforeEach, describe, expect, test } from 'vitest';
import { parseSchema, Replica } from 'ovsdb-client-ts';
import type { UpdateFormat } from '../../../src/ovsdb/replica/update-reader.ts';

/** Members of an object that are given twice: the last one counts, as in every JSON text that a server reads. */

const SCHEMA = parseSchema({
  name: 'D',
  tables: {
    T: { columns: { name: { type: 'string' }, n: { type: 'integer' } } },
    U: { columns: { name: { type: 'string' } } },
  },
});
const [a, b, c] = [1, 2, 3].map((n) => `"00000000-0000-4000-8000-00000000000${n}"`);

let replica: Replica;

/** Shows updates as a server writes them, whose members JSON values would not keep. */
function read(
  text: string,
  mode: 'changes' | 'contents' = 'changes',
  format: UpdateFormat = 'update2',
): void {
  const reader = replica.reader(format, mode);
  const bytes = Buffer.from(text);
  expect(reader.push(bytes, 0, bytes.length)).toBe(bytes.length);
  replica.show(reader, true);
}

const shown = (table = 'T'): readonly string[] =>
  [...replica.rows(table)]
    .map((row) => `${row.uuid.at(-1)} ${row.column('name') as string}`)
    .sort();

beforeEach(() => {
  replica = new Replica(SCHEMA);
});

describe('of a table that is named twice', () => {
  test('the last one is all there is', () => {
    read(
      `{"T":{${a}:{"initial":{"name":"one","n":7}},${b}:{"initial":{"name":"two"}}},"U":{},"T":{${b}:{"initial":{"name":"last"}}}}`,
      'contents',
    );
    expect(shown()).toEqual(['2 last']);
    expect(replica.find('T', ['name'], ['one'])).toEqual([]);
    // The same once more, and then with other rows: compared with what is there.
    read(`{"T":{},"T":{${b}:{"initial":{"name":"last"}}}}`, 'contents');
    expect(shown()).toEqual(['2 last']);
    read(
      `{"T":{${a}:{"initial":{}},${b}:{"initial":{"name":"x"}}},"T":{${c}:{"initial":{"name":"new"}}}}`,
      'contents',
    );
    expect(shown()).toEqual(['3 new']);
  });

  test('the last changes are carried out', () => {
    read(`{"T":{${a}:{"initial":{"name":"one"}}}}`, 'contents');
    read(
      `{"T":{${a}:{"delete":null},${b}:{"insert":{"name":"two"}}},"U":{${a}:{"insert":{}}},"T":{${a}:{"modify":{"name":"changed"}},${c}:{"insert":{}}}}`,
    );
    expect([shown(), shown('U')]).toEqual([['1 changed', '3 '], ['1 ']]);
  });
});

describe('of a row that is named twice', () => {
  test('the last one counts', () => {
    read(`{"T":{${a}:{"initial":{"name":"x","n":5}},${a}:{"initial":{"name":"one"}}}}`, 'contents');
    expect(shown()).toEqual(['1 one']);
    expect(replica.find('T', ['n'], [0])).toHaveLength(1);
  });

  test('also when it is what there is already', () => {
    read(`{"T":{${a}:{"initial":{"name":"one"}},${b}:{"initial":{}}}}`, 'contents');
    const heard: unknown[] = [];
    replica.subscribe(({ tables }) => heard.push(tables));
    const same = `${a}:{"initial":{"name":"one"}}`;
    read(`{"T":{${a}:{"initial":{"name":"x"}},${same},${b}:{"initial":{}}}}`, 'contents');
    read(
      `{"T":{${a}:{"initial":{"name":"x"}},${same},${a}:{"initial":{}},${same},${b}:{"initial":{}}}}`,
      'contents',
    );
    expect([shown(), heard]).toEqual([['1 one', '2 '], []]);
  });

  test('in updates of RFC 7047, too', () => {
    read(`{"T":{${a}:{"new":{"name":"x"}},${a}:{"new":{"name":"one"}}}}`, 'contents', 'update');
    read(
      `{"T":{${a}:{"old":{"name":"one"}},${a}:{"old":{"name":"one"},"new":{"name":"two"}}}}`,
      'changes',
      'update',
    );
    expect(shown()).toEqual(['1 two']);
  });
});
