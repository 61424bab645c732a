import { isAllKnown } from '../../../support/zone/zones.ts';
import { expect, test } from 'vitest';
import { pods } from '../../../../src/api/kinds.ts';
import { ZoneInformers } from '../../../../src/zone/zone-informers.ts';
import { zoneFacts } from '../../../../src/model/zone/zone.ts';
import { OTHER_PODS_HOLD } from '../../../../src/model/zone/other-pods.ts';
import { delegatingStore } from '../../../../src/store/delegating-store.ts';
import { Informers } from '../../../../src/store/informers.ts';
import { apply, silent, testSettings } from '../../../support/cluster/cluster.ts';
import { MemoryStore } from '../../../support/cluster/memory-store.ts';

const podOn = (name: string, nodeName: string) => ({
  apiVersion: 'v1',
  kind: 'Pod' as const,
  metadata: { name, namespace: 'a' },
  spec: { nodeName },
});

test.for([
  ['one informer has the pods of all nodes', false],
  ['an informer has the pods of this node, and another one brings the rest', true],
] as const)(
  'pods of other nodes are followed when something asks for them: %s',
  async ([, hasOwnPodsOnly]) => {
    const store = new MemoryStore();
    await apply(store, podOn('near', 'n1'), podOn('far', 'n2'));
    const stop = new AbortController();
    const informers = new Informers({ store, log: silent });
    if (hasOwnPodsOnly) informers.select(pods, { fields: { 'spec.nodeName': 'n1' } });
    const facts = zoneFacts('n1', testSettings.cluster);
    const zone = new ZoneInformers({ informers, facts, hasOwnPodsOnly, onChange: () => undefined });
    const following = informers.run(stop.signal);
    await zone.synced(10_000);
    const names = (): string[] => facts.pods.all().map(({ name }) => name);
    expect(names()).toEqual(['near']);
    expect(informers.of(pods).list()).toHaveLength(hasOwnPodsOnly ? 1 : 2);

    facts.otherPods.want('test', true);
    expect(isAllKnown(facts)).toBe(false);
    await zone.synced(10_000);
    expect(isAllKnown(facts)).toBe(true);
    expect(names()).toEqual(['far', 'near']);
    await apply(store, podOn('later', 'n2'));
    await expect.poll(names).toEqual(['far', 'later', 'near']);
    stop.abort();
    await following;
  },
);

/** A node that follows pods of its own, and by another informer those of others. */
async function bed(hasOwnPodsOnly: boolean) {
  const store = new MemoryStore();
  await apply(store, podOn('near', 'n1'), podOn('far', 'n2'));
  const stop = new AbortController();
  const lists: string[] = [];
  let open = 0;
  const counted = delegatingStore(store, {
    watch: async (kind, handler, signal, selection) => {
      lists.push(kind.plural);
      open += 1;
      await store.watch(kind, handler, signal, selection);
      open -= 1;
    },
  });
  const informers = new Informers({ store: counted, log: silent });
  if (hasOwnPodsOnly) informers.select(pods, { fields: { 'spec.nodeName': 'n1' } });
  const facts = zoneFacts('n1', testSettings.cluster);
  const zone = new ZoneInformers({ informers, facts, hasOwnPodsOnly, onChange: () => undefined });
  const following = informers.run(stop.signal);
  await zone.synced(10_000);
  return {
    store,
    facts,
    zone,
    names: (): string[] => facts.pods.all().map(({ name, node }) => `${name} ${node}`),
    watches: () => open,
    lists: () => lists.filter((plural) => plural === 'pods').length,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await following;
    },
  };
}

test.for([false, true])(
  'pods of other nodes are left some minutes after nobody wants them any more, and followed again when somebody does (another informer: %s)',
  async (hasOwnPodsOnly) => {
    await using node = await bed(hasOwnPodsOnly);
    const { facts, zone, names, store } = node;
    const [watches, lists] = [node.watches(), node.lists()];
    facts.otherPods.want('AdminNetworkPolicy one', true);
    facts.otherPods.want('NetworkPolicy a/two', true);
    await zone.synced(10_000);
    const both = ['far n2', 'near n1'];
    expect(names()).toEqual(both);

    facts.refresh(0);
    facts.otherPods.want('AdminNetworkPolicy one', false);
    facts.refresh(10_000_000);
    expect(names()).toEqual(both);
    // The last one goes, and another one comes before the time is over.
    facts.otherPods.want('NetworkPolicy a/two', false);
    facts.refresh(20_000_000);
    expect(facts.nextExpiry).toBe(20_000_000 + OTHER_PODS_HOLD);
    facts.otherPods.want('NetworkPolicy a/three', true);
    facts.refresh(30_000_000);
    expect([names(), facts.nextExpiry]).toEqual([both, undefined]);

    facts.otherPods.want('NetworkPolicy a/three', false);
    facts.refresh(40_000_000);
    facts.refresh(40_000_000 + OTHER_PODS_HOLD);
    expect([names(), facts.otherPods.areWanted]).toEqual([['near n1'], false]);
    await expect.poll(node.watches).toBe(watches);
    await apply(store, podOn('later', 'n2'), podOn('near-2', 'n1'));
    await expect.poll(names).toEqual(['near n1', 'near-2 n1']);
    expect(isAllKnown(facts)).toBe(true);

    facts.otherPods.want('NetworkPolicy a/four', true);
    // Rows of pods that are not read yet are held back.
    expect(isAllKnown(facts)).toBe(false);
    await zone.synced(10_000);
    expect(names()).toEqual(['far n2', 'later n2', 'near n1', 'near-2 n1']);
    expect(node.lists()).toBe(lists + (hasOwnPodsOnly ? 2 : 0));
  },
);

test('a pod that is made anew on another node is there, whichever of the two watches tells first', async () => {
  await using node = await bed(true);
  const { facts, zone, names, store } = node;
  facts.otherPods.want('NetworkPolicy a/one', true);
  await zone.synced(10_000);
  for (const [from, to] of [
    ['n1', 'n2'],
    ['n2', 'n1'],
  ] as const) {
    await apply(store, podOn('moves', from));
    await expect.poll(names).toContain(`moves ${from}`);
    await store.delete(pods, 'a/moves');
    await apply(store, podOn('moves', to));
    await expect.poll(names).toContain(`moves ${to}`);
    await store.delete(pods, 'a/moves');
    await expect.poll(names).toEqual(['far n2', 'near n1']);
  }
});

test('whoever reads the pods of the zone is told of those of other nodes while they are followed', async () => {
  await using node = await bed(true);
  const { facts, zone } = node;
  const told = new Set<string>();
  zone.pods.onChange(({ key }) => told.add(key));
  expect([...zone.pods.keys()]).toEqual(['a/near']);
  facts.otherPods.want('NetworkPolicy a/one', true);
  await zone.synced(10_000);
  expect([[...zone.pods.keys()], [...told]]).toEqual([['a/near', 'a/far'], ['a/far']]);
  expect(zone.pods.get('a/far')?.spec.nodeName).toBe('n2');
  told.clear();
  facts.otherPods.want('NetworkPolicy a/one', false);
  facts.refresh(0);
  facts.refresh(OTHER_PODS_HOLD);
  expect([[...zone.pods.keys()], [...told]]).toEqual([['a/near'], ['a/far']]);
  expect(zone.pods.get('a/far')).toBeUndefined();
});
