/** What the kernel has of what concerns us, kept until something says that it changed. */
import {
  addresses,
  links,
  NEIGHBOUR_STATE,
  neighbours,
  ROUTE_TYPE,
  routes,
  rules,
  type Link,
  type Neighbour,
  type NetlinkSocket,
  type Route,
  type Rule,
} from 'rtnetlink-ts';
import {
  addressKey,
  type NeighbourColumns,
  type RouteColumns,
  type RuleColumns,
} from './linux-rows.ts';
import { MAIN_TABLE, PROTOCOL_KERNEL } from '../numbers.ts';
import { isAskable, linkOf, neighbourOf } from './network-socket.ts';
import type { Stale } from './stale.ts';
import {
  foundLink,
  foundNeighbour,
  foundRoute,
  foundRule,
  type Found,
  type FoundLink,
  type NameOf,
} from './linux-found.ts';

/** A network that is reached over a device without a gateway. */
export const connectedKey = (network: string, dev: string): string => `${network} ${dev}`;

/** Small values, made the same way each time. */
const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Above this many devices or tables all are read at once. */
const MANY = 24;
/** Reading shows further things to read; what changes all the time is left for the next time. */
const ROUNDS = 5;

/** A set of names, or all there are. */
class StaleSet<T> {
  isAll = true;
  readonly some = new Set<T>();

  get isEmpty(): boolean {
    return !this.isAll && this.some.size === 0;
  }

  /** What is stale, which no longer is from now on. */
  take(): readonly T[] | 'all' {
    const taken = this.isAll || this.some.size > MANY ? 'all' : [...this.some];
    this.isAll = false;
    this.some.clear();
    return taken;
  }
}

/** By a key, in the order in which they come. */
const grouped = <K, V>(all: readonly V[], keyOf: (one: V) => K): ReadonlyMap<K, readonly V[]> =>
  Map.groupBy(all, keyOf);

const FAMILIES = ['v4', 'v6'] as const;

export class LinuxState {
  readonly links = new Map<string, FoundLink>();
  /** Routes that are marked as ours, by table. */
  readonly routes = new Map<number, readonly Found<RouteColumns>[]>();
  /** Networks that the kernel reaches over devices by itself, by table: `10.20.0.0/24 ovn-k8s-mp1`. */
  readonly connected = new Map<number, ReadonlySet<string>>();
  /** By the table that they lead into; 0 for those that name none. */
  readonly rules = new Map<number, readonly Found<RuleColumns>[]>();
  /** Permanent ones, by device and address. */
  readonly neighbours = new Map<string, Found<NeighbourColumns>>();
  /** Values by path; undefined where the kernel has no such key. */
  readonly sysctls = new Map<string, string | undefined>();
  readonly #open: () => NetlinkSocket;
  readonly #protocol: number;
  readonly #staleLinks = new StaleSet<string>();
  readonly #staleTables = new StaleSet<number>();
  /** Tables whose rules are stale. */
  readonly #staleRules = new StaleSet<number>();
  /** `<device>` or `<device> <address>`. */
  readonly #staleNeighbours = new StaleSet<string>();
  #version = 0;

  /** `open` gives a socket in the namespace that is kept. */
  constructor(open: () => NetlinkSocket, protocol: number) {
    this.#open = open;
    this.#protocol = protocol;
  }

  /** Another number after anything was found to be another than before. */
  get version(): number {
    return this.#version;
  }

  get isStale(): boolean {
    return (
      !this.#staleLinks.isEmpty ||
      !this.#staleTables.isEmpty ||
      !this.#staleRules.isEmpty ||
      !this.#staleNeighbours.isEmpty
    );
  }

  stale(what: Stale): void {
    switch (what.kind) {
      case 'link':
        if (isAskable(what.dev)) this.#staleLinks.some.add(what.dev);
        else this.#staleLinks.isAll = true;
        break;
      case 'routes':
        this.#staleTables.some.add(what.table);
        break;
      case 'rules':
        if (what.table > 0) this.#staleRules.some.add(what.table);
        else this.#staleRules.isAll = true;
        break;
      case 'neighbour':
        if (isAskable(what.dev)) this.#staleNeighbours.some.add(`${what.dev} ${what.address}`);
        else this.#staleNeighbours.isAll = true;
        break;
      case 'sysctls':
        this.#forgetSysctls(what.dev);
        break;
      case 'sysctl':
        this.#forgetSysctl(what.path);
        break;
      case 'all':
        this.#staleLinks.isAll = true;
        this.#staleTables.isAll = true;
        this.#staleRules.isAll = true;
        this.#staleNeighbours.isAll = true;
        this.#forgetSysctls('all');
        break;
    }
  }

  /** Reads what is stale. True when something about devices is another than before. */
  refresh(): boolean {
    let hasChanged = false;
    for (let round = 0; round < ROUNDS && this.isStale; round += 1)
      if (this.#read()) hasChanged = true;
    return hasChanged;
  }

  #read(): boolean {
    const links = this.#staleLinks.take();
    this.#staleRoutesOf(links);
    const tables = this.#staleTables.take();
    const rules = this.#staleRules.take();
    const neighbours = this.#staleNeighbours.take();
    try {
      using socket = this.#open();
      const found = this.#readLinks(socket, links);
      const nameOf = this.#names(socket, found);
      this.#takeRules(rules, rules !== 'all' && rules.length === 0 ? [] : this.#readRules(socket));
      this.#takeConnected(tables, this.#readRoutes(socket, tables, PROTOCOL_KERNEL), nameOf);
      this.#takeRoutes(tables, this.#readRoutes(socket, tables, this.#protocol), nameOf);
      this.#takeNeighbours(neighbours, this.#readNeighbours(socket, neighbours, found), nameOf);
      const withAddresses = this.#readAddresses(socket, links, found, nameOf);
      return this.#takeLinks(links, withAddresses, tables === 'all');
    } catch (error) {
      this.stale({ kind: 'all' });
      throw error;
    }
  }

  #readLinks(socket: NetlinkSocket, names: readonly string[] | 'all'): readonly Link[] {
    return names === 'all'
      ? socket.dump(links())
      : names.flatMap((name) => linkOf(socket, name) ?? []);
  }

  #readAddresses(
    socket: NetlinkSocket,
    names: readonly string[] | 'all',
    found: readonly Link[],
    nameOf: NameOf,
  ): readonly FoundLink[] {
    const all =
      names === 'all'
        ? socket.dump(addresses())
        : found.flatMap(({ index }) => socket.dump(addresses({ device: index })));
    const byDevice = grouped(all, ({ device }) => device);
    return found.map((link) => foundLink(link, byDevice.get(link.index) ?? [], nameOf));
  }

  #readRules(socket: NetlinkSocket): readonly Rule[] {
    return FAMILIES.flatMap((family) => socket.dump(rules({ family })));
  }

  /** Those of all tables, or of some, of one protocol. */
  #readRoutes(
    socket: NetlinkSocket,
    tables: readonly number[] | 'all',
    protocol: number,
  ): readonly Route[] {
    return FAMILIES.flatMap((family) =>
      tables === 'all'
        ? socket.dump(routes({ family, protocol }))
        : tables.flatMap((table) => socket.dump(routes({ family, protocol, table }))),
    );
  }

  /** Permanent ones at places, each a device, or one with an address. */
  #readNeighbours(
    socket: NetlinkSocket,
    places: readonly string[] | 'all',
    found: readonly Link[],
  ): readonly Neighbour[] {
    const indexOf = (name: string): number | undefined =>
      (found.find((link) => link.name === name) ?? this.links.get(name))?.index;
    const at = (place: string): readonly Neighbour[] => {
      const [name = '', address] = place.split(' ');
      const device = indexOf(name);
      if (device === undefined) return [];
      return address === undefined
        ? socket.dump(neighbours({ device }))
        : [neighbourOf(socket, { device, address }) ?? []].flat();
    };
    const all = places === 'all' ? socket.dump(neighbours()) : places.flatMap(at);
    return all.filter(({ state }) => (state & NEIGHBOUR_STATE.permanent) !== 0);
  }

  /** By what was just read, else by what is known, else by asking. */
  #names(socket: NetlinkSocket, found: readonly Link[]): NameOf {
    const names = new Map<number, string | undefined>();
    for (const { index, name } of [...this.links.values(), ...found]) names.set(index, name);
    return (index) => {
      if (index === undefined || index === 0) return undefined;
      if (!names.has(index)) names.set(index, linkOf(socket, index)?.name);
      return names.get(index);
    };
  }

  /** The kernel removes routes of a device that changes, or loses an address for a moment, and does not announce all of them. */
  #staleRoutesOf(links: readonly string[] | 'all'): void {
    if (links === 'all') {
      this.#staleTables.isAll = true;
      return;
    }
    const devices = new Set(links);
    for (const [table, routes] of this.routes)
      if (routes.some(({ columns }) => devices.has(columns.dev ?? '')))
        this.#staleTables.some.add(table);
  }

  #takeRules(tables: readonly number[] | 'all', all: readonly Rule[]): void {
    const found = all.flatMap((rule) => foundRule(rule) ?? []);
    this.#replace(
      this.rules,
      tables,
      grouped(found, ({ columns }) => columns.table ?? 0),
    );
  }

  #takeNeighbours(
    places: readonly string[] | 'all',
    all: readonly Neighbour[],
    nameOf: NameOf,
  ): void {
    const found = new Map<string, Found<NeighbourColumns>>();
    for (const one of all) {
      const neighbour = foundNeighbour(one, nameOf);
      if (neighbour !== undefined) found.set(addressKey(neighbour.columns), neighbour);
    }
    const isRead =
      places === 'all'
        ? () => true
        : (
            (read) => (key: string, dev: string) =>
              read.has(key) || read.has(dev)
          )(new Set(places));
    const keys = new Set<string>();
    for (const [key, { columns }] of found) if (isRead(key, columns.dev)) keys.add(key);
    // Of a few addresses nobody looks through all that are known.
    if (places === 'all' || places.some((place) => !place.includes(' '))) {
      for (const [key, { columns }] of this.neighbours) if (isRead(key, columns.dev)) keys.add(key);
    } else for (const place of places) keys.add(place);
    this.#replace(this.neighbours, [...keys], found);
  }

  /** Takes what was read in the place of what was known; what is equal stays the same. */
  #replace<K, V>(known: Map<K, V>, keys: readonly K[] | 'all', found: ReadonlyMap<K, V>): void {
    for (const key of keys === 'all' ? new Set([...known.keys(), ...found.keys()]) : keys) {
      const value = found.get(key);
      if (isEqual(known.get(key), value)) continue;
      this.#version += 1;
      if (value === undefined) known.delete(key);
      else known.set(key, value);
    }
  }

  #takeConnected(tables: readonly number[] | 'all', all: readonly Route[], nameOf: NameOf): void {
    const found = new Map<number, Set<string>>();
    for (const { table, type, destination, hops } of all) {
      const dev = nameOf(hops[0]?.device);
      if (type !== ROUTE_TYPE.unicast || dev === undefined) continue;
      const networks = found.get(table);
      const network = connectedKey(destination, dev);
      if (networks === undefined) found.set(table, new Set([network]));
      else networks.add(network);
    }
    const read = tables === 'all' ? new Set([...this.connected.keys(), ...found.keys()]) : tables;
    for (const table of read) {
      const networks = found.get(table) ?? new Set();
      if (this.connected.get(table)?.symmetricDifference(networks).size === 0) continue;
      this.connected.set(table, networks);
      this.#version += 1;
    }
  }

  #takeRoutes(tables: readonly number[] | 'all', all: readonly Route[], nameOf: NameOf): void {
    const found = all.map((route) => foundRoute(route, nameOf));
    this.#replace(
      this.routes,
      tables,
      grouped(found, ({ columns }) => columns.table),
    );
  }

  #takeLinks(
    names: readonly string[] | 'all',
    all: readonly FoundLink[],
    areRoutesNew: boolean,
  ): boolean {
    const found = new Map(all.map((link) => [link.name, link]));
    const changed = new Set<string>();
    const withAddresses: FoundLink[] = [];
    for (const name of names === 'all' ? new Set([...this.links.keys(), ...found.keys()]) : names) {
      const before = this.links.get(name);
      const link = found.get(name);
      if (isEqual(before, link)) continue;
      changed.add(name);
      if (link === undefined) this.links.delete(name);
      else this.links.set(name, link);
      this.#forgetSysctls(name);
      if (link?.addresses.some(({ protocol }) => protocol === this.#protocol) === true)
        withAddresses.push(link);
      if (before?.isUp === link?.isUp && before?.index === link?.index) continue;
      if (isAskable(name)) this.#staleNeighbours.some.add(name);
      else this.#staleNeighbours.isAll = true;
    }
    if (changed.size === 0) return false;
    this.#version += 1;
    if (!areRoutesNew) {
      this.#staleRoutesOf([...changed]);
      for (const { master = '' } of withAddresses)
        this.#staleTables.some.add(this.links.get(master)?.table ?? MAIN_TABLE);
    }
    // A device that was renamed is known under its old name, too.
    const byIndex = new Map<number, string>();
    for (const { index, name } of this.links.values()) {
      const other = byIndex.get(index);
      if (other !== undefined) this.#staleLinks.isAll = true;
      byIndex.set(index, name);
    }
    return true;
  }

  #forgetSysctl(path: string): void {
    if (this.sysctls.delete(path)) this.#version += 1;
  }

  #forgetSysctls(dev: string): void {
    for (const path of this.sysctls.keys())
      if (dev === 'all' || dev === 'default' || path.split('/').includes(dev))
        this.#forgetSysctl(path);
  }
}
