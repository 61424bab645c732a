/** Matches of multicast, as text (reference/topology.md §16.4). */

import type { Family } from '../../allocators/addresses.ts';
import { anyOf } from '../rows/acls.ts';

/** IPv6 by its listener reports, and by groups that are not assigned for good. */
const LISTENERS = 'mldv1 || mldv2';
const V6_GROUPS = '(ip6.dst[120..127] == 0xff && ip6.dst[116] == 1)';

export const ALL_MULTICAST = `(ip4.mcast || ${LISTENERS} || ${V6_GROUPS})`;

/** What pods send, of these families. */
export const sentMulticast = (families: readonly Family[]): string =>
  anyOf(
    families.map((family) => (family === 'v4' ? 'ip4.mcast' : `(${LISTENERS} || ${V6_GROUPS})`)),
  );

/** What pods get: queries of who listens, and multicast of the pods in these sets. */
export const receivedMulticast = (senders: ReadonlyMap<Family, string>): string =>
  anyOf(
    [...senders].map(([family, set]) =>
      family === 'v4'
        ? `(igmp || (ip4.src == $${set} && ip4.mcast))`
        : `(${LISTENERS} || (ip6.src == $${set} && ${V6_GROUPS}))`,
    ),
  );
