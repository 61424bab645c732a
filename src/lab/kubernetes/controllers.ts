/** The lab's stand-ins for kube-scheduler and for one controller of kube-controller-manager, at work: pods get nodes, services get endpoints. */
import { isDeepStrictEqual } from 'node:util';
import { endpointSlices as sliceKind, nodes, pods, services } from '../../api/kinds.ts';
import { objectKey, type KubeObject, type ResourceKind } from '../../api/objects.ts';
import { Informer } from '../../store/informer.ts';
import type { Log } from '../../store/log.ts';
import { StoreError, type Store } from '../../store/store.ts';
import { WorkQueue } from '../../store/work-queue.ts';
import { endpointSlices, isOurs, type SliceObject } from './endpoint-slices.ts';
import type { LabNodeObject, LabPodObject, LabServiceObject } from './objects.ts';
import { placements, type Placement } from './scheduler.ts';

const WRITE = { fieldManager: 'heddle-lab-controllers' };

/** Runs until `signal` aborts. */
export async function runControllers(store: Store, log: Log, signal: AbortSignal): Promise<void> {
  const follow = <T extends KubeObject>(kind: ResourceKind): Informer<T> =>
    new Informer(kind as ResourceKind<T>, {
      onHandlerError: (error, { key }) => log.error({ error, object: key }, 'change not looked at'),
    });
  const known = {
    pods: follow<LabPodObject>(pods),
    nodes: follow<LabNodeObject>(nodes),
    services: follow<LabServiceObject>(services),
    slices: follow<SliceObject>(sliceKind),
  };
  // Few objects: both look at all of them whenever one changes.
  const work: Readonly<Record<string, () => Promise<void>>> = {
    scheduler: () => schedule(store, known.pods, placements(known.pods.list(), known.nodes.list())),
    'endpoint slices': () =>
      writeSlices(store, known.slices, endpointSlices(known.services.list(), known.pods.list())),
  };
  const queue = new WorkQueue({
    reconcile: async (key) => work[key]?.(),
    // What is read lags behind what is written: that ends by itself.
    onFailure: ({ key, error }) => log.warn({ error }, `${key}: not all is written`),
    backoff: { first: 100, longest: 5000 },
  });
  const informers = Object.values(known);
  const watching = Promise.all(informers.map((informer) => informer.run(store, signal)));
  await Promise.race([Promise.all(informers.map((one) => one.whenSynced)), watching]);
  for (const informer of informers)
    informer.onChange(() => {
      for (const key of Object.keys(work)) queue.add(key);
    });
  await Promise.all([watching, queue.run(signal)]);
}

async function schedule(
  store: Store,
  known: Informer<LabPodObject>,
  found: readonly Placement[],
): Promise<void> {
  for (const placement of found) {
    const pod = known.get(placement.pod);
    if (pod === undefined) continue;
    // A pod of the same name that came meanwhile is another one, and one that was given a node meanwhile keeps it: then this is a conflict.
    const { uid, resourceVersion } = pod.metadata;
    const metadata = { uid, resourceVersion };
    if ('node' in placement) {
      const patch = { metadata, spec: { nodeName: placement.node } };
      await ifThere(store.patch(pods, placement.pod, patch, WRITE));
      continue;
    }
    const message = placement.problem;
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message };
    const status = { phase: 'Pending', conditions: [condition] };
    if (!isDeepStrictEqual(pod.status?.conditions, status.conditions))
      await ifThere(store.patchStatus(pods, placement.pod, { metadata, status }, WRITE));
  }
}

async function writeSlices(
  store: Store,
  known: Informer<SliceObject>,
  wanted: readonly SliceObject[],
): Promise<void> {
  const kind = known.kind;
  const keys = new Set(wanted.map(({ metadata }) => objectKey(metadata)));
  for (const { metadata } of known.list().filter(isOurs))
    if (!keys.has(objectKey(metadata))) await ifThere(store.delete(kind, objectKey(metadata)));
  for (const slice of wanted) {
    const key = objectKey(slice.metadata);
    const { ports, endpoints } = slice;
    const there = known.get(key);
    if (there === undefined) await store.create(kind, slice, WRITE);
    else if (!isDeepStrictEqual([there.ports, there.endpoints], [ports, endpoints]))
      await ifThere(store.patch(kind, key, { ports, endpoints }, WRITE));
  }
}

/** What was deleted meanwhile needs nothing any more. */
async function ifThere(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'not-found') throw error;
  }
}
