/** On which networks nodes see what pods are told by the cluster's DNS service. */
import { nthAddress, type Family } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import type { ClusterSettings } from '../model.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';

export const DNS_PORT = 53;

type WaySettings = Pick<ClusterSettings, 'dnsServers' | 'hasVrfs' | 'allowedDefaultServices'>;
type DnsSettings = WaySettings & Pick<ClusterSettings, 'features' | 'forwardsDns'>;

/** Whether pods of the default network ask by way of their node. Where they do not, a name is what the daemon's own resolver is told, and nobody knows which names a wildcard stands for. */
const forwardsDns = (settings: DnsSettings): boolean =>
  settings.features.egressFirewall &&
  settings.forwardsDns &&
  typeof settings.dnsServers === 'string';

/** Whether pods of primary networks reach the service by way of the host. */
export const reachesDnsByHost = ({
  hasVrfs,
  allowedDefaultServices,
  dnsServers,
}: WaySettings): boolean =>
  hasVrfs && typeof dnsServers === 'string' && allowedDefaultServices.includes(dnsServers);

/** Whether those of primary networks do. */
export const forwardsDnsOnPrimary = (settings: DnsSettings): boolean =>
  forwardsDns(settings) && reachesDnsByHost(settings);

export const forwardsDnsOn = (network: string, settings: DnsSettings): boolean =>
  network === DEFAULT_NETWORK ? forwardsDns(settings) : forwardsDnsOnPrimary(settings);

/** Of the forwarder on each host, in the masquerade subnet; undefined where a family has none. */
export function dnsForwarderAddress(
  { masqueradeSubnets }: Pick<ClusterSettings, 'masqueradeSubnets'>,
  family: Family,
): string | undefined {
  const subnet = masqueradeSubnets[family];
  return subnet === undefined ? undefined : nthAddress(subnet, MASQUERADE_OFFSETS.dnsForwarder);
}

const WILDCARD = '*.';
const DEEP_WILDCARD = '**.';

export const isWildcard = (name: string): boolean =>
  name.startsWith(WILDCARD) || name.startsWith(DEEP_WILDCARD);

/** Names in rules that a name is meant by: itself, the wildcard in the place of its first label, and that in the place of one or more. */
export function rulesAbout(name: string): readonly string[] {
  const labels = name.split('.');
  const endings = labels.slice(1).map((_, i) => labels.slice(i + 1).join('.'));
  const [next] = endings;
  return [
    name,
    ...(next === undefined ? [] : [`${WILDCARD}${next}`]),
    ...endings.map((ending) => `${DEEP_WILDCARD}${ending}`),
  ];
}
