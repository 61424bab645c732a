/** What OVN answers pods of an OVNSecondaryNetwork that ask for their address by DHCP (reference/topology.md §22). */

import { macOf } from '../../allocators/addresses.ts';
import type { TableClaim } from '../../desired/rows.ts';
import type { Network } from '../../model/model.ts';
import { servedSubnets, type ServedSubnet } from '../../model/rules/flat-networks.ts';
import { controllerOf } from '../../model/rules/names.ts';
import { idKey } from '../rows/found.ts';
import { DHCP_LEASE_TIME, DHCP_SERVER } from '../numbers.ts';
import { objectIds, OBJECT_ID } from '../rows/object-ids.ts';
import { NORTHBOUND, type Rows } from '../rows/unit-rows.ts';
import type { NetworkPart } from './part.ts';

const DHCP_CLAIM: TableClaim = {
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
  claims: [DHCP_CLAIM],
  build: (rows, { network }) => addDhcpOptions(rows.by('dhcp'), network),
};

/** The rows of a network of any topology. */
export function addDhcpOptions(rows: Rows, network: Network): void {
  for (const served of servedSubnets(network)) {
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
