import { describe, expect, test } from 'vitest';
import { namespaces, nodes } from '../../../src/api/kinds.ts';
import { delegatingStore } from '../../../src/store/delegating-store.ts';
import { Informers } from '../../../src/store/informers.ts';
import { knownObjects } from '../../../src/store/known-objects.ts';
import { StoreError, type Store } from '../../../src/store/store.ts';
import { apply, namespace, node, silent } from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const never = (): Promise<never> => new Promise(() => undefined);

/** A store with a namespace and a node, whose namespaces are followed; `list` is how it answers then. */
async function followed(list: Store['list'] | undefined): Promise<{
  readonly store: Store;
  readonly informers: Informers;
  readonly end: () => void;
}> {
  const memory = new MemoryStore();
  await apply(memory, namespace('a'), node('n1'));
  const informers = new Informers({ store: memory, log: silent });
  informers.of(namespaces);
  const stop = new AbortController();
  void informers.run(stop.signal);
  await informers.synced([namespaces]);
  const store = list === undefined ? memory : delegatingStore(memory, { list });
  return { store, informers, end: () => stop.abort() };
}

describe('objects that are shown', () => {
  test('are those that are stored while they can be read', async () => {
    const { store, informers, end } = await followed(undefined);
    const { lists, whyUnread } = knownObjects(store, informers);
    expect(
      [await lists.list(namespaces), await lists.list(nodes)].map((all) => all.length),
    ).toEqual([1, 1]);
    expect(whyUnread()).toBeUndefined();
    end();
  });

  const refused = (): Promise<never> =>
    Promise.reject(new StoreError('unavailable', 'connection refused'));
  test.each<[string, Store['list'], RegExp]>([
    ['that is away', refused, /^connection refused$/],
    [
      'that says nothing',
      (_kind, signal) =>
        Promise.race([
          never(),
          new Promise<never>((_, reject) =>
            signal?.addEventListener('abort', () => reject(new Error('aborted'))),
          ),
        ]),
      /^namespaces are not listed within/,
    ],
    [
      'that does not know our token any more, while watches that it knew go on',
      () => Promise.reject(new StoreError('unauthenticated', 'Namespaces: Unauthorized')),
      /^Namespaces: Unauthorized$/,
    ],
  ])(
    'are those that are followed beside a source %s, which is asked once',
    async (_what, list, why) => {
      let asked = 0;
      const counting: Store['list'] = (kind, signal, selection) => {
        asked += 1;
        return list(kind, signal, selection);
      };
      const { store, informers, end } = await followed(counting);
      const { lists, whyUnread } = knownObjects(store, informers, 20);
      expect((await lists.list(namespaces)).map(({ metadata }) => metadata.name)).toEqual(['a']);
      expect(await lists.list(nodes)).toEqual([]);
      expect(asked).toBe(1);
      expect(whyUnread()).toMatch(why);
      end();
    },
  );

  test('are no others where it is refused to read them', async () => {
    const forbidden = (): Promise<never> => Promise.reject(new StoreError('forbidden', 'no role'));
    const { store, informers, end } = await followed(forbidden);
    await expect(knownObjects(store, informers).lists.list(namespaces)).rejects.toThrow('no role');
    end();
  });
});
