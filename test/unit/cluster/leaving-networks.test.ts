/** Networks on their way out of a namespace: each pod there holds its NAD, or is on no network that goes. */
import { expect, test } from 'vitest';
import { namespaces, networkAttachmentDefinitions, pods } from '../../../src/api/kinds.ts';
import { podNetworks } from '../../../src/api/annotations/pod-annotations.ts';
import type { ClusterUserDefinedNetwork } from '../../../src/api/types.ts';
import { NodePodAddresses } from '../../../src/addresses/node-pod-addresses.ts';
import { delegatingStore } from '../../../src/store/delegating-store.ts';
import { Informers } from '../../../src/store/informers.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  apply,
  clusterLayer3,
  layer3,
  namespace,
  node,
  pod,
  rawNad,
  PRIMARY,
  remove,
  silent,
  testSettings,
} from '../../support/cluster/cluster.ts';
import { startProcess, type ClusterProcess } from '../../support/cluster/cluster-process.ts';
import { versions } from '../../support/cluster/cluster-history.ts';
import { nadsOf } from '../../support/cluster/nads-of.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const TEAM = { matchLabels: { team: 'x' } };

const networks: Readonly<Record<string, ClusterUserDefinedNetwork>> = {
  Layer3: clusterLayer3('shared', TEAM, '10.20.0.0/16/24'),
  Layer2: {
    ...clusterLayer3('shared', TEAM, '10.20.0.0/16/24'),
    spec: {
      namespaceSelector: TEAM,
      network: { topology: 'Layer2', layer2: { role: 'Primary', subnets: ['10.20.0.0/16'] } },
    },
  },
};

const isSelected = async (store: Store, team: string | null): Promise<void> => {
  const labels = { metadata: { labels: { team } } };
  await store.patch(namespaces, 'blue', labels, { fieldManager: 'user' });
};

const nadKeys = async (store: Store): Promise<readonly string[]> =>
  (await store.list(networkAttachmentDefinitions)).map(
    ({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`,
  );

const networksOf = async (store: Store, key: string): Promise<readonly string[]> => {
  const found = await store.get(pods, key);
  return found === undefined ? [] : [...(podNetworks(found).value?.keys() ?? [])].toSorted();
};

/** What pods carry without a NAD for it. */
async function unheld(store: Store): Promise<readonly string[]> {
  const nads = await nadKeys(store);
  const keys = (await store.list(pods)).flatMap(({ metadata }) => [
    `${metadata.namespace ?? ''}/${metadata.name}`,
  ]);
  const carried = await Promise.all(keys.map((key) => networksOf(store, key)));
  return carried.flat().filter((key) => key !== 'default' && !nads.includes(key));
}

test.each(['Layer3', 'Layer2'])(
  'a pod that comes while no manager works has the %s network of its namespace that was to go, and holds its NAD',
  async (topology) => {
    const store = new MemoryStore();
    await apply(store, node('n1'), namespace('blue', { ...PRIMARY, team: 'x' }));
    await apply(store, networks[topology] as ClusterUserDefinedNetwork);
    {
      await using before = startProcess(store, ['n1']);
      await before.settled();
      await apply(store, pod('blue/first', 'n1'));
      await before.settled();
      await isSelected(store, null);
      await before.settled();
      expect(await nadKeys(store)).toEqual(['blue/shared']);
    }
    await remove.pod(store, 'blue/first');
    await apply(store, pod('blue/second', 'n1'));
    {
      await using after = startProcess(store, ['n1']);
      await after.settled();
    }
    expect(await unheld(store)).toEqual([]);
    expect(await networksOf(store, 'blue/second')).toEqual(['blue/shared', 'default']);
    const before = await versions(store);
    await using again = startProcess(store, ['n1']);
    await again.settled();
    expect(await versions(store)).toEqual(before);
    await remove.pod(store, 'blue/second');
    await again.settled();
    expect(await nadKeys(store)).toEqual([]);
  },
);

test('a pod that gets its address while the NAD is being deleted holds it until it goes', async () => {
  const store = new MemoryStore();
  const carried = {
    'blue/net': {
      ip_addresses: ['10.20.0.3/24'],
      mac_address: '0a:58:0a:14:00:03',
      role: 'primary',
    },
  };
  const late = pod('blue/late', 'n1', { 'k8s.ovn.org/pod-networks': JSON.stringify(carried) });
  await apply(store, node('n1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
  await using running = startProcess(store, []);
  await running.settled();
  const deleteObject = store.delete.bind(store);
  store.delete = async (kind, key, options) => {
    if (kind.plural === 'network-attachment-definitions') await apply(store, late);
    await deleteObject(kind, key, options);
  };
  await remove.udn(store, 'blue/net');
  await running.settled();
  expect(await nadKeys(store)).toEqual(['blue/net']);
  expect(running.problems().join()).toContain('in use by the following pods: [blue/late]');
  await remove.pod(store, 'blue/late');
  await running.settled();
  expect(await nadKeys(store)).toEqual([]);
  expect(running.problems()).toEqual([]);
});

const LATE = ['network-attachment-definitions', 'nodes'];

/** The pod addresses of node `n1`, whose watches show of NADs and nodes what came before `hold` alone. */
function lateNode(store: Store): {
  readonly addresses: NodePodAddresses;
  hold(): void;
  stop(): Promise<void>;
} {
  const stopping = new AbortController();
  const { signal } = stopping;
  let isHeld = false;
  const late = delegatingStore(store, {
    watch: (kind, handler, until, selection) =>
      store.watch(
        kind,
        (event) => {
          if (!isHeld || !LATE.includes(kind.plural)) handler(event);
        },
        until,
        selection,
      ),
  });
  const informers = new Informers({ store: late, log: silent });
  const addresses = new NodePodAddresses({
    informers,
    node: 'n1',
    registry: nadsOf(informers),
    settings: testSettings.cluster,
    log: silent,
    signal,
  });
  const running = [informers.run(signal), addresses.run()];
  return {
    addresses,
    hold() {
      isHeld = true;
    },
    async stop() {
      stopping.abort(new Error('stopped'));
      await Promise.all(running);
    },
  };
}

test('a node that has not seen yet that a NAD is gone gives no address of it', async () => {
  const store = new MemoryStore();
  await apply(store, node('n1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
  await using running = startProcess(store, []);
  await running.settled();
  const late = lateNode(store);
  await late.addresses.started;
  await late.addresses.caughtUp();
  late.hold();
  await remove.udn(store, 'blue/net');
  await running.settled();
  expect(await nadKeys(store)).toEqual([]);
  await apply(store, pod('blue/new', 'n1'));
  await expect
    .poll(() => late.addresses.problems().map(({ message }) => message))
    .toEqual(['NAD blue/net is being removed']);
  expect(await networksOf(store, 'blue/new')).toEqual(['default']);
  await late.stop();
});

test('a pod that comes while it is looked up who uses a NAD gets its address when it was found, not before', async () => {
  const store = new MemoryStore();
  await apply(store, node('n1'), namespace('blue'), layer3('blue/net', '10.20.0.0/16/24'));
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const list = store.list.bind(store);
  store.list = async (kind, signal, selection) => {
    if (kind.plural === 'pods' && selection?.namespace === 'blue') {
      asked.resolve();
      await answer.promise;
    }
    return list(kind, signal, selection);
  };
  await using running = startProcess(store, []);
  await running.settled();
  const late = lateNode(store);
  await late.addresses.started;
  await remove.udn(store, 'blue/net');
  await asked.promise;
  await apply(store, pod('blue/new', 'n1'));
  await expect
    .poll(() => late.addresses.problems().map(({ message }) => message))
    .toEqual(['NAD blue/net is being removed']);
  expect(await networksOf(store, 'blue/new')).toEqual(['default']);
  answer.resolve();
  await expect.poll(() => networksOf(store, 'blue/new')).toEqual(['blue/net', 'default']);
  await running.settled();
  expect(await nadKeys(store)).toEqual(['blue/net']);
  await remove.pod(store, 'blue/new');
  await running.settled();
  expect(await nadKeys(store)).toEqual([]);
  await late.stop();
});

test('a pod whose NAD somebody takes away has a problem from then on, not only after a restart', async () => {
  const store = new MemoryStore();
  const nad = rawNad('blue/hand', {
    cniVersion: '1.1.0',
    type: 'ovn-k8s-cni-overlay',
    netAttachDefName: 'blue/hand',
    name: 'hand',
    topology: 'layer3',
    role: 'primary',
    subnets: '10.16.0.0/16/24',
  });
  await apply(store, node('n1'), namespace('blue', PRIMARY), nad);
  const problems = async (process: ClusterProcess): Promise<readonly string[]> => {
    await process.settled();
    return process.problems().filter((one) => one.startsWith('Pod blue/web: '));
  };
  const told = await (async () => {
    await using before = startProcess(store, ['n1']);
    await before.settled();
    await apply(store, pod('blue/web', 'n1'));
    expect(await problems(before)).toEqual([]);
    expect(await networksOf(store, 'blue/web')).toEqual(['blue/hand', 'default']);
    await store.delete(networkAttachmentDefinitions, 'blue/hand');
    return await problems(before);
  })();
  expect(told).toEqual([expect.stringContaining('"blue"') as string]);
  await using after = startProcess(store, ['n1']);
  expect(await problems(after)).toEqual(told);
});
