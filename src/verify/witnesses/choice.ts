/** Which packets are asked about: from pods of this node to addresses of any network, by a seed. */
import { familyOf, parseAddress, withoutPrefix } from '../../allocators/addresses.ts';
import { list, member, rowsOf, text, type Row } from '../rows.ts';
import { networkOf, type Datapath } from '../intent/datapaths.ts';
import type { Snapshot } from '../snapshot.ts';
import type { Proof } from '../verify.ts';

/** A packet of a pod. All of it is of what was read, and none of it is text that a program could take for something else. */
export interface Witness {
  /** Logical port, and the switch that it is on. */
  readonly port: string;
  readonly datapath: string;
  readonly mac: string;
  readonly address: string;
  /** The pod's network. */
  readonly network: string;
  /** Whose address it is sent to; another network may have the same one. */
  readonly toNetwork: string;
  readonly toAddress: string;
  /** Of the network's router, or, past it, of whom the address is. */
  readonly toMac: string;
  /** Of a client that opens a connection. */
  readonly fromPort: number;
  readonly toPort: number;
}

/** Of a packet as it leaves its pod. */
export const TTL = 64;

interface Target {
  readonly network: string;
  readonly address: string;
  readonly mac: string | undefined;
}

interface Source {
  readonly port: string;
  readonly datapath: string;
  readonly mac: string;
  readonly addresses: readonly string[];
  readonly network: string;
  readonly routers: readonly string[];
}

const MAC = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i;
/** What a name of a logical port may have to be put into a match. */
const PORT_NAME = /^[\w.\-/]+$/;
/** Where a network has no router, and the address no owner. */
const NOBODYS_MAC = '02:00:00:00:00:01';
const PORTS = [22, 80, 443, 8080];
/** Ports that neither a pod's kernel gives its connections (net.ipv4.ip_local_port_range: 32768 to 60999) nor programs listen at. */
const [FIRST_SOURCE_PORT, SOURCE_PORTS] = [61_000, 4500];

/** The same seed gives the same numbers from 0 up to 1 (Mulberry32). */
export function numbersFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Packets for `count` pairs, two of three of them to another network; fewer where a pod has no address. Chosen from sorted lists: a database
 * keeps its rows in no order, and a seed has to mean the same packets again.
 */
export function chosenWitnesses(
  snapshot: Snapshot,
  proof: Proof,
  count: number,
  seed: number,
): readonly Witness[] {
  const next = numbersFrom(seed);
  const pick = <T>(all: readonly T[]): T | undefined => all[Math.floor(next() * all.length)];
  const sources = sourcesOf(snapshot, proof).toSorted(by(({ port }) => port));
  const targets = targetsOf(snapshot, proof).toSorted(
    by(({ network, address, mac }) => [network, address, mac].join(' ')),
  );
  const byFamily = new Map(
    [...Map.groupBy(targets, ({ address }) => familyOf(address))].map(([family, all]) => [
      family,
      Map.groupBy(all, ({ network }) => network),
    ]),
  );
  const witnesses: Witness[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const source = pick(sources);
    const address = source && pick(source.addresses);
    if (source === undefined || address === undefined) continue;
    const known = byFamily.get(familyOf(address)) ?? new Map<string, readonly Target[]>();
    const others = [...known.keys()].filter((name) => name !== source.network).toSorted();
    const network = turn % 3 === 2 ? source.network : (pick(others) ?? source.network);
    const to = pick(known.get(network) ?? []);
    if (to === undefined) continue;
    const isPast = next() < 0.25;
    const toMac = (isPast ? to.mac : undefined) ?? pick(source.routers) ?? to.mac ?? NOBODYS_MAC;
    const { port, datapath, mac } = source;
    witnesses.push({
      port,
      datapath,
      mac,
      address,
      network: source.network,
      toNetwork: to.network,
      toAddress: to.address,
      toMac,
      fromPort: FIRST_SOURCE_PORT + (turn % SOURCE_PORTS),
      toPort: pick(PORTS) ?? 80,
    });
  }
  return witnesses;
}

const by =
  <T>(keyOf: (one: T) => string) =>
  (a: T, b: T): number =>
    keyOf(a) < keyOf(b) ? -1 : Number(keyOf(a) > keyOf(b));

/** Pods of this node by their ports; those with names or addresses that are none are left out. */
function sourcesOf({ node, northbound }: Snapshot, proof: Proof): readonly Source[] {
  const { intent, datapaths } = proof;
  const routerPorts = new Map(
    rowsOf(northbound, 'Logical_Router_Port').map((row) => [text(row, 'name'), row]),
  );
  return datapaths.all.flatMap((datapath) =>
    datapath.ports.flatMap((row): Source[] => {
      const pod = intent.ports.get(text(row, 'name'));
      const network = networkOf(datapath)?.name;
      if (pod === undefined || network === undefined || pod.node !== node) return [];
      if (!PORT_NAME.test(pod.name) || !MAC.test(pod.mac)) return [];
      return [
        {
          port: pod.name,
          datapath: datapath.name,
          mac: pod.mac,
          addresses: pod.addresses.filter((one) => parseAddress(one) !== undefined),
          network,
          routers: routersOn(datapath, routerPorts),
        },
      ];
    }),
  );
}

/** Addresses of the router ports that a switch leads to. */
const routersOn = ({ ports }: Datapath, all: ReadonlyMap<string, Row>): readonly string[] =>
  ports
    .map((row) => member(row, 'options', 'router-port') ?? text(row, 'peer'))
    .map((peer) => all.get(peer))
    .map((row) => (row === undefined ? '' : text(row, 'mac')))
    .filter((mac) => MAC.test(mac));

/** Addresses of networks: of pods, of routers, and those by which a node knows a network. */
function targetsOf({ northbound }: Snapshot, { intent, datapaths }: Proof): readonly Target[] {
  const targets: Target[] = [...intent.ports.values()].flatMap(({ addresses, mac, network }) =>
    addresses.map((address) => ({ network, address, mac })),
  );
  for (const row of rowsOf(northbound, 'Logical_Router_Port')) {
    const datapath = datapaths.byPort.get(text(row, 'name'));
    const network = datapath === undefined ? undefined : networkOf(datapath)?.name;
    if (network === undefined) continue;
    for (const address of list(row, 'networks').map(withoutPrefix))
      targets.push({ network, address, mac: text(row, 'mac') });
  }
  for (const { name, gatewayAddresses, hostAddresses } of intent.networks)
    for (const address of [...gatewayAddresses, ...hostAddresses])
      targets.push({ network: name, address, mac: undefined });
  return targets
    .filter(({ address }) => parseAddress(address) !== undefined)
    .map((one) => ({
      ...one,
      mac: one.mac !== undefined && MAC.test(one.mac) ? one.mac : undefined,
    }));
}
