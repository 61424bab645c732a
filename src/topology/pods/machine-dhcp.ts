/** What OVN answers a virtual machine on a Layer2 or localnet network that asks for its address (reference/topology.md §14). */

import { familyOf, macOf, type Family } from '../../allocators/addresses.ts';
import type { Attachment } from '../../model/model.ts';
import { isServed } from '../../model/rules/flat-networks.ts';
import { controllerOf, isDefault, podSwitch } from '../../model/rules/names.ts';
import { layer2Ranges } from '../../model/rules/network-addresses.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { addDhcpClientAcl } from '../parts/dhcp.ts';
import { DHCP_LEASE_TIME, DHCP_SERVER, DHCPV6_SERVER } from '../numbers.ts';
import { objectIds, OBJECT_ID } from '../rows/object-ids.ts';
import type { Rows } from '../rows/unit-rows.ts';

const NONE: ReadonlyMap<Family, string> = new Map();

/**
 * Adds the rows by which the machine in the pod behind `port` is answered, and returns their keys by family; none for pods without a machine, and
 * for the one of two pods between which a machine moves whose port is closed. Ways out and names are told on primary networks alone: others have none.
 */
export function addMachineDhcp(
  rows: Rows,
  facts: ZoneFacts,
  attachment: Attachment,
  port: string,
): ReadonlyMap<Family, string> {
  const { machine, network: name, namespace, role } = attachment;
  if (machine === undefined || isDefault({ name }) || isServed(name)) return NONE;
  const network = facts.rendered.get(name);
  if (network === undefined || network.topology === 'layer3') return NONE;
  if (!facts.isAnsweredHere(attachment)) return NONE;
  const families = new Set(attachment.addresses.map(familyOf));
  const isPrimary = role === 'primary';
  const gateways = new Map(
    isPrimary ? layer2Ranges(network).map(({ family, gateway }) => [family, gateway]) : [],
  );
  const controller = controllerOf(name);
  const servers = isPrimary ? facts.dnsServers() : [];
  const keys = new Map<Family, string>();
  for (const { cidr } of network.subnets) {
    const family = familyOf(cidr);
    if (!families.has(family)) continue;
    const router = gateways.get(family);
    const ids = objectIds(controller, 'VirtualMachine', {
      name: `${namespace}/${machine.name}`,
      'k8s.ovn.org/cidr': cidr.replaceAll(':', '.'),
    });
    const dns = dhcpList(servers.filter((address) => familyOf(address) === family));
    rows.keyed('DHCP_Options', ids[OBJECT_ID], {
      cidr,
      options: {
        ...(dns === undefined ? {} : { dns_server: dns }),
        ...(family === 'v4'
          ? {
              hostname: `"${machine.name}"`,
              lease_time: String(DHCP_LEASE_TIME),
              mtu: String(network.mtu),
              ...(router === undefined ? {} : { router }),
              server_id: DHCP_SERVER,
              server_mac: macOf(DHCP_SERVER),
            }
          : { fqdn: `"${machine.name}"`, server_id: macOf(DHCPV6_SERVER) }),
      },
      external_ids: ids,
    });
    keys.set(family, ids[OBJECT_ID]);
  }
  if (keys.size > 0)
    addDhcpClientAcl(
      rows,
      { controller, name: `${namespace}/${machine.name}` },
      podSwitch(network, facts.nodeName),
      port,
    );
  return keys;
}

/** Addresses, as OVN reads them in options of DHCP (ovn-nb(5), DHCP_Options). */
export const dhcpList = ([first, ...more]: readonly string[]): string | undefined =>
  first === undefined || more.length === 0 ? first : `{${[first, ...more].join(', ')}}`;
