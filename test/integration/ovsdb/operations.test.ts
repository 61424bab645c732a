import { expect, test } from 'vitest';
import { OvsdbClient, type Operation, type Outcome } from 'ovsdb-client-ts';
import { OvsdbServer } from '../../support/ovsdb/ovsdb-server.ts';

const soon = (): AbortSignal => AbortSignal.timeout(15_000);
const anyUuid = ['uuid', expect.stringMatching(/^[0-9a-f-]{36}$/) as string];
const where = [['name', '==', 'a']] as const;
const T = 'Address_Set';

const wait = (
  until: '==' | '!=',
  rows: Extract<Operation, { op: 'wait' }>['rows'],
  timeout: number,
): Operation => ({ op: 'wait', table: T, where, columns: ['name'], until, rows, timeout });

/** In order, on one server: operations and what came of them. */
const STEPS: readonly (readonly [string, readonly Operation[], object])[] = [
  [
    'insert',
    [{ op: 'insert', table: T, row: { name: 'a' } }],
    { kind: 'success', results: [{ uuid: anyUuid }] },
  ],
  [
    'select',
    [{ op: 'select', table: T, where, columns: ['name', 'addresses'] }],
    { kind: 'success', results: [{ rows: [{ name: 'a', addresses: ['set', []] }] }] },
  ],
  [
    'update, mutate and delete count what they match',
    [
      { op: 'update', table: T, where, row: { addresses: 'x' } },
      { op: 'mutate', table: T, where, mutations: [['addresses', 'insert', 'y']] },
      { op: 'delete', table: T, where: [['name', '==', 'none']] },
    ],
    { kind: 'success', results: [{ count: 1 }, { count: 1 }, { count: 0 }] },
  ],
  [
    'wait, comment and commit say nothing',
    [
      wait('==', [{ name: 'a' }], 0),
      { op: 'comment', comment: 'x' },
      { op: 'commit', durable: true },
    ],
    { kind: 'success', results: [{}, {}, {}] },
  ],
  [
    'a wait that fails at once',
    [{ op: 'comment', comment: 'x' }, wait('!=', [{ name: 'a' }], 0)],
    { kind: 'try-again', operation: 1 },
  ],
  ['a wait that fails in time', [wait('==', [], 20)], { kind: 'try-again', operation: 0 }],
  [
    'abort',
    [{ op: 'delete', table: T, where }, { op: 'abort' }],
    { kind: 'aborted', results: [{ count: 1 }] },
  ],
  ['assert', [{ op: 'assert', lock: 'nobody' }], { kind: 'not-locked', lock: 'nobody' }],
  [
    'an index, found at the commit',
    [{ op: 'insert', table: T, row: { name: 'a' } }],
    { kind: 'error', error: 'constraint violation' },
  ],
  [
    'an unknown table',
    [{ op: 'delete', table: 'None', where: [] }],
    { kind: 'error', error: 'syntax error', operation: 0, table: 'None' },
  ],
  [
    'an unknown column',
    [{ op: 'update', table: T, where, row: { none: 1 } }],
    { kind: 'error', error: 'unknown column', operation: 0 },
  ],
  [
    'a value outside its range',
    [
      { op: 'comment', comment: 'x' },
      { op: 'insert', table: 'Logical_Switch_Port', row: { name: 'p', tag: 5000 } },
    ],
    { kind: 'error', error: 'constraint violation', operation: 1 },
  ],
  [
    'a name for two rows',
    [
      { op: 'insert', table: T, row: { name: 'b' }, 'uuid-name': 'n' },
      { op: 'insert', table: T, row: { name: 'c' }, 'uuid-name': 'n' },
    ],
    { kind: 'error', error: 'duplicate uuid-name', operation: 1 },
  ],
  [
    'a reference to nothing',
    [
      {
        op: 'insert',
        table: 'Logical_Switch',
        row: { name: 's', ports: ['uuid', '11111111-1111-4111-8111-111111111111'] },
      },
    ],
    { kind: 'error', error: 'referential integrity violation' },
  ],
  [
    'a division by zero',
    [
      { op: 'insert', table: 'NB_Global', row: { nb_cfg: 4 } },
      { op: 'mutate', table: 'NB_Global', where: [], mutations: [['nb_cfg', '/=', 0]] },
    ],
    { kind: 'error', error: 'domain error', operation: 1 },
  ],
];

test('what each operation answers, and how each is refused', async () => {
  await using server = await OvsdbServer.start();
  await using client = new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
  }).start();
  await client.ready(soon());
  const outcomes: [string, Outcome][] = [];
  for (const [name, operations] of STEPS) outcomes.push([name, await client.transact(operations)]);
  expect(outcomes).toMatchObject(STEPS.map(([name, , outcome]) => [name, outcome]));
  // Refused by the commit, not by an operation: no position.
  const refused = new Map(outcomes);
  expect(refused.get('an index, found at the commit')).not.toHaveProperty('operation');
  expect(refused.get('a reference to nothing')).not.toHaveProperty('operation');
});
