/**
 * Pods that leave to classes of destinations with the addresses of an EgressIP (OKEP-6227, reference/egress.md §1.15). On all networks, the default one included,
 * the gateway router marks what leaves, and the bridge gives it the address of the mark: of what a pod sends only the router that knows where to can tell.
 */

import { familyOf, FAMILIES, ipOf } from '../../allocators/addresses.ts';
import { ovnPrefix } from '../../api/nad/network-name.ts';
import { feature } from '../../desired/features.ts';
import { RowReference } from '../../desired/rows.ts';
import type { Network } from '../../model/model.ts';
import { DEFAULT_CONTROLLER, gatewayRouter, layer3Names } from '../../model/rules/names.ts';
import type { EgressClassPort, EgressClassUse } from '../../model/zone/egress-classes.ts';
import type { EgressPlace } from '../../model/zone/egress-ips.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { routerOf } from '../connect/connect-rows.ts';
import {
  POLICY_EGRESS_ARRIVAL,
  POLICY_EGRESS_CLASS,
  POLICY_EGRESS_CLASS_MARK,
} from '../numbers.ts';
import {
  addAddressSet,
  ADDRESS_SET_CLAIM,
  egressDestinations as destinationSet,
  type AddressSet,
} from '../rows/address-sets.ts';
import { OBJECT_ID, objectIds, type ExternalIds } from '../rows/object-ids.ts';
import { identifiedPolicyKey } from '../rows/row-keys.ts';
import { addAllowPolicy, POLICY_CLAIM } from '../rows/router-rows.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import { nextHop } from './egress-ip.ts';

export const egressDestinations = feature({
  name: 'egress/egress-destinations',
  over: (facts: ZoneFacts) => facts.egressDestinations,
  objects: (_facts, [egressIp]) => [`EgressIP ${egressIp}`],
  rules: {
    destinations: {
      text: 'The destinations of the EgressTrafficClasses that an EgressIP selects are in one address set per family.',
      source: 'reference/egress.md §1.15',
    },
  },
  claims: [ADDRESS_SET_CLAIM],
  build(facts, [egressIp], out) {
    const cidrs = facts.egressDestinations.part(egressIp, 'cidrs') ?? [];
    const rows = Rows.northbound(out, `EgressIP ${egressIp}`).by('destinations');
    for (const family of FAMILIES) {
      const ofFamily = cidrs.filter((cidr) => familyOf(cidr) === family);
      if (ofFamily.length > 0) addAddressSet(rows, destinationSet(egressIp, family), ofFamily);
    }
  },
});

/** What a pod's address sends to destinations of an EgressIP. */
interface Traffic {
  readonly address: string;
  readonly match: string;
  readonly sets: readonly AddressSet[];
}

function trafficOf(facts: ZoneFacts, { egressIp, addresses, only }: EgressClassUse): Traffic[] {
  const cidrs = facts.egressDestinations.part(egressIp, 'cidrs') ?? [];
  return addresses.flatMap((address) => {
    const family = familyOf(address);
    const ip = ipOf(address);
    const left = (only ?? cidrs).filter((cidr) => familyOf(cidr) === family);
    if (left.length === 0) return [];
    const set = destinationSet(egressIp, family);
    const to = only === undefined ? `$${set.name}` : `{${left.join(', ')}}`;
    const sets = only === undefined ? [set] : [];
    return [{ address, match: `${ip}.src == ${address} && ${ip}.dst == ${to}`, sets }];
  });
}

const policyIds = (
  priority: number,
  port: EgressClassPort,
  { egressIp }: EgressClassUse,
  address: string,
): ExternalIds & { readonly [OBJECT_ID]: string } =>
  objectIds(DEFAULT_CONTROLLER, 'EgressIP', {
    priority: String(priority),
    name: `${egressIp}_${port.namespace}/${port.pod}`,
    'ip-family': ipOf(address),
    network: port.network,
  });

/** Policies without which a port must not be: its pod would leave to these destinations with another address. */
export const classReroutesOf = (
  facts: ZoneFacts,
  port: EgressClassPort | undefined,
): readonly RowReference[] =>
  port?.isOwn === true
    ? port.uses.flatMap((use) =>
        trafficOf(facts, use).map(
          ({ address, match }) =>
            new RowReference(
              'Logical_Router_Policy',
              identifiedPolicyKey(
                policyIds(POLICY_EGRESS_CLASS, port, use, address)[OBJECT_ID],
                match,
              ),
            ),
        ),
      )
    : [];

export const egressClasses = feature({
  name: 'egress/egress-class',
  over: (facts: ZoneFacts) => facts.egressClassPorts,
  subject: (facts, key) => facts.egressClassPorts.get(...key)?.network,
  objects: (facts, key) =>
    facts.egressClassPorts.peek(...key)?.uses.map(({ egressIp }) => `EgressIP ${egressIp}`),
  rules: {
    reroute: {
      text: 'What a pod sends to destinations of an EgressIP leaves by the nodes that have its addresses; while none has it is dropped.',
      source: 'reference/egress.md §1.15',
    },
    mark: {
      text: 'The gateway router marks it, and the bridge gives it the address of the mark, or leads it to the host.',
      source: 'reference/egress.md §1.15',
    },
    arrival: {
      text: 'Of what other nodes send here to leave, that to destinations of an EgressIP with an address here passes.',
      source: 'reference/egress.md §1.15',
    },
  },
  claims: [POLICY_CLAIM],
  build(facts, key, out) {
    const port = facts.egressClassPorts.get(...key);
    const network = port && facts.rendered.get(port.network);
    if (port === undefined || network === undefined) return;
    for (const use of port.uses) {
      const object = `EgressIP ${use.egressIp}`;
      const mark = facts.egressMarkOf(use.egressIp);
      if (mark === undefined)
        out.problem(
          object,
          `egressIP ${use.egressIp} object must contain a mark for classes of destinations: its pods send nothing there`,
        );
      const rows = Rows.northbound(out, object);
      for (const traffic of trafficOf(facts, use))
        addTraffic(rows, facts, network, port, use, traffic, mark);
    }
  },
});

function addTraffic(
  rows: Rows,
  facts: ZoneFacts,
  network: Network,
  port: EgressClassPort,
  use: EgressClassUse,
  { address, match, sets }: Traffic,
  mark: number | undefined,
): void {
  const { router } = routerOf(network, facts.nodeName);
  const ids = (priority: number) => policyIds(priority, port, use, address);
  const isUsable = (place: EgressPlace): boolean =>
    mark !== undefined &&
    familyOf(place.address) === familyOf(address) &&
    // By other cards the host knows it by an address of the EgressIP.
    (place.card === undefined || facts.cardLink(use.egressIp, familyOf(address)) !== undefined);
  if (port.isOwn) {
    const nexthops = (facts.egressPlaces.part(use.egressIp, 'addresses') ?? [])
      .filter(isUsable)
      .flatMap(({ node }) => nextHop(facts, network, { node }, address) ?? [])
      .sort();
    rows.by('reroute').naming(
      sets.map(({ name }) => new RowReference('Address_Set', name)),
      'Logical_Router_Policy',
      identifiedPolicyKey(ids(POLICY_EGRESS_CLASS)[OBJECT_ID], match),
      {
        priority: POLICY_EGRESS_CLASS,
        match,
        ...(nexthops.length === 0 ? { action: 'drop' } : { action: 'reroute', nexthops }),
        external_ids: ids(POLICY_EGRESS_CLASS),
      },
      holds('Logical_Router', router, 'policies'),
    );
  }
  if (!facts.egressAddressesHere(use.egressIp).some(isUsable)) return;
  addAllowPolicy(rows.by('mark'), gatewayRouter(ovnPrefix(network.name), facts.nodeName), {
    ids: ids(POLICY_EGRESS_CLASS_MARK),
    priority: POLICY_EGRESS_CLASS_MARK,
    match: `${match} && pkt.mark == 0`,
    options: { pkt_mark: String(mark) },
    sets,
  });
  if (!port.isOwn && network.topology === 'layer3')
    addAllowPolicy(rows.by('arrival'), router, {
      ids: ids(POLICY_EGRESS_ARRIVAL),
      priority: POLICY_EGRESS_ARRIVAL,
      match: `inport == "${layer3Names(network.name, facts.nodeName).routerToTransit}" && ${match}`,
      sets,
    });
}
