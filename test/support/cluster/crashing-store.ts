import { delegatingStore } from '../../../src/store/delegating-store.ts';
import { StoreError, type Store } from '../../../src/store/store.ts';

/**
 * A store that its user loses after a number of writes, as a killed process does: the last write is done or not, and
 * nothing after it.
 */
export function crashingStore(
  store: Store,
  { writes, isLastDone, onCrash }: { writes: number; isLastDone: boolean; onCrash: () => void },
): Store {
  let left = writes;
  const guarded = async <T>(write: () => Promise<T>): Promise<T> => {
    left -= 1;
    const isLast = left === 0;
    // Another write may come while the last one is done.
    if (isLast && isLastDone) await write();
    if (isLast) onCrash();
    if (left <= 0) throw new StoreError('unavailable', 'the process was killed');
    return await write();
  };
  return delegatingStore(store, {
    create: (kind, object, options) => guarded(() => store.create(kind, object, options)),
    patch: (kind, key, patch, options) => guarded(() => store.patch(kind, key, patch, options)),
    patchStatus: (kind, key, patch, options) =>
      guarded(() => store.patchStatus(kind, key, patch, options)),
    delete: (kind, key, options) => guarded(() => store.delete(kind, key, options)),
    event: (event) => guarded(() => store.event(event)),
  });
}
