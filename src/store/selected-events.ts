import { objectKey, type KubeObject, type ObjectKey } from '../api/objects.ts';
import { isSelected, type Selection } from './selection.ts';
import type { WatchEvent } from './store.ts';

/** Hands on what is selected: an object that is no longer so is `deleted`, one that has become so is `added`. */
export function selecting<T extends KubeObject>(
  selection: Selection | undefined,
  handler: (event: WatchEvent<T>) => void,
): (event: WatchEvent<T>) => void {
  if (selection === undefined) return handler;
  const shown = new Set<ObjectKey>();
  return (event) => {
    if (!('object' in event)) {
      handler(event);
      return;
    }
    const { object } = event;
    const key = objectKey(object.metadata);
    const wasShown = shown.has(key);
    if (event.type !== 'deleted' && isSelected(selection, object)) {
      shown.add(key);
      handler({ type: wasShown ? 'modified' : 'added', object });
    } else if (shown.delete(key)) handler({ type: 'deleted', object });
  };
}
