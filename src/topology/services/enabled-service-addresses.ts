/** Addresses of services that every primary network may use, for policies to refer to (reference/topology.md §5). */

import { familyOf } from '../../allocators/addresses.ts';
import { ONE } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import { addAddressSet, ADDRESS_SET_CLAIM, enabledServiceIps } from '../rows/address-sets.ts';
import { Rows } from '../rows/unit-rows.ts';
import { SETTINGS } from '../../desired/rows.ts';

export const enabledServiceAddresses: Feature<ZoneFacts> = {
  name: 'services/enabled-service-addresses',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    addresses: {
      text: 'The cluster IPs of the services that every primary network may use are in one address set per family.',
      source: 'reference/topology.md §5',
    },
  },
  claims: [ADDRESS_SET_CLAIM],
  build({ enabledServices, settings }, _args, out) {
    const rows = Rows.northbound(out, SETTINGS).by('addresses');
    const addresses = enabledServices.all().flatMap((service) => service.clusterIps);
    for (const family of clusterFamilies(settings)) {
      addAddressSet(
        rows,
        enabledServiceIps(family),
        addresses.filter((address) => familyOf(address) === family),
      );
    }
  },
};
