import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  parseSchema,
  TransactionQueue,
  type Committer,
  type Operation,
  type Outcome,
  type TransactionOptions,
} from '../../../src/ovsdb/index.ts';

/**
 * Random transactions through a queue, against a database that carries out the same ones alone: rows with a key of its own each, that may be
 * asked for before. A bad operation, a guard that does not hold and a key that is there already are refused where ovsdb-server refuses
 * them: by the operation, or by the commit.
 */

const SCHEMA = parseSchema({
  name: 'Keys',
  tables: { T: { columns: { key: { type: 'integer' } } } },
});

interface Write {
  /** Keys of rows to insert. */
  readonly keys: readonly number[];
  /** Position of an operation that no server takes. */
  readonly bad: number | undefined;
  /** A key that must be, or must not be, there before. */
  readonly guard: { readonly key: number; readonly isThere: boolean } | undefined;
  readonly lock: string | undefined;
  readonly isDryRun: boolean;
}

/** A value once in so many times. */
const rarely = <T>(arbitrary: fc.Arbitrary<T>, often: number): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: often, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

const aKey = fc.nat(200);
const aWrite: fc.Arbitrary<Write> = fc.record({
  keys: fc.array(aKey, { maxLength: 3 }),
  bad: rarely(fc.nat(3), 20),
  guard: rarely(fc.record({ key: aKey, isThere: fc.boolean() }), 12),
  lock: rarely(fc.constantFrom('mine', 'lost'), 25),
  isDryRun: rarely(fc.constant(true), 25).map((isDryRun) => isDryRun === true),
});

function operationsOf({ keys, bad, guard, isDryRun }: Write): readonly Operation[] {
  const operations: Operation[] = keys.map((key) => ({ op: 'insert', table: 'T', row: { key } }));
  if (guard !== undefined)
    operations.unshift({
      op: 'wait',
      table: 'T',
      where: [['key', '==', guard.key]],
      until: guard.isThere ? '!=' : '==',
      rows: [],
      timeout: 0,
    });
  if (bad !== undefined)
    operations.splice(bad, 0, {
      op: 'mutate',
      table: 'T',
      where: [],
      mutations: [['key', '/=', 0]],
    });
  operations.push({ op: 'select', table: 'T', where: [], columns: ['key'] });
  if (isDryRun) operations.push({ op: 'abort' });
  return operations;
}

class Database implements Committer {
  /** Keys in the order in which they were committed. */
  readonly keys: number[] = [];
  /** Requests until the connection is lost once, and whether that one is applied all the same. */
  loss: { readonly after: number; readonly isApplied: boolean } | undefined;
  /** A key may be there once. */
  isUnique = true;
  requests = 0;
  underWay = 0;
  isSerial = true;

  async transact(
    operations: readonly Operation[],
    { lock }: TransactionOptions = {},
  ): Promise<Outcome> {
    this.underWay++;
    if (this.underWay > 1) this.isSerial = false;
    await new Promise((resolve) => setImmediate(resolve));
    this.underWay--;
    this.requests++;
    if (lock === 'lost') return { kind: 'not-locked', lock };
    const isLost = this.loss?.after === this.requests;
    if (isLost && this.loss?.isApplied !== true) return { kind: 'unknown', reason: 'lost' };
    const outcome = this.#carryOut(operations);
    return isLost ? { kind: 'unknown', reason: 'lost' } : outcome;
  }

  #carryOut(operations: readonly Operation[]): Outcome {
    const keys = [...this.keys];
    const results: { uuid?: string; rows?: readonly { key: number }[] }[] = [];
    for (const [operation, given] of operations.entries()) {
      if (given.op === 'insert') {
        keys.push(given.row['key'] as number);
        results.push({ uuid: JSON.stringify(given.row['key']) });
      } else if (given.op === 'select') results.push({ rows: keys.map((key) => ({ key })) });
      else if (given.op === 'abort') return { kind: 'aborted', results };
      else if (given.op === 'mutate')
        return { kind: 'error', error: 'domain error', details: 'division by zero', operation };
      else if (given.op === 'wait') {
        const [clause] = given.where;
        const isThere = Array.isArray(clause) && keys.includes(clause[2] as number);
        if (isThere === (given.until === '=='))
          return { kind: 'try-again', reason: 'timed out', operation };
        results.push({});
      }
    }
    if (this.isUnique && new Set(keys).size < keys.length)
      return { kind: 'error', error: 'constraint violation', details: 'a key is there twice' };
    this.keys.splice(0, Infinity, ...keys);
    return { kind: 'success', results };
  }
}

/** Bursts of transactions: each is asked for at once, and the next burst when some of it may still be under way. */
const bursts = fc.array(fc.array(aWrite, { maxLength: 40, size: 'max' }), { maxLength: 4 });

test('outcomes and contents are those of transactions that are carried out one by one', async () => {
  await fc.assert(
    fc.asyncProperty(bursts, fc.integer({ min: 1, max: 60 }), async (given, maxOperations) => {
      const [database, model] = [new Database(), new Database()];
      const queue = new TransactionQueue(database, () => SCHEMA, { maxOperations });
      const asked: Promise<Outcome>[] = [];
      for (const burst of given) {
        for (const write of burst)
          asked.push(
            queue.transact(
              operationsOf(write),
              write.lock === undefined ? {} : { lock: write.lock },
            ),
          );
        await asked.at(-burst.length);
      }
      const outcomes = await Promise.all(asked);
      const expected: Outcome[] = [];
      for (const write of given.flat())
        expected.push(
          await model.transact(
            operationsOf(write),
            write.lock === undefined ? {} : { lock: write.lock },
          ),
        );
      expect(outcomes).toEqual(expected);
      expect(database.keys).toEqual(model.keys);
      expect(database.isSerial).toBe(true);
      expect(queue.pending).toBe(0);
    }),
    { numRuns: 150 },
  );
}, 60_000);

test('nothing is applied twice, or against a promise, when connections are lost and askers give up', async () => {
  const aLoss = fc.record({ after: fc.integer({ min: 1, max: 8 }), isApplied: fc.boolean() });
  /** Who gives up, and at which turn. */
  const leaving = fc.array(fc.tuple(fc.nat(60), fc.nat(12)), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(aWrite, { maxLength: 60, size: 'max' }),
      aLoss,
      leaving,
      async (given, loss, leavers) => {
        const database = new Database();
        database.loss = loss;
        database.isUnique = false;
        const queue = new TransactionQueue(database, () => SCHEMA, { maxOperations: 40 });
        // Keys of its own for each, so that each can be found.
        const writes = given.map((write, n) => ({ ...write, keys: [1000 + n] }));
        const controllers = writes.map(() => new AbortController());
        const settled = Promise.allSettled(
          writes.map((write, n) =>
            queue.transact(operationsOf(write), {
              ...(write.lock === undefined ? {} : { lock: write.lock }),
              ...(n % 3 === 0 ? {} : { signal: (controllers[n] as AbortController).signal }),
            }),
          ),
        );
        for (let turn = 0; turn <= 12; turn++) {
          for (const [who, when] of leavers)
            if (when === turn) controllers[who]?.abort(new Error('enough'));
          await new Promise((resolve) => setImmediate(resolve));
        }
        const outcomes = await settled;
        expect(new Set(database.keys).size).toBe(database.keys.length);
        expect(database.keys).toEqual(database.keys.toSorted((a, b) => a - b));
        for (const [n, outcome] of outcomes.entries()) {
          const isThere = database.keys.includes(1000 + n);
          if (outcome.status === 'rejected')
            expect((outcome.reason as Error).message).toBe('enough');
          else if (outcome.value.kind === 'success') expect(isThere).toBe(true);
          else if (outcome.value.kind !== 'unknown') expect(isThere).toBe(false);
        }
        expect(queue.pending).toBe(0);
        expect(database.underWay).toBe(0);
      },
    ),
    { numRuns: 150 },
  );
}, 60_000);
