import { describe, expect, test } from 'vitest';
import {
  OvsdbClient,
  parseSchema,
  Replica,
  type Datum,
  type JsonValue,
  type OrderedColumn,
  type TableIndexes,
} from 'ovsdb-client-ts';
import {
  ScriptedOvsdbServer,
  smallDatabase,
  SMALL_SCHEMA,
} from '../../support/ovsdb/scripted-ovsdb-server.ts';

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

const schema = (...more: readonly string[]) =>
  parseSchema({
    name: 'D',
    tables: {
      T: {
        isRoot: true,
        columns: {
          n: { type: 'integer' },
          labels: { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } },
          next: { type: { key: { type: 'uuid', refTable: 'T', refType: 'weak' }, min: 0 } },
          ...Object.fromEntries(more.map((name) => [name, { type: 'string' }])),
        },
      },
    },
  });

const ROWS = 10_000;

/** In no order. */
const numberOf = (row: number): number => (row * 7919) % ROWS;

const rowJson = (row: number): JsonValue => ({
  n: numberOf(row),
  labels: ['map', [['owner', `o${row % 10}`]]],
  next: ['uuid', uuid(row + 1)],
});

/** A replica, and how it is given updates and asked. */
function loaded(indexes: TableIndexes, order: readonly OrderedColumn[]) {
  const replica = new Replica(schema(), { indexes: new Map([['T', indexes]]) });
  const read = (updates: JsonValue, mode: 'changes' | 'contents'): void => {
    replica.apply({ T: updates }, 'update2', mode);
  };
  const check = (count: number): void => {
    const ordered = replica.ordered('T', order).rows();
    const numbers = ordered.map((row) => row.column('n') as number);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(ordered).toHaveLength(count);
    const byOwner = replica.find('T', [{ column: 'labels', key: 'owner' }], ['o3']);
    expect(byOwner).toHaveLength(count / 10);
  };
  return { replica, read, check };
}

describe('indexes that are wanted from the first row on', () => {
  let compared = 0;
  const byNumber: readonly OrderedColumn[] = [
    {
      column: 'n',
      compare: (a: Datum, b: Datum) => {
        compared++;
        return (a as number) - (b as number);
      },
    },
  ];
  const indexes: TableIndexes = {
    find: [[{ column: 'labels', key: 'owner' }]],
    ordered: [byNumber],
    referrers: true,
  };
  const rows = (from: number, to: number, kind: string): JsonValue =>
    Object.fromEntries(
      Array.from({ length: to - from }, (_, n) => [uuid(from + n), { [kind]: rowJson(from + n) }]),
    );
  /** How often values are compared while something is asked. */
  const whileAsking = (ask: () => void): number => {
    const before = compared;
    ask();
    return compared - before;
  };

  test('follow the rows that come and change before anybody asks', () => {
    const { read, check, replica } = loaded(indexes, byNumber);
    read(rows(0, ROWS, 'initial'), 'contents');
    check(ROWS);
    expect(replica.referrers('T', uuid(8))).toMatchObject([{ column: 'next', uuid: uuid(7) }]);
    read(
      Object.fromEntries(
        Array.from({ length: ROWS }, (_, n) => [uuid(n), { modify: { n: numberOf(n + 1) } }]),
      ),
      'changes',
    );
    check(ROWS);
    // What is in order is not put in order again.
    expect(whileAsking(() => check(ROWS))).toBe(0);
    read({ [uuid(3)]: { modify: { n: 17 } } }, 'changes');
    expect(whileAsking(() => check(ROWS))).toBeLessThan(64);
  });

  test('are there after a conversion; those whose column is gone are not missed until they are asked for', () => {
    const { replica, read, check } = loaded(indexes, byNumber);
    replica.find('T', ['next'], [uuid(1)]);
    read(rows(0, ROWS, 'initial'), 'contents');
    replica.redefine(schema('later'), {
      monitored: new Map([['T', new Set(['n', 'labels', 'later'])]]),
    });
    read(rows(0, ROWS, 'initial'), 'contents');
    check(ROWS);
    const other = parseSchema({ name: 'D', tables: { T: { columns: { n: { type: 'string' } } } } });
    replica.redefine(other, { monitored: new Map([['T', new Set(['n'])]]) });
    read({ [uuid(1)]: { initial: { n: 'x' } } }, 'contents');
    expect(() => replica.find('T', ['next'], [uuid(1)])).toThrow('No column next');
    expect(replica.find('T', ['n'], ['x'])).toHaveLength(1);
  });

  test('whose order throws disturb nobody but who asks for it', () => {
    const fails: readonly OrderedColumn[] = [
      {
        column: 'n',
        compare() {
          throw new Error('no order');
        },
      },
    ];
    const { replica, read } = loaded({ ordered: [fails] }, fails);
    read(rows(0, ROWS, 'initial'), 'contents');
    expect(replica.size('T')).toBe(ROWS);
    expect(() => replica.ordered('T', fails).rows()).toThrow('no order');
  });

  test('are the same for the same columns', () => {
    const { read, check, replica } = loaded({}, byNumber);
    read(rows(0, 100, 'initial'), 'contents');
    expect(whileAsking(() => check(100))).toBeGreaterThan(0);
    expect(
      whileAsking(() => replica.ordered('T', [{ ...(byNumber[0] as object) } as never]).rows()),
    ).toBe(0);
  });
});

describe('a client', () => {
  const soon = (): AbortSignal => AbortSignal.timeout(15_000);

  test('has them when its contents are loaded, leaves out what the server lacks, and refuses what can be none', async () => {
    const rows = { [uuid(1)]: { name: 'a', count: 2 }, [uuid(2)]: { name: 'b', count: 1 } };
    await using server = await ScriptedOvsdbServer.start(smallDatabase(rows));
    const warnings: string[] = [];
    const options = { remotes: server.remote, database: 'Small' };
    await using client = new OvsdbClient({
      ...options,
      tables: {
        T: { indexes: { find: [['name'], ['nmae']], ordered: [['count'], ['cuont']] } },
      },
      onEvent: (event) => {
        if (event.kind === 'warning') warnings.push(event.text);
      },
    }).start();
    await client.ready(soon());
    expect(warnings).toEqual([
      'there is no column nmae in table T: no index is made of it',
      'there is no column cuont in table T: no index is made of it',
    ]);
    expect(client.replica.find('T', ['name'], ['a'])).toHaveLength(1);
    expect(
      client.replica
        .ordered('T', ['count'])
        .rows()
        .map((row) => row.uuid),
    ).toEqual([uuid(2), uuid(1)]);
    const wrong = { T: { indexes: { find: [[{ column: 'name', key: 'x' }]] } } };
    expect(
      () => new OvsdbClient({ ...options, tables: wrong, schema: parseSchema(SMALL_SCHEMA) }),
    ).toThrow('column name of table T is not a map');
    expect(() => client.monitor(wrong)).toThrow('column name of table T is not a map');
    expect(client.status).toBe('ready');
  });
});
