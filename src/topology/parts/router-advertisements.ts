/** The router that tells pods of an OVNSecondaryNetwork which IPv6 subnet and MTU it has (reference/topology.md §22). It leads nowhere. */

import { macOf, nthAddress, nthInterface } from '../../allocators/addresses.ts';
import { RowReference } from '../../desired/rows.ts';
import { announcedSubnets } from '../../model/rules/flat-networks.ts';
import type { Layer2Names } from '../../model/rules/names.ts';
import { COPP } from '../database/protection.ts';
import type { NetworkPart } from './part.ts';
import { LAYER2_ROUTER_PORT, ROUTER_ADVERTISEMENT } from '../numbers.ts';
import { ROUTER_CLAIM, ROUTER_PORT_CLAIM } from '../rows/router-rows.ts';
import { holds } from '../rows/unit-rows.ts';
import { addRouterPeer, SWITCH_PORT_CLAIM } from '../rows/switch-rows.ts';

export const routerAdvertisements: NetworkPart<Layer2Names> = {
  rules: {
    'router-advertisements': {
      text: 'An OVNSecondaryNetwork with an IPv6 subnet has a router in each zone that announces subnet and MTU to the pods, and routes nothing.',
      source: 'reference/topology.md §22',
    },
  },
  claims: [ROUTER_CLAIM, ROUTER_PORT_CLAIM, SWITCH_PORT_CLAIM],
  build(all, { names, network, networkIds }) {
    const rows = all.by('router-advertisements');
    const [subnet] = announcedSubnets(network);
    if (subnet === undefined) return;
    rows.named('Logical_Router', names.clusterRouter, {
      copp: new RowReference('Copp', COPP),
      external_ids: networkIds,
    });
    addRouterPeer(rows, names.switchToRouter, names.routerToSwitch, names.nodeSwitch, {
      options: { 'requested-tnl-key': String(LAYER2_ROUTER_PORT) },
      external_ids: networkIds,
    });
    rows.named(
      'Logical_Router_Port',
      names.routerToSwitch,
      {
        // The address that every router of a subnet answers to (RFC 4291, 2.6.1): no pod has it.
        mac: macOf(nthAddress(subnet, 0)),
        networks: [nthInterface(subnet, 0)],
        ipv6_ra_configs: { ...ROUTER_ADVERTISEMENT, mtu: String(network.mtu) },
        external_ids: networkIds,
      },
      holds('Logical_Router', names.clusterRouter, 'ports'),
    );
  },
};
