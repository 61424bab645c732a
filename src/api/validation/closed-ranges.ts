/** Ranges of addresses that belong to the cluster, and those that are nobody's. */
import type { ClusterAddressing } from '../nad/network-config.ts';
import { rangesOfCluster } from './overlap.ts';

/** A range, and what is there. */
export interface NamedRange {
  readonly cidr: string;
  /** `the service subnet`. */
  readonly name: string;
}

/** Never an address that a packet from outside is sent to. */
const SPECIAL: readonly NamedRange[] = [
  { cidr: '0.0.0.0/8', name: 'the unspecified addresses' },
  { cidr: '127.0.0.0/8', name: 'the loopback addresses' },
  { cidr: '169.254.0.0/16', name: 'the link-local addresses' },
  { cidr: '224.0.0.0/4', name: 'the multicast addresses' },
  { cidr: '255.255.255.255/32', name: 'the broadcast address' },
  { cidr: '::/127', name: 'the unspecified and loopback addresses' },
  { cidr: 'fe80::/10', name: 'the link-local addresses' },
  { cidr: 'ff00::/8', name: 'the multicast addresses' },
];

/** Where no service, and no route of a secondary network, leads to: the cluster's own ranges, and those that are nobody's. */
export const closedRanges = (settings: ClusterAddressing): readonly NamedRange[] => [
  ...rangesOfCluster(settings).map(({ type, cidr }) => ({ cidr, name: `the ${type}` })),
  ...SPECIAL,
];
