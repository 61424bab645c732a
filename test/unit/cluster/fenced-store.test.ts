/** What a leader writes ends with its leadership. */
import { describe, expect, test } from 'vitest';
import { namespaces } from '../../../src/api/kinds.ts';
import { fencedStore } from '../../../src/cluster/fenced-store.ts';
import { delegatingStore } from '../../../src/store/delegating-store.ts';
import { StoreError, type Leadership, type Store } from '../../../src/store/store.ts';
import { namespace } from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const WRITER = { fieldManager: 'test' };

interface Led {
  readonly fenced: Store;
  readonly lose: () => void;
  readonly abortWrites: AbortController;
}

function leading(store: Store, isLeading = true): Led {
  const lost = new AbortController();
  const abortWrites = new AbortController();
  const leadership: Leadership = {
    signal: lost.signal,
    assert: () => lost.signal.throwIfAborted(),
    [Symbol.asyncDispose]: async () => undefined,
  };
  return {
    fenced: fencedStore({
      store,
      leadership: () => (isLeading ? leadership : undefined),
      abortWrites: abortWrites.signal,
    }),
    lose: () => lost.abort(new StoreError('unavailable', 'leadership is lost')),
    abortWrites,
  };
}

const WRITES: readonly (readonly [string, (store: Store) => Promise<unknown>])[] = [
  ['create', (store) => store.create(namespaces, namespace('b'), WRITER)],
  ['patch', (store) => store.patch(namespaces, 'a', { metadata: { labels: { x: '1' } } }, WRITER)],
  ['patchStatus', (store) => store.patchStatus(namespaces, 'a', { status: { x: 1 } }, WRITER)],
  ['delete', (store) => store.delete(namespaces, 'a')],
  [
    'event',
    (store) =>
      store.event({ regarding: namespace('a'), type: 'Normal', reason: 'R', message: 'm' }),
  ],
];

describe.each(WRITES)('%s', (_name, write) => {
  test('is done while leading, and refused before and after', async () => {
    const store = new MemoryStore();
    await store.create(namespaces, namespace('a'), WRITER);
    const before = store.writes.length;
    await expect(write(leading(store, false).fenced)).rejects.toThrow('does not lead');
    const { fenced, lose } = leading(store);
    lose();
    await expect(write(fenced)).rejects.toThrow('leadership is lost');
    expect(store.writes.length).toBe(before);
    await write(leading(store).fenced);
    expect(store.writes.length).toBeGreaterThan(before);
  });
});

describe('a write that is under way', () => {
  /** A store whose writes end when they are told to, or when their signal aborts. */
  function slow(): { store: Store; finish: () => void } {
    const gate = Promise.withResolvers<void>();
    const store = new MemoryStore();
    const create: Store['create'] = async (kind, object, options) => {
      const aborted = new Promise<never>((_resolve, reject) => {
        options.signal?.addEventListener('abort', () => reject(options.signal?.reason as Error));
      });
      await Promise.race([gate.promise, aborted]);
      return store.create(kind, object, WRITER);
    };
    return {
      store: delegatingStore(store, { create }),
      finish: () => gate.resolve(),
    };
  }

  test('is waited for when its caller stops', async () => {
    const { store, finish } = slow();
    const stop = new AbortController();
    const writing = leading(store).fenced.create(namespaces, namespace('a'), {
      ...WRITER,
      signal: stop.signal,
    });
    stop.abort(new Error('stopped'));
    finish();
    expect((await writing).metadata.name).toBe('a');
  });

  test('is aborted when leadership is lost, and when waiting takes too long', async () => {
    const first = leading(slow().store);
    const writing = first.fenced.create(namespaces, namespace('a'), WRITER);
    await Promise.resolve();
    first.lose();
    await expect(writing).rejects.toThrow('leadership is lost');
    const second = leading(slow().store);
    const waiting = second.fenced.create(namespaces, namespace('a'), WRITER);
    await Promise.resolve();
    second.abortWrites.abort(new Error('took too long'));
    await expect(waiting).rejects.toThrow('took too long');
  });

  test('is aborted when leadership is lost, also where it is an event', async () => {
    const event: Store['event'] = (_event, signal) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
      });
    const { fenced, lose } = leading(delegatingStore(new MemoryStore(), { event }));
    const writing = fenced.event({
      regarding: namespace('a'),
      type: 'Normal',
      reason: 'R',
      message: 'm',
    });
    lose();
    await expect(writing).rejects.toThrow('leadership is lost');
  });
});
