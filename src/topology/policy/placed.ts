/** What the units of policies on a network have in common. */

import { FAMILIES, familyOf, type Family } from '../../allocators/addresses.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';

/** Families of a network's pods; none for a network that gives no addresses. */
export function familiesOf(facts: ZoneFacts, network: string): readonly Family[] {
  const used = new Set(
    (facts.rendered.part(network, 'subnets') ?? []).map(({ cidr }) => familyOf(cidr)),
  );
  return FAMILIES.filter((family) => used.has(family));
}
