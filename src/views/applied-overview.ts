/** Objects that are not in force on all nodes yet, of kinds of which nodes say it. Pure. */
import { objectKey, type KubeObject } from '../api/objects.ts';
import type { ZoneStatus } from '../api/zone-status.ts';
import { wordOf } from '../cluster/status/applied-in-zones.ts';

export interface NotInForce {
  readonly object: string;
  /** Nodes that say what is in force there, and not that this is. */
  readonly nodes: readonly string[];
}

/** By name. What a node refuses of an object it says by itself; `isAway`: the daemon of the node is gone, which is another matter. */
export function notInForce(
  objects: readonly KubeObject[],
  zones: readonly ZoneStatus[],
  isAway: (node: string) => boolean,
): readonly NotInForce[] {
  const saying = zones
    .filter(({ metadata, status }) => status?.applied !== undefined && !isAway(metadata.name))
    .map((zone) => ({
      zone,
      told: new Set(
        [...(zone.status?.objects ?? []), ...(zone.status?.problems ?? [])].map(
          ({ object }) => object,
        ),
      ),
    }));
  return objects
    .map((object) => {
      const name = `${object.kind} ${objectKey(object.metadata)}`;
      const nodes = saying
        .filter(({ zone, told }) => !told.has(name) && wordOf(zone, name, object).kind === 'silent')
        .map(({ zone }) => zone.metadata.name);
      return { object: name, nodes: nodes.toSorted() };
    })
    .filter(({ nodes }) => nodes.length > 0)
    .sort((a, b) => (a.object < b.object ? -1 : 1));
}
