/** On which networks nodes see what pods are told by the cluster's DNS service. */
import { nthAddress, type Family } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import type { ClusterSettings } from '../model.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';

export const DNS_PORT = 53;

/** The default network, and primary ones whose pods reach that service by way of the host. Where nodes do not, a name is what the daemon's own resolver is told, and nobody knows which names a wildcard stands for. */
export const forwardsDnsOn = (
  network: string,
  {
    features,
    forwardsDns,
    dnsServers,
    hasVrfs,
    allowedDefaultServices,
  }: Pick<
    ClusterSettings,
    'features' | 'forwardsDns' | 'dnsServers' | 'hasVrfs' | 'allowedDefaultServices'
  >,
): boolean =>
  features.egressFirewall &&
  forwardsDns &&
  typeof dnsServers === 'string' &&
  (network === DEFAULT_NETWORK || (hasVrfs && allowedDefaultServices.includes(dnsServers)));

/** Of the forwarder on each host, in the masquerade subnet; undefined where a family has none. */
export function dnsForwarderAddress(
  { masqueradeSubnets }: Pick<ClusterSettings, 'masqueradeSubnets'>,
  family: Family,
): string | undefined {
  const subnet = masqueradeSubnets[family];
  return subnet === undefined ? undefined : nthAddress(subnet, MASQUERADE_OFFSETS.dnsForwarder);
}

const WILDCARD = '*.';

export const isWildcard = (name: string): boolean => name.startsWith(WILDCARD);

/** Names in rules that a name is meant by: itself, and the wildcard in the place of its first label. */
export function rulesAbout(name: string): readonly string[] {
  const dot = name.indexOf('.');
  return dot === -1 ? [name] : [name, `${WILDCARD}${name.slice(dot + 1)}`];
}
