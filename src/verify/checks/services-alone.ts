/** Where a connection opens services alone, pods of its networks begin no connections with each other: as sets of headers, whatever rows say so. */
import type { Findings } from '../findings.ts';
import { DESTINATION, intersection, type HeaderSet } from '../headers/boxes.ts';
import { legsOf, type PodSwitch } from '../headers/legs.ts';
import { packetOf } from '../headers/listed.ts';
import { addressesNamed } from '../headers/matched.ts';
import { allOf, both, either, without, type Ranges } from '../headers/ranges.ts';
import { rowText, type DatapathLookup } from '../intent/datapaths.ts';
import { addressesOf, type Intent, type Join } from '../intent/intent.ts';
import type { VerifiedNetwork } from '../intent/networks.ts';
import type { VerifiedServices } from '../intent/services.ts';
import type { NorthboundRows } from '../northbound-rows.ts';
import { text, type Row } from '../rows.ts';
import { aclText } from './access-lists.ts';

/** What a check of a network's pods is made of. */
export interface AtNetwork {
  readonly network: VerifiedNetwork;
  readonly joins: readonly Join[];
  readonly home: PodSwitch;
  readonly northbound: NorthboundRows;
  readonly datapaths: DatapathLookup;
  readonly intent: Intent;
  readonly services: VerifiedServices;
}

export function checkServicesAlone(at: AtNetwork, findings: Findings): void {
  const { network, joins } = at;
  const opened = allOf([
    addressesOf(network),
    ...joins.filter(({ opensPods }) => opensPods).map(({ addresses }) => addresses),
  ]);
  for (const join of joins)
    if (!join.opensPods && isLinked(join, at)) {
      const closed = without(join.addresses, either(opened, pooled(join, at.services)));
      checkClosed(join, closed, at, findings);
    }
}

/** Addresses that services have in the subnets of networks: no pod has them. */
const pooled = ({ members }: Join, services: VerifiedServices): Ranges =>
  addressesNamed(
    [...services.byKey.values()]
      .filter(({ networks }) => [...networks].some((name) => members.has(name)))
      .flatMap(({ poolAddresses }) => poolAddresses),
  );

/** A router of the network has a way to that of the connection. */
const isLinked = ({ object }: Join, { network, datapaths }: AtNetwork): boolean =>
  datapaths
    .ofNetwork(network.name)
    .filter(({ table }) => table === 'Logical_Router')
    .flatMap(({ ports }) => ports)
    .some((port) => {
      const peer = text(port, 'peer');
      const owner = peer === '' ? undefined : datapaths.byPort.get(peer)?.owner;
      return owner?.kind === 'connection' && owner.connection.object === object;
    });

function checkClosed(join: Join, closed: Ranges, at: AtNetwork, findings: Findings): void {
  const { network, home, northbound } = at;
  // One that comes tomorrow, and is in no group yet, is no more open than the others.
  const anyPod = {
    ports: [],
    addresses: addressesOf(network),
    side: { name: '', isIn: () => false },
  };
  const told = new Set<Row | undefined>();
  const classes = [...home.classes, anyPod];
  for (const { begins } of legsOf({ ...home, classes }, 'from-lport', closed, northbound))
    for (const { headers, row: letting } of begins.perhaps) {
      // What lets it go on to the router only follows what should have dropped it before.
      const row = letting && text(letting, 'direction') === 'from-lport' ? letting : undefined;
      const open = intersection(headers, begins.surely);
      if (open.length === 0 || told.has(row)) continue;
      told.add(row);
      tell(row, open, join, at, findings);
    }
}

function tell(
  row: Row | undefined,
  open: HeaderSet,
  { object, networks }: Join,
  { network, home, intent }: AtNetwork,
  findings: Findings,
): void {
  const reached = allOf(open.map((one) => one[DESTINATION] ?? []));
  const others = networks.filter(
    (name) =>
      name !== network.name && both(addressesOf(intent.byName.get(name)), reached).length > 0,
  );
  const pods = `what pods of network ${network.name} begin with pods of ${others.join(', ')}`;
  findings.wrong(
    'cut',
    row === undefined ? rowText('Logical_Switch', home.datapath.name) : aclText(row),
    `${row === undefined ? 'has no ACL that drops' : 'lets pass'} ${pods}, as ${packetOf(open)?.text ?? 'none'}: ${object} opens services alone`,
    object,
    [network.name, ...others],
  );
}
