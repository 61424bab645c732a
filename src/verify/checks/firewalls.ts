/** EgressFirewalls and rows: what pods of this node send outside of their network passes as the firewall of their namespace has it, no more and no less. */
import { nthAddress } from '../../allocators/addresses.ts';
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import { familyCidrs } from '../../api/nad/network-config.ts';
import {
  box,
  DESTINATION,
  difference,
  intersection,
  PORT,
  PROTOCOL,
  union,
  withoutState,
  type HeaderSet,
} from '../headers/boxes.ts';
import { leavingPlaces, type PodPlace } from '../headers/legs.ts';
import { addressesNamed } from '../headers/matched.ts';
import { allOf, between, without, type Ranges } from '../headers/ranges.ts';
import { perhapsOf, stoppingRow } from '../headers/stages.ts';
import { addressesOf } from '../intent/intent.ts';
import type { VerifiedPort } from '../intent/pods.ts';
import type { Firewall } from '../policies/firewalls.ts';
import type { Read } from '../policies/rules.ts';
import type { Wanted } from '../policies/wanted.ts';
import { wantedOutside } from '../policies/wanted-outside.ts';
import { headersOf, type PolicedNetwork } from './policed-network.ts';

/** Place of the forwarder of DNS in the masquerade subnet (reference/topology.md §18.2). */
const DNS_FORWARDER = 6;
const NONE: Read<Firewall> = { rules: [], unread: [] };

/** Yields after each kind of pods. */
export function* checkFirewalls(policed: PolicedNetwork): Generator<undefined, void> {
  const { network, home, at } = policed;
  // Nothing leaves the cluster by others, and firewalls have no rows there (reference/topology.md §18.2).
  if (!network.hasGateway) return;
  yield* policed.each(leavingPlaces(home, at.rows), 'EgressFirewalls', (place, judged) => {
    for (const [namespace, ports] of Map.groupBy(judged, (port) => port.namespace))
      checkNamespace(namespace, ports, place, policed);
  });
}

function checkNamespace(
  namespace: string,
  ports: readonly VerifiedPort[],
  place: PodPlace,
  policed: PolicedNetwork,
): void {
  const { at, findings, network } = policed;
  const { rules, unread } = at.settings.features.egressFirewall
    ? at.rules.firewallsOf(namespace)
    : NONE;
  const inside = addressesOf(network);
  const universe = headersOf('Egress', ports, judgedDestinations(namespace, policed));
  const passed = place.passing(universe);
  const [firewall, ...others] = rules;
  const why =
    unread[0] ??
    (others.length === 0 || firewall === undefined
      ? undefined
      : { object: firewall.object, why: `namespace ${namespace} has more than one` });
  if (why !== undefined) {
    const outside = difference(withoutState(perhapsOf(passed)), [box({ [DESTINATION]: inside })]);
    if (outside.length > 0)
      findings.leaveOpen(
        `${why.object}: ${why.why}: whether what was read of it before is in force is not known, and not all is shut that pods of namespace ${namespace} send out of network ${network.name}`,
      );
    return;
  }
  policed.compare({
    check: 'firewalls',
    kind: 'EgressFirewall',
    direction: 'Egress',
    ports,
    universe,
    passed,
    wanted: wantedOf(firewall, universe, inside, policed),
    stopping: ({ header }) => stoppingRow(header, place.at),
    isFaulty: (owner) => owner.startsWith('EgressFirewall '),
  });
}

function wantedOf(
  firewall: Firewall | undefined,
  universe: HeaderSet,
  inside: Ranges,
  { at, selected, findings, network }: PolicedNetwork,
): Wanted {
  if (firewall === undefined)
    return { surely: universe, perhaps: universe, allowing: [], denying: [] };
  const wanted = wantedOutside(firewall, universe, {
    selected,
    rows: at.rows,
    settings: at.settings,
    inside,
    onUnknown(name) {
      findings.leaveOpen(
        `${firewall.object}: no row of Address_Set has what DNS knows ${name} by: whether its rules on network ${network.name} are in force is not known`,
      );
    },
  });
  // While rules of any firewall have names the question itself passes.
  const dns = intersection(universe, questions(network.name === DEFAULT_NETWORK, at));
  return dns.length === 0 ? wanted : { ...wanted, perhaps: union(wanted.perhaps, dns) };
}

/** Headers of what asks DNS, by which pods may be let past their rules (reference/topology.md §18.2). */
function questions(isOnDefault: boolean, { settings, services }: PolicedNetwork['at']): HeaderSet {
  const { dnsServers, masqueradeSubnets } = settings;
  if (isOnDefault) {
    const forwarders = familyCidrs(masqueradeSubnets).map((cidr) =>
      nthAddress(cidr, DNS_FORWARDER),
    );
    return [box({ [DESTINATION]: addressesNamed(forwarders) })];
  }
  const addresses =
    typeof dnsServers === 'string' ? services.byKey.get(dnsServers)?.clusterAddresses : dnsServers;
  return [
    box({
      [DESTINATION]: addressesNamed(addresses ?? []),
      [PROTOCOL]: allOf([between(6, 6), between(17, 17)]),
      [PORT]: between(53, 53),
    }),
  ];
}

/** Destinations that are asked about: not other primary networks of the namespace, which are outside or not as nodes have them. */
function judgedDestinations(namespace: string, policed: PolicedNetwork): Ranges {
  const { network } = policed;
  const { intent } = policed.at;
  const others = intent
    .joinsOf(network.name)
    .filter(({ object }) => object === `Namespace ${namespace}`)
    .flatMap(({ networks }) => networks)
    .filter((name) => name !== network.name && network.role === 'primary')
    .map((name) => addressesOf(intent.byName.get(name)));
  return without(policed.everybody(), allOf([policed.closed(), ...others]));
}
