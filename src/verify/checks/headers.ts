/** What passes where pods of one network may send to pods of another one: the sets of headers that edges list. */
import type { Findings, ListedHeaders } from '../findings.ts';
import {
  box,
  DESTINATION,
  difference,
  EMPTY,
  intersection,
  SOURCE,
  union,
  withoutState,
  type HeaderSet,
} from '../headers/boxes.ts';
import { isDecided, legsOf, podSwitchOf, type Leg } from '../headers/legs.ts';
import { listed } from '../headers/listed.ts';
import { allOf, without, type Ranges } from '../headers/ranges.ts';
import { perhapsOf, type Direction } from '../headers/stages.ts';
import type { DatapathLookup } from '../intent/datapaths.ts';
import { addressesOf, type Intent, type Join } from '../intent/intent.ts';
import type { VerifiedNetwork } from '../intent/networks.ts';
import type { VerifiedServices } from '../intent/services.ts';
import type { NorthboundRows } from '../northbound-rows.ts';
import { aclText } from './access-lists.ts';
import { checkServicesAlone } from './services-alone.ts';

/** Works out what passes the ACLs of the switch of a network here, to and from the networks that objects join with it. */
export function checkHeaders(
  network: VerifiedNetwork,
  northbound: NorthboundRows,
  datapaths: DatapathLookup,
  intent: Intent,
  services: VerifiedServices,
  findings: Findings,
): void {
  const joins = intent.joinsOf(network.name);
  if (joins.length === 0) return;
  const home = podSwitchOf(network.name, northbound, datapaths, intent);
  if (home === undefined) return;
  const at = { network, joins, home, northbound, datapaths, intent, services };
  checkServicesAlone(at, findings);
  const beyond = joins.map((join) => without(join.addresses, addressesOf(network)));
  const others = allOf(beyond);
  const [leaving, entering] = (['from-lport', 'to-lport'] as const).map((direction) =>
    legsOf(home, direction, others, northbound),
  ) as [readonly Leg[], readonly Leg[]];
  for (const leg of [...leaving, ...entering])
    if (!isDecided(leg.begins))
      for (const [row, why] of leg.begins.undecided)
        findings.leaveOpen(
          `${aclText(row)}: ${why}: what it lets pass between network ${network.name} and others is not known`,
        );
  const own = allOf(home.classes.map(({ addresses }) => addresses));
  for (const [index, join] of joins.entries()) {
    const note = (to: string, addresses: Ranges): void => {
      findings.pass(network.name, to, {
        passes: listedLegs(leaving, 'from-lport', addresses, own),
        enters: listedLegs(entering, 'to-lport', addresses, addresses),
      });
    };
    // Connections have a router of their own; networks of one namespace are side by side.
    if (isConnection(join)) note(join.object, beyond[index] ?? []);
    else
      for (const other of join.networks)
        if (other !== network.name) note(other, addressesOf(intent.byName.get(other)));
  }
}

const isConnection = ({ object }: Join): boolean => object.startsWith('ClusterNetworkConnect ');

const sumOf = (sets: readonly HeaderSet[]): HeaderSet =>
  sets.reduce<HeaderSet>((sum, set) => union(sum, withoutState(set)), EMPTY);

/** What begins, and what passes of connections that have begun alone. */
function listedLegs(
  legs: readonly Leg[],
  direction: Direction,
  others: Ranges,
  allSources: Ranges,
): ListedHeaders {
  const within = [box({ [direction === 'from-lport' ? DESTINATION : SOURCE]: others })];
  const of = (set: HeaderSet): HeaderSet => intersection(set, within);
  const begins = sumOf(legs.map((leg) => of(perhapsOf(leg.begins))));
  const going = difference(sumOf(legs.map((leg) => of(leg.established))), begins);
  const [first, second] = [listed(begins, allSources), listed(going, allSources, true)];
  return {
    passes: [...first.passes, ...second.passes],
    more: first.more + second.more,
  };
}
