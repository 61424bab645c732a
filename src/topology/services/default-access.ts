/** The way from pods of the default network to services of primary networks, as far as OVN goes (decisions/default-network-access.md). */

import { familyOf, ipOf } from '../../allocators/addresses.ts';
import type { Feature } from '../../desired/features.ts';
import { RowReference, SETTINGS } from '../../desired/rows.ts';
import { ONE } from '../../facts/keys.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import { DEFAULT_CONTROLLER, layer3Names } from '../../model/rules/names.ts';
import { nodeRanges } from '../../model/rules/network-addresses.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { POLICY_DEFAULT_ACCESS } from '../numbers.ts';
import { ADDRESS_SET_CLAIM, addAddressSet, defaultAccessPods } from '../rows/address-sets.ts';
import { OBJECT_ID, objectIds } from '../rows/object-ids.ts';
import { identifiedPolicyKey } from '../rows/row-keys.ts';
import { POLICY_CLAIM } from '../rows/router-rows.ts';
import { holds, Rows } from '../rows/unit-rows.ts';

export const defaultAccessWays: Feature<ZoneFacts> = {
  name: 'services/default-access',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    pods: {
      text: 'Pods of this node in the namespaces of default-network-access are in one address set per family.',
      source: 'reference/topology.md §17.2',
    },
    way: {
      text: 'What they send to cluster IPs that no load balancer of the default network has goes to the host, which knows which services of primary networks they reach; whatever EgressIPs, EgressServices or next hops they have.',
      source: 'reference/topology.md §17.2',
    },
  },
  claims: [ADDRESS_SET_CLAIM, POLICY_CLAIM],
  build(facts, _args, out) {
    const { settings, nodeName } = facts;
    if (settings.defaultAccess.length === 0) return;
    if (facts.rendered.part(DEFAULT_NETWORK, 'name') === undefined) return;
    const { clusterRouter, routerToSwitch } = layer3Names(DEFAULT_NETWORK, nodeName);
    const rows = Rows.northbound(out, SETTINGS);
    for (const { family, management } of nodeRanges(facts.subnetsOn(DEFAULT_NETWORK, nodeName))) {
      const set = defaultAccessPods(family);
      addAddressSet(rows.by('pods'), set, facts.accessPods.setOf('address', family));
      for (const subnet of settings.serviceSubnets.filter((one) => familyOf(one) === family)) {
        const ip = ipOf(subnet);
        const match = `inport == "${routerToSwitch}" && ${ip}.src == $${set.name} && ${ip}.dst == ${subnet}`;
        const ids = objectIds(DEFAULT_CONTROLLER, 'DefaultNetworkAccess', {
          priority: String(POLICY_DEFAULT_ACCESS),
          name: 'services',
          'ip-family': family,
        });
        rows.by('way').naming(
          [new RowReference('Address_Set', set.name)],
          'Logical_Router_Policy',
          identifiedPolicyKey(ids[OBJECT_ID], match),
          {
            priority: POLICY_DEFAULT_ACCESS,
            match,
            action: 'reroute',
            nexthops: [management],
            external_ids: ids,
          },
          holds('Logical_Router', clusterRouter, 'policies'),
        );
      }
    }
  },
};
