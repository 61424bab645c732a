/** What OVN answers who asks for its address by DHCP: pods of an OVNSecondaryNetwork (reference/topology.md §22). */

import { macOf } from '../../allocators/addresses.ts';
import type { TableClaim } from '../../desired/rows.ts';
import type { Network } from '../../model/model.ts';
import { servedSubnets, type ServedSubnet } from '../../model/rules/flat-networks.ts';
import { controllerOf } from '../../model/rules/names.ts';
import { idKey } from '../rows/found.ts';
import { ACL_CLAIM, addAcl } from '../rows/acls.ts';
import { ACL_DHCP_CLIENTS, DHCP_LEASE_TIME, DHCP_SERVER, TIER_ISOLATION } from '../numbers.ts';
import { objectIds, OBJECT_ID } from '../rows/object-ids.ts';
import { holds, NORTHBOUND, type Rows } from '../rows/unit-rows.ts';
import type { NetworkPart } from './part.ts';

export const DHCP_CLAIM: TableClaim = {
  database: NORTHBOUND,
  table: 'DHCP_Options',
  keyOf: idKey,
};

type Served = Pick<Network, 'name' | 'subnets'>;

const idsOf = ({ name }: Served, { cidr }: ServedSubnet): ReturnType<typeof objectIds> =>
  objectIds(controllerOf(name), 'OVNSecondaryNetwork', {
    name,
    'k8s.ovn.org/cidr': cidr.replaceAll(':', '.'),
  });

/** Keys of the rows of a network, by family. */
export const dhcpKeys = (network: Served): ReadonlyMap<ServedSubnet['family'], string> =>
  new Map(
    servedSubnets(network).map((served) => [served.family, idsOf(network, served)[OBJECT_ID]]),
  );

export const dhcpOptions: NetworkPart = {
  rules: {
    dhcp: {
      text: 'OVN itself answers pods of an OVNSecondaryNetwork that ask for their address by DHCP, and tells them the MTU of the network.',
      source: 'reference/topology.md §22',
    },
  },
  claims: [DHCP_CLAIM, ACL_CLAIM],
  build: (rows, { names, network }) => addDhcpOptions(rows.by('dhcp'), network, names.nodeSwitch),
};

/**
 * What a client sends to OVN's server: to everybody, or by its address where a lease is renewed; by IPv6 to all servers (RFC 8415 §7.1). To nobody else: it
 * passes all policies.
 */
const TO_SERVERS = `((udp.src == 68 && udp.dst == 67 && ip4.dst == {255.255.255.255, ${DHCP_SERVER}}) || (udp.src == 546 && udp.dst == 547 && ip6.dst == ff02::1:2))`;

/**
 * Clients ask whatever policies say: OVN looks at these before it answers. In the tier before all of them; `port` alone may ask, or all of the
 * switch.
 */
export function addDhcpClientAcl(
  rows: Rows,
  { controller, name }: { readonly controller: string; readonly name: string },
  logicalSwitch: string,
  port?: string,
): void {
  addAcl(
    rows,
    {
      ids: objectIds(controller, 'DhcpClients', { name }),
      direction: 'Egress',
      tier: TIER_ISOLATION,
      afterLoadBalancing: true,
      priority: ACL_DHCP_CLIENTS,
      action: 'allow',
      match: port === undefined ? TO_SERVERS : `inport == "${port}" && ${TO_SERVERS}`,
    },
    holds('Logical_Switch', logicalSwitch, 'acls'),
  );
}

/** The rows of a network of any topology. */
export function addDhcpOptions(rows: Rows, network: Network, logicalSwitch: string): void {
  const all = servedSubnets(network);
  if (all.length > 0)
    addDhcpClientAcl(
      rows,
      { controller: controllerOf(network.name), name: logicalSwitch },
      logicalSwitch,
    );
  for (const served of all) {
    const ids = idsOf(network, served);
    rows.keyed('DHCP_Options', ids[OBJECT_ID], {
      cidr: served.cidr,
      options:
        served.family === 'v4'
          ? {
              lease_time: String(DHCP_LEASE_TIME),
              mtu: String(network.mtu),
              server_id: DHCP_SERVER,
              server_mac: macOf(DHCP_SERVER),
            }
          : { server_id: macOf(DHCP_SERVER) },
      external_ids: ids,
    });
  }
}
