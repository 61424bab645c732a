import { describe, expect, test } from 'vitest';
import type { KubeObject, ResourceKind } from '../../../src/api/objects.ts';
import { Informer, type Change } from '../../../src/store/informer.ts';
import { StoreError, type Store, type WatchEvent } from '../../../src/store/store.ts';
import { ManualClock } from '../../support/run/manual-clock.ts';

interface Pod extends KubeObject {
  readonly spec: { readonly nodeName?: string };
}

const PODS: ResourceKind<Pod> = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };

let version = 0;
const pod = (key: string, nodeName = 'node1'): Pod => {
  const [namespace = '', name = ''] = key.split('/');
  version += 1;
  const metadata = { namespace, name, uid: key, resourceVersion: String(version) };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName } };
};

/** An informer whose watch events the test sends by hand. */
function informerOfPods(options: { readonly isOptional?: boolean } = {}): {
  informer: Informer<Pod>;
  send: (event: WatchEvent<Pod>) => void;
  changes: string[];
  errors: string[];
  missing: string[];
  clock: ManualClock;
  end: () => void;
} {
  const clock = new ManualClock();
  const errors: string[] = [];
  const missing: string[] = [];
  const informer = new Informer<Pod>(PODS, {
    clock,
    onHandlerError: (error, { key }) => errors.push(`${key}: ${String(error)}`),
    ...(options.isOptional === true
      ? { onNotInstalled: ({ message }) => missing.push(message) }
      : {}),
  });
  let send: (event: WatchEvent<Pod>) => void = () => undefined;
  const ended = Promise.withResolvers<void>();
  const store: Pick<Store, 'watch'> = {
    watch: (_kind, handler) => {
      send = handler as unknown as typeof send;
      return ended.promise;
    },
  };
  void informer.run(store, new AbortController().signal);
  const changes: string[] = [];
  informer.onChange(({ key, before, after }: Change<Pod>) => {
    const text = (value: Pod | undefined): string => value?.spec.nodeName ?? '-';
    changes.push(`${key} ${text(before)} → ${text(after)}`);
  });
  return {
    informer,
    send: (event) => send(event),
    changes,
    errors,
    missing,
    clock,
    end: ended.resolve,
  };
}

describe('informer', () => {
  test('keeps what the watch delivered and says how each object changed', () => {
    const { informer, send, changes } = informerOfPods();
    send({ type: 'added', object: pod('a/x') });
    send({ type: 'modified', object: pod('a/x', 'node2') });
    send({ type: 'added', object: pod('b/y') });
    send({ type: 'deleted', object: pod('a/x', 'node2') });
    expect(changes).toEqual([
      'a/x - → node1',
      'a/x node1 → node2',
      'b/y - → node1',
      'a/x node2 → -',
    ]);
    expect(informer.list().map(({ metadata }) => metadata.name)).toEqual(['y']);
    expect(informer.get('b/y')?.spec.nodeName).toBe('node1');
    expect(informer.get('a/x')).toBeUndefined();
  });

  test('repeated events say nothing new', () => {
    const { send, changes } = informerOfPods();
    const object = pod('a/x');
    send({ type: 'added', object });
    send({ type: 'modified', object });
    send({ type: 'deleted', object });
    send({ type: 'deleted', object });
    expect(changes).toEqual(['a/x - → node1', 'a/x node1 → -']);
  });

  test('finds objects by namespace and any computed value, as they change', () => {
    const { informer, send } = informerOfPods();
    const names = (pods: readonly Pod[]): string[] => pods.map(({ metadata }) => metadata.name);
    send({ type: 'added', object: pod('a/x', 'node1') });
    const byNode = informer.index(({ spec }) =>
      spec.nodeName === undefined ? [] : [spec.nodeName],
    );
    send({ type: 'added', object: pod('a/y', 'node2') });
    send({ type: 'added', object: pod('b/z', 'node2') });
    expect(names(informer.inNamespace('a'))).toEqual(['x', 'y']);
    expect(names(byNode.get('node2'))).toEqual(['y', 'z']);

    send({ type: 'modified', object: pod('a/y', 'node3') });
    send({ type: 'deleted', object: pod('b/z') });
    expect(names(byNode.get('node2'))).toEqual([]);
    expect([...byNode.values()]).toEqual(['node1', 'node3']);
    expect(names(informer.inNamespace('b'))).toEqual([]);
  });

  test('a late handler first hears of everything that is here', () => {
    const { informer, send } = informerOfPods();
    send({ type: 'added', object: pod('a/x') });
    const heard: string[] = [];
    const stop = informer.onChange(({ key }) => heard.push(key));
    send({ type: 'added', object: pod('a/y') });
    stop();
    send({ type: 'added', object: pod('a/z') });
    expect(heard).toEqual(['a/x', 'a/y']);
  });

  test('a handler from now on hears of changes alone', () => {
    const { informer, send } = informerOfPods();
    send({ type: 'added', object: pod('a/x') });
    const heard: string[] = [];
    const views = [informer, informer.until(new AbortController().signal)];
    const stops = views.map((view) => view.onChange(({ key }) => heard.push(key), 'now'));
    send({ type: 'added', object: pod('a/y') });
    for (const stop of stops) stop();
    send({ type: 'added', object: pod('a/z') });
    expect(heard).toEqual(['a/y', 'a/y']);
  });

  test('a handler or index that throws is reported and harms nobody else', () => {
    const { informer, send, changes, errors } = informerOfPods();
    informer.onChange(() => {
      throw new Error('bad handler');
    });
    const byLabel = informer.index(({ metadata }) => {
      if (metadata.name === 'bad') throw new Error('bad object');
      return [metadata.name];
    });
    informer.onChange(({ key }) => changes.push(`second ${key}`));
    send({ type: 'added', object: pod('a/bad') });
    expect(changes).toEqual(['a/bad - → node1', 'second a/bad']);
    expect(errors).toEqual(['a/bad: Error: bad object', 'a/bad: Error: bad handler']);
    expect(byLabel.get('bad')).toEqual([]);
  });

  describe('what a handler throws at', () => {
    /** A handler that fails for `a/x` while `fails` says so, and what it took. */
    function failing(informer: Informer<Pod>): {
      took: string[];
      let: (fails: boolean) => void;
      stop: () => void;
    } {
      let fails = true;
      const took: string[] = [];
      const text = (value: Pod | undefined): string => value?.spec.nodeName ?? '-';
      const stop = informer.onChange(({ key, before, after }) => {
        if (fails && key === 'a/x') throw new Error('broken');
        took.push(`${key} ${text(before)} → ${text(after)}`);
      });
      return { took, let: (value) => (fails = value), stop };
    }

    test('is given to it again with growing waits until it takes it, and is a problem meanwhile', async () => {
      const { informer, send, changes, errors, clock } = informerOfPods();
      const handler = failing(informer);
      send({ type: 'added', object: pod('a/x') });
      send({ type: 'added', object: pod('a/y') });
      expect(handler.took).toEqual(['a/y - → node1']);
      expect([...informer.unhandled()]).toEqual([['a/x', new Error('broken')]]);
      await clock.advance(1000);
      const soon = errors.length;
      await clock.advance(200_000);
      // 100 ms, doubled to 30 s, a fifth shorter at random.
      expect(soon).toBeGreaterThanOrEqual(4);
      expect(errors.length).toBeLessThan(25);
      handler.let(false);
      await clock.advance(30_000);
      expect(handler.took).toEqual(['a/y - → node1', 'a/x - → node1']);
      expect(informer.unhandled().size).toBe(0);
      expect(clock.pending).toBe(0);
      // Nobody else heard of it twice.
      expect(changes).toEqual(['a/x - → node1', 'a/y - → node1']);
    });

    test('is given to it as it is by then, from what it took last', async () => {
      const { informer, send, clock } = informerOfPods();
      const handler = failing(informer);
      handler.let(false);
      send({ type: 'added', object: pod('a/x', 'node1') });
      handler.let(true);
      send({ type: 'modified', object: pod('a/x', 'node2') });
      send({ type: 'modified', object: pod('a/x', 'node3') });
      handler.let(false);
      await clock.advance(1000);
      expect(handler.took).toEqual(['a/x - → node1', 'a/x node1 → node3']);
    });

    test('that is gone is told as gone, though it never took it: half of it may be there', async () => {
      const { informer, send, clock } = informerOfPods();
      const handler = failing(informer);
      send({ type: 'added', object: pod('a/x', 'node1') });
      handler.let(false);
      send({ type: 'deleted', object: pod('a/x', 'node1') });
      expect(handler.took).toEqual(['a/x node1 → -']);
      expect([informer.unhandled().size, clock.pending]).toEqual([0, 0]);
    });

    test('that is gone and thrown at again is tried again, too', async () => {
      const { informer, send, clock } = informerOfPods();
      const handler = failing(informer);
      send({ type: 'added', object: pod('a/x', 'node1') });
      send({ type: 'deleted', object: pod('a/x', 'node1') });
      handler.let(false);
      await clock.advance(1000);
      expect(handler.took).toEqual(['a/x node1 → -']);
      expect(informer.unhandled().size).toBe(0);
    });

    test('was there before the handler came, or goes with the handler', async () => {
      const { informer, send, clock } = informerOfPods();
      send({ type: 'added', object: pod('a/x') });
      const handler = failing(informer);
      expect([...informer.unhandled().keys()]).toEqual(['a/x']);
      handler.stop();
      expect([informer.unhandled().size, clock.pending]).toEqual([0, 0]);
    });

    test('an index throws at is in its lists as soon as that is over, whatever else says that nothing changed', async () => {
      const { informer, send, clock } = informerOfPods();
      let fails = false;
      const byNode = informer.index(
        ({ spec }) => {
          if (fails) throw new Error('broken');
          return [spec.nodeName ?? ''];
        },
        (before, after) => before.spec.nodeName === after.spec.nodeName,
      );
      send({ type: 'added', object: pod('a/x', 'node1') });
      fails = true;
      send({ type: 'modified', object: pod('a/x', 'node2') });
      expect(byNode.get('node1').length + byNode.get('node2').length).toBe(0);
      fails = false;
      const labelled = pod('a/x', 'node2');
      send({
        type: 'modified',
        object: { ...labelled, metadata: { ...labelled.metadata, labels: { a: 'b' } } },
      });
      expect(byNode.get('node2').length).toBe(1);
      await clock.advance(60_000);
      expect(informer.unhandled().size).toBe(0);
    });
  });

  test('is synced when the watch says so', async () => {
    const { informer, send, clock } = informerOfPods();
    expect(informer.isSynced).toBe(false);
    const synced = informer.synced(1000);
    send({ type: 'added', object: pod('a/x') });
    send({ type: 'synced' });
    await synced;
    expect(informer.isSynced).toBe(true);
    expect(clock.pending).toBe(0);
  });

  test('gives up waiting after the limit and says why the source could not be read', async () => {
    const { informer, send, clock } = informerOfPods();
    const first = informer.synced(10_000);
    void clock.advance(10_000);
    await expect(first).rejects.toThrow('pods (v1) could not be read within 10 s: no answer');
    send({ type: 'stalled', error: new StoreError('forbidden', 'pods: list is not allowed') });
    expect(informer.stalled?.code).toBe('forbidden');
    const second = informer.synced(5000);
    void clock.advance(5000);
    await expect(second).rejects.toThrow('within 5 s: pods: list is not allowed');
    send({ type: 'synced' });
    expect(informer.stalled).toBeUndefined();
    await informer.synced();
  });

  describe('of a kind that the source does not serve', () => {
    const refused: WatchEvent<Pod> = {
      type: 'stalled',
      error: new StoreError('not-installed', 'pods: install the CRDs'),
    };

    test('has no objects until it is installed, where it may be missing', async () => {
      const { informer, send, changes, missing } = informerOfPods({ isOptional: true });
      send({ type: 'stalled', error: new StoreError('unavailable', 'pods: answered with 404') });
      expect([informer.isSynced, informer.isInstalled]).toEqual([false, true]);
      send(refused);
      await informer.synced();
      expect([informer.isSynced, informer.isInstalled]).toEqual([true, false]);
      send(refused);
      expect(missing).toEqual(['pods: install the CRDs']);
      send({ type: 'added', object: pod('a/x') });
      send({ type: 'synced' });
      expect(informer.isInstalled).toBe(true);
      expect(changes).toEqual(['a/x - → node1']);
    });

    test('keeps what it knows when the kind goes away later', () => {
      const { informer, send, missing } = informerOfPods({ isOptional: true });
      send({ type: 'added', object: pod('a/x') });
      send({ type: 'synced' });
      for (let time = 0; time < 3; time += 1) send(refused);
      expect([informer.isInstalled, informer.list().length, missing]).toEqual([true, 1, []]);
    });

    test('is waited for, where it is needed', async () => {
      const { informer, send, clock } = informerOfPods();
      const synced = informer.synced(5000);
      send(refused);
      send(refused);
      void clock.advance(5000);
      await expect(synced).rejects.toThrow('within 5 s: pods: install the CRDs');
    });
  });

  test('waiting for a watch that ended fails at once', async () => {
    const { informer, end } = informerOfPods();
    end();
    await expect(informer.synced()).rejects.toThrow('pods: watch was ended');
  });
});
