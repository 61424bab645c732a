import { describe, expect, test } from 'vitest';
import { parseSchema, Replica, type JsonValue } from 'ovsdb-client-ts';

const uuid = '00000000-0000-4000-8000-000000000001';

const schema = parseSchema({
  name: 'D',
  tables: { T: { columns: { name: { type: 'string' }, other: { type: 'string' } } } },
});

function loaded(): Replica {
  const replica = new Replica(schema, { monitored: new Map([['T', new Set(['name'])]]) });
  replica.apply({ T: { [uuid]: { initial: { name: 'a' } } } }, 'update2', 'contents');
  return replica;
}

const apply = (replica: Replica, update: JsonValue) => () => {
  replica.apply({ T: { [uuid]: update } }, 'update2');
};

describe('kinds of row updates', () => {
  test.each([
    'dxxxxx',
    'deleted',
    'Delete',
    'mxxxxx',
    'inxxxx',
    'inserts',
    'initiaX',
    '',
    '__proto__',
  ])('a row update called "%s" is refused, and nothing changes', (kind) => {
    const replica = loaded();
    const update = Object.fromEntries([[kind, { name: 'b' }]]);
    expect(apply(replica, update)).toThrow(`"${kind}" is no kind of row update`);
    expect(replica.row('T', uuid)?.column('name')).toBe('a');
  });

  test('those that there are do what they are called', () => {
    const replica = loaded();
    apply(replica, { modify: { name: 'b' } })();
    expect(replica.row('T', uuid)?.column('name')).toBe('b');
    apply(replica, { delete: null })();
    expect(replica.size('T')).toBe(0);
    apply(replica, { insert: { name: 'c' } })();
    expect(replica.row('T', uuid)?.column('name')).toBe('c');
  });
});

test('the old values of a deleted row are those of the columns that are followed', () => {
  const replica = loaded();
  const old: string[][] = [];
  replica.subscribe(({ tables }) => {
    for (const change of tables.get('T')?.rows ?? []) old.push([...change.old.keys()]);
  });
  apply(replica, { delete: null })();
  expect(old).toEqual([['name']]);
});

test('an index that is asked for through a table that is loaded again is right', () => {
  const replica = loaded();
  expect(replica.find('T', ['name'], ['a'])).toHaveLength(1);
  replica.apply({ T: {} }, 'update2', 'contents');
  expect(replica.find('T', ['name'], ['a'])).toHaveLength(0);
  replica.apply({ T: { [uuid]: { initial: { name: 'a' } } } }, 'update2', 'contents');
  expect(replica.find('T', ['name'], ['a'])).toHaveLength(1);
});
