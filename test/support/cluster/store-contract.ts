import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { objectKey, type KubeObject, type ResourceKind } from '../../../src/api/objects.ts';
import { EVENTS } from '../../../src/store/object-event.ts';
import type { Selection } from '../../../src/store/selection.ts';
import {
  StoreError,
  type Store,
  type StoreErrorCode,
  type WatchEvent,
} from '../../../src/store/store.ts';
import { WIDGETS } from './plain-rules.ts';

interface Widget extends KubeObject {
  readonly spec: { readonly size?: number; readonly colour?: string };
  readonly status?: { readonly phase?: string };
}

const widgets = WIDGETS as ResourceKind<Widget>;
const nodes: ResourceKind = { apiVersion: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };

export interface StoreUnderTest extends AsyncDisposable {
  /** Two clients of one source, like two processes. */
  readonly stores: readonly [Store, Store];
  /** An existing namespace that holds nothing. */
  readonly namespace: string;
}

const WRITER = { fieldManager: 'contract-test' };

async function codeOf(promise: Promise<unknown>): Promise<StoreErrorCode> {
  const error: unknown = await promise.then(
    () => expect.unreachable('should have been refused'),
    (reason: unknown) => reason,
  );
  if (error instanceof StoreError) return error.code;
  throw error;
}

/** What every store must do; run once for each. */
export function storeContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name}: the contract of a store`, () => {
    let underTest: StoreUnderTest;
    let store: Store;
    let other: Store;
    let namespace: string;
    beforeEach(async () => {
      underTest = await open();
      [store, other] = underTest.stores;
      ({ namespace } = underTest);
    });
    afterEach(() => underTest[Symbol.asyncDispose]());

    const widget = (
      name: string,
      spec: Widget['spec'] = { size: 1 },
      metadata: Partial<Widget['metadata']> = {},
    ): Widget => ({
      apiVersion: 'example.org/v1',
      kind: 'Widget',
      metadata: { ...metadata, name, namespace },
      spec,
    });
    const mine = async (from: Store = store): Promise<readonly Widget[]> =>
      (await from.list(widgets)).filter(({ metadata }) => metadata.namespace === namespace);
    const key = (name: string): string => `${namespace}/${name}`;

    test('what was created can be read, with the identity that the store gave it', async () => {
      expect(await store.get(widgets, key('a'))).toBeUndefined();
      expect(await mine()).toEqual([]);
      const created = await store.create(widgets, widget('a', { size: 3 }), WRITER);
      expect(created.spec).toEqual({ size: 3 });
      expect(created.metadata.generation).toBe(1);
      expect(created.metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-/);
      expect(created.metadata.creationTimestamp).toMatch(
        /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/,
      );
      expect(created.metadata.resourceVersion).toBeTruthy();
      for (const reader of [store, other]) {
        const read = await reader.get(widgets, key('a'));
        expect(read?.metadata).toMatchObject({
          uid: created.metadata.uid,
          resourceVersion: created.metadata.resourceVersion,
        });
        expect((await mine(reader)).map(({ metadata }) => objectKey(metadata))).toEqual([key('a')]);
      }
    });

    test('a name is taken once, whoever asks; generateName finds a free one', async () => {
      await store.create(widgets, widget('a'), WRITER);
      expect(await codeOf(other.create(widgets, widget('a'), WRITER))).toBe('already-exists');
      const generated = widget('', { size: 1 }, { generateName: 'auto-' });
      const [one, two] = await Promise.all([
        store.create(widgets, generated, WRITER),
        other.create(widgets, generated, WRITER),
      ]);
      expect(one.metadata.name).toMatch(/^auto-[a-z0-9]{5}$/);
      expect(two.metadata.name).not.toBe(one.metadata.name);
    });

    test('an invalid object is refused, naming field and value', async () => {
      const refused = store.create(widgets, widget('a', { size: -4 }), WRITER);
      await expect(refused).rejects.toThrow(/a.*spec\.size.*-4/);
      expect(await codeOf(store.create(widgets, widget('b', { size: -1 }), WRITER))).toBe(
        'invalid',
      );
      await store.create(widgets, widget('c', { size: 1, colour: 'red' }), WRITER);
      const recolour = store.patch(widgets, key('c'), { spec: { colour: 'blue' } }, WRITER);
      await expect(recolour).rejects.toThrow('colour is immutable');
      expect((await store.get(widgets, key('c')))?.spec.colour).toBe('red');
    });

    test('a patch merges, null removes, and only a new spec is a new generation', async () => {
      await store.create(
        widgets,
        widget('a', { size: 1, colour: 'red' }, { annotations: { keep: 'k', drop: 'd' } }),
        WRITER,
      );
      const annotated = await other.patch(
        widgets,
        key('a'),
        { metadata: { annotations: { drop: null, add: 'x' }, labels: { app: 'web' } } },
        WRITER,
      );
      expect(annotated.metadata.annotations).toEqual({ keep: 'k', add: 'x' });
      expect(annotated.metadata.labels).toEqual({ app: 'web' });
      expect(annotated.metadata.generation).toBe(1);
      const resized = await store.patch(widgets, key('a'), { spec: { size: 2 } }, WRITER);
      expect(resized.spec).toEqual({ size: 2, colour: 'red' });
      expect(resized.metadata.annotations).toEqual({ keep: 'k', add: 'x' });
      expect(resized.metadata.generation).toBe(2);
    });

    test('a patch that changes nothing makes no new version', async () => {
      const created = await store.create(widgets, widget('a', { size: 1 }), WRITER);
      const same = await store.patch(widgets, key('a'), { spec: { size: 1 } }, WRITER);
      expect(same.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    });

    test('a write based on an older version is refused', async () => {
      const created = await store.create(widgets, widget('a'), WRITER);
      const { resourceVersion = '' } = created.metadata;
      const annotate = { metadata: { annotations: { by: 'other' } } };
      await other.patch(widgets, key('a'), annotate, { ...WRITER, resourceVersion });
      const late = { ...WRITER, resourceVersion };
      expect(await codeOf(store.patch(widgets, key('a'), { spec: { size: 2 } }, late))).toBe(
        'conflict',
      );
      const status = { status: { phase: 'Late' } };
      expect(await codeOf(store.patchStatus(widgets, key('a'), status, late))).toBe('conflict');
      expect((await store.get(widgets, key('a')))?.spec.size).toBe(1);
    });

    test('counting with optimistic concurrency loses nothing', async () => {
      await store.create(widgets, widget('a', { size: 1 }), WRITER);
      const count = async (client: Store): Promise<void> => {
        for (;;) {
          const read = await client.get(widgets, key('a'));
          const { resourceVersion = '' } = read?.metadata ?? {};
          const patch = { spec: { size: (read?.spec.size ?? 0) + 1 } };
          const code = await client
            .patch(widgets, key('a'), patch, { ...WRITER, resourceVersion })
            .then(() => 'done')
            .catch((error: unknown) => (error as StoreError).code);
          if (code === 'done') return;
          expect(code).toBe('conflict');
        }
      };
      await Promise.all([store, other, store, other, store, other].map(count));
      expect((await store.get(widgets, key('a')))?.spec.size).toBe(7);
    });

    test('spec and status are written apart', async () => {
      await store.create(widgets, widget('a', { size: 1 }), WRITER);
      await store.patchStatus(
        widgets,
        key('a'),
        { status: { phase: 'Ready' }, spec: { size: 9 }, metadata: { annotations: { a: 'b' } } },
        WRITER,
      );
      await store.patch(
        widgets,
        key('a'),
        { status: { phase: 'Broken' }, metadata: { labels: { seen: 'yes' } } },
        WRITER,
      );
      const read = await other.get(widgets, key('a'));
      expect(read?.status).toEqual({ phase: 'Ready' });
      expect(read?.spec).toEqual({ size: 1 });
      expect(read?.metadata.annotations ?? {}).toEqual({});
      expect(read?.metadata.labels).toEqual({ seen: 'yes' });
      expect(read?.metadata.generation).toBe(1);
    });

    test('annotations of a node can be written through its status', async () => {
      const name = `node-of-${namespace}`;
      const metadata = { name };
      await store.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata }, WRITER);
      try {
        const annotations = { 'example.org/id': '7' };
        await store.patchStatus(nodes, name, { metadata: { annotations } }, WRITER);
        expect((await other.get(nodes, name))?.metadata.annotations).toMatchObject(annotations);
      } finally {
        await store.delete(nodes, name);
      }
    });

    test('writing or deleting what does not exist is refused', async () => {
      const patch = { spec: { size: 2 } };
      expect(await codeOf(store.patch(widgets, key('none'), patch, WRITER))).toBe('not-found');
      const status = { status: { phase: 'x' } };
      expect(await codeOf(store.patchStatus(widgets, key('none'), status, WRITER))).toBe(
        'not-found',
      );
      expect(await codeOf(store.delete(widgets, key('none')))).toBe('not-found');
    });

    test('an object without finalizers is gone at once', async () => {
      await store.create(widgets, widget('a'), WRITER);
      await other.delete(widgets, key('a'));
      expect(await store.get(widgets, key('a'))).toBeUndefined();
    });

    test('an object with finalizers stays until the last one is removed', async () => {
      await store.create(
        widgets,
        widget('a', { size: 1 }, { finalizers: ['example.org/one', 'example.org/two'] }),
        WRITER,
      );
      await other.delete(widgets, key('a'));
      const dying = await store.get(widgets, key('a'));
      expect(dying?.metadata.deletionTimestamp).toMatch(/^\d{4}-/);
      await store.delete(widgets, key('a')); // again: nothing new
      const add = { metadata: { finalizers: ['example.org/one', 'example.org/new'] } };
      expect(await codeOf(store.patch(widgets, key('a'), add, WRITER))).toBe('invalid');
      const one = { metadata: { finalizers: ['example.org/two'] } };
      await store.patch(widgets, key('a'), one, WRITER);
      expect(await store.get(widgets, key('a'))).toBeDefined();
      await store.patch(widgets, key('a'), { metadata: { finalizers: null } }, WRITER);
      expect(await other.get(widgets, key('a'))).toBeUndefined();
    });

    test('a delete can insist on one incarnation of the object', async () => {
      const created = await store.create(widgets, widget('a'), WRITER);
      const other = '00000000-0000-4000-8000-000000000000';
      expect(await codeOf(store.delete(widgets, key('a'), { uid: other }))).toBe('conflict');
      const { uid = '' } = created.metadata;
      await store.delete(widgets, key('a'), { uid });
      expect(await store.get(widgets, key('a'))).toBeUndefined();
    });

    test('a watch delivers what exists, then synced, then every change in order', async () => {
      await store.create(widgets, widget('a', { size: 1 }), WRITER);
      const seen: string[] = [];
      const stop = new AbortController();
      const watching = store.watch(
        widgets,
        (event) => {
          if (!('object' in event)) seen.push(event.type);
          else if (event.object.metadata.namespace === namespace)
            seen.push(`${event.type} ${event.object.metadata.name} ${event.object.spec.size}`);
        },
        stop.signal,
      );
      await expect.poll(() => seen, { timeout: 10_000 }).toEqual(['added a 1', 'synced']);
      for (const [client, sizes] of [[store, [2, 3]] as const, [other, [4, 5]] as const])
        for (const size of sizes) await client.patch(widgets, key('a'), { spec: { size } }, WRITER);
      await other.create(widgets, widget('b', { size: 1 }), WRITER);
      await other.delete(widgets, key('a'));
      await expect.poll(() => seen, { timeout: 10_000 }).toContain('added b 1');
      const deleted = (): boolean => seen.some((line) => line.startsWith('deleted a'));
      await expect.poll(deleted, { timeout: 10_000 }).toBe(true);
      // Changes by another process may be merged, but never come out of order.
      expect(seen.slice(0, 4)).toEqual(['added a 1', 'synced', 'modified a 2', 'modified a 3']);
      const sizes = seen.flatMap((line) => /^modified a (\d)$/.exec(line)?.[1] ?? []);
      expect(sizes).toEqual(sizes.toSorted());
      expect(seen.filter((line) => line.startsWith('added a'))).toHaveLength(1);
      stop.abort();
      await watching;
      const length = seen.length;
      await store.create(widgets, widget('c'), WRITER);
      expect(seen.length).toBe(length);
    });

    test('a watch of a selection delivers what is in it, comes into it and leaves it', async () => {
      const labels = (colour: string): object => ({ metadata: { labels: { colour } } });
      for (const [name, colour] of [
        ['a', 'red'],
        ['b', 'blue'],
      ] as const)
        await store.create(widgets, widget(name, {}, { labels: { colour } }), WRITER);
      const selections: readonly Selection[] = [
        { namespace, labels: { matchLabels: { colour: 'red' } } },
        { namespace, fields: { 'metadata.name': 'b' } },
        {
          namespace,
          labels: {
            matchExpressions: [
              { key: 'colour', operator: 'In', values: ['red', 'green'] },
              { key: 'colour', operator: 'NotIn', values: ['green'] },
              { key: 'colour', operator: 'Exists' },
              { key: 'size', operator: 'DoesNotExist' },
            ],
          },
        },
        { namespace: 'kube-public', labels: { matchLabels: { colour: 'red' } } },
      ];
      const stop = new AbortController();
      const watched = selections.map((selection) => {
        const seen: string[] = [];
        const handler = (event: WatchEvent<Widget>): void => {
          seen.push('object' in event ? `${event.type} ${event.object.metadata.name}` : event.type);
        };
        return { seen, end: store.watch(widgets, handler, stop.signal, selection) };
      });
      const seen = (): readonly (readonly string[])[] => watched.map((one) => one.seen);
      const first = ['added a', 'synced'];
      await expect
        .poll(seen, { timeout: 10_000 })
        .toEqual([first, ['added b', 'synced'], first, ['synced']]);
      await store.patch(widgets, key('b'), labels('red'), WRITER);
      await store.patch(widgets, key('a'), labels('green'), WRITER);
      await store.delete(widgets, key('b'));
      const later = ['added b', 'deleted a', 'deleted b'];
      await expect
        .poll(seen, { timeout: 10_000 })
        .toEqual([
          [...first, ...later],
          ['added b', 'synced', 'modified b', 'deleted b'],
          [...first, ...later],
          ['synced'],
        ]);
      stop.abort();
      await Promise.all(watched.map(({ end }) => end));
    });

    test('an event said twice is one Event that counts two', async () => {
      const regarding = await store.create(widgets, widget('a'), WRITER);
      const event = {
        regarding,
        type: 'Warning',
        reason: 'TooSmall',
        message: 'size 1 is too small',
      } as const;
      await store.event(event);
      await store.event(event);
      await store.event({ ...event, message: 'size 1 is still too small' });
      const events = (await other.list(EVENTS)).filter(
        ({ metadata }) => metadata.namespace === namespace,
      );
      const shown = events.map(({ involvedObject, reason, message, count }) => [
        involvedObject.name,
        involvedObject.uid,
        reason,
        message,
        count,
      ]);
      expect(shown.toSorted((a, b) => Number(a.at(-1)) - Number(b.at(-1)))).toEqual([
        ['a', regarding.metadata.uid, 'TooSmall', 'size 1 is still too small', 1],
        ['a', regarding.metadata.uid, 'TooSmall', 'size 1 is too small', 2],
      ]);
    });

    test('one leads at a time; the next one follows when it gives up', async () => {
      const signal = new AbortController().signal;
      const name = `lead-in-${namespace}`;
      const first = await store.lead(name, 'manager-1', signal);
      let secondLeads = false;
      const second = other.lead(name, 'manager-2', signal).then((leadership) => {
        secondLeads = true;
        return leadership;
      });
      const impatient = other.lead(name, 'manager-3', AbortSignal.timeout(100));
      await expect(impatient).rejects.toThrow();
      expect(secondLeads).toBe(false);
      expect(first.signal.aborted).toBe(false);
      await first[Symbol.asyncDispose]();
      expect(first.signal.aborted).toBe(true);
      const leadership = await second;
      expect(leadership.signal.aborted).toBe(false);
      await leadership[Symbol.asyncDispose]();
    });

    test('an aborted call does not write', async () => {
      const options = { ...WRITER, signal: AbortSignal.abort() };
      await expect(store.create(widgets, widget('a'), options)).rejects.toThrow();
      expect(await store.get(widgets, key('a'))).toBeUndefined();
    });
  });
}
