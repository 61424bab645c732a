import { describe, expect, test } from 'vitest';
import { namespaces, nodes, pods } from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import type { Namespace } from '../../../src/api/types.ts';
import { Informers } from '../../../src/store/informers.ts';
import { delegatingStore } from '../../../src/store/delegating-store.ts';
import { StoreError, type Store, type WatchEvent } from '../../../src/store/store.ts';
import { apply, namespace, node, pod, silent } from '../../support/cluster/cluster.ts';
import { ManualClock } from '../../support/run/manual-clock.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

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

test('says for how long and why objects have not been readable that were read before', async () => {
  const sent = new Map<string, (event: WatchEvent<KubeObject>) => void>();
  const watch: Store['watch'] = (kind, handler, signal) => {
    sent.set(kind.kind, handler as unknown as (event: WatchEvent<KubeObject>) => void);
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  };
  const clock = new ManualClock(Date.parse('2026-01-01T12:00:00Z'));
  const store = delegatingStore(new MemoryStore(), { watch });
  const informers = new Informers({ store, log: silent, clock });
  for (const kind of [pods, nodes, namespaces]) informers.of<KubeObject>(kind);
  const stop = new AbortController();
  const running = informers.run(stop.signal);
  const stall = (kind: string, why: string): void =>
    sent.get(kind)?.({ type: 'stalled', error: new StoreError('unavailable', why) });
  // One that was never read is told of by who waits for it.
  stall('Namespace', 'namespaces: refused');
  sent.get('Pod')?.({ type: 'synced' });
  sent.get('Node')?.({ type: 'synced' });
  expect(informers.unreadable()).toBeUndefined();
  stall('Pod', 'pods: refused');
  await clock.advance(10_000);
  stall('Node', 'nodes: refused');
  stall('Pod', 'pods: timed out');
  await clock.advance(5000);
  const since = Date.parse('2026-01-01T12:00:00Z');
  expect(informers.unreadable()).toEqual({ since, milliseconds: 15_000, why: 'pods: timed out' });
  sent.get('Pod')?.({ type: 'synced' });
  expect(informers.unreadable()?.why).toBe('nodes: refused');
  sent.get('Node')?.({ type: 'synced' });
  expect(informers.unreadable()).toBeUndefined();
  stop.abort();
  await running;
});

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

  test('when versions that do not tell which is newer have overtaken the one that was written', async () => {
    const { store, show, synced, written } = byHand();
    let stored = 'c3';
    const informers = new Informers({
      store: delegatingStore(store, {
        get: (async () => ({
          ...namespace('a'),
          metadata: { name: 'a', uid: 'u1', resourceVersion: stored },
        })) as Store['get'],
      }),
      log: silent,
      clock: {
        now: () => 0,
        monotonic: () => 0,
        after: (_milliseconds, run) => (setImmediate(run), () => undefined),
      },
    });
    informers.of(namespaces);
    const { signal } = new AbortController();
    void informers.run(signal);
    show('added', 'a1');
    synced();
    const writing = write(informers);
    written('b2');
    await writing;
    const back = informers.readBack(signal);
    show('modified', 'd4');
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    expect(informers.isReadBack).toBe(false);
    stored = 'd4';
    await back;
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

test('what nobody reads is not kept, and its changes are no changes', async () => {
  const store = new MemoryStore();
  const stop = new AbortController();
  const informers = new Informers({ store, log: silent });
  const changes: string[] = [];
  informers.of(pods).onChange(({ key }) => changes.push(key));
  informers.of(nodes).onChange(({ key }) => changes.push(key));
  const byNode = informers.of(pods).index(({ spec }) => [spec.nodeName ?? '']);
  const running = informers.run(stop.signal);
  const heartbeat = { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '1' }] };
  const large = { ...node('n1'), status: { ...heartbeat, images: [{ names: ['x'] }] } };
  await store.create(nodes, large, WRITER);
  const named = { name: 'http', containerPort: 80, protocol: 'TCP' as const };
  const unnamed = { containerPort: 81, protocol: 'TCP' as const };
  const container = { containers: [{ name: 'web', image: 'web', ports: [named, unnamed] }] };
  const web = { ...pod('a/web'), spec: { nodeName: 'n1', ...container } };
  await store.create(pods, web, WRITER);
  await informers.refresh([pods, nodes], stop.signal);
  expect(changes).toEqual(['n1', 'a/web']);
  // Whether a node is ready is read, and nothing else of its conditions.
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
  expect(informers.of(nodes).get('n1')?.status).toEqual(ready);
  expect(informers.of(pods).get('a/web')?.spec).toEqual({
    nodeName: 'n1',
    containers: [{ ports: [named] }],
  });
  await store.patchStatus(
    nodes,
    'n1',
    { status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2' }] } },
    WRITER,
  );
  await store.patch(
    pods,
    'a/web',
    { spec: { containers: [{ name: 'web', image: 'other', ports: [named] }] } },
    WRITER,
  );
  await informers.refresh([pods, nodes], stop.signal);
  expect(changes).toEqual(['n1', 'a/web']);
  // A write that insists on a version must have the newest one.
  const shown = byNode.get('n1')[0];
  expect(shown?.metadata.resourceVersion).toBe(
    (await store.get(pods, 'a/web'))?.metadata.resourceVersion,
  );
  stop.abort();
  await running;
});

test('a process may follow a part of a kind', async () => {
  const store = new MemoryStore();
  const stop = new AbortController();
  const informers = new Informers({ store, log: silent });
  informers.select(pods, { fields: { 'spec.nodeName': 'n1' } });
  for (const [name, where] of [
    ['here', 'n1'],
    ['there', 'n2'],
    ['nowhere', undefined],
  ] as const)
    await store.create(pods, pod(`a/${name}`, where), WRITER);
  const running = informers.run(stop.signal);
  await informers.refresh([pods], stop.signal);
  expect([...informers.of(pods).keys()]).toEqual(['a/here']);
  // What is written elsewhere is not waited for.
  await informers.store.patch(pods, 'a/there', { metadata: { labels: { x: 'y' } } }, WRITER);
  expect(informers.isReadBack).toBe(true);
  await informers.store.patch(pods, 'a/nowhere', { spec: { nodeName: 'n1' } }, WRITER);
  await informers.readBack(stop.signal);
  expect([...informers.of(pods).keys()]).toEqual(['a/here', 'a/nowhere']);
  expect(() => informers.select(pods, {})).toThrow('before the first reader');
  stop.abort();
  await running;
});

test('a refresh tries again while the source is away', async () => {
  const memory = new MemoryStore();
  let failures = 2;
  const list: Store['list'] = async (kind) => {
    failures -= 1;
    if (failures >= 0) throw new StoreError('unavailable', 'socket hang up');
    return memory.list(kind);
  };
  const stop = new AbortController();
  const informers = new Informers({ store: delegatingStore(memory, { list }), log: silent });
  const running = informers.run(stop.signal);
  await memory.create(namespaces, namespace('a'), WRITER);
  await informers.refresh([namespaces], stop.signal);
  expect(failures).toBe(-1);
  expect([...informers.of(namespaces).keys()]).toEqual(['a']);
  stop.abort();
  await running;
});

test('an object that a reader throws at is a problem with its name, logged once with the stack, until it is taken', async () => {
  const store = new MemoryStore();
  const clock = new ManualClock();
  const logged: (readonly [string, Record<string, unknown>])[] = [];
  let problems = 0;
  const informers = new Informers({
    store,
    clock,
    log: {
      ...silent,
      error: (fields, message) => logged.push([message, fields as Record<string, unknown>]),
    },
    onProblem: () => (problems += 1),
  });
  let fails = true;
  informers.of(namespaces).onChange(({ key }) => {
    if (fails && key === 'a') throw new TypeError('x is undefined');
  });
  const stop = new AbortController();
  const running = informers.run(stop.signal);
  await apply(store, namespace('a'), namespace('b'));
  await informers.synced([namespaces]);
  await expect.poll(() => informers.of(namespaces).list().length).toBe(2);
  await clock.advance(60_000);
  const message = 'its last change could not be worked in, and is tried again: x is undefined';
  expect(informers.problems()).toEqual([{ object: 'Namespace a', message }]);
  expect(informers.unhandled()).toEqual(new Map([['Namespace', 1]]));
  expect(logged.length).toBe(1);
  expect(logged[0]?.[1]['stack']).toMatch(/informers\.test\.ts/);
  fails = false;
  await clock.advance(60_000);
  expect(informers.problems()).toEqual([]);
  expect(informers.unhandled()).toEqual(new Map([['Namespace', 0]]));
  expect(problems).toBe(2);
  stop.abort();
  await running;
});
