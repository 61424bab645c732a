/**
 * What objects say, while they change. Networks, nodes, connections and EgressIPs are few, and are read anew when one of them changes; pods are many, and each
 * is read by itself. Whoever read a value that is another one afterwards is judged again.
 */
import { isDeepStrictEqual } from 'node:util';
import { formatPrefix } from '../../allocators/addresses.ts';
import { openDefaultPorts, type OpenPort } from '../../api/annotations/pod-annotations.ts';
import type { Pod } from '../../api/types.ts';
import { Findings } from '../findings.ts';
import { connectionsOf, type VerifiedConnection } from '../intent/connections.ts';
import {
  egressAddressesOf,
  egressMarksOf,
  hostAddressesOf,
  Joins,
  joinsOf,
  nodesOf,
  ownersOf,
  type Intent,
  type VerifiedNode,
} from '../intent/intent.ts';
import { NetworkMemory, networksOf, type VerifiedNetwork } from '../intent/networks.ts';
import { byNad, nadsOf, portsOfPod, type VerifiedPort } from '../intent/pods.ts';
import type { Objects, Settings } from '../snapshot.ts';
import { KeptPoliced } from './kept-policed.ts';
import { NotedMap } from './noted-map.ts';
import type { Readers } from './readers.ts';

interface OfNetworks {
  readonly networks: readonly VerifiedNetwork[];
  readonly byName: ReadonlyMap<string, VerifiedNetwork>;
  readonly byId: ReadonlyMap<number, VerifiedNetwork>;
  readonly nads: ReadonlyMap<string, string>;
  readonly owners: ReadonlyMap<string, VerifiedNetwork>;
}

const ofNetworks = (networks: readonly VerifiedNetwork[]): OfNetworks => ({
  networks,
  byName: new Map(networks.map((network) => [network.name, network])),
  byId: new Map(networks.map((network) => [network.id, network])),
  nads: byNad(networks),
  owners: ownersOf(networks),
});

interface OfConnections {
  readonly connections: readonly VerifiedConnection[];
  readonly allJoins: Intent['joins'];
  readonly joins: Joins;
}

function ofConnections(
  networks: readonly VerifiedNetwork[],
  connections: readonly VerifiedConnection[],
): OfConnections {
  const allJoins = joinsOf(networks, connections);
  return { connections, allJoins, joins: new Joins(allJoins) };
}

/** What is read of few objects, in parts that stay the same values while nothing of theirs changes. */
interface Few {
  readonly ofNetworks: OfNetworks;
  readonly ofConnections: OfConnections;
  readonly nodes: ReadonlyMap<string, VerifiedNode>;
  readonly hostAddresses: Intent['hostAddresses'];
  readonly egressMarks: ReadonlyMap<number, string>;
  readonly egressAddresses: ReadonlyMap<string, string>;
}

/** How a value that somebody read is found again, and of which part it is. */
const READ: Readonly<
  Record<string, readonly [part: keyof Few, (few: Few, key: string, node: string) => unknown]>
> = {
  network: ['ofNetworks', ({ ofNetworks: { byName } }, key) => byName.get(key)],
  'network id': ['ofNetworks', ({ ofNetworks: { byId } }, key) => byId.get(Number(key))],
  owner: ['ofNetworks', ({ ofNetworks: { owners } }, key) => owners.get(key)],
  joins: ['ofConnections', ({ ofConnections: { joins } }, key) => joins.of(key)],
  node: ['nodes', ({ nodes }, key) => nodes.get(key)],
  here: ['nodes', ({ nodes }, _, node) => nodes.get(node)],
  'host addresses': ['hostAddresses', ({ hostAddresses }, key) => hostAddresses.get(key)],
  mark: ['egressMarks', ({ egressMarks }, key) => egressMarks.get(Number(key))],
  'egress address': ['egressAddresses', ({ egressAddresses }, key) => egressAddresses.get(key)],
  'all networks': ['ofNetworks', ({ ofNetworks: { networks } }) => networks],
  'all connections': ['ofConnections', ({ ofConnections: { connections } }) => connections],
  'all joins': ['ofConnections', ({ ofConnections: { allJoins } }) => allJoins],
  'all nodes': ['nodes', ({ nodes }) => nodes],
  'all host addresses': ['hostAddresses', ({ hostAddresses }) => hostAddresses],
  'all marks': ['egressMarks', ({ egressMarks }) => egressMarks],
};

/** Of two values that are alike the earlier one, so that what holds it stays the same. */
const kept = <T>(before: T, now: T): T => (isDeepStrictEqual(before, now) ? before : now);

/** Of two lists of the very same values the earlier one. */
const keptList = <T>(before: readonly T[] | undefined, now: readonly T[]): readonly T[] =>
  before?.length === now.length && now.every((one, i) => one === before[i]) ? before : now;

interface KeptPod {
  readonly pod: Pod;
  readonly ports: readonly VerifiedPort[];
  readonly open: readonly OpenPort[];
}

export class KeptIntent {
  readonly #readers: Readers;
  readonly #node: string;
  readonly #memory = new NetworkMemory();
  #few: Few | undefined;
  #findings = new Findings();
  readonly #pods = new Map<string, KeptPod>();
  readonly #podsByNad = new Map<string, Set<string>>();
  readonly #ports = new Map<string, VerifiedPort[]>();
  /** Pods as policies ask for them. */
  readonly policed: KeptPoliced;
  /** As checks read it. */
  readonly intent: Intent;

  constructor(node: string, readers: Readers) {
    this.#readers = readers;
    this.#node = node;
    this.policed = new KeptPoliced(readers);
    this.intent = this.#noted();
  }

  get findings(): Findings {
    return this.#findings;
  }

  get networks(): readonly VerifiedNetwork[] {
    return this.#now.ofNetworks.networks;
  }

  get connections(): readonly VerifiedConnection[] {
    return this.#now.ofConnections.connections;
  }

  get #now(): Few {
    if (this.#few === undefined) throw new Error('no objects have been read');
    return this.#few;
  }

  /** Reads all objects but pods anew. False when networks and connections are what they were. */
  readFew(objects: Objects, settings: Settings): boolean {
    const before = this.#few;
    const findings = new Findings();
    const snapshot = { node: this.#node, objects, settings };
    const networks = keptList(
      before?.ofNetworks.networks,
      networksOf(snapshot, findings, this.#memory),
    );
    const known = new Map(before?.ofConnections.connections.map((one) => [one.name, one]));
    const connections = keptList(
      before?.ofConnections.connections,
      connectionsOf(objects, networks, findings).map((one) =>
        kept(known.get(one.name) ?? one, one),
      ),
    );
    const hasNetworks = before?.ofNetworks.networks === networks;
    const hasBoth = hasNetworks && before.ofConnections.connections === connections;
    const now: Few = {
      ofNetworks: hasNetworks ? before.ofNetworks : ofNetworks(networks),
      ofConnections: hasBoth ? before.ofConnections : ofConnections(networks, connections),
      nodes: nodesOf(snapshot),
      hostAddresses: hostAddressesOf(snapshot),
      egressMarks: egressMarksOf(objects, findings),
      egressAddresses: egressAddressesOf(objects),
    };
    this.#few = now;
    this.#findings = findings;
    if (before === undefined) return true;
    for (const [kind, [part, read]] of Object.entries(READ)) {
      if (before[part] === now[part]) continue;
      for (const key of this.#readers.keysOf(kind)) {
        const [old, value] = [read(before, key, this.#node), read(now, key, this.#node)];
        if (old !== value && !isDeepStrictEqual(old, value)) this.#readers.changed(kind, key);
      }
    }
    if (!hasNetworks) this.#reattach(before.ofNetworks.nads, now.ofNetworks.nads);
    return !hasBoth;
  }

  /** Puts a pod in its place, or takes it away. */
  setPod(key: string, pod: Pod | undefined): void {
    const before = this.#pods.get(key);
    for (const nad of before === undefined ? [] : nadsOf(before.pod))
      this.#podsByNad.get(nad)?.delete(key);
    for (const port of before?.ports ?? []) this.#drop(port);
    this.#pods.delete(key);
    if (pod !== undefined) {
      for (const nad of nadsOf(pod)) {
        const pods = this.#podsByNad.get(nad);
        if (pods === undefined) this.#podsByNad.set(nad, new Set([key]));
        else pods.add(key);
      }
      const ports = portsOfPod(pod, this.#now.ofNetworks.nads);
      for (const port of ports)
        this.#ports.set(port.name, [...(this.#ports.get(port.name) ?? []), port]);
      this.#pods.set(key, { pod, ports, open: openDefaultPorts(pod).value ?? [] });
    }
    const after = this.#pods.get(key);
    this.policed.setPod(key, after);
    for (const { name } of [...(before?.ports ?? []), ...(after?.ports ?? [])])
      this.#readers.changed('port of pod', name);
    this.#readers.changed('ports of pod', key);
    this.#readers.changed('open ports', key);
    this.#readers.changed('all pods', '');
  }

  #drop(port: VerifiedPort): void {
    const rest = (this.#ports.get(port.name) ?? []).filter((one) => one !== port);
    if (rest.length === 0) this.#ports.delete(port.name);
    else this.#ports.set(port.name, rest);
  }

  /** Pods of NADs that name another network than before. */
  #reattach(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): void {
    const pods = new Set<string>();
    for (const nad of new Set([...before.keys(), ...now.keys()]))
      if (before.get(nad) !== now.get(nad))
        for (const key of this.#podsByNad.get(nad) ?? []) pods.add(key);
    for (const key of pods) this.setPod(key, this.#pods.get(key)?.pod);
  }

  #noted(): Intent {
    const readers = this.#readers;
    const few = (): Few => this.#now;
    const note = (kind: string, key = ''): void => {
      readers.note(kind, key);
    };
    const map = <K extends string | number, V>(
      one: string,
      all: string,
      values: () => ReadonlyMap<K, V>,
    ): ReadonlyMap<K, V> => new NotedMap(readers, one, all, values);
    const ports = (): ReadonlyMap<string, VerifiedPort> =>
      new Map([...this.#ports.values()].flat().map((port) => [port.name, port]));
    const byName = map('network', 'all networks', () => few().ofNetworks.byName);
    return {
      node: this.#node,
      get networks() {
        note('all networks');
        return few().ofNetworks.networks;
      },
      byName,
      byId: map('network id', 'all networks', () => few().ofNetworks.byId),
      ports: new NotedMap(readers, 'port of pod', 'all pods', ports, (name) =>
        this.#ports.get(name)?.at(-1),
      ),
      get connections() {
        note('all connections');
        return few().ofConnections.connections;
      },
      get joins() {
        note('all joins');
        return few().ofConnections.allJoins;
      },
      nodes: map('node', 'all nodes', () => few().nodes),
      get here() {
        note('here');
        return few().nodes.get(this.node);
      },
      hostAddresses: map('host addresses', 'all host addresses', () => few().hostAddresses),
      openPorts: new NotedMap(
        readers,
        'open ports',
        'all pods',
        () => new Map([...this.#pods].map(([key, { open }]) => [key, open])),
        (key) => this.#pods.get(key)?.open,
      ),
      egressMarks: map('mark', 'all marks', () => few().egressMarks),
      egressAddresses: {
        has: (address) => {
          note('egress address', address);
          return few().egressAddresses.has(address);
        },
        get: (address) => {
          note('egress address', address);
          return few().egressAddresses.get(address);
        },
      },
      portsOfPod: (pod) => {
        note('ports of pod', pod);
        return this.#pods.get(pod)?.ports ?? [];
      },
      ownerOf: (address) => {
        note('owner', address);
        return few().ofNetworks.owners.get(address);
      },
      textOf: formatPrefix,
      objectOf: (network) =>
        network === undefined ? 'no object' : (byName.get(network)?.object ?? `network ${network}`),
      joinedBy: (a, b) => {
        note('joins', a);
        return few().ofConnections.joins.between(a, b);
      },
      joinsOf: (network) => {
        note('joins', network);
        return few().ofConnections.joins.of(network);
      },
      neighbours: (network) => {
        note('joins', network);
        return few().ofConnections.joins.neighbours(network);
      },
    };
  }
}
