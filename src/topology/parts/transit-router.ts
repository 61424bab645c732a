/** The router of a Layer2 network with a gateway, and its port to the pods (reference/topology.md §9.1, §9.2). */

import { contains, macOf } from '../../allocators/addresses.ts';
import { RowReference } from '../../desired/rows.ts';
import { transitRouterKey } from '../../model/rules/admission.ts';
import type { Layer2Names } from '../../model/rules/names.ts';
import { ON_THIS_CHASSIS } from '../database/chassis-group.ts';
import { COPP } from '../database/protection.ts';
import { gatewayMtu, type NetworkOnNode } from './network-on-node.ts';
import type { NetworkPart } from './part.ts';
import {
  LAYER2_ROUTER_PORT,
  ROUTER_ADVERTISEMENT,
  TRANSIT_ROUTER_SWITCH_PORT,
} from '../numbers.ts';
import { GATEWAY_CHASSIS_CLAIM, ROUTER_CLAIM, ROUTER_PORT_CLAIM } from '../rows/router-rows.ts';
import { holds } from '../rows/unit-rows.ts';
import { addRouterPeer, SWITCH_PORT_CLAIM } from '../rows/switch-rows.ts';

export const transitRouter: NetworkPart<Layer2Names> = {
  rules: {
    'transit-router': {
      text: 'A Layer2 network with a gateway has one router, with the same tunnel key in every zone, by which its pods reach gateway routers.',
      source: 'reference/topology.md §9.1',
    },
    'router-to-pods': {
      text: 'The gateway of the pods has the same address and MAC on every node; each zone answers for it.',
      source: 'reference/topology.md §9.2',
    },
  },
  claims: [ROUTER_CLAIM, ROUTER_PORT_CLAIM, GATEWAY_CHASSIS_CLAIM, SWITCH_PORT_CLAIM],
  build(all, onNode) {
    const { names } = onNode;
    const key = transitRouterKey(onNode.network);
    const [first] = onNode.podRanges;
    if (!onNode.hasGateway || key === undefined || first === undefined) return;
    all.by('transit-router').named('Logical_Router', names.clusterRouter, {
      copp: new RowReference('Copp', COPP),
      options: {
        'requested-tnl-key': String(key),
        ...(onNode.mode === 'local' ? { 'ct-commit-all': 'true' } : {}),
      },
      external_ids: { ...onNode.networkIds, 'k8s-cluster-router': 'yes' },
    });
    const rows = all.by('router-to-pods');
    addRouterPeer(rows, names.switchToRouter, names.routerToSwitch, names.nodeSwitch, {
      options: { 'requested-tnl-key': String(LAYER2_ROUTER_PORT), ...answersForPool(onNode) },
      external_ids: onNode.networkIds,
    });
    rows.named(
      'Logical_Router_Port',
      names.routerToSwitch,
      {
        mac: macOf(first.gateway),
        networks: onNode.podRanges.map((range) => range.gatewayInterface),
        options: { ...gatewayMtu(onNode), 'requested-tnl-key': String(TRANSIT_ROUTER_SWITCH_PORT) },
        ...ON_THIS_CHASSIS,
        // On a secondary network pods have another default route.
        ipv6_ra_configs: onNode.isPrimary ? routerAdvertisement(onNode) : {},
      },
      holds('Logical_Router', names.clusterRouter, 'ports'),
    );
  },
};

/** Pods look for addresses of the subnet by ARP and ND: those of services nobody has, so that the router answers, and the switch balances what comes then. */
function answersForPool({
  facts,
  network,
  podRanges,
}: NetworkOnNode): Readonly<Record<string, string>> {
  const addresses = (facts.poolAddresses.part(network.name, 'addresses') ?? []).filter((address) =>
    podRanges.some(({ cidr }) => contains(cidr, address)),
  );
  return addresses.length === 0 ? {} : { arp_proxy: addresses.join(' ') };
}

/** IPv6 pods learn gateway and MTU from the router; their addresses they have from elsewhere. */
const routerAdvertisement = (onNode: NetworkOnNode): Readonly<Record<string, string>> =>
  onNode.podRanges.some(({ family }) => family === 'v6')
    ? { ...ROUTER_ADVERTISEMENT, mtu: String(onNode.network.mtu) }
    : {};
