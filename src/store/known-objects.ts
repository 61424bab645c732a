/** What can be shown of objects while their source can't be read: those that this process follows. */
import { delegatingStore } from './delegating-store.ts';
import type { Informers } from './informers.ts';
import { StoreError, type Store } from './store.ts';

/** Milliseconds that a list may take. */
const LIMIT = 10_000;

/**
 * Lists as `store` does; once that can't be read, or takes longer than `limit` milliseconds, what is followed of it, as it was seen last: nothing of
 * kinds that nobody here reads. For one look at all of them.
 */
export function knownObjects(
  store: Store,
  informers: Pick<Informers, 'unreadable' | 'known'>,
  limit = LIMIT,
): { readonly lists: Store; readonly whyUnread: () => string | undefined } {
  let why = informers.unreadable()?.why;
  const lists = delegatingStore(store, {
    async list(kind, signal, selection) {
      if (why !== undefined) return informers.known(kind);
      const late = AbortSignal.timeout(limit);
      try {
        const both = signal === undefined ? late : AbortSignal.any([signal, late]);
        return await store.list(kind, both, selection);
      } catch (error) {
        if (late.aborted) why = `${kind.plural} are not listed within ${limit / 1000} s`;
        else if (isUnreadable(error)) why = error.message;
        else throw error;
        return informers.known(kind);
      }
    },
  });
  return { lists, whyUnread: () => why };
}

/** The source is away, or knows this process no more: watches that it began before go on for minutes then. */
const isUnreadable = (error: unknown): error is StoreError =>
  error instanceof StoreError && ['unavailable', 'unauthenticated'].includes(error.code);
