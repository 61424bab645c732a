/** One reader of an informer's changes: what it threw at is given to it again until it takes it. */
import type { KubeObject, ObjectKey } from '../api/objects.ts';
import { backoffDelay, OBJECT_BACKOFF } from './backoff.ts';
import type { Clock } from './clock.ts';

/** One object as it was and as it is: `before` absent = new, `after` absent = gone. */
export interface Change<T extends KubeObject> {
  readonly key: ObjectKey;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

export interface ChangeHandlerOptions<T extends KubeObject> {
  readonly take: (change: Change<T>) => void;
  /** The object as it is now. */
  readonly current: (key: ObjectKey) => T | undefined;
  readonly clock: Clock;
  /** Called for each attempt that throws. */
  readonly onFailure: (error: unknown, change: Change<T>) => void;
  /** Called when a change that was thrown at is taken, or is given up with the handler. */
  readonly onSettled: (key: ObjectKey, isTaken: boolean) => void;
}

interface Failing<T> {
  /** What was taken last. */
  readonly before: T | undefined;
  /** What may have been taken by half. */
  readonly tried: T | undefined;
  readonly attempt: number;
  readonly error: unknown;
  readonly cancel: () => void;
}

export class ChangeHandler<T extends KubeObject> {
  readonly #options: ChangeHandlerOptions<T>;
  readonly #failing = new Map<ObjectKey, Failing<T>>();
  #hasEnded = false;

  constructor(options: ChangeHandlerOptions<T>) {
    this.#options = options;
  }

  /** Why a change of the object was not taken; undefined when all were. */
  failure(key: ObjectKey): { readonly error: unknown } | undefined {
    return this.#failing.get(key);
  }

  /** Hands a change on. One that comes after a failure is told from what was taken last. */
  call({ key, before, after }: Change<T>): void {
    const failed = this.#failing.get(key);
    failed?.cancel();
    const known = failed === undefined ? before : failed.before;
    // Of an object that came and went something may have been taken all the same.
    const change = { key, before: after === undefined ? (known ?? failed?.tried) : known, after };
    try {
      this.#options.take(change);
    } catch (error) {
      this.#failed(change, error, (failed?.attempt ?? 0) + 1);
      return;
    }
    if (failed === undefined) return;
    this.#failing.delete(key);
    this.#options.onSettled(key, true);
  }

  /** Nothing is given to it any more. */
  end(): void {
    this.#hasEnded = true;
    const keys = [...this.#failing.keys()];
    for (const { cancel } of this.#failing.values()) cancel();
    this.#failing.clear();
    for (const key of keys) this.#options.onSettled(key, false);
  }

  #failed(change: Change<T>, error: unknown, attempt: number): void {
    const { clock, current, onFailure } = this.#options;
    const { key, before, after } = change;
    // It may have ended what it threw in.
    if (this.#hasEnded) return;
    const cancel = clock.after(backoffDelay(OBJECT_BACKOFF, attempt, Math.random), () =>
      this.call({ key, before, after: current(key) }),
    );
    this.#failing.set(key, { before, tried: after ?? before, attempt, error, cancel });
    onFailure(error, change);
  }
}
