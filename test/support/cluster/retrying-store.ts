import { setTimeout as sleep } from 'node:timers/promises';
import { delegatingStore } from '../../../src/store/delegating-store.ts';
import { StoreError, type Store, type StoreErrorCode } from '../../../src/store/store.ts';

/** A user's store: retries while the source is unavailable, and takes a change that is in place already as made. */
export function retryingStore(store: Store): Store {
  const retried = async <T>(
    act: () => Promise<T>,
    done?: { readonly code: StoreErrorCode; readonly result: () => Promise<T> },
  ): Promise<T> => {
    for (let attempt = 1; ; attempt += 1)
      try {
        return await act();
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        if (attempt > 1 && error.code === done?.code) return done.result();
        // An API server that has just started does not know all kinds yet.
        const isPassing = error.code === 'unavailable' || error.code === 'not-installed';
        if (!isPassing || attempt > 600) throw error;
        // A pause between two attempts: the source is away.
        await sleep(100);
      }
  };
  return delegatingStore(store, {
    list: (kind, signal) => retried(() => store.list(kind, signal)),
    get: (kind, key, signal) => retried(() => store.get(kind, key, signal)),
    create: (kind, object, options) =>
      retried(() => store.create(kind, object, options), {
        code: 'already-exists',
        result: async () => object,
      }),
    patch: (kind, key, patch, options) => retried(() => store.patch(kind, key, patch, options)),
    patchStatus: (kind, key, patch, options) =>
      retried(() => store.patchStatus(kind, key, patch, options)),
    delete: (kind, key, options) =>
      retried(() => store.delete(kind, key, options), {
        code: 'not-found',
        result: async () => undefined,
      }),
  });
}
