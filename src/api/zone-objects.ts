/** The objects that a ZoneStatus names. */
import { resourceKinds } from './kinds.ts';
import type { ZoneObjectState, ZoneStatusContent } from './zone-status.ts';

const KINDS: ReadonlySet<string> = new Set(resourceKinds.map(({ kind }) => kind));

/** True for the name of an object: rows, units and databases have problems, too. */
export const isObjectName = (name: string): boolean => KINDS.has(name.slice(0, name.indexOf(' ')));

/** The objects that are not as they should be on a node. The daemon of an earlier release reports only what is wrong with them. */
export const objectStatesIn = (
  status: Pick<ZoneStatusContent, 'objects' | 'problems'> | undefined,
): readonly ZoneObjectState[] =>
  status?.objects ??
  (status?.problems ?? [])
    .filter(({ object }) => isObjectName(object))
    .map(({ object, message }) => ({ object, state: 'Failed', message }));
