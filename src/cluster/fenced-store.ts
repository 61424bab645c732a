/** The store of a leader: what it writes ends with its leadership. */
import { delegatingStore } from '../store/delegating-store.ts';
import type { Leadership, Store, WriteOptions } from '../store/store.ts';

export interface FencedStoreOptions {
  readonly store: Store;
  /** Undefined before this process leads. */
  readonly leadership: () => Leadership | undefined;
  /** Aborts when writes that are under way should not be waited for any longer. */
  readonly abortWrites: AbortSignal;
}

/**
 * Writes are sent only while leadership is certain. One that was sent when its caller stopped is waited for, so that it doesn't
 * reach the server after the next leader has read what there is; one that is under way when leadership is lost is aborted.
 */
export function fencedStore({ store, leadership, abortWrites }: FencedStoreOptions): Store {
  const signalOf = (signal?: AbortSignal): AbortSignal => {
    signal?.throwIfAborted();
    const held = leadership();
    if (held === undefined)
      throw new Error('only the leader writes, and this process does not lead');
    held.assert();
    return AbortSignal.any([held.signal, abortWrites]);
  };
  const optionsOf = (options: WriteOptions): WriteOptions => ({
    ...options,
    signal: signalOf(options.signal),
  });
  return delegatingStore(store, {
    create: async (kind, object, options) => store.create(kind, object, optionsOf(options)),
    patch: async (kind, key, patch, options) => store.patch(kind, key, patch, optionsOf(options)),
    patchStatus: async (kind, key, patch, options) =>
      store.patchStatus(kind, key, patch, optionsOf(options)),
    delete: async (kind, key, options) =>
      store.delete(kind, key, { ...options, signal: signalOf(options?.signal) }),
    event: async (event, signal) => store.event(event, signalOf(signal)),
  });
}
