/** Kinds that are read and validated although nothing is programmed for them: their objects must say so. */
import { egressServices } from './kinds.ts';
import type { ResourceKind } from './objects.ts';

/** What an object of the kind does not do, by kind. A feature that programs a kind takes its entry away. */
const MISSING_EFFECTS: ReadonlyMap<ResourceKind, string> = new Map<ResourceKind, string>([
  [egressServices, "EgressServices: replies and egress of the service's pods are unchanged"],
]);

export const unprogrammedKinds: readonly ResourceKind[] = [...MISSING_EFFECTS.keys()];

/** The message for an object of this kind; undefined for kinds that are programmed. */
export function notProgrammed(kind: string): string | undefined {
  const found = [...MISSING_EFFECTS].find(([known]) => known.kind === kind);
  return found && `this release does not program ${found[1]}; do not rely on it`;
}
