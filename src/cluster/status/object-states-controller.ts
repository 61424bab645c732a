/**
 * What is not done for an object, of any kind, its owner learns from the object: in its status where that has a place for it, else by an event.
 * One event for all nodes that say the same.
 */
import {
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  egressFirewalls,
  egressIPs,
  egressQoSes,
  egressServices,
  externalRoutes,
  multiNetworkPolicies,
  networkPolicies,
  networkQoSes,
  pods,
  services,
} from '../../api/kinds.ts';
import type { KubeObject, ObjectKey, ResourceKind } from '../../api/objects.ts';
import type {
  AdminPolicyBasedExternalRoute,
  EgressFirewall,
  EgressQoS,
  NetworkQoS,
} from '../../api/types.ts';
import { HOST_PORTS_FIELD } from '../../model/rules/host-ports.ts';
import type { ZoneStatus } from '../../api/zone-status.ts';
import { timestamp, type Clock } from '../../store/clock.ts';
import type { Index } from '../../store/informer.ts';
import { StoreError, type Store } from '../../store/store.ts';
import { StatusWriter, type StatusChange } from '../../store/status-writer.ts';
import { CONFLICT_DELAY, WorkQueue, type Again, type Failure } from '../../store/work-queue.ts';
import type { ClusterInformers } from '../informers.ts';
import type { ObjectOfKey } from './problem-objects.ts';

/** Kinds whose objects are told what nodes refuse, pods of their ports alone. The others have conditions for it, or events by the node itself. */
const TOLD: readonly ResourceKind[] = [
  services,
  networkPolicies,
  multiNetworkPolicies,
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
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

/** What nodes refuse of external routes; `now` as an API server writes it. */
function externalRouteStatus(
  messages: readonly string[],
  { status }: AdminPolicyBasedExternalRoute,
  now: string,
): StatusChange<AdminPolicyBasedExternalRoute> {
  const is = messages.length === 0 ? 'Success' : 'Fail';
  const isSame = status?.status === is && status.messages?.join() === messages.join();
  return {
    conditions: [],
    fields: {
      status: is,
      messages,
      lastTransitionTime: isSame ? status.lastTransitionTime : now,
    },
  };
}

/** What nodes refuse of an object, or nothing, where its status has a place for it; `status` texts are those of ovn-kubernetes (reference/api.md §1.13). */
type StatusOf = (messages: readonly string[], object: KubeObject, now: string) => StatusChange;
const STATUSES: ReadonlyMap<ResourceKind, StatusOf> = new Map<ResourceKind, StatusOf>([
  [
    egressFirewalls,
    (messages): StatusChange<EgressFirewall> => ({
      conditions: [],
      fields: {
        status: messages.length === 0 ? '' : 'EgressFirewall Rules not correctly applied',
        messages,
      },
    }),
  ],
  [
    externalRoutes,
    (messages, route, now) =>
      externalRouteStatus(messages, route as AdminPolicyBasedExternalRoute, now),
  ],
  [egressQoSes, (messages) => qosStatus('EgressQoS Rules not correctly applied', messages)],
  [
    networkQoSes,
    (messages) => qosStatus('NetworkQoS Destinations not correctly applied', messages),
  ],
]);

const PROGRAMMED = 'Programmed';

const qosStatus = (
  refused: string,
  messages: readonly string[],
): StatusChange<EgressQoS | NetworkQoS> => ({
  conditions:
    messages.length === 0
      ? []
      : [{ type: PROGRAMMED, status: 'False', reason: REFUSED, message: messages.join('; ') }],
  removed: [PROGRAMMED],
  fields: { status: messages.length === 0 ? '' : refused },
});

export interface ObjectStatesOptions {
  readonly store: Pick<Store, 'get' | 'patchStatus' | 'event'>;
  readonly informers: Pick<ClusterInformers, 'zones' | 'egress' | 'egressIps' | 'egressServices'>;
  readonly clock: Clock;
  readonly onFailure: (failure: Failure) => void;
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
  readonly #options: ObjectStatesOptions;
  readonly #writer: StatusWriter;
  readonly #zones: Index<ZoneStatus>;
  /** What each object was told last, with the uid of who was told. */
  readonly #told = new Map<string, ReadonlySet<string>>();

  constructor(options: ObjectStatesOptions) {
    this.#options = options;
    const { store, informers, clock, onFailure } = options;
    this.#zones = informers.zones.index((zone) => [...refusedBy(zone).keys()]);
    this.#writer = new StatusWriter({ store, clock, fieldManager: 'cluster-manager' });
    this.queue = new WorkQueue({
      reconcile: (object, signal) => this.#reconcile(object, signal),
      onFailure,
      clock,
    });
  }

  follow(): void {
    const { zones, egress } = this.#options.informers;
    zones.onChange(({ before, after }) => {
      const [was, is] = [refusedBy(before), refusedBy(after)];
      for (const object of new Set([...was.keys(), ...is.keys()]))
        if (was.get(object)?.join() !== is.get(object)?.join()) this.queue.add(object);
    });
    for (const objects of egress)
      objects.onChange(({ key, after }) => {
        const object = `${objects.kind.kind} ${key}`;
        if (after === undefined) this.#told.delete(object);
        else this.queue.add(object);
      });
  }

  async #reconcile(object: string, signal: AbortSignal): Promise<Again | void> {
    const kind = kindOf(object);
    if (kind === undefined) return undefined;
    const key = object.slice(kind.kind.length + 1);
    const refused = this.#zones.get(object).flatMap((zone) => refusedBy(zone).get(object) ?? []);
    const messages = [...new Set(refused)].sort().slice(0, MOST_AT_ONCE);
    const statusOf = STATUSES.get(kind);
    const { egress, egressIps, egressServices: services_ } = this.#options.informers;
    const found = egress.find((objects) => objects.kind === kind)?.get(key);
    await this.#tell(
      object,
      REFUSED,
      messages,
      async () =>
        [egressIps, services_].find((objects) => objects.kind === kind)?.get(key) ??
        found ??
        (await this.#stored(kind, key, signal)),
    );
    if (statusOf === undefined || found === undefined) return undefined;
    // One that was never refused is left alone.
    const now = timestamp(this.#options.clock.now());
    const isSilent = messages.length === 0 && found.status === undefined;
    return isSilent ? undefined : this.#write(kind, found, statusOf(messages, found, now), signal);
  }

  /** The object, or what says which one it is where it can't be read: its owner needs that most. */
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
