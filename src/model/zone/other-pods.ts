/** Whether pods of other nodes are to be followed, for whom, and since when for nobody. Takes the time from outside. */
import { FactTable } from '../../facts/fact-table.ts';
import type { ReadRecorder } from '../../facts/reads.ts';

/** Milliseconds for which they are followed for nobody: a policy that is replaced does not have every node list all pods again. */
export const OTHER_PODS_HOLD = 300_000;

export class OtherPods {
  readonly #table: FactTable<[], { readonly isKnown: boolean }>;
  /** Objects that depend on them. */
  readonly #users = new Set<string>();
  #isReleased = false;
  #unusedSince: number | undefined;
  #listener: (areWanted: boolean) => void = () => undefined;

  constructor(recorder: ReadRecorder) {
    this.#table = new FactTable('otherPods', recorder);
  }

  /** `listener` is called when they are to be followed, and when they are not any more. */
  onWanted(listener: (areWanted: boolean) => void): void {
    this.#listener = listener;
    if (this.areWanted) listener(true);
  }

  get areWanted(): boolean {
    return this.#table.peek() !== undefined;
  }

  /** False while they are wanted and not all here; undefined while nobody wants them. Whoever is building reads it. */
  get areKnown(): boolean | undefined {
    return this.#table.get()?.isKnown;
  }

  /** The same for who asks in passing. */
  peekKnown(): boolean | undefined {
    return this.#table.peek()?.isKnown;
  }

  /** `user`, `Kind namespace/name`, depends on them or does not any more. */
  want(user: string, isWanted: boolean): void {
    if (!isWanted) {
      if (this.#users.delete(user) && this.#users.size === 0) this.#isReleased = true;
      return;
    }
    this.#users.add(user);
    this.#isReleased = false;
    this.#unusedSince = undefined;
    if (this.areWanted) return;
    this.#table.put([], { isKnown: false });
    this.#listener(true);
  }

  /** Every one that existed when they were asked for is in the facts. */
  known(): void {
    if (this.areWanted) this.#table.put([], { isKnown: true });
  }

  /** Ends what nobody wanted for as long as it is held; `now` in milliseconds of any clock that runs forward. */
  expire(now: number): void {
    if (this.#isReleased) this.#unusedSince = now;
    this.#isReleased = false;
    if (this.nextExpiry === undefined || this.nextExpiry > now) return;
    this.#unusedSince = undefined;
    this.#table.delete([]);
    this.#listener(false);
  }

  /** When they go unless somebody wants them again. */
  get nextExpiry(): number | undefined {
    return this.#unusedSince === undefined ? undefined : this.#unusedSince + OTHER_PODS_HOLD;
  }
}
