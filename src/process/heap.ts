/** How far the heap of a daemon grows before all of it is looked through again. */
import { setFlagsFromString } from 'node:v8';

/**
 * Percent. With `--optimize-for-size`, which the image's command has, V8 takes ten: collections were more than half of the processor time of a manager of
 * a thousand nodes, and a third of what a node computes of many policies.
 */
const HEAP_GROWTH = 40;

/** V8 takes it at any time: what is there by then was small. */
export const setHeapGrowth = (): void => {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH}`);
};
