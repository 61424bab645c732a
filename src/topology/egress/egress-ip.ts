/**
 * Pods that leave with the addresses of an EgressIP: the way to the nodes that have them, and what happens there (reference/egress.md §1.7). A pod whose
 * EgressIP has no node sends nothing out: what would leave with another address is dropped where it would be let out (parts/egress-ip-base.ts), so that
 * zones need not agree on when anything is there.
 */

import { familyOf, ipOf, nthAddress, withoutPrefix } from '../../allocators/addresses.ts';
import { ovnPrefix } from '../../api/nad/network-name.ts';
import { feature } from '../../desired/features.ts';
import { RowReference } from '../../desired/rows.ts';
import type { Network } from '../../model/model.ts';
import {
  DEFAULT_CONTROLLER,
  gatewayRouter,
  isDefault,
  layer3Names,
} from '../../model/rules/names.ts';
import {
  clusterFamilies,
  hasGateway,
  joinSubnet,
  nodeRanges,
  transitLink,
} from '../../model/rules/network-addresses.ts';
import type { EgressPlace, EgressPort } from '../../model/zone/egress-ips.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { routerOf } from '../connect/connect-rows.ts';
import { networkObjects, networkOf, networkRank } from '../networks/network-feature.ts';
import {
  MARK_EGRESS_BY_CARD,
  MARK_EGRESS_BY_GATEWAY,
  POLICY_EGRESS_ARRIVAL,
  POLICY_EGRESS_MARK,
  POLICY_EGRESS_REROUTE,
} from '../numbers.ts';
import { ADDRESS_SET_CLAIM, addAddressSet, egressIpPods } from '../rows/address-sets.ts';
import { OBJECT_ID, objectIds, type ExternalIds } from '../rows/object-ids.ts';
import { identifiedPolicyKey } from '../rows/row-keys.ts';
import { addAllowPolicy, addIdentifiedNat, NAT_CLAIM, POLICY_CLAIM } from '../rows/router-rows.ts';
import { holds, Rows } from '../rows/unit-rows.ts';

const OWNER = 'EgressIP';

type Port = Pick<EgressPort, 'egressIp' | 'namespace' | 'pod' | 'network'>;

const policyIds = (
  priority: number,
  port: Port,
  address: string,
): ExternalIds & { readonly [OBJECT_ID]: string } =>
  objectIds(DEFAULT_CONTROLLER, OWNER, {
    priority: String(priority),
    name: `${port.egressIp}_${port.namespace}/${port.pod}`,
    'ip-family': ipOf(address),
    network: port.network,
  });

const fromPod = (address: string): string => `${ipOf(address)}.src == ${address}`;

const rerouteKey = (port: Port, address: string): string =>
  identifiedPolicyKey(policyIds(POLICY_EGRESS_REROUTE, port, address)[OBJECT_ID], fromPod(address));

/** Policies without which a port must not be: its pod would leave with its node's address. */
export const reroutesOf = (port: EgressPort | undefined): readonly RowReference[] =>
  port?.isOwn === true
    ? port.addresses.map(
        (address) => new RowReference('Logical_Router_Policy', rerouteKey(port, address)),
      )
    : [];

export const egressPods = feature({
  name: 'egress/egress-ip',
  over: (facts: ZoneFacts) => facts.egressPorts,
  subject: (facts, key) => facts.egressPorts.get(...key)?.network,
  objects(facts, key) {
    const egressIp = facts.egressPorts.peek(...key)?.egressIp;
    return egressIp === undefined ? undefined : [`EgressIP ${egressIp}`];
  },
  rules: {
    reroute: {
      text: 'A pod with an EgressIP leaves by the nodes that have its addresses; while none has it sends nothing out of its network.',
      source: 'reference/topology.md §18.1',
    },
    snat: {
      text: 'On the default network the gateway router of the node that has the address gives it to what leaves.',
      source: 'reference/topology.md §18.1',
    },
    mark: {
      text: 'The gateway router marks what leaves, and the bridge lets it out with an egress address alone: on other networks than the default one it gives it that of the mark, or leads it to the host.',
      source: 'reference/topology.md §18.1',
    },
    'by-card': {
      text: "On the default network what leaves by another network card than the gateway's goes to the host, by its port there.",
      source: 'reference/topology.md §18.1',
    },
    arrival: {
      text: 'Of what other nodes send here to leave, that of pods with an address here passes.',
      source: 'reference/topology.md §18.1',
    },
  },
  claims: [POLICY_CLAIM, NAT_CLAIM],
  build(facts, key, out) {
    const port = facts.egressPorts.get(...key);
    const network = port && facts.rendered.get(port.network);
    if (port === undefined || network === undefined) return;
    const object = `EgressIP ${port.egressIp}`;
    const rows = Rows.northbound(out, object);
    const mark = facts.egressMarkOf(port.egressIp);
    // The bridge could not tell it from what has the node's address.
    const isMarkless = !isDefault(network) && mark === undefined;
    if (isMarkless)
      out.problem(
        object,
        `egressIP ${port.egressIp} object must contain a mark for user defined networks: its pods there send nothing out`,
      );
    const places = isMarkless ? [] : (facts.egressPlaces.part(port.egressIp, 'addresses') ?? []);
    const exits = isMarkless ? [] : facts.egressAddressesHere(port.egressIp);
    const isUsable = ({ card, address }: EgressPlace): boolean =>
      card === undefined ||
      isDefault(network) ||
      facts.cardLink(port.egressIp, familyOf(address)) !== undefined;
    if (!exits.every(isUsable))
      out.problem(
        object,
        `egress IP assigned to a host secondary interface for a user defined network (network name ${network.name}): the masquerade subnet has no address for it, pods there send nothing out by this node; choose a wider one (--gateway-v4-masquerade-subnet, /18 or wider), or an address in a network of the gateway`,
      );
    for (const address of port.addresses) {
      const ofFamily = places.filter(
        (place) => familyOf(place.address) === familyOf(address) && isUsable(place),
      );
      const here = exits.find(
        (exit) => familyOf(exit.address) === familyOf(address) && isUsable(exit),
      );
      if (port.isOwn) addReroute(rows.by('reroute'), facts, network, port, address, ofFamily);
      else if (here?.card !== undefined && isDefault(network))
        addReroute(rows.by('by-card'), facts, network, port, address, [here]);
      if (here !== undefined && !(here.card !== undefined && isDefault(network)))
        addExit(rows, facts, network, port, address, here.address, mark);
    }
  },
});

function addReroute(
  rows: Rows,
  facts: ZoneFacts,
  network: Network,
  port: EgressPort,
  address: string,
  places: readonly EgressPlace[],
): void {
  const ids = policyIds(POLICY_EGRESS_REROUTE, port, address);
  const nexthops = places.flatMap((place) => nextHop(facts, network, place, address) ?? []).sort();
  const isByCard = isDefault(network) && places.some(({ card }) => card !== undefined);
  const { router } = routerOf(network, facts.nodeName);
  const family = familyOf(address);
  // Pods of another family than the cluster's have no set.
  const sets = clusterFamilies(facts.settings).includes(family)
    ? [new RowReference('Address_Set', egressIpPods(family, network.name).name)]
    : [];
  rows.naming(
    sets,
    'Logical_Router_Policy',
    rerouteKey(port, address),
    {
      priority: POLICY_EGRESS_REROUTE,
      match: fromPod(address),
      ...(nexthops.length === 0 ? { action: 'drop' } : { action: 'reroute', nexthops }),
      // Tunnels don't carry it to the gateways of other nodes.
      ...(isByCard ? { options: { pkt_mark: String(MARK_EGRESS_BY_CARD) } } : {}),
      external_ids: ids,
    },
    holds('Logical_Router', router, 'policies'),
  );
}

/** Address by which the network's router reaches the gateway router of a node, or this one's host; undefined for a node that is not known. */
export function nextHop(
  facts: ZoneFacts,
  network: Network,
  { node, card }: Pick<EgressPlace, 'node' | 'card'>,
  address: string,
): string | undefined {
  const family = familyOf(address);
  if (card !== undefined && isDefault(network))
    return nodeRanges(facts.subnetsOn(network.name, node)).find((range) => range.family === family)
      ?.management;
  const isHere = node === facts.nodeName;
  const id = isHere ? facts.own('id') : facts.remoteNodes.part(node, 'id');
  if (id === undefined) return undefined;
  if (network.topology === 'layer2') return transitLink(network, { id }, family)?.gateway;
  if (!isHere) {
    const transit = facts.remoteNodes.part(node, 'transitAddresses')?.[family];
    return transit === undefined ? undefined : withoutPrefix(transit);
  }
  const join = joinSubnet(facts.settings, network, family);
  return join === undefined ? undefined : nthAddress(join, id);
}

/** What is needed on the node that has the address. */
function addExit(
  all: Rows,
  facts: ZoneFacts,
  network: Network,
  port: EgressPort,
  address: string,
  egressAddress: string,
  mark: number | undefined,
): void {
  const prefix = ovnPrefix(network.name);
  const gateway = gatewayRouter(prefix, facts.nodeName);
  if (isDefault(network))
    addIdentifiedNat(all.by('snat'), facts.settings, gateway, {
      logicalIp: address,
      externalIp: egressAddress,
      logicalPort: `k8s-${facts.nodeName}`,
      ids: objectIds(DEFAULT_CONTROLLER, OWNER, {
        name: `${port.egressIp}_${port.namespace}/${port.pod}`,
        'ip-family': ipOf(address),
      }),
    });
  // It comes with the way here: translation is looked up later, and may have changed by then.
  addAllowPolicy(all.by('mark'), gateway, {
    ids: policyIds(POLICY_EGRESS_MARK, port, address),
    priority: POLICY_EGRESS_MARK,
    match: isDefault(network)
      ? `${fromPod(address)} && pkt.mark == 0 && !(ct.trk && ct.rpl)`
      : `${fromPod(address)} && pkt.mark == 0`,
    options: { pkt_mark: String(isDefault(network) ? MARK_EGRESS_BY_GATEWAY : mark) },
  });
  if (!port.isOwn && network.topology === 'layer3')
    addAllowPolicy(all.by('arrival'), routerOf(network, facts.nodeName).router, {
      ids: policyIds(POLICY_EGRESS_ARRIVAL, port, address),
      priority: POLICY_EGRESS_ARRIVAL,
      match: `inport == "${layer3Names(network.name, facts.nodeName).routerToTransit}" && ${fromPod(address)}`,
    });
}

export const servedPods = feature({
  name: 'egress/served-pods',
  over: ({ rendered }: ZoneFacts) => rendered,
  rank: networkRank,
  subject: networkOf,
  objects: networkObjects,
  rules: {
    'served-pods': {
      text: 'Pods of this node that leave with an egress IP are in one address set per network and family.',
      source: 'reference/topology.md §18.1',
    },
  },
  claims: [ADDRESS_SET_CLAIM],
  build(facts, [name], out) {
    const network = facts.rendered.get(name);
    const { egressIp, egressService } = facts.settings.features;
    if (network === undefined || !(egressIp || egressService) || !hasGateway(network)) return;
    const rows = Rows.northbound(out, network.object).by('served-pods');
    // Families of the cluster, whatever those of the network: policies of all networks name both.
    for (const family of clusterFamilies(facts.settings)) {
      const served = facts.egressPorts.setOf('served', network.name, family);
      const byClass = facts.egressClassPorts.setOf('served', network.name, family);
      addAddressSet(
        rows,
        egressIpPods(family, network.name),
        byClass.size === 0 ? served : [...new Set([...served, ...byClass])].sort(),
      );
    }
  },
});
