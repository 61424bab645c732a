import { setImmediate } from 'node:timers/promises';
import { delegatingStore } from '../../../src/store/delegating-store.ts';
import type { Store, WriteOptions } from '../../../src/store/store.ts';

/**
 * A store that takes leadership away from its user at one of the user's writes. Writes take a while, so others are under way
 * then; what was sent before arrives all the same, as requests do. The next manager leads once this one has ended.
 */
export function leaseLossStore(
  store: Store,
  { writes, onLost }: { readonly writes: number; readonly onLost: () => void },
): Store {
  const lost = new AbortController();
  let count = 0;
  const sent = async <T>(write: (isUnderWay: boolean) => Promise<T>): Promise<T> => {
    const isUnderWay = !lost.signal.aborted;
    count += 1;
    if (count === writes) {
      lost.abort(new Error('leadership was lost'));
      onLost();
    }
    await setImmediate();
    return await write(isUnderWay);
  };
  const optionsOf = (options: WriteOptions, isUnderWay: boolean): WriteOptions => {
    const { signal: _signal, ...unstoppable } = options;
    return isUnderWay ? unstoppable : options;
  };
  return delegatingStore(store, {
    create: (kind, object, options) =>
      sent((isUnderWay) => store.create(kind, object, optionsOf(options, isUnderWay))),
    patch: (kind, key, patch, options) =>
      sent((isUnderWay) => store.patch(kind, key, patch, optionsOf(options, isUnderWay))),
    patchStatus: (kind, key, patch, options) =>
      sent((isUnderWay) => store.patchStatus(kind, key, patch, optionsOf(options, isUnderWay))),
    delete: (kind, key, options) => sent(() => store.delete(kind, key, options)),
    event: (event) => sent(() => store.event(event)),
    async lead(name, identity, signal) {
      const leadership = await store.lead(name, identity, signal);
      const ended = AbortSignal.any([leadership.signal, lost.signal]);
      return {
        signal: ended,
        assert: () => ended.throwIfAborted(),
        [Symbol.asyncDispose]: () => leadership[Symbol.asyncDispose](),
      };
    },
  });
}
