/** A Layer3 network in this node's zone. One unit: a switch without the ACLs that keep its pods apart must never be seen. */

import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/facts.ts';
import { egressIpBase } from '../egress/egress-ip-base.ts';
import { externalSwitch } from '../gateway/external-switch.ts';
import { gatewayRouter } from '../gateway/gateway-router.ts';
import { gatewayNat } from '../gateway/nat.ts';
import { nodeAddressPolicies } from '../gateway/node-address-policies.ts';
import { gatewayRoutes } from '../gateway/routes.ts';
import { transitSwitch } from '../interconnect/transit-switch.ts';
import { multicastDeny } from '../multicast/default-deny.ts';
import { Rows } from '../rows.ts';
import { enabledServiceRoutes } from '../services/enabled-service-routes.ts';
import { distributedRouter } from './distributed-router.ts';
import { hairpin } from './hairpin.ts';
import { loadBalancerGroups } from './load-balancer-groups.ts';
import { managementPort } from './management-port.ts';
import { networkOnNode } from './network-on-node.ts';
import { nodeSwitch } from './node-switch.ts';
import type { NetworkPart } from './part.ts';
import { podGroups } from './pod-groups.ts';

const PARTS: readonly NetworkPart[] = [
  distributedRouter,
  loadBalancerGroups,
  podGroups,
  hairpin,
  multicastDeny,
  nodeSwitch,
  managementPort,
  gatewayRouter,
  externalSwitch,
  gatewayRoutes,
  nodeAddressPolicies,
  gatewayNat,
  enabledServiceRoutes,
  transitSwitch,
  egressIpBase,
];

export const layer3Network: Feature<ZoneFacts> = {
  name: 'layer3/network',
  over: (facts) => facts.rendered,
  rank: networkRank,
  subject: networkOf,
  rules: Object.assign({}, ...PARTS.map(({ rules }) => rules)) as NetworkPart['rules'],
  claims: [...new Set(PARTS.flatMap(({ claims }) => claims))],
  build(facts, [name = ''], out) {
    const network = facts.rendered.get(name);
    if (network === undefined) return;
    const on = networkOnNode(facts, network);
    if (on.podRanges.length === 0)
      out.waitFor(`a subnet of network ${name} on node ${facts.nodeName}`);
    const rows = Rows.northbound(out, network.object);
    for (const part of PARTS) part.build(rows, on);
  },
};

/** The network of a unit whose first argument it is. */
export function networkOf(_facts: ZoneFacts, [name]: readonly string[]): string | undefined {
  return name;
}

/** Of two networks that want one name, the one of the lower id has it. */
export function networkRank(facts: ZoneFacts, [name = '']: readonly string[]): number {
  return facts.networks.part(name, 'id') ?? 0;
}
