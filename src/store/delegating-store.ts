import type { Store } from './store.ts';

/** A store that does what `changed` says, and leaves the rest to `store`. */
export const delegatingStore = (store: Store, changed: Partial<Store>): Store => ({
  list: (kind, signal, selection) => store.list(kind, signal, selection),
  get: (kind, key, signal) => store.get(kind, key, signal),
  watch: (kind, handler, signal, selection) => store.watch(kind, handler, signal, selection),
  create: (kind, object, options) => store.create(kind, object, options),
  patch: (kind, key, patch, options) => store.patch(kind, key, patch, options),
  patchStatus: (kind, key, patch, options) => store.patchStatus(kind, key, patch, options),
  delete: (kind, key, options) => store.delete(kind, key, options),
  event: (event, signal) => store.event(event, signal),
  lead: (name, identity, signal, onWaiting, onFailure) =>
    store.lead(name, identity, signal, onWaiting, onFailure),
  close: () => store.close(),
  ...changed,
});
