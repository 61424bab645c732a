import { getEventListeners } from 'node:events';
import { Duplex } from 'node:stream';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { OvsdbError, type JsonValue, type Operation } from 'ovsdb-client-ts';
import { parseJson } from 'ovsdb-client-ts/values';
import { Connection } from '../../../src/ovsdb/session/connection.ts';
import { Transactions } from '../../../src/ovsdb/session/transactions.ts';

afterEach(() => {
  vi.useRealTimers();
});

const done = { uuid: ['uuid', '00000000-0000-4000-8000-000000000001'] };
const insert: Operation = { op: 'insert', table: 'T', row: {} };

/** Transactions over a connection whose other end says what a test makes it say. */
class Wire {
  /** What was sent, write by write. */
  readonly written: string[] = [];
  readonly #socket = new Duplex({
    read: () => {
      // Replies are pushed when a test makes them.
    },
    write: (chunk: Buffer, _encoding, done) => {
      this.written.push(chunk.toString());
      done();
    },
  });
  readonly connection = new Connection(this.#socket, {
    sinkForUpdate: () => undefined,
    update: () => {
      // No monitor, no update.
    },
    notification: () => {
      // None is sent.
    },
    heard: () => {
      // Nobody waits for a sign of life.
    },
    closed: () => {
      // The test closes it.
    },
  });
  readonly transactions = new Transactions(this.connection, 'db', (details) => {
    this.transactions.finish(details, () => {
      this.left++;
      this.connection.close(new OvsdbError('disconnected', 'left'));
    });
  });
  left = 0;

  send(signal?: AbortSignal, operations: readonly Operation[] = [insert]): Promise<string> {
    return this.transactions.send(operations, signal).then(({ kind }) => kind);
  }

  reply(id: number, ...results: readonly JsonValue[]): void {
    this.#socket.push(JSON.stringify({ id, result: results, error: null }));
  }
}

const refusal = { error: 'not allowed', details: 'read only' };

describe('a server that does not write', () => {
  test('is left at once when nothing else is under way', async () => {
    const wire = new Wire();
    const sent = wire.send();
    wire.reply(1, refusal);
    expect(await sent).toBe('error');
    expect(wire.left).toBe(1);
  });

  test('lets go of who does not want to wait until it is left', async () => {
    const wire = new Wire();
    const [first, second] = [wire.send(), wire.send()];
    wire.reply(1, refusal);
    await first;
    const controller = new AbortController();
    const late = wire.send(controller.signal);
    controller.abort(new Error('enough'));
    await expect(late).rejects.toThrow('enough');
    wire.reply(2, refusal);
    expect(await second).toBe('error');
    expect(await wire.send()).toBe('try-again');
    expect(wire.written.join('').match(/transact/g)).toHaveLength(2);
  });

  test('is left after five seconds when it answers no more', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const wire = new Wire();
    const [first, second] = [wire.send(), wire.send()];
    wire.reply(1, refusal);
    expect(await first).toBe('error');
    const late = wire.send();
    vi.advanceTimersByTime(4999);
    expect(wire.left).toBe(0);
    vi.advanceTimersByTime(1);
    expect(wire.left).toBe(1);
    expect(await Promise.all([second, late])).toEqual(['unknown', 'try-again']);
  });
});

test('what is said in one turn of the event loop leaves in two writes', async () => {
  const wire = new Wire();
  const sent = Array.from({ length: 100 }, () => wire.send());
  await new Promise(setImmediate);
  expect(wire.written).toHaveLength(2);
  expect(parseJson(wire.written[0] ?? '')).toEqual({
    id: 1,
    method: 'transact',
    params: ['db', insert],
  });
  for (let id = 1; id <= 100; id++) wire.reply(id, done);
  expect(new Set(await Promise.all(sent))).toEqual(new Set(['success']));
});

test('a signal that many transactions have is listened to once, and no longer than it matters', async () => {
  const wire = new Wire();
  const controller = new AbortController();
  const { signal } = controller;
  const sent = [1, 2, 3].map(() => wire.send(signal));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  wire.reply(1, done);
  wire.reply(2, done);
  expect(await Promise.all(sent.slice(0, 2))).toEqual(['success', 'success']);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  controller.abort(new Error('enough'));
  await expect(sent[2]).rejects.toThrow('enough');
  await new Promise(setImmediate);
  expect(wire.written.join('').match(/"method":"cancel","params":\[\d+\]/g)).toEqual([
    '"method":"cancel","params":[3]',
  ]);
  wire.reply(3, done);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

test('a transaction of which an operation is no JSON is not sent, and the next one is', async () => {
  const wire = new Wire();
  const bad = Object.defineProperty({}, 'name', {
    enumerable: true,
    get() {
      throw new Error('no value');
    },
  });
  await expect(
    wire.send(undefined, [insert, { op: 'insert', table: 'T', row: bad }]),
  ).rejects.toThrow('no value');
  expect(wire.written).toEqual([]);
  const next = wire.send();
  wire.reply(2, done);
  expect(await next).toBe('success');
});
