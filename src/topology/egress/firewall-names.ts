/** Address sets of what DNS knows names in rules of EgressFirewalls and of policies of administrators by (reference/topology.md §18.2). */

import { feature } from '../../desired/features.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import {
  ADDRESS_SET_CLAIM,
  addAddressSet,
  addOpenAddressSet,
  egressFirewallName,
} from '../rows/address-sets.ts';
import { Rows } from '../rows/unit-rows.ts';

export const egressFirewallNames = feature({
  name: 'egress/firewall-names',
  over: (facts: ZoneFacts) => facts.ruleNames,
  objects: (facts, [name]) => facts.objectsNaming(name),
  rules: {
    name: {
      text: 'Of a name in rules of EgressFirewalls and of policies of administrators each node keeps what DNS knows it by.',
      source: 'reference/topology.md §18.2',
    },
  },
  claims: [ADDRESS_SET_CLAIM],
  build(facts, [name], out) {
    const objects = facts.objectsNaming(name);
    const { addresses, problem } = facts.resolvedNames.get(name) ?? { addresses: {} };
    if (problem !== undefined) for (const object of objects) out.problem(object, problem);
    const rows = Rows.northbound(out, objects[0] ?? 'cluster').by('name');
    for (const family of clusterFamilies(facts.settings)) {
      const set = egressFirewallName(name, family);
      const known = addresses[family];
      // Before there is an answer what it was known by stays, after a restart too.
      if (known === undefined) addOpenAddressSet(rows, set);
      else addAddressSet(rows, set, known);
    }
  },
});
