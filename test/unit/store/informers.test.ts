import { describe, expect, test } from 'vitest';
import { namespaces, pods } from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import type { Namespace } from '../../../src/api/types.ts';
import { Informers } from '../../../src/store/informers.ts';
import { delegatingStore } from '../../../src/store/delegating-store.ts';
import type { Store, WatchEvent } from '../../../src/store/store.ts';
import { namespace, pod, silent } from '../../support/cluster.ts';
import { MemoryStore } from '../../support/memory-store.ts';

const WRITER = { fieldManager: 'test' };
const isDone = async (promise: Promise<unknown>): Promise<boolean> => {
  let done = false;
  void promise.then(() => (done = true));
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  return done;
};

/** A store whose writes are answered as told, and whose watch shows what the test sends. */
function byHand(): {
  store: Store;
  show: (type: 'added' | 'modified' | 'deleted', version: string, uid?: string) => void;
  synced: () => void;
  written: (version: string, metadata?: Partial<KubeObject['metadata']>) => void;
} {
  let send: (event: WatchEvent<KubeObject>) => void = () => undefined;
  let answer = Promise.withResolvers<KubeObject>();
  const object = (version: string, metadata: Partial<KubeObject['metadata']> = {}): Namespace => ({
    ...namespace('a'),
    metadata: { name: 'a', uid: 'u1', resourceVersion: version, ...metadata },
  });
  const watch: Store['watch'] = (_kind, handler, signal) => {
    send = handler as unknown as typeof send;
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  };
  const patch = async (): Promise<KubeObject> => {
    const result = await answer.promise;
    answer = Promise.withResolvers();
    return result;
  };
  return {
    store: delegatingStore(new MemoryStore(), { watch, patch: patch as Store['patch'] }),
    show: (type, version, uid = 'u1') => send({ type, object: object(version, { uid }) }),
    synced: () => send({ type: 'synced' }),
    written: (version, metadata) => answer.resolve(object(version, metadata)),
  };
}

describe('what was written is read back', () => {
  const start = (): ReturnType<typeof byHand> & { informers: Informers; signal: AbortSignal } => {
    const hand = byHand();
    const informers = new Informers({ store: hand.store, log: silent });
    informers.of(namespaces);
    const { signal } = new AbortController();
    void informers.run(signal);
    hand.show('added', '5');
    hand.synced();
    return { ...hand, informers, signal };
  };
  const write = (informers: Informers): Promise<KubeObject> =>
    informers.store.patch(namespaces, 'a', {}, WRITER);

  test('when the watch has shown that version, and not before', async () => {
    const { informers, show, written, signal } = start();
    const writing = write(informers);
    written('7');
    await writing;
    const back = informers.readBack(signal);
    show('modified', '6');
    expect(await isDone(back)).toBe(false);
    show('modified', '7');
    expect(await isDone(back)).toBe(true);
    expect(informers.isReadBack).toBe(true);
  });

  test('when it has shown a later one, and the one that was written never', async () => {
    const { informers, show, written, signal } = start();
    const writing = write(informers);
    written('9');
    await writing;
    const back = informers.readBack(signal);
    show('modified', '10');
    expect(await isDone(back)).toBe(true);
  });

  test('when it was shown before the write was answered', async () => {
    const { informers, show, written } = start();
    const writing = write(informers);
    show('modified', 'b2');
    show('modified', 'b3');
    written('b2');
    await writing;
    expect(informers.isReadBack).toBe(true);
  });

  test('when the object is gone, or the write was what ended it', async () => {
    const { informers, show, written, signal } = start();
    let writing = write(informers);
    written('7');
    await writing;
    const back = informers.readBack(signal);
    show('deleted', '8');
    expect(await isDone(back)).toBe(true);
    show('added', '9', 'u2');
    writing = write(informers);
    written('10', { uid: 'u2', deletionTimestamp: 'now' });
    await writing;
    const ended = informers.readBack(signal);
    show('modified', '11', 'u2');
    expect(await isDone(ended)).toBe(false);
    show('deleted', '11', 'u2');
    expect(await isDone(ended)).toBe(true);
  });

  test('or the wait is given up', async () => {
    const { informers, written } = start();
    const writing = write(informers);
    written('7');
    await writing;
    await expect(informers.readBack(AbortSignal.abort(new Error('too late')))).rejects.toThrow(
      'too late',
    );
  });
});

test('there is one watch of a kind, however many read it and whenever they come', async () => {
  const store = new MemoryStore();
  const stop = new AbortController();
  const informers = new Informers({ store, log: silent });
  expect(informers.of(namespaces)).toBe(informers.of(namespaces));
  const running = informers.run(stop.signal);
  await informers.synced([namespaces]);
  await store.create(pods, pod('a/x'), WRITER);
  await informers.synced([pods]);
  expect([...informers.of(pods).keys()]).toEqual(['a/x']);
  expect(store.watching).toBe(2);
  stop.abort();
  await running;
});

test('a reader that ends is told nothing any more', async () => {
  const store = new MemoryStore();
  const stop = new AbortController();
  const informers = new Informers({ store, log: silent });
  const reading = new AbortController();
  const view = informers.of(namespaces).until(reading.signal);
  const seen: string[] = [];
  view.onChange(({ key }) => seen.push(key));
  const index = view.index(({ metadata }) => [metadata.name.slice(0, 1)]);
  const running = informers.run(stop.signal);
  await store.create(namespaces, namespace('a1'), WRITER);
  await informers.refresh([namespaces], stop.signal);
  reading.abort();
  await store.create(namespaces, namespace('a2'), WRITER);
  await informers.refresh([namespaces], stop.signal);
  expect(seen).toEqual(['a1']);
  expect(index.get('a')).toHaveLength(1);
  expect([...informers.of(namespaces).keys()]).toEqual(['a1', 'a2']);
  stop.abort();
  await running;
});

test('a refresh shows what others have made, changed and removed', async () => {
  const store = new MemoryStore();
  const stop = new AbortController();
  const informers = new Informers({ store, log: silent });
  const running = informers.run(stop.signal);
  await informers.synced([namespaces]);
  for (const name of ['a', 'b', 'c']) await store.create(namespaces, namespace(name), WRITER);
  await store.patch(namespaces, 'b', { metadata: { labels: { x: 'y' } } }, WRITER);
  await store.delete(namespaces, 'c');
  await informers.refresh([namespaces], stop.signal);
  const shown = informers.of(namespaces).list();
  expect(shown.map(({ metadata }) => [metadata.name, metadata.labels?.['x']])).toEqual([
    ['a', undefined],
    ['b', 'y'],
  ]);
  stop.abort();
  await running;
});
