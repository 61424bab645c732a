import { describe, expect, test } from 'vitest';
import {
  parseSchema,
  TransactionQueue,
  type Committer,
  type JsonValue,
  type Operation,
  type Outcome,
  type QueueOptions,
  type TransactionOptions,
} from '../../../src/ovsdb/index.ts';

const SCHEMA = parseSchema({
  name: 'Small',
  tables: { T: { columns: { name: { type: 'string' } } } },
});

const note = (comment: string): Operation => ({ op: 'comment', comment });

/** Operations in short: comments as their text. */
const text = (operations: readonly Operation[]): string =>
  operations
    .map((operation) => (operation.op === 'comment' ? operation.comment : operation.op))
    .join(' ');

/** Each result says which operation it is of. */
const done = (operations: readonly Operation[]): Outcome => ({
  kind: 'success',
  results: operations.map((operation) => ({ uuid: text([operation]) })),
});

const resultsOf = (outcome: Outcome): unknown =>
  outcome.kind === 'success' ? outcome.results.map(({ uuid }) => uuid) : outcome.kind;

const letters = (names: string): readonly string[] => names.split('');

interface UnderWay {
  readonly operations: readonly Operation[];
  readonly options: TransactionOptions;
  answer(outcome?: Outcome): void;
  fail(error: Error): void;
}

/** Stands for the client; answers when a test says so, or by a rule. */
class Server implements Committer {
  /** Requests that were sent, in short. */
  readonly requests: string[] = [];
  readonly underWay: UnderWay[] = [];
  /** Answers at once, in place of the test. */
  rule: ((operations: readonly Operation[]) => Outcome) | undefined;
  readonly queue: TransactionQueue;

  constructor(options?: QueueOptions) {
    this.queue = new TransactionQueue(this, () => SCHEMA, options);
  }

  transact(operations: readonly Operation[], options: TransactionOptions = {}): Promise<Outcome> {
    const lock = options.lock === undefined ? '' : `${options.lock}: `;
    this.requests.push(`${lock}${text(operations)}`);
    if (this.rule !== undefined) return Promise.resolve(this.rule(operations));
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    // As the client does.
    options.signal?.addEventListener('abort', () => {
      reject(options.signal?.reason as Error);
    });
    this.underWay.push({
      operations,
      options,
      answer: (outcome = done(operations)) => {
        resolve(outcome);
      },
      fail: reject,
    });
    return promise;
  }

  /** Answers the oldest request, and waits until those who asked have heard of it. */
  async answer(outcome?: Outcome): Promise<void> {
    this.underWay.shift()?.answer(outcome);
    await turn();
  }

  ask(...names: readonly string[]): Promise<Outcome> {
    return this.queue.transact(names.map(note));
  }
}

/** Lets promises and what comes behind them have their turn. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const failed = (operation?: number): Outcome => ({
  kind: 'error',
  error: 'constraint violation',
  details: 'why',
  ...(operation === undefined ? {} : { operation }),
});

describe('what is asked for while a request is under way', () => {
  test('goes out as one, in the order of asking, and each asker is told its own results', async () => {
    const server = new Server();
    const asked = [server.ask('a'), server.ask('b', 'c'), server.ask(), server.ask('d')];
    expect(server.requests).toEqual(['a']);
    await server.answer();
    expect(server.requests).toEqual(['a', 'b c d']);
    await server.answer();
    expect((await Promise.all(asked)).map(resultsOf)).toEqual([['a'], ['b', 'c'], [], ['d']]);
    expect(server.requests).toHaveLength(2);
  });

  test('has those in it, too, who ask as soon as they have their answer', async () => {
    const server = new Server();
    const writer = async (name: string): Promise<void> => {
      for (const n of [1, 2, 3]) await server.ask(`${name}${n}`);
    };
    const writers = [writer('a'), writer('b'), writer('c')];
    for (let n = 0; n < 4; n++) await server.answer();
    await Promise.all(writers);
    expect(server.requests).toEqual(['a1', 'b1 c1 a2', 'b2 c2 a3', 'b3 c3']);
  });

  test('goes out in several requests when it is more than one may hold', async () => {
    const server = new Server({ maxOperations: 3 });
    const asked = ['a', 'b', 'c', 'd', 'e'].map((name) => server.ask(name, name));
    const large = server.ask('f', 'g', 'h', 'i');
    void asked;
    for (let n = 0; n < 6; n++) await server.answer();
    expect(server.requests).toEqual(['a a', 'b b', 'c c', 'd d', 'e e', 'f g h i']);
    expect(resultsOf(await large)).toEqual(['f', 'g', 'h', 'i']);
  });

  test('is counted in characters as well', async () => {
    const server = new Server({ maxSize: 2500 });
    const asked = ['a', 'b', 'c', 'd'].map((name) => server.ask(name.repeat(1000)));
    for (let n = 0; n < 3; n++) await server.answer();
    await Promise.all(asked);
    expect(server.requests.map((request) => request.length)).toEqual([1000, 2001, 1000]);
  });

  test('is known by its number', async () => {
    const server = new Server();
    const asked = [server.ask('a'), server.ask('b')];
    expect(server.queue.pending).toBe(2);
    await server.answer();
    expect(server.queue.pending).toBe(1);
    await server.answer();
    expect(server.queue.pending).toBe(0);
    await Promise.all(asked);
  });

  test.each([{ maxOperations: 0 }, { maxSize: -1 }, { maxOperations: Number.NaN }])(
    'is not limited by %j',
    (options) => {
      expect(() => new Server(options)).toThrow('is no limit');
    },
  );
});

/** Applies what is good, in order. A request with something bad is refused as a whole, by the operation or by the commit. */
function constrained(
  server: Server,
  bad: (name: string) => boolean,
  by: 'operation' | 'commit',
): string[] {
  const applied: string[] = [];
  server.rule = (operations) => {
    const names = operations.map((operation) => text([operation]));
    const at = names.findIndex(bad);
    if (at !== -1) return failed(by === 'operation' ? at : undefined);
    applied.push(...names);
    return done(operations);
  };
  return applied;
}

describe('a joint request that is refused', () => {
  test('for an operation: what is before it is committed, and it is asked alone what is wrong with it', async () => {
    const server = new Server();
    const asked = [server.ask('a'), server.ask('b'), server.ask('c', 'bad')];
    for (const name of ['d', 'e', 'f']) asked.push(server.ask(name));
    await server.answer();
    await server.answer(failed(2));
    await server.answer();
    await server.answer(failed(1));
    await server.answer();
    expect(server.requests).toEqual(['a', 'b c bad d e f', 'b', 'c bad', 'd e f']);
    expect((await Promise.all(asked)).slice(1, 4)).toEqual([
      done([note('b')]),
      failed(1),
      done([note('d')]),
    ]);
  });

  test('at its commit: its halves are tried, and every part that is known to have nothing bad in it goes as a whole', async () => {
    const server = new Server();
    const applied = constrained(server, (name) => name === 'g', 'commit');
    const outcomes = await Promise.all(letters('abcdefghi').map((name) => server.ask(name)));
    expect(server.requests).toEqual(
      ['a', 'bcdefghi', 'bcde', 'fg', 'f', 'g', 'hi'].map((r) => letters(r).join(' ')),
    );
    expect(applied).toEqual(letters('abcdefhi'));
    expect(outcomes.map(resultsOf)).toEqual(
      letters('abcdefghi').map((name) => (name === 'g' ? 'error' : [name])),
    );
  });

  test.each(['operation', 'commit'] as const)(
    'for one among 500, by its %s, costs few requests more',
    async (by) => {
      for (const at of [1, 2, 77, 250, 251, 498, 499]) {
        const server = new Server();
        const applied = constrained(server, (name) => name === `${at}`, by);
        const outcomes = await Promise.all(
          Array.from({ length: 500 }, (_, n) => server.ask(`${n}`)),
        );
        expect(outcomes.findIndex(({ kind }) => kind === 'error')).toBe(at);
        expect(applied).toEqual(outcomes.flatMap((_, n) => (n === at ? [] : [`${n}`])));
        // Two for the search that found it, and for growing again.
        expect(server.requests.length).toBeLessThan(2 + 2 * Math.log2(500));
      }
    },
  );

  test.each(['operation', 'commit'] as const)(
    'for all of 500, by their %s, costs not much more than each alone',
    async (by) => {
      const server = new Server();
      let carried = 0;
      const applied = constrained(server, () => true, by);
      const { rule } = server;
      server.rule = (operations) => {
        carried += operations.length;
        return rule?.(operations) as Outcome;
      };
      const outcomes = await Promise.all(Array.from({ length: 500 }, (_, n) => server.ask(`${n}`)));
      expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['error']));
      expect(applied).toEqual([]);
      expect(server.requests.length).toBeLessThan(500 + Math.log2(500) + 2);
      expect(carried).toBeLessThan(3 * 500);
    },
  );

  test.each(['operation', 'commit'] as const)(
    'for each third of 500, by its %s, sends each transaction a few times at most',
    async (by) => {
      const server = new Server();
      let carried = 0;
      const isBad = (name: string): boolean => Number(name) % 3 === 2;
      const applied = constrained(server, isBad, by);
      const { rule } = server;
      server.rule = (operations) => {
        carried += operations.length;
        return rule?.(operations) as Outcome;
      };
      const names = Array.from({ length: 500 }, (_, n) => `${n}`);
      const outcomes = await Promise.all(names.map((name) => server.ask(name)));
      expect(outcomes.map(({ kind }) => kind === 'error')).toEqual(names.map(isBad));
      expect(applied).toEqual(names.filter((name) => !isBad(name)));
      expect(carried).toBeLessThan(7 * 500);
    },
  );

  test('has behind it what was asked for meanwhile', async () => {
    const server = new Server();
    const asked = [server.ask('a'), server.ask('b'), server.ask('bad')];
    await server.answer();
    asked.push(server.ask('c'));
    await server.answer(failed());
    asked.push(server.ask('d'));
    await server.answer();
    await server.answer(failed());
    await server.answer();
    expect(server.requests).toEqual(['a', 'b bad', 'b', 'bad', 'c d']);
    expect((await Promise.all(asked)).map(resultsOf)).toEqual([
      ['a'],
      ['b'],
      'error',
      ['c'],
      ['d'],
    ]);
  });

  test('because a wait did not hold: only its asker is told to try again', async () => {
    const server = new Server();
    const again: Outcome = { kind: 'try-again', reason: 'timed out: why', operation: 1 };
    const asked = [server.ask('a'), server.ask('b'), server.ask('c', 'wait'), server.ask('d')];
    await server.answer();
    await server.answer({ ...again, operation: 2 });
    await server.answer();
    await server.answer(again);
    await server.answer();
    expect((await Promise.all(asked)).map(({ kind }) => kind)).toEqual([
      'success',
      'success',
      'try-again',
      'success',
    ]);
    expect(await asked[2]).toEqual(again);
  });

  test('though each of it is accepted alone: nobody is told of it', async () => {
    const server = new Server();
    const asked = ['a', 'b', 'c'].map((name) => server.ask(name));
    await server.answer();
    await server.answer(failed(1));
    await server.answer();
    await server.answer();
    expect(server.requests).toEqual(['a', 'b c', 'b', 'c']);
    expect((await Promise.all(asked)).map(resultsOf)).toEqual([['a'], ['b'], ['c']]);
  });
});

describe('a joint request of which it is not its operations that failed', () => {
  test.each<Outcome>([
    { kind: 'unknown', reason: 'the connection was lost' },
    { kind: 'try-again', reason: 'not connected' },
    { kind: 'not-locked', lock: 'zone' },
    { kind: 'error', error: 'protocol', details: 'not an array' },
  ])('is told to all, and nothing is sent again: %j', async (outcome) => {
    const server = new Server();
    const asked = ['a', 'b', 'c'].map((name) => server.ask(name));
    await server.answer();
    await server.answer(outcome);
    expect((await Promise.all(asked)).slice(1)).toEqual([outcome, outcome]);
    expect(server.requests).toEqual(['a', 'b c']);
  });

  test('an answer that can not be understood names no operation', async () => {
    const server = new Server();
    const asked = ['a', 'b', 'c'].map((name) => server.ask(name));
    await server.answer();
    await server.answer({ kind: 'error', error: 'protocol', details: 'x', operation: 1 });
    const told = { kind: 'error', error: 'protocol', details: 'x' };
    expect((await Promise.all(asked)).slice(1)).toEqual([told, told]);
  });

  test('what throws in place of an answer is thrown at all of them; those behind them go on', async () => {
    const server = new Server();
    const asked = ['a', 'b', 'c'].map((name) => server.ask(name));
    await server.answer();
    const later = server.ask('d');
    server.underWay.shift()?.fail(new Error('broken'));
    await Promise.all(asked.slice(1).map((outcome) => expect(outcome).rejects.toThrow('broken')));
    await turn();
    await server.answer();
    expect(resultsOf(await later)).toEqual(['d']);
    expect(server.requests).toEqual(['a', 'b c', 'd']);
  });

  test('operations that are no JSON are refused to who asks, and are not put with others', async () => {
    const server = new Server();
    const circle: JsonValue[] = [];
    circle.push(circle);
    const asked = ['a', 'b'].map((name) => server.ask(name));
    await expect(
      server.queue.transact([{ op: 'insert', table: 'T', row: { circle } }]),
    ).rejects.toThrow(RangeError);
    asked.push(server.ask('c'));
    await server.answer();
    await server.answer();
    expect((await Promise.all(asked)).map(resultsOf)).toEqual([['a'], ['b'], ['c']]);
  });
});

describe('a signal', () => {
  const enough = new Error('enough');

  test('that is aborted already: nothing is sent', async () => {
    const server = new Server();
    const { queue } = server;
    await expect(queue.transact([], { signal: AbortSignal.abort(enough) })).rejects.toBe(enough);
    expect(server.requests).toEqual([]);
    expect(queue.pending).toBe(0);
  });

  test('takes out what waits', async () => {
    const server = new Server();
    const controller = new AbortController();
    const asked = [server.ask('a'), server.ask('b')];
    const given = server.queue.transact([note('c')], { signal: controller.signal });
    asked.push(server.ask('d'));
    controller.abort(enough);
    await expect(given).rejects.toBe(enough);
    expect(server.queue.pending).toBe(3);
    await server.answer();
    await server.answer();
    expect(server.requests).toEqual(['a', 'b d']);
    expect((await Promise.all(asked)).map(resultsOf)).toEqual([['a'], ['b'], ['d']]);
  });

  test('lets go of who asked, not of those whose request it is as well', async () => {
    const server = new Server();
    const controller = new AbortController();
    void server.ask('a');
    const given = server.queue.transact([note('b')], { signal: controller.signal });
    const last = server.ask('c');
    await server.answer();
    controller.abort(enough);
    await expect(given).rejects.toBe(enough);
    expect(server.underWay[0]?.options.signal).toBeUndefined();
    await server.answer();
    expect(resultsOf(await last)).toEqual(['c']);
    expect(server.requests).toEqual(['a', 'b c']);
  });

  test('cancels a request when nobody else waits for it', async () => {
    const server = new Server();
    const [one, two] = [new AbortController(), new AbortController()];
    void server.ask('a');
    const given = [one, two].map(({ signal }) => server.queue.transact([note('b')], { signal }));
    await server.answer();
    const later = server.ask('c');
    one.abort(new Error('first'));
    await expect(given[0]).rejects.toThrow('first');
    expect(server.underWay[0]?.options.signal?.aborted).toBe(false);
    two.abort(enough);
    await expect(given[1]).rejects.toBe(enough);
    expect(server.underWay.shift()?.options.signal?.reason).toBe(enough);
    await turn();
    await server.answer();
    expect(resultsOf(await later)).toEqual(['c']);
  });

  test('takes out what was refused with others and waits to be tried again', async () => {
    const server = new Server();
    const controller = new AbortController();
    const asked = ['a', 'b', 'c', 'd', 'e'].map((name) => server.ask(name));
    const given = server.queue.transact([note('f')], { signal: controller.signal });
    asked.push(server.ask('g'), server.ask('bad'), server.ask('h'));
    await server.answer();
    await server.answer(failed());
    expect(server.requests).toEqual(['a', 'b c d e f g bad h', 'b c d e']);
    controller.abort(enough);
    await expect(given).rejects.toBe(enough);
    await server.answer();
    await server.answer();
    await server.answer(failed());
    await server.answer();
    expect(server.requests.slice(3)).toEqual(['g', 'bad', 'h']);
    expect((await Promise.all(asked)).map(resultsOf)).toEqual([
      ...letters('abcdeg').map((name) => [name]),
      'error',
      ['h'],
    ]);
  });

  test('is listened to no longer than it matters', async () => {
    const server = new Server();
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...given: Parameters<typeof add>) => {
      listeners++;
      add(...given);
    };
    signal.removeEventListener = (...given: Parameters<typeof remove>) => {
      listeners--;
      remove(...given);
    };
    const asked = ['a', 'b', 'c'].map((name) => server.queue.transact([note(name)], { signal }));
    // Many listeners of one signal would take long.
    expect(listeners).toBe(1);
    await server.answer();
    await asked[0];
    expect(listeners).toBe(1);
    await server.answer();
    await Promise.all(asked);
    expect(listeners).toBe(0);
  });
});
