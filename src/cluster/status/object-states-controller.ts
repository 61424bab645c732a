/**
 * What is not done for an object, of any kind, its owner learns from the object: in its status where that has a place for it, else by an event.
 * One event for all nodes that say the same.
 */
import {
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  clusterNetworkPolicies,
  egressFirewalls,
  egressIPs,
  egressQoSes,
  egressServices,
  externalRoutes,
  multiNetworkPolicies,
  namespaces,
  networkPolicies,
  networkQoSes,
  pods,
  services,
} from '../../api/kinds.ts';
import type { KubeObject, ObjectKey, ResourceKind } from '../../api/objects.ts';
import { HOST_PORTS_FIELD } from '../../model/rules/host-ports.ts';
import type { ZoneStatus } from '../../api/zone-status.ts';
import { timestamp, type Clock } from '../../store/clock.ts';
import { Batch } from '../../store/batch.ts';
import type { Index } from '../../store/informer.ts';
import { StoreError, type Store } from '../../store/store.ts';
import { StatusWriter, type StatusChange } from '../../store/status-writer.ts';
import { CONFLICT_DELAY, WorkQueue, type Again, type Failure } from '../../store/work-queue.ts';
import type { ClusterInformers } from '../informers.ts';
import { hasChassis, nodesWithZone } from '../nodes/zones.ts';
import { appliedStatus, changedObjects, wordOf, type ZoneWord } from './applied-in-zones.ts';
import type { ObjectOfKey } from './problem-objects.ts';

/** Kinds whose objects are told what nodes refuse, pods of their ports alone. The others have conditions for it, or events by the node itself. */
const TOLD: readonly ResourceKind[] = [
  namespaces,
  services,
  networkPolicies,
  multiNetworkPolicies,
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  clusterNetworkPolicies,
  egressFirewalls,
  egressIPs,
  egressServices,
  externalRoutes,
  egressQoSes,
  networkQoSes,
  pods,
];

const KINDS: ReadonlyMap<string, ResourceKind> = new Map(TOLD.map((kind) => [kind.kind, kind]));

const REFUSED = 'Refused';

/** So many events of one object at most are written for what nodes say at a time: a node that says ever new things fills nothing. */
const MOST_AT_ONCE = 5;

/** Zones report within this time of each other what is written together; milliseconds. */
const BATCH = { minDelay: 50, maxDelay: 1000 };

export interface ObjectStatesOptions {
  readonly store: Pick<Store, 'get' | 'patchStatus' | 'event'>;
  readonly informers: Pick<
    ClusterInformers,
    | 'zones'
    | 'nodes'
    | 'namespaces'
    | 'pods'
    | 'services'
    | 'egress'
    | 'egressIps'
    | 'egressServices'
  >;
  readonly clock: Clock;
  readonly onFailure: (failure: Failure) => void;
  /** Resolves when no more networks are worked on. */
  readonly whenIdle: () => Promise<void>;
}

/** Keys of the queue: `<Kind> <object>`, as people read them. */
export const objectOfState: ObjectOfKey = (key) => key;

const kindOf = (object: string): ResourceKind | undefined =>
  KINDS.get(object.slice(0, object.indexOf(' ')));

/** What a node refuses, by object: what is wrong with one that does not just wait. */
function refusedBy(zone: ZoneStatus | undefined): ReadonlyMap<string, readonly string[]> {
  const { objects = [], problems = [] } = zone?.status ?? {};
  const waiting = new Set(
    objects.filter(({ state }) => state === 'Pending').map(({ object }) => object),
  );
  const refused = new Map<string, string[]>();
  for (const { object, message } of problems) {
    const kind = kindOf(object);
    if (kind === undefined || waiting.has(object)) continue;
    if (kind === pods && !message.startsWith(HOST_PORTS_FIELD)) continue;
    const known = refused.get(object);
    if (known === undefined) refused.set(object, [message]);
    else known.push(message);
  }
  return refused;
}

export class ObjectStatesController {
  readonly queue: WorkQueue;
  readonly batch: Batch;
  readonly #options: ObjectStatesOptions;
  readonly #writer: StatusWriter;
  readonly #zones: Index<ZoneStatus>;
  /** What each object was told last, with the uid of who was told. */
  readonly #told = new Map<string, ReadonlySet<string>>();

  constructor(options: ObjectStatesOptions) {
    this.#options = options;
    const { store, informers, clock, onFailure, whenIdle } = options;
    this.#zones = informers.zones.index((zone) => [...refusedBy(zone).keys()]);
    this.#writer = new StatusWriter({ store, clock, fieldManager: 'cluster-manager' });
    this.queue = new WorkQueue({
      reconcile: (object, signal) => this.#reconcile(object, signal),
      onFailure,
      clock,
    });
    this.batch = new Batch({
      clock,
      ...BATCH,
      whenIdle,
      flush: (objects) => {
        for (const object of objects) this.queue.add(object);
      },
    });
  }

  follow(): void {
    const { zones, nodes, egress } = this.#options.informers;
    zones.onChange(({ before, after }) => {
      const [was, is] = [refusedBy(before), refusedBy(after)];
      for (const object of new Set([...was.keys(), ...is.keys()]))
        if (was.get(object)?.join() !== is.get(object)?.join()) this.queue.add(object);
      const changed = changedObjects(before, after);
      this.batch.add(changed === 'all' ? this.#all() : changed);
    });
    nodes.onChange(({ before, after }) => {
      if (hasChassis(before) !== hasChassis(after)) this.batch.add(this.#all());
    });
    for (const objects of egress)
      objects.onChange(({ key, after }) => {
        const object = `${objects.kind.kind} ${key}`;
        if (after === undefined) this.#told.delete(object);
        else this.batch.add([object]);
      });
  }

  /** Objects whose statuses say where they are in force. */
  *#all(): Iterable<string> {
    for (const objects of this.#options.informers.egress)
      for (const key of objects.keys()) yield `${objects.kind.kind} ${key}`;
  }

  /** What each zone says of an object. */
  #words(object: string, found: KubeObject): ReadonlyMap<string, ZoneWord> {
    const { zones, nodes } = this.#options.informers;
    const words = new Map<string, ZoneWord>();
    for (const node of nodesWithZone(nodes.list(), zones))
      words.set(node, wordOf(zones.get(node), object, found));
    for (const zone of this.#zones.get(object)) {
      const messages = refusedBy(zone).get(object) ?? [];
      if (messages.length > 0) words.set(zone.metadata.name, { kind: 'refused', messages });
    }
    return words;
  }

  async #reconcile(object: string, signal: AbortSignal): Promise<Again | void> {
    const kind = kindOf(object);
    if (kind === undefined) return undefined;
    const key = object.slice(kind.kind.length + 1);
    const refused = this.#zones.get(object).flatMap((zone) => refusedBy(zone).get(object) ?? []);
    const messages = [...new Set(refused)].sort().slice(0, MOST_AT_ONCE);
    const { informers } = this.#options;
    const followed = [
      informers.egressIps,
      informers.egressServices,
      informers.namespaces,
      informers.pods,
      informers.services,
    ];
    const found = informers.egress.find((objects) => objects.kind === kind)?.get(key);
    await this.#tell(
      object,
      REFUSED,
      messages,
      async () =>
        followed.find((objects) => objects.kind === kind)?.get(key) ??
        found ??
        (await this.#stored(kind, key, signal)),
    );
    const now = timestamp(this.#options.clock.now());
    const status = found && appliedStatus(kind, found, this.#words(object, found), now);
    return found && status && this.#write(kind, found, status, signal);
  }

  /** The object; what says which one it is where it can't be read: its owner needs that most; nothing where it is gone. */
  async #stored(
    kind: ResourceKind,
    key: ObjectKey,
    signal: AbortSignal,
  ): Promise<KubeObject | undefined> {
    try {
      return await this.#options.store.get(kind, key, signal);
    } catch (error) {
      if (!(error instanceof StoreError) || error.metadata === undefined) throw error;
      return { apiVersion: kind.apiVersion, kind: kind.kind, metadata: error.metadata };
    }
  }

  async #write(
    kind: ResourceKind,
    object: KubeObject,
    status: StatusChange,
    signal: AbortSignal,
  ): Promise<Again | undefined> {
    try {
      await this.#writer.write(kind, object, status, signal);
    } catch (error) {
      // Somebody wrote meanwhile, or the object went.
      if (!(error instanceof StoreError) || !['conflict', 'not-found'].includes(error.code))
        throw error;
      if (error.code === 'conflict') return { after: CONFLICT_DELAY };
    }
    return undefined;
  }

  /** What it was not told yet; `uid` where another object of that name has not been told either. */
  async #tell(
    object: string,
    reason: string,
    messages: readonly string[],
    find: () => Promise<KubeObject | undefined>,
    uid = '',
  ): Promise<void> {
    const told = this.#told.get(object) ?? new Set();
    const entry = (message: string): string => `${uid} ${message}`;
    const news = messages.filter((message) => !told.has(entry(message)));
    const regarding = news.length === 0 ? undefined : await find();
    if (regarding !== undefined)
      for (const message of news)
        await this.#options.store.event({ regarding, type: 'Warning', reason, message });
    if (messages.length === 0) this.#told.delete(object);
    else this.#told.set(object, new Set(messages.map(entry)));
  }
}
