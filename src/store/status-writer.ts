/** Conditions in an object's status: several writers, each with types of its own. */
import { withCondition, withoutCondition, type NewCondition } from '../api/conditions.ts';
import {
  objectKey,
  type Condition,
  type KubeObject,
  type ObjectMeta,
  type ResourceKind,
} from '../api/objects.ts';
import { timestamp, type Clock } from './clock.ts';
import { StoreError, type Store } from './store.ts';

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

export interface StatusChange<T extends KubeObject = KubeObject> {
  readonly conditions: readonly StatedCondition[];
  /** Generation of the object that the conditions are about; without it the one of the object that is written to. */
  readonly observedGeneration?: number | undefined;
  /** Condition types to take away unless stated. */
  readonly removed?: readonly string[];
  /** Further fields of `status`; undefined leaves a field alone, null takes it away. */
  readonly fields?: StatusFields<T>;
}

/** Fields of the status of a kind, besides its conditions; what its definition does not know does not compile. */
type StatusFields<T extends KubeObject> = T extends unknown
  ? unknown extends T['status']
    ? Readonly<Record<string, unknown>>
    : {
        readonly [K in keyof NonNullable<T['status']>]?:
          | NonNullable<T['status']>[K]
          | null
          | undefined;
      }
  : never;

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
   * somebody else wrote in between; the caller's queue tries again with the newer object. Of a change that is refused as `invalid` each
   * condition and field is written that is not, and the refusal of the others is thrown. True if something was written.
   */
  async write<T extends KubeObject>(
    kind: ResourceKind<T>,
    object: T,
    change: StatusChange<T>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const current = conditionsOf(object);
    const { observedGeneration = object.metadata.generation } = change;
    const now = timestamp(this.#options.clock.now());
    const stated = change.conditions.map((one): NewCondition =>
      observedGeneration === undefined ? one : { ...one, observedGeneration },
    );
    const conditions = mergeConditions(current, stated, now, change.removed);
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
    try {
      await this.#patch(kind, object.metadata, status, signal);
    } catch (error) {
      const parts = fields.length + stated.length;
      if (!isRefused(error) || parts < 2) throw error;
      await this.#writeParts(
        kind,
        object,
        { fields, stated, now, removed: change.removed },
        signal,
      );
    }
    return true;
  }

  /** One field or condition after the other. Throws the first refusal. */
  async #writeParts<T extends KubeObject>(
    kind: ResourceKind<T>,
    object: T,
    parts: {
      readonly fields: readonly (readonly [name: string, value: unknown])[];
      readonly stated: readonly NewCondition[];
      readonly now: string;
      readonly removed: readonly string[] | undefined;
    },
    signal: AbortSignal,
  ): Promise<void> {
    const refusals: unknown[] = [];
    let { metadata } = object;
    const isTaken = async (status: object): Promise<boolean> => {
      try {
        ({ metadata } = await this.#patch(kind, metadata, status, signal));
        return true;
      } catch (error) {
        if (!isRefused(error)) throw error;
        refusals.push(error);
        return false;
      }
    };
    for (const [name, value] of parts.fields) await isTaken({ [name]: value });
    // Of a type whose new condition is refused the old one stays.
    const types = new Set(parts.stated.map(({ type }) => type));
    const removed = parts.removed?.filter((type) => !types.has(type));
    let taken = conditionsOf(object);
    const gone = mergeConditions(taken, [], parts.now, removed);
    if (gone !== taken && (await isTaken({ conditions: gone }))) taken = gone;
    for (const one of parts.stated) {
      const next = mergeConditions(taken, [one], parts.now);
      if (next !== taken && (await isTaken({ conditions: next }))) taken = next;
    }
    if (refusals.length > 0) throw refusals[0];
  }

  async #patch<T extends KubeObject>(
    kind: ResourceKind<T>,
    metadata: ObjectMeta,
    status: object,
    signal: AbortSignal,
  ): Promise<T> {
    const { store, fieldManager } = this.#options;
    const { resourceVersion } = metadata;
    return store.patchStatus(
      kind,
      objectKey(metadata),
      { status },
      { fieldManager, signal, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    );
  }
}

const isRefused = (error: unknown): boolean =>
  error instanceof StoreError && error.code === 'invalid';
