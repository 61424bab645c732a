/** What nodes refuse of an object that has no condition for it, its owner learns from an event: one for all nodes that say the same. */
import {
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  multiNetworkPolicies,
  networkPolicies,
  services,
} from '../../api/kinds.ts';
import type { ResourceKind } from '../../api/objects.ts';
import type { ZoneStatus } from '../../api/zone-status.ts';
import type { Clock } from '../../store/clock.ts';
import type { Index } from '../../store/informer.ts';
import type { Store } from '../../store/store.ts';
import { WorkQueue, type Failure } from '../../store/work-queue.ts';
import type { ClusterInformers } from '../informers.ts';
import type { ObjectOfKey } from './problem-objects.ts';

/** Kinds whose objects are told. */
const KINDS: ReadonlyMap<string, ResourceKind> = new Map<string, ResourceKind>(
  [
    services,
    networkPolicies,
    multiNetworkPolicies,
    adminNetworkPolicies,
    baselineAdminNetworkPolicies,
  ].map((kind) => [kind.kind, kind]),
);

const REASON = 'Refused';

/** So many events of one object at most are written for what nodes say at a time: a node that says ever new things fills nothing. */
const MOST_AT_ONCE = 5;

export interface ProblemEventsOptions {
  readonly store: Pick<Store, 'get' | 'event'>;
  readonly informers: Pick<ClusterInformers, 'zones'>;
  readonly clock: Clock;
  readonly onFailure: (failure: Failure) => void;
}

/** Keys of the queue: `<Kind> <object>`, as people read them. */
export const objectOfProblem: ObjectOfKey = (key) => key;

const objectsIn = (zone: ZoneStatus | undefined): readonly string[] => [
  ...new Set(
    (zone?.status?.problems ?? [])
      .map(({ object }) => object)
      .filter((object) => KINDS.has(object.slice(0, object.indexOf(' ')))),
  ),
];

export class ProblemEvents {
  readonly queue: WorkQueue;
  readonly #options: ProblemEventsOptions;
  readonly #zones: Index<ZoneStatus>;
  /** What each object was told last. */
  readonly #told = new Map<string, ReadonlySet<string>>();

  constructor(options: ProblemEventsOptions) {
    const { informers, clock, onFailure } = options;
    this.#options = options;
    this.#zones = informers.zones.index(objectsIn);
    this.queue = new WorkQueue({
      reconcile: (object, signal) => this.#tell(object, signal),
      onFailure,
      clock,
    });
  }

  follow(): void {
    this.#options.informers.zones.onChange(({ before, after }) => {
      for (const object of [...objectsIn(before), ...objectsIn(after)]) this.queue.add(object);
    });
  }

  async #tell(object: string, signal: AbortSignal): Promise<void> {
    const messages = new Set(
      this.#zones
        .get(object)
        .flatMap(({ status }) => status?.problems ?? [])
        .filter((problem) => problem.object === object)
        .map(({ message }) => message)
        .toSorted()
        .slice(0, MOST_AT_ONCE),
    );
    const told = this.#told.get(object) ?? new Set();
    if (messages.size === 0) this.#told.delete(object);
    else this.#told.set(object, messages);
    const news = [...messages].filter((message) => !told.has(message));
    if (news.length === 0) return;
    const blank = object.indexOf(' ');
    const kind = KINDS.get(object.slice(0, blank));
    const { store } = this.#options;
    const regarding = kind && (await store.get(kind, object.slice(blank + 1), signal));
    if (regarding === undefined) return;
    for (const message of news)
      await store.event({ regarding, type: 'Warning', reason: REASON, message });
  }
}
