/** Objects for which nothing is programmed say so: in their status where it has a place for that, else in an event. */
import { egressFirewalls, egressQoSes } from '../../api/kinds.ts';
import { objectKey, type KubeObject, type ResourceKind } from '../../api/objects.ts';
import type { EgressFirewall, EgressQoS } from '../../api/types.ts';
import { notProgrammed } from '../../api/unprogrammed.ts';
import type { Clock } from '../../store/clock.ts';
import { StoreError, type Store } from '../../store/store.ts';
import { CONFLICT_DELAY, WorkQueue, type Again, type Failure } from '../../store/work-queue.ts';
import type { ClusterInformers } from '../informers.ts';
import { StatusWriter, type StatusChange } from '../../store/status-writer.ts';
import type { ObjectOfKey } from './problem-objects.ts';

export interface UnprogrammedControllerOptions {
  readonly store: Pick<Store, 'patchStatus' | 'event'>;
  readonly informers: Pick<ClusterInformers, 'unprogrammed'>;
  readonly clock: Clock;
  readonly onFailure: (failure: Failure) => void;
}

const REASON = 'NotSupported';

/** The status of a kind that has a place for a message (reference/api.md §1.13); `status` texts are those of ovn-kubernetes. */
const STATUSES: ReadonlyMap<ResourceKind, (message: string) => StatusChange> = new Map<
  ResourceKind,
  (message: string) => StatusChange
>([
  [
    egressFirewalls,
    (message): StatusChange<EgressFirewall> => ({
      conditions: [],
      fields: { status: 'EgressFirewall Rules not correctly applied', messages: [message] },
    }),
  ],
  [
    egressQoSes,
    (message): StatusChange<EgressQoS> => ({
      conditions: [{ type: 'Programmed', status: 'False', reason: REASON, message }],
      fields: { status: 'EgressQoS Rules not correctly applied' },
    }),
  ],
]);

/** Keys of the queue: `<Kind> <object>`, as people read them. */
export const objectOfUnprogrammed: ObjectOfKey = (key) => key;

const describe = ({ kind, metadata }: KubeObject): string => `${kind} ${objectKey(metadata)}`;

export class UnprogrammedController {
  readonly queue: WorkQueue;
  readonly #options: UnprogrammedControllerOptions;
  readonly #writer: StatusWriter;
  /** Uids of the objects that an event was emitted for. */
  readonly #announced = new Map<string, string | undefined>();

  constructor(options: UnprogrammedControllerOptions) {
    this.#options = options;
    const { store, clock, onFailure } = options;
    this.#writer = new StatusWriter({ store, clock, fieldManager: 'cluster-manager' });
    this.queue = new WorkQueue({
      reconcile: (key, signal) => this.#reconcile(key, signal),
      onFailure,
      clock,
    });
  }

  follow(): void {
    for (const objects of this.#options.informers.unprogrammed)
      objects.onChange(({ key, after }) => {
        const name = `${objects.kind.kind} ${key}`;
        if (after === undefined) this.#announced.delete(name);
        else this.queue.add(name);
      });
  }

  /** Every object that nothing is programmed for, and what that means. */
  problems(): ReadonlyMap<string, string> {
    return new Map(
      this.#options.informers.unprogrammed.flatMap((objects) => {
        const message = notProgrammed(objects.kind.kind);
        return message === undefined
          ? []
          : objects.list().map((object) => [describe(object), message] as const);
      }),
    );
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<Again | void> {
    const [kindName = '', key = ''] = name.split(' ');
    const objects = this.#options.informers.unprogrammed.find(({ kind }) => kind.kind === kindName);
    const object = objects?.get(key);
    const message = notProgrammed(kindName);
    if (objects === undefined || object === undefined || message === undefined) return undefined;
    const statusOf = STATUSES.get(objects.kind);
    if (statusOf === undefined) {
      await this.#announce(name, object, message);
      return undefined;
    }
    try {
      await this.#writer.write(objects.kind, object, statusOf(message), signal);
    } catch (error) {
      // Somebody wrote meanwhile, or the object went.
      if (!(error instanceof StoreError) || !['conflict', 'not-found'].includes(error.code))
        throw error;
      if (error.code === 'conflict') return { after: CONFLICT_DELAY };
    }
    return undefined;
  }

  async #announce(name: string, regarding: KubeObject, message: string): Promise<void> {
    const { uid } = regarding.metadata;
    if (this.#announced.has(name) && this.#announced.get(name) === uid) return;
    await this.#options.store.event({ regarding, type: 'Warning', reason: REASON, message });
    this.#announced.set(name, uid);
  }
}
