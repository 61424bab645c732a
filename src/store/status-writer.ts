/** Conditions in an object's status: several writers, each with types of its own. */
import { withCondition, withoutCondition, type NewCondition } from '../api/conditions.ts';
import { objectKey, type Condition, type KubeObject, type ResourceKind } from '../api/objects.ts';
import { timestamp, type Clock } from './clock.ts';
import type { Store } from './store.ts';

/** A condition as its writer states it; when it began is found out when it is written. */
export type StatedCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/**
 * `current` with `stated` in it: types that nobody stated stay, those in `removed` go. Returns `current` itself when nothing
 * changes.
 */
function mergeConditions(
  current: readonly Condition[],
  stated: readonly NewCondition[],
  now: string,
  removed: readonly string[] = [],
): readonly Condition[] {
  const gone = removed.filter((type) => !stated.some((one) => one.type === type));
  const kept = gone.reduce(withoutCondition, current);
  return stated.reduce((list, one) => withCondition(list, one, now), kept);
}

export const conditionsOf = (object: KubeObject): readonly Condition[] => {
  const { conditions } = (object.status ?? {}) as { conditions?: readonly Condition[] };
  return conditions ?? [];
};

export interface StatusChange {
  readonly conditions: readonly StatedCondition[];
  /** Generation of the object that the conditions are about; without it the one of the object that is written to. */
  readonly observedGeneration?: number | undefined;
  /** Condition types to take away unless stated. */
  readonly removed?: readonly string[];
  /** Further fields of `status`; undefined leaves a field alone. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

export interface StatusWriterOptions {
  readonly store: Pick<Store, 'patchStatus'>;
  readonly clock: Clock;
  readonly fieldManager: string;
}

/** Writes statuses, and only when something in them changes. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /**
   * Brings the status of `object` to `change`. Lists are replaced as a whole, so the write is refused with `conflict` when
   * somebody else wrote in between; the caller's queue tries again with the newer object. True if something was written.
   */
  async write<T extends KubeObject>(
    kind: ResourceKind<T>,
    object: T,
    change: StatusChange,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { store, clock, fieldManager } = this.#options;
    const current = conditionsOf(object);
    const { observedGeneration = object.metadata.generation } = change;
    const conditions = mergeConditions(
      current,
      change.conditions.map((one) =>
        observedGeneration === undefined ? one : { ...one, observedGeneration },
      ),
      timestamp(clock.now()),
      change.removed,
    );
    const before = (object.status ?? {}) as Readonly<Record<string, unknown>>;
    const fields = Object.entries(change.fields ?? {}).filter(
      ([name, value]) =>
        value !== undefined && JSON.stringify(value) !== JSON.stringify(before[name] ?? null),
    );
    if (conditions === current && fields.length === 0) return false;
    const status = {
      ...Object.fromEntries(fields),
      ...(conditions === current ? {} : { conditions }),
    };
    const { resourceVersion } = object.metadata;
    await store.patchStatus(
      kind,
      objectKey(object.metadata),
      { status },
      { fieldManager, signal, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    );
    return true;
  }
}
