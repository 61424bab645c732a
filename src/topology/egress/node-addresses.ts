/** Address sets that policies of egress features refer to, whatever network they are for (reference/topology.md §5). */

import { familyOf, withoutPrefix } from '../../allocators/addresses.ts';
import { ONE } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import {
  addAddressSet,
  ADDRESS_SET_CLAIM,
  egressServicePods,
  nodeIps,
} from '../rows/address-sets.ts';
import { Rows } from '../rows/unit-rows.ts';
import { SETTINGS } from '../../desired/rows.ts';

export const egressAddresses: Feature<ZoneFacts> = {
  name: 'egress/node-addresses',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    'node-addresses': {
      text: 'Every address of every node is in one address set per family.',
      source: 'reference/topology.md §5',
    },
    'service-pods': {
      text: 'Pods of this node behind egress services of the default network are in one address set per family.',
      source: 'reference/topology.md §5',
    },
  },
  claims: [ADDRESS_SET_CLAIM],
  build(facts, _args, out) {
    const { egressIp, egressService } = facts.settings.features;
    if (!egressIp && !egressService) return;
    const rows = Rows.northbound(out, SETTINGS);
    const addresses = [
      ...facts.own('hostAddresses'),
      ...facts.remoteNodes.all().flatMap((node) => node.hostAddresses),
    ].map(withoutPrefix);
    for (const family of clusterFamilies(facts.settings)) {
      const ofFamily = addresses.filter((address) => familyOf(address) === family);
      addAddressSet(rows.by('node-addresses'), nodeIps(family), [...new Set(ofFamily)].sort());
      addAddressSet(
        rows.by('service-pods'),
        egressServicePods(family),
        facts.egressServicePorts.setOf('served', family),
      );
    }
  },
};
