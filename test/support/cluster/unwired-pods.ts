/** Pods that nobody has wired yet when the primary networks of their namespace change; on any store. */
import { expect } from 'vitest';
import { pods, resourceKinds } from '../../../src/api/kinds.ts';
import { NodePodAddresses } from '../../../src/addresses/node-pod-addresses.ts';
import { Informers } from '../../../src/store/informers.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  apply,
  layer3,
  namespace,
  node,
  pod,
  rawNad,
  remove,
  silent,
  startManager,
  testSettings,
  type RunningManager,
} from './cluster.ts';
import { nadsOf } from './nads-of.ts';

interface RunningNode extends AsyncDisposable {
  settled(): Promise<void>;
}

/** The pod addresses of one node, as its daemon runs them. */
function startNode(store: Store, name: string): RunningNode {
  const stopping = new AbortController();
  const { signal } = stopping;
  const informers = new Informers({ store, log: silent });
  const settings = testSettings.cluster;
  const registry = nadsOf(informers);
  const addresses = new NodePodAddresses({
    informers,
    node: name,
    settings,
    registry,
    log: silent,
    signal,
  });
  const runs = [informers.run(signal), addresses.run()];
  return {
    async settled() {
      await addresses.started;
      await informers.refresh(resourceKinds, signal);
      await addresses.caughtUp();
    },
    async [Symbol.asyncDispose]() {
      stopping.abort(new Error('stopped'));
      await Promise.all(runs);
    },
  };
}

/** Each may wait for what the other one writes. */
async function settle(...parts: readonly (RunningManager | RunningNode)[]): Promise<void> {
  for (let round = 0; round < 4; round += 1) for (const part of parts) await part.settled();
}

const networksOf = async (store: Store, key: string): Promise<readonly string[]> => {
  const text = (await store.get(pods, key))?.metadata.annotations?.['k8s.ovn.org/pod-networks'];
  return Object.keys(JSON.parse(text ?? '{}') as object).sort();
};

const layer2Nad = (key: string): ReturnType<typeof rawNad> =>
  rawNad(key, {
    cniVersion: '1.1.0',
    type: 'ovn-k8s-cni-overlay',
    name: key.replace('/', '-'),
    netAttachDefName: key,
    topology: 'layer2',
    role: 'primary',
    subnets: '10.30.0.0/16',
  });

/** The manager leaves a pod of the only, Layer3, primary network to its node; then a second one comes. */
export async function secondPrimaryBeforeWiring(store: Store): Promise<void> {
  await using manager = startManager(store);
  await apply(store, node('node1'), namespace('blue'), layer3('blue/one', '10.20.0.0/16/24'));
  await settle(manager);
  await apply(store, pod('blue/web', 'node1'));
  await settle(manager);
  await apply(store, layer3('blue/two', '10.40.0.0/16/24'));
  await settle(manager);
  await using daemon = startNode(store, 'node1');
  await settle(daemon, manager);
  expect(await networksOf(store, 'blue/web')).toEqual(['blue/one', 'default']);
}

/** The node leaves a pod of a Layer2 network to the manager, which is away; meanwhile a Layer3 network takes the other one's place. */
export async function layer2ReplacedBeforeWiring(store: Store): Promise<void> {
  await apply(store, node('node1'), namespace('blue'), layer2Nad('blue/flat'));
  await using daemon = startNode(store, 'node1');
  await (async (): Promise<void> => {
    await using manager = startManager(store);
    await settle(manager, daemon);
  })();
  await apply(store, pod('blue/web', 'node1'));
  await settle(daemon);
  await remove.nad(store, 'blue/flat');
  await apply(store, layer3('blue/one', '10.20.0.0/16/24'));
  await using manager = startManager(store);
  await settle(manager, daemon);
  expect(await networksOf(store, 'blue/web')).toEqual(['blue/one', 'default']);
}

/** Pods that can't be wired as they were created are corrected: one that names no network, one that asked for nothing when there was no room. */
export async function requestCorrectedBeforeWiring(store: Store): Promise<void> {
  const asking = (name: string | null): Readonly<Record<string, unknown>> => ({
    metadata: { annotations: { 'k8s.ovn.org/requested-primary-udn': name } },
  });
  const change = async (name: string, request: string | null): Promise<void> => {
    await store.patch(pods, `blue/${name}`, asking(request), { fieldManager: 'user' });
  };
  const wrong = { 'k8s.ovn.org/requested-primary-udn': 'nope' };
  await apply(store, node('node1'), namespace('blue'), pod('blue/early', 'node1'));
  await (async (): Promise<void> => {
    await using manager = startManager(store);
    await settle(manager);
    await apply(store, layer3('blue/one', '10.20.0.0/16/24'));
    await apply(store, layer3('blue/two', '10.40.0.0/16/24'));
    await settle(manager);
    await apply(store, pod('blue/wrong', 'node1', wrong), pod('blue/taken-back', 'node1', wrong));
    await apply(store, pod('blue/unscheduled'), pod('blue/wrong-unscheduled', undefined, wrong));
    await settle(manager);
    await change('unscheduled', 'two');
    await settle(manager);
  })();
  // Nobody sees these changes happen.
  await change('wrong', 'two');
  await change('taken-back', null);
  await change('wrong-unscheduled', 'two');
  await change('early', 'two');
  await using manager = startManager(store);
  await settle(manager);
  for (const name of ['unscheduled', 'wrong-unscheduled'])
    await store.patch(
      pods,
      `blue/${name}`,
      { spec: { nodeName: 'node1' } },
      { fieldManager: 'user' },
    );
  await using daemon = startNode(store, 'node1');
  await settle(daemon, manager);
  expect(await networksOf(store, 'blue/early')).toEqual(['blue/one', 'default']);
  expect(await networksOf(store, 'blue/unscheduled')).toEqual(['blue/one', 'default']);
  for (const name of ['wrong', 'taken-back', 'wrong-unscheduled'])
    expect(await networksOf(store, `blue/${name}`)).toEqual([]);
  // What it asked for when it was created is a network now.
  await apply(store, layer3('blue/nope', '10.60.0.0/16/24'));
  await settle(daemon, manager);
  expect(await networksOf(store, 'blue/wrong')).toEqual(['blue/nope', 'default']);
}

/** A pod asks for a network and, before anybody wires it, for another one. */
export async function requestChangedBeforeWiring(store: Store): Promise<void> {
  await apply(store, node('node1'), namespace('blue'), layer3('blue/one', '10.20.0.0/16/24'));
  const asking = (name: string): Readonly<Record<string, string>> => ({
    'k8s.ovn.org/requested-primary-udn': name,
  });
  await using manager = startManager(store);
  await settle(manager);
  await apply(store, pod('blue/early', 'node1', asking('one')));
  await settle(manager);
  await apply(store, layer3('blue/two', '10.40.0.0/16/24'));
  await settle(manager);
  await apply(store, pod('blue/late', 'node1', asking('two')), pod('blue/any', 'node1'));
  await settle(manager);
  for (const [name, other] of [
    ['early', 'two'],
    ['late', 'blue/one'],
    ['any', 'two'],
  ] as const) {
    const metadata = { annotations: asking(other) };
    await store.patch(pods, `blue/${name}`, { metadata }, { fieldManager: 'user' });
  }
  await settle(manager);
  await using daemon = startNode(store, 'node1');
  await settle(daemon, manager);
  expect(await networksOf(store, 'blue/early')).toEqual(['blue/one', 'default']);
  expect(await networksOf(store, 'blue/late')).toEqual(['blue/two', 'default']);
  expect(await networksOf(store, 'blue/any')).toEqual(['blue/one', 'default']);
}
