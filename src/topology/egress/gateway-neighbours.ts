/**
 * Gateway routers of nodes with egress addresses, as neighbours of the transit routers of Layer2 networks: where an address moves to nobody has sent to before,
 * and OVN keeps no more than four packets while it asks for a neighbour.
 */
import { FAMILIES, macOf } from '../../allocators/addresses.ts';
import { ovnPrefix } from '../../api/nad/network-name.ts';
import { feature } from '../../desired/features.ts';
import { RowReference } from '../../desired/rows.ts';
import { pairs } from '../../facts/keys.ts';
import { gatewayRouter, transitRouterToGateway } from '../../model/rules/names.ts';
import { joinAddresses, transitLink } from '../../model/rules/network-addresses.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { networkObjects, networkOf, networkRank } from '../networks/network-feature.ts';
import { MAC_BINDING_CLAIM } from '../parts/external-switch.ts';
import { macBindingKey } from '../rows/row-keys.ts';
import { Rows } from '../rows/unit-rows.ts';

export const egressGatewayNeighbours = feature({
  name: 'egress/gateway-neighbour',
  over: (facts: ZoneFacts) =>
    pairs(facts.renderedWithGateway('layer2'), facts.egressIps.distinct('node')),
  rank: networkRank,
  subject: networkOf,
  objects: networkObjects,
  rules: {
    neighbour: {
      text: "The transit router of a Layer2 network knows the MAC addresses of other nodes' gateway routers where egress addresses are: nothing is lost while it asks.",
      source: 'reference/topology.md §18.1',
    },
  },
  claims: [MAC_BINDING_CLAIM],
  build(facts, [name, node], out) {
    const network = facts.rendered.get(name);
    const id = facts.remoteNodes.part(node, 'id');
    if (network === undefined || id === undefined) return;
    const [join] = joinAddresses(facts.settings, network, { id });
    if (join === undefined) return;
    const port = transitRouterToGateway(gatewayRouter(ovnPrefix(name), node));
    const rows = Rows.northbound(out, network.object).by('neighbour');
    for (const family of FAMILIES) {
      const ip = transitLink(network, { id }, family)?.gateway;
      if (ip === undefined) continue;
      rows.naming(
        [new RowReference('Logical_Router_Port', port)],
        'Static_MAC_Binding',
        macBindingKey(port, ip),
        { logical_port: port, ip, mac: macOf(join), override_dynamic_mac: true },
      );
    }
  },
});
