/** What of the host that nobody wants may be there for something that is not known, and stays. */
import type { ZoneFacts } from '../model/zone/zone.ts';
import { networkObjects } from '../model/zone/failed-facts.ts';
import type { Unknown } from '../model/zone/unknown.ts';
import { commentOf } from './nftables/nft-rows.ts';
import { cookieOf } from './openflow/pipeline.ts';
import { markOf, type MayBeWanted } from './reconcile/host-plan.ts';

/**
 * `unbuilt`: objects of the units that could not be built; undefined if nobody can tell. A mark is the name of an object, as comments, aliases and
 * cookies have it; undefined is returned when everything is known.
 */
export function hostOfUnknown(
  facts: ZoneFacts,
  unknown: Unknown | undefined,
  unbuilt: ReadonlySet<string> | undefined,
): MayBeWanted | undefined {
  if (unbuilt === undefined) return () => true;
  if (unknown === undefined && unbuilt.size === 0) return undefined;
  const isUnknown = (object: string): boolean =>
    unbuilt.has(object) || unknown?.concerns(object) === true;
  const named = [
    ...unbuilt,
    ...(unknown?.objects ?? []),
    ...networkObjects(facts),
    ...[...facts.declaredServices.entries()].map(([key]) => `Service ${key}`),
  ].filter(isUnknown);
  const nodes = [...(unknown?.nodes ?? [])].map((name) => `Node ${name}`);
  const marks = new Set(
    [...named, ...nodes].flatMap((object) => [markOf(object), commentOf(object), cookieOf(object)]),
  );
  return (found) =>
    // What does not say for whom it is there.
    found.length === 0 || found.some((mark) => marks.has(mark) || isUnknown(mark));
}
