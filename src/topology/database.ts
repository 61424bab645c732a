/** Rows that exist once per database, whatever networks there are (topology.md §5). */

import type { Zone } from '../model/model.ts';
import { addAddressSet, egressServicePods, enabledServiceIps, nodeIps } from './address-sets.ts';
import { familyOf, withoutPrefix } from '../allocators/addresses.ts';
import { meterBandKey, NB_GLOBAL_KEY } from './keys.ts';
import { clusterFamilies } from './network-on-node.ts';
import { addPortGroup, SECONDARY_PODS } from './port-groups.ts';
import { holds, type Rows } from './rows.ts';

/** The protection of ovn-controller that every logical router has. */
export const COPP = 'ovnkube-default';

/** Kinds of packets that routers hand to ovn-controller, limited each by a meter of its own. */
const PROTECTED = [
  'arp',
  'arp-resolve',
  'bfd',
  'event-elb',
  'icmp4-error',
  'icmp6-error',
  'reject',
  'svc-monitor',
  'tcp-reset',
] as const;

/** Packets per second of one kind that reach ovn-controller. */
const PROTECTED_RATE = 25;

const rateLimiter = (protocol: string): string => `${protocol}-rate-limiter`;

/** The meter that every ACL names. */
const ACL_LOGGING_METER = 'acl-logging';

export const METERS: readonly string[] = [...PROTECTED.map(rateLimiter), ACL_LOGGING_METER];

export function addDatabaseRows(rows: Rows, zone: Pick<Zone, 'settings' | 'node'>): void {
  rows.keyed('NB_Global', NB_GLOBAL_KEY, {
    name: zone.node.name,
    options: { name: zone.node.name },
  });
  for (const protocol of PROTECTED) addMeter(rows, rateLimiter(protocol), PROTECTED_RATE);
  addMeter(rows, ACL_LOGGING_METER, zone.settings.aclLoggingRateLimit);
  rows.named('Copp', COPP, {
    meters: Object.fromEntries(PROTECTED.map((protocol) => [protocol, rateLimiter(protocol)])),
  });
  addPortGroup(rows, SECONDARY_PODS);
}

function addMeter(rows: Rows, name: string, rate: number): void {
  rows.named('Meter', name, { unit: 'pktps', fair: true });
  rows.keyed(
    'Meter_Band',
    meterBandKey(name, 'drop'),
    { action: 'drop', rate },
    holds('Meter', name, 'bands'),
  );
}

/** Addresses of services that every primary network may use. */
export function addEnabledServiceRows(
  rows: Rows,
  zone: Pick<Zone, 'settings' | 'allowedDefaultServices'>,
): void {
  const addresses = zone.allowedDefaultServices.flatMap((service) => service.clusterIps);
  for (const family of clusterFamilies(zone.settings)) {
    addAddressSet(
      rows,
      enabledServiceIps(family),
      addresses.filter((address) => familyOf(address) === family),
    );
  }
}

/** Addresses of all nodes, and the sets of pods that policies of egress features refer to. */
export function addNodeAddressRows(
  rows: Rows,
  zone: Pick<Zone, 'settings' | 'node' | 'remoteNodes'>,
): void {
  if (!zone.settings.features.egressIp) return;
  const addresses = [zone.node, ...zone.remoteNodes].flatMap((node) =>
    node.hostAddresses.map(withoutPrefix),
  );
  for (const family of clusterFamilies(zone.settings)) {
    const ofFamily = addresses.filter((address) => familyOf(address) === family);
    addAddressSet(rows, nodeIps(family), [...new Set(ofFamily)].sort());
    addAddressSet(rows, egressServicePods(family), []);
  }
}
