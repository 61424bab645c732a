import { expect, test } from 'vitest';
import { pods } from '../../../src/api/kinds.ts';
import { ZoneInformers } from '../../../src/zone/zone-informers.ts';
import { ZoneFacts } from '../../../src/model/zone/facts.ts';
import { Informers } from '../../../src/store/informers.ts';
import { apply, silent, testSettings } from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

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
    const facts = new ZoneFacts('n1', testSettings.cluster);
    const zone = new ZoneInformers({ informers, facts, hasOwnPodsOnly, onChange: () => undefined });
    const following = informers.run(stop.signal);
    await zone.synced(10_000);
    const names = (): string[] => facts.pods.all().map(({ name }) => name);
    expect(names()).toEqual(['near']);
    expect(informers.of(pods).list()).toHaveLength(hasOwnPodsOnly ? 1 : 2);

    facts.wantOtherPods();
    expect(facts.isComplete).toBe(false);
    await zone.synced(10_000);
    expect(facts.isComplete).toBe(true);
    expect(names()).toEqual(['far', 'near']);
    await apply(store, podOn('later', 'n2'));
    await expect.poll(names).toEqual(['far', 'later', 'near']);
    stop.abort();
    await following;
  },
);
