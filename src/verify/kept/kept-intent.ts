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

/** What is read of few objects, as one value. */
interface Few {
  readonly networks: readonly VerifiedNetwork[];
  readonly byName: ReadonlyMap<string, VerifiedNetwork>;
  readonly byId: ReadonlyMap<number, VerifiedNetwork>;
  readonly nads: ReadonlyMap<string, string>;
  readonly owners: ReadonlyMap<string, VerifiedNetwork>;
  readonly connections: readonly VerifiedConnection[];
  readonly allJoins: Intent['joins'];
  readonly joins: Joins;
  readonly nodes: ReadonlyMap<string, VerifiedNode>;
  readonly hostAddresses: Intent['hostAddresses'];
  readonly egressMarks: ReadonlyMap<number, string>;
  readonly egressAddresses: ReadonlyMap<string, string>;
}

/** How a value that somebody read is found again. */
const READ: Readonly<Record<string, (few: Few, key: string, node: string) => unknown>> = {
  network: ({ byName }, key) => byName.get(key),
  'network id': ({ byId }, key) => byId.get(Number(key)),
  owner: ({ owners }, key) => owners.get(key),
  joins: ({ joins }, key) => joins.of(key),
  node: ({ nodes }, key) => nodes.get(key),
  here: ({ nodes }, _, node) => nodes.get(node),
  'host addresses': ({ hostAddresses }, key) => hostAddresses.get(key),
  mark: ({ egressMarks }, key) => egressMarks.get(Number(key)),
  'egress address': ({ egressAddresses }, key) => egressAddresses.get(key),
  'all networks': ({ networks }) => networks.map((one) => one),
  'all connections': ({ connections }) => connections,
  'all joins': ({ allJoins }) => allJoins,
  'all nodes': ({ nodes }) => nodes,
  'all host addresses': ({ hostAddresses }) => hostAddresses,
  'all marks': ({ egressMarks }) => egressMarks,
};

/** Of two values that are alike the earlier one, so that what holds it stays the same. */
const kept = <T>(before: T, now: T): T => (isDeepStrictEqual(before, now) ? before : now);

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
    return this.#now.networks;
  }

  get connections(): readonly VerifiedConnection[] {
    return this.#now.connections;
  }

  get #now(): Few {
    if (this.#few === undefined) throw new Error('no objects have been read');
    return this.#few;
  }

  /** Reads all objects but pods anew. */
  readFew(objects: Objects, settings: Settings): void {
    const before = this.#few;
    const findings = new Findings();
    const snapshot = { node: this.#node, objects, settings };
    const networks = networksOf(snapshot, findings, this.#memory);
    const known = new Map(before?.connections.map((one) => [one.name, one]));
    const connections = connectionsOf(objects, networks, findings).map((one) =>
      kept(known.get(one.name) ?? one, one),
    );
    const allJoins = joinsOf(networks, connections);
    const now: Few = {
      networks,
      byName: new Map(networks.map((network) => [network.name, network])),
      byId: new Map(networks.map((network) => [network.id, network])),
      nads: byNad(networks),
      owners: ownersOf(networks),
      connections,
      allJoins,
      joins: new Joins(allJoins),
      nodes: nodesOf(snapshot),
      hostAddresses: hostAddressesOf(snapshot),
      egressMarks: egressMarksOf(objects, findings),
      egressAddresses: egressAddressesOf(objects),
    };
    this.#few = now;
    this.#findings = findings;
    if (before === undefined) return;
    for (const [kind, read] of Object.entries(READ))
      for (const key of this.#readers.keysOf(kind)) {
        const [old, value] = [read(before, key, this.#node), read(now, key, this.#node)];
        if (old !== value && !isDeepStrictEqual(old, value)) this.#readers.changed(kind, key);
      }
    this.#reattach(before, now);
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
      const ports = portsOfPod(pod, this.#now.nads);
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
  #reattach(before: Few, now: Few): void {
    const pods = new Set<string>();
    for (const nad of new Set([...before.nads.keys(), ...now.nads.keys()]))
      if (before.nads.get(nad) !== now.nads.get(nad))
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
    const byName = map('network', 'all networks', () => few().byName);
    return {
      node: this.#node,
      get networks() {
        note('all networks');
        return few().networks;
      },
      byName,
      byId: map('network id', 'all networks', () => few().byId),
      ports: new NotedMap(readers, 'port of pod', 'all pods', ports, (name) =>
        this.#ports.get(name)?.at(-1),
      ),
      get connections() {
        note('all connections');
        return few().connections;
      },
      get joins() {
        note('all joins');
        return few().allJoins;
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
        return few().owners.get(address);
      },
      textOf: formatPrefix,
      objectOf: (network) =>
        network === undefined ? 'no object' : (byName.get(network)?.object ?? `network ${network}`),
      joinedBy: (a, b) => {
        note('joins', a);
        return few().joins.between(a, b);
      },
      joinsOf: (network) => {
        note('joins', network);
        return few().joins.of(network);
      },
      neighbours: (network) => {
        note('joins', network);
        return few().joins.neighbours(network);
      },
    };
  }
}
