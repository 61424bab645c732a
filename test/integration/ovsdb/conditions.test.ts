import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { evaluateMonitorCondition, parseCondition, tableOf } from 'ovsdb-client-ts/values';
import {
  OvsdbClient,
  parseSchema,
  stringify,
  type Clause,
  type ClientEvent,
  type JsonValue,
  type Operation,
  type ReplicaRow,
} from 'ovsdb-client-ts';
import { OvsdbServer, temporaryFolder } from '../../support/ovsdb/ovsdb-server.ts';

const soon = (): AbortSignal => AbortSignal.timeout(20_000);

const SCHEMA: JsonValue = {
  name: 'Parts',
  version: '1.0.0',
  tables: {
    T: {
      columns: {
        name: { type: 'string' },
        i: { type: 'integer' },
        o: { type: { key: 'integer', min: 0 } },
        s: { type: { key: 'string', min: 0, max: 'unlimited' } },
        m: { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } },
      },
      isRoot: true,
    },
  },
};

const number = fc.integer({ min: 0, max: 3 });
const member = fc.constantFrom('a', 'b', 'c');
const members = fc.uniqueArray(member, { maxLength: 3 }).map((atoms): JsonValue => ['set', atoms]);
const pairs = fc
  .dictionary(member, member, { maxKeys: 2 })
  .map((record): JsonValue => ['map', Object.entries(record)]);
const optional = fc.option(number).map((value): JsonValue => value ?? ['set', []]);

const row = fc.record({ i: number, o: optional, s: members, m: pairs });

const clause: fc.Arbitrary<Clause> = fc.oneof(
  fc.tuple(
    fc.constant('i'),
    fc.constantFrom('==', '!=', '<', '<=', '>', '>=', 'includes', 'excludes'),
    number,
  ),
  fc.tuple(fc.constant('o'), fc.constantFrom('==', '!=', 'includes', 'excludes'), optional),
  fc.tuple(fc.constant('o'), fc.constantFrom('<', '<=', '>', '>='), number),
  fc.tuple(fc.constant('s'), fc.constantFrom('==', '!=', 'includes', 'excludes'), members),
  fc.tuple(fc.constant('m'), fc.constantFrom('==', '!=', 'includes', 'excludes'), pairs),
  fc.boolean(),
);

const name = fc.constantFrom('r0', 'r1', 'r2', 'r3');

type Step =
  | {
      readonly kind: 'insert' | 'update';
      readonly name: string;
      readonly row: { readonly [column: string]: JsonValue };
    }
  | { readonly kind: 'delete'; readonly name: string }
  | { readonly kind: 'condition'; readonly where: readonly Clause[] }
  | { readonly kind: 'reconnect' };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('insert' as const), name, row }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('update' as const), name, row }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), name }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('condition' as const),
      where: fc.array(clause, { maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'reconnect' as const }) },
);

function operation(given: Exclude<Step, { kind: 'condition' | 'reconnect' }>): Operation {
  const where: readonly Clause[] = [['name', '==', given.name]];
  if (given.kind === 'delete') return { op: 'delete', table: 'T', where };
  if (given.kind === 'update') return { op: 'update', table: 'T', where, row: given.row };
  return { op: 'insert', table: 'T', row: { name: given.name, ...given.row } };
}

test('whatever is written and whatever is asked for, a client shows exactly the rows that match, and tells each that comes or goes', async () => {
  using folder = temporaryFolder();
  const schema = join(folder.path, 'schema');
  writeFileSync(schema, stringify(SCHEMA));
  await using server = await OvsdbServer.start({ schema });
  const options = {
    remotes: server.remote,
    database: 'Parts',
    timing: { minBackoff: 5, maxBackoff: 20 },
  };
  await using writer = new OvsdbClient(options).start();
  const events: ClientEvent[] = [];
  // Clauses also look at columns that this client does not follow.
  await using reader = new OvsdbClient({
    ...options,
    tables: { T: { columns: ['name', 'i'] } },
    onEvent: (event) => events.push(event),
  }).start();
  await Promise.all([writer.ready(soon()), reader.ready(soon())]);
  const told = new Set<string>();
  reader.replica.subscribe(({ tables }) => {
    for (const { kind, uuid } of tables.get('T')?.rows ?? []) {
      if (kind === 'inserted') expect(told.has(uuid)).toBe(false);
      else expect(told.has(uuid)).toBe(true);
      if (kind === 'inserted') told.add(uuid);
      if (kind === 'deleted') told.delete(uuid);
    }
  });
  const text = (found: ReplicaRow): string =>
    `${found.uuid} ${stringify(found.column('i') as JsonValue)}`;
  let where: readonly Clause[] = [];
  const matching = (): readonly string[] => {
    const condition = parseCondition(tableOf(writer.replica.schema, 'T'), where);
    return [...writer.replica.rows('T')]
      .filter((found) => evaluateMonitorCondition(condition, (column) => found.column(column)))
      .map(text)
      .toSorted();
  };
  const shown = (): readonly string[] => [...reader.replica.rows('T')].map(text).toSorted();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      for (const given of steps) {
        if (given.kind === 'reconnect') reader.reconnect();
        else if (given.kind === 'condition') {
          ({ where } = given);
          await reader.setCondition('T', where, soon());
          expect(shown()).toEqual(matching());
        } else {
          expect((await writer.transact([operation(given)])).kind).toBe('success');
        }
        if (given.kind !== 'reconnect') {
          await expect.poll(shown, { interval: 1, timeout: 5000 }).toEqual(matching());
        }
      }
      await reader.ready(soon());
      expect([...told].toSorted()).toEqual(
        [...reader.replica.rows('T')].map(({ uuid }) => uuid).toSorted(),
      );
    }),
    { numRuns: 40 },
  );
  expect(events.filter(({ kind }) => kind === 'warning')).toEqual([]);

  // Constants in every number and order, at run time and from the beginning.
  for (const count of [1, 2, 3]) {
    for (let bits = 0; bits < 2 ** count; bits++) {
      where = Array.from({ length: count }, (_, n) => (bits & (1 << n)) !== 0);
      await reader.setCondition('T', where, soon());
      expect(shown()).toEqual(matching());
      using beginning = reader.monitor({ T: { columns: ['i'], where } });
      await beginning.ready(soon());
      expect([...beginning.replica.rows('T')].map(text).toSorted()).toEqual(matching());
    }
  }
});

test('a condition on what an older server lacks is judged by the default', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'schema');
  writeFileSync(file, stringify(SCHEMA));
  await using server = await OvsdbServer.start({ schema: file });
  const [table] = [{ columns: { name: { type: 'string' }, level: { type: 'integer' } } }];
  const newer = parseSchema({
    name: 'Parts',
    version: '2.0.0',
    tables: { T: table, U: table } as JsonValue,
  });
  await using client = new OvsdbClient({
    remotes: server.remote,
    database: 'Parts',
    schema: newer,
    tables: {
      T: {
        where: [
          ['level', '>', 3],
          ['name', '==', 'a'],
        ],
      },
      U: { where: [['level', '==', 1]] },
    },
  }).start();
  await client.ready(soon());
  const names = (): ReadonlySet<unknown> =>
    new Set([...client.replica.rows('T')].map((found) => found.column('name')));
  const operations = ['a', 'b'].map((name): Operation => ({
    op: 'insert',
    table: 'T',
    row: { name },
  }));
  expect(await client.transact(operations)).toMatchObject({ kind: 'success' });
  expect(names()).toEqual(new Set(['a']));
  await client.setCondition('T', [['level', '==', 0]], soon());
  expect(names()).toEqual(new Set(['a', 'b']));
  await client.setCondition('U', [['level', '==', 2]], soon());
  expect(client.replica.size('U')).toBe(0);
  await client.setCondition('T', [['level', '!=', 0]], soon());
  expect(names()).toEqual(new Set());
});

test('a server that knows no conditions sends every row, and the client says so', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'schema');
  writeFileSync(file, stringify(SCHEMA));
  await using server = await OvsdbServer.start({ schema: file });
  await server.control('ovsdb-server/disable-monitor-cond');
  const warnings: string[] = [];
  await using client = new OvsdbClient({
    remotes: server.remote,
    database: 'Parts',
    tables: { T: { where: [['name', '==', 'a']] } },
    onEvent: (event) => {
      if (event.kind === 'warning') warnings.push(event.text);
    },
  }).start();
  await client.ready(soon());
  await client.transact(['a', 'b'].map((name) => ({ op: 'insert', table: 'T', row: { name } })));
  expect(client.replica.size('T')).toBe(2);
  const warning = 'the server knows no conditions: every row of T is followed';
  expect(warnings).toEqual([warning]);
  await client.setCondition('T', [true], soon());
  expect(warnings).toEqual([warning]);
  await client.setCondition('T', [false], soon());
  expect(client.replica.size('T')).toBe(2);
  expect(warnings).toEqual([warning, warning]);
});
