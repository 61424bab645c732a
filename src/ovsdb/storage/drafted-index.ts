import type { FollowerDraft, RowFollower, TableStore } from './table-store.ts';

/**
 * An index whose draft shares with it what it holds, until something changes in the draft. What is shared and how it is copied is the
 * subclass's.
 */
export abstract class DraftedIndex<Self extends DraftedIndex<Self>> implements RowFollower {
  abstract readonly columns: ReadonlySet<number>;
  /** Of a draft: nothing has changed yet. */
  #isShared = false;

  abstract added(slot: number): void;
  abstract removing(slot: number): void;

  /** The same index of another store, with nothing in it. */
  protected abstract empty(store: TableStore): Self;
  /** Shares what another one holds. */
  protected abstract share(other: Self): void;
  /** Copies what it holds. */
  protected abstract copy(): void;

  draft(store: TableStore): FollowerDraft {
    const follower = this.empty(store);
    follower.share(this as unknown as Self);
    follower.#isShared = true;
    return {
      follower,
      show: () => {
        this.share(follower);
      },
    };
  }

  /** Before anything changes. */
  protected own(): void {
    if (!this.#isShared) return;
    this.#isShared = false;
    this.copy();
  }
}
