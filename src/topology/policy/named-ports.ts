/**
 * Ports that a rule means by a name. Pods that call a port so are in a set per number, so that a rule has one ACL per protocol however
 * many pods there are. ovn-kubernetes takes such a port for all ports of its protocol.
 */

import type { Family } from '../../allocators/addresses.ts';
import type { NetworkName } from '../../model/model.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { PortQuery, Protocol } from '../../model/read/policies.ts';
import { anyOf } from '../rows/acls.ts';
import { podsWithPort } from '../rows/address-sets.ts';
import { inSets, type ByFamily } from './matches.ts';

export interface NamedPortMatch {
  readonly match: ByFamily;
  readonly sets: readonly string[];
  /** Numbers that the names stand for: OVN makes flows for each of them. */
  readonly numbers: number;
}

/** What reaches a port by its name, by protocol; nothing of a protocol whose names no pod has. */
export function namedPortMatches(
  facts: ZoneFacts,
  network: NetworkName,
  controller: string,
  families: readonly Family[],
  queries: readonly PortQuery[],
): ReadonlyMap<Protocol, NamedPortMatch> {
  const terms = Map.groupBy(
    queries.flatMap((query) => termsOf(facts, network, controller, families, query)),
    ({ protocol }) => protocol,
  );
  return new Map(
    [...terms].map(([protocol, found]) => [
      protocol,
      {
        match: new Map(
          families.map((family) => [
            family,
            `${protocol} && ${anyOf(found.flatMap(({ match }) => match.get(family) ?? []))}`,
          ]),
        ),
        sets: found.flatMap(({ sets }) => sets),
        numbers: found.length,
      },
    ]),
  );
}

function termsOf(
  { namedNumbers }: ZoneFacts,
  network: NetworkName,
  controller: string,
  families: readonly Family[],
  { selection: { id }, protocol, name }: PortQuery,
): readonly (Omit<NamedPortMatch, 'numbers'> & { readonly protocol: Protocol })[] {
  return namedNumbers.by('name', network, id, protocol, name).map(({ port }) => {
    const sets = new Map(
      families.map((family) => [
        family,
        [podsWithPort(controller, id, { protocol, name, port }, family).name],
      ]),
    );
    return {
      protocol,
      match: new Map(
        [...inSets('dst', sets)].map(([family, to]) => [
          family,
          `(${to} && ${protocol}.dst==${port})`,
        ]),
      ),
      sets: [...sets.values()].flat(),
    };
  });
}
