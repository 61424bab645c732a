import { describe, expect, test } from 'vitest';
import {
  type OvsdbClient,
  parseSchema,
  Replica,
  type Operation,
  type Outcome,
} from 'ovsdb-client-ts';
import { Transaction, transactWithRetry } from 'ovsdb-client-ts/extras';

const ROW = '00000000-0000-4000-8000-000000000001';
const many = { min: 0, max: 'unlimited' } as const;
const SCHEMA = parseSchema({
  name: 'Small',
  version: '1.0.0',
  tables: {
    T: {
      isRoot: true,
      columns: {
        name: { type: 'string' },
        count: { type: 'integer' },
        members: { type: { key: 'string', ...many } },
        tags: { type: { key: 'string', value: 'string', ...many } },
        fixed: { type: { key: 'string', ...many }, mutable: false },
      },
    },
  },
});

function replica(): Replica {
  const made = new Replica(SCHEMA);
  made.apply({ T: { [ROW]: { initial: { name: 'a', count: 1 } } } }, 'update2', 'contents');
  return made;
}

/** Commits for a replica that never changes, and keeps what was sent. */
class Committer {
  readonly replica = replica();
  readonly sent: (readonly Operation[])[] = [];
  readonly #outcomes: Outcome[];

  constructor(...outcomes: readonly Outcome[]) {
    this.#outcomes = [...outcomes];
  }

  /** As far as retries need one. */
  get client(): OvsdbClient {
    return this as unknown as OvsdbClient;
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  transact(operations: readonly Operation[]): Promise<Outcome> {
    this.sent.push(operations);
    return Promise.resolve(this.#outcomes.shift() ?? { kind: 'success', results: [{}] });
  }
}

const STEPS: { readonly [name: string]: (t: Transaction) => unknown } = {
  insert: (t) => t.insert('T', { name: 'x' }),
  insertSingleton: (t) => t.insertSingleton('T', {}),
  update: (t) => t.update('T', ROW, { name: 'x' }),
  'update to what is there': (t) => t.update('T', ROW, { name: 'a' }),
  'update of no column': (t) => t.update('T', ROW, {}),
  addToSet: (t) => t.addToSet('T', ROW, 'members', 'x'),
  removeFromSet: (t) => t.removeFromSet('T', ROW, 'members', 'x'),
  setKeys: (t) => t.setKeys('T', ROW, 'tags', { a: 'b' }),
  removeKeys: (t) => t.removeKeys('T', ROW, 'tags', ['a']),
  mutate: (t) => t.mutate('T', ROW, 'count', '+=', 1),
  increment: (t) => t.increment('T', ROW, 'count'),
  delete: (t) => t.delete('T', ROW),
  verify: (t) => t.verify('T', ROW, 'name'),
  guardAbsent: (t) => t.guardAbsent('T', { name: 'x' }),
  comment: (t) => t.comment('x'),
  operation: (t) => t.operation({ op: 'delete', table: 'T', where: [] }),
  dryRun: (t) => t.dryRun(),
  durable: (t) => t.durable(),
};

describe('a step after the commit would be lost, so it throws', () => {
  test.each(Object.entries(STEPS))('%s', async (_name, step) => {
    const committer = new Committer();
    const transaction = new Transaction(committer.replica).update('T', ROW, { name: 'b' });
    const outcome = transaction.commit(committer);
    expect(() => step(transaction)).toThrow(/was committed.*build a new one/);
    expect((await outcome).kind).toBe('success');
    expect(() => step(transaction)).toThrow(/was committed.*build a new one/);
    await expect(transaction.commit(committer)).rejects.toThrow('once');
    expect(committer.sent).toHaveLength(1);
  });
});

describe('a step that throws leaves the transaction as it is', () => {
  const wrong: { readonly [name: string]: (t: Transaction) => unknown } = {
    'update with a value of another type': (t) => t.update('T', ROW, { name: 'b', count: 'x' }),
    'update with an unknown column': (t) => t.update('T', ROW, { name: 'b', nmae: 'x' }),
    'update of an immutable column': (t) => t.update('T', ROW, { name: 'b', fixed: ['x'] }),
    'verify with an unknown column': (t) => t.verify('T', ROW, 'name', 'nmae'),
    'insert with an unknown column': (t) => t.insert('T', { name: 'b', nmae: 'x' }),
    'insertSingleton with an unknown column': (t) => t.insertSingleton('T', { nmae: 'x' }),
    'increment of what is no counter': (t) => t.increment('T', ROW, 'name'),
    'guardAbsent with an unknown column': (t) => t.guardAbsent('T', { name: 'b', nmae: 'x' }),
    'setKeys with a value of another type': (t) => t.setKeys('T', ROW, 'tags', new Map([['a', 7]])),
  };
  test.each(Object.entries(wrong))('%s', (_name, step) => {
    const transaction = new Transaction(replica()).update('T', ROW, { members: ['kept'] });
    const before = JSON.stringify(transaction.operations());
    expect(() => step(transaction)).toThrow();
    expect(JSON.stringify(transaction.operations())).toBe(before);
  });

  test('what an update that throws would have overwritten is still done', () => {
    const transaction = new Transaction(replica()).update('T', ROW, { name: 'b' });
    expect(() => transaction.update('T', ROW, { name: 'c', count: 'x' })).toThrow();
    expect(transaction.operations()).toMatchObject([{ op: 'update', row: { name: 'b' } }]);
  });
});

describe('nothing is sent for nothing', () => {
  const empty: { readonly [name: string]: (t: Transaction) => unknown } = {
    addToSet: (t) => t.addToSet('T', ROW, 'members', []),
    removeFromSet: (t) => t.removeFromSet('T', ROW, 'members', new Set()),
    setKeys: (t) => t.setKeys('T', ROW, 'tags', {}),
    removeKeys: (t) => t.removeKeys('T', ROW, 'tags', []),
    'mutate with insert': (t) => t.mutate('T', ROW, 'members', 'insert', []),
    'mutate with delete': (t) => t.mutate('T', ROW, 'tags', 'delete', []),
    update: (t) => t.update('T', ROW, { name: 'a', count: 1 }),
  };
  test.each(Object.entries(empty))('%s', async (_name, step) => {
    const committer = new Committer();
    const transaction = new Transaction(committer.replica);
    step(transaction);
    expect(transaction.isEmpty).toBe(true);
    expect(await transaction.commit(committer)).toEqual({ kind: 'unchanged' });
    expect(committer.sent).toEqual([]);
  });

  test('an impossible step throws all the same', () => {
    const transaction = new Transaction(replica());
    expect(() => transaction.addToSet('T', ROW, 'fixed', [])).toThrow('immutable');
    expect(() => transaction.addToSet('T', ROW, 'none', [])).toThrow('none');
    expect(() => transaction.addToSet('T', 'no UUID', 'members', [])).toThrow('is not a UUID');
  });
});

describe('what is no row', () => {
  // Plain JavaScript: nothing but the transaction says so.
  const steps: Record<string, (transaction: Transaction, row: never) => unknown> = {
    delete: (t, row) => t.delete('T', row),
    update: (t, row) => t.update('T', row, { name: 'b' }),
    addToSet: (t, row) => t.addToSet('T', row, 'members', ['x']),
    increment: (t, row) => t.increment('T', row, 'count'),
    verify: (t, row) => t.verify('T', row, 'name'),
  };
  const [found] = [...replica().rows('T')];
  test.each(
    Object.entries(steps).flatMap(([name, step]) =>
      [found, { uuid: ROW, name: 'a' }, undefined, null, 1, [ROW]].map(
        (row) => [name, row, step] as const,
      ),
    ),
  )('%s does not take %o', (_name, row, step) => {
    const transaction = new Transaction(replica());
    expect(() => step(transaction, row as never)).toThrow(
      'a row to change is given by its UUID (row.uuid)',
    );
    expect(transaction.isEmpty).toBe(true);
  });
});

describe('a transaction that is retried', () => {
  test('waits for a builder that is asynchronous', async () => {
    const committer = new Committer();
    const outcome = await transactWithRetry(committer.client, async (transaction) => {
      await new Promise((resolve) => setImmediate(resolve));
      transaction.update('T', ROW, { name: 'b' });
    });
    expect(outcome.kind).toBe('success');
    expect(committer.sent).toEqual([
      [{ op: 'update', table: 'T', where: [['_uuid', '==', ['uuid', ROW]]], row: { name: 'b' } }],
    ]);
  });

  test('rejects with what such a builder rejects with', async () => {
    const committer = new Committer();
    await expect(
      transactWithRetry(committer.client, () => Promise.reject(new Error('not now'))),
    ).rejects.toThrow('not now');
    expect(committer.sent).toEqual([]);
  });

  test('builds again as long as it is to be tried again', async () => {
    const again: Outcome = { kind: 'try-again', reason: 'it changed' };
    const committer = new Committer(again, again);
    let built = 0;
    const outcome = await transactWithRetry(committer.client, (transaction) => {
      transaction.update('T', ROW, { name: `b${++built}` });
    });
    expect([outcome.kind, built]).toEqual(['success', 3]);
  });
});
