/** What the kernel has of what concerns us, kept until something says that it changed. */
import {
  addressKey,
  asHostIfBare,
  type NeighbourColumns,
  type RouteColumns,
  type RuleColumns,
} from './linux-rows.ts';
import { MAIN_TABLE, PROTOCOL_KERNEL } from '../numbers.ts';
import type { Stale } from './stale.ts';
import { number, objects, text, UNICAST } from '../programs/ip-json.ts';
import { isWord, type IpProgram } from '../programs/ip-program.ts';
import {
  foundLink,
  foundNeighbour,
  foundRoute,
  foundRule,
  type Found,
  type FoundLink,
} from './linux-found.ts';
import type { Argv } from '../programs/program.ts';

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

/** How permanent neighbours of devices, or single ones, are asked for. */
const neighbourArguments = (places: readonly string[] | 'all'): readonly Argv[] =>
  (places === 'all' ? [''] : places).map((place) => {
    const [dev = '', address = ''] = place.split(' ');
    return [
      'neighbour',
      'show',
      'nud',
      'permanent',
      ...(address === '' ? [] : ['to', address]),
      ...(dev === '' ? [] : ['dev', dev]),
    ];
  });

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
  readonly #ip: IpProgram;
  readonly #protocol: number;
  readonly #staleLinks = new StaleSet<string>();
  readonly #staleTables = new StaleSet<number>();
  /** Tables whose rules are stale. */
  readonly #staleRules = new StaleSet<number>();
  /** `<device>` or `<device> <address>`. */
  readonly #staleNeighbours = new StaleSet<string>();
  #version = 0;

  constructor(ip: IpProgram, protocol: number) {
    this.#ip = ip;
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
        // Others give devices names that are no arguments of a command.
        if (isWord(what.dev)) this.#staleLinks.some.add(what.dev);
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
        if (isWord(what.dev) && isWord(what.address))
          this.#staleNeighbours.some.add(`${what.dev} ${what.address}`);
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
  async refresh(): Promise<boolean> {
    let hasChanged = false;
    for (let round = 0; round < ROUNDS && this.isStale; round += 1)
      if (await this.#read()) hasChanged = true;
    return hasChanged;
  }

  async #read(): Promise<boolean> {
    const links = this.#staleLinks.take();
    this.#staleRoutesOf(links);
    const tables = this.#staleTables.take();
    const rules = this.#staleRules.take();
    const neighbours = this.#staleNeighbours.take();
    const linkCommands: readonly Argv[] =
      links === 'all' ? [['address', 'show']] : links.map((dev) => ['address', 'show', 'dev', dev]);
    const protocol = ['protocol', String(this.#protocol)];
    const routeCommands: readonly Argv[] =
      tables === 'all'
        ? [['route', 'show', 'table', 'all', ...protocol]]
        : tables.map((table) => ['route', 'show', 'table', String(table), ...protocol]);
    // Those that the kernel makes for addresses, which it does not make again when somebody removes them.
    const kernelCommands: readonly Argv[] = routeCommands.map((args) => [
      ...args.slice(0, -1),
      String(PROTOCOL_KERNEL),
    ]);
    const ruleCommands: readonly Argv[] =
      rules === 'all'
        ? [['rule', 'show']]
        : rules.map((table) => ['rule', 'show', 'table', String(table)]);
    const neighbourCommands: readonly Argv[] = neighbourArguments(neighbours);
    try {
      const [v4, v6, both] = await Promise.all([
        this.#ip.read('inet', [...ruleCommands, ...routeCommands, ...kernelCommands]),
        this.#ip.read('inet6', [...ruleCommands, ...routeCommands, ...kernelCommands]),
        // Addresses of both families: `ip -family inet` would show IPv4 addresses alone.
        this.#ip.read('any', [...linkCommands, ...neighbourCommands]),
      ]);
      const first = ruleCommands.length;
      const second = first + routeCommands.length;
      this.#takeRules(rules, [v4.slice(0, first), v6.slice(0, first)]);
      this.#takeConnected(tables, [...v4.slice(second), ...v6.slice(second)]);
      this.#takeRoutes(tables, [v4.slice(first, second), v6.slice(first, second)]);
      this.#takeNeighbours(neighbours, both.slice(linkCommands.length));
      return this.#takeLinks(links, both, tables === 'all');
    } catch (error) {
      this.stale({ kind: 'all' });
      throw error;
    }
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

  #takeRules(
    tables: readonly number[] | 'all',
    answers: readonly (readonly (readonly unknown[] | undefined)[])[],
  ): void {
    const found = new Map<number, Found<RuleColumns>[]>();
    for (const [index, family] of (['v4', 'v6'] as const).entries())
      for (const answer of answers[index] ?? [])
        for (const json of objects(answer)) {
          const rule = foundRule(json, family);
          if (rule === undefined) continue;
          const table = rule.columns.table ?? 0;
          const others = found.get(table);
          if (others === undefined) found.set(table, [rule]);
          else others.push(rule);
        }
    this.#replace(this.rules, tables, found);
  }

  #takeNeighbours(
    places: readonly string[] | 'all',
    answers: readonly (readonly unknown[] | undefined)[],
  ): void {
    const found = new Map<string, Found<NeighbourColumns>>();
    for (const [index, answer] of answers.entries())
      for (const json of objects(answer)) {
        // Of a device that was asked for the answer does not repeat the name.
        const asked = places === 'all' ? undefined : places[index]?.split(' ')[0];
        const neighbour = foundNeighbour(asked === undefined ? json : { ...json, dev: asked });
        if (neighbour !== undefined) found.set(addressKey(neighbour.columns), neighbour);
      }
    const isRead =
      places === 'all'
        ? () => true
        : (
            (read) => (key: string, dev: string) =>
              read.has(key) || read.has(dev)
          )(new Set(places));
    const keys = new Set(found.keys());
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

  #takeConnected(
    tables: readonly number[] | 'all',
    answers: readonly (readonly unknown[] | undefined)[],
  ): void {
    const found = new Map<number, Set<string>>();
    for (const [place, answer] of answers.entries())
      for (const json of objects(answer)) {
        const [dst, dev] = [text(json['dst']), text(json['dev'])];
        if (dst === undefined || dev === undefined || json['type'] !== UNICAST) continue;
        const asked = tables === 'all' ? number(json['table']) : tables[place % tables.length];
        const table = asked ?? MAIN_TABLE;
        const networks = found.get(table);
        const network = connectedKey(asHostIfBare(dst), dev);
        if (networks === undefined) found.set(table, new Set([network]));
        else networks.add(network);
      }
    const all = tables === 'all' ? new Set([...this.connected.keys(), ...found.keys()]) : tables;
    for (const table of all) {
      const networks = found.get(table) ?? new Set();
      if (this.connected.get(table)?.symmetricDifference(networks).size === 0) continue;
      this.connected.set(table, networks);
      this.#version += 1;
    }
  }

  #takeRoutes(
    tables: readonly number[] | 'all',
    answers: readonly (readonly (readonly unknown[] | undefined)[])[],
  ): void {
    const found = new Map<number, Found<RouteColumns>[]>();
    for (const [index, family] of (['v4', 'v6'] as const).entries()) {
      for (const [place, answer] of (answers[index] ?? []).entries()) {
        for (const json of objects(answer)) {
          const route = foundRoute(json, family, this.#protocol);
          if (route === undefined) continue;
          // Of a table that was asked for by number the answer does not repeat it.
          const table =
            tables === 'all' ? route.columns.table || MAIN_TABLE : (tables[place] ?? MAIN_TABLE);
          const one = { ...route, columns: { ...route.columns, table } };
          const others = found.get(table);
          if (others === undefined) found.set(table, [one]);
          else others.push(one);
        }
      }
    }
    this.#replace(this.routes, tables, found);
  }

  #takeLinks(
    names: readonly string[] | 'all',
    answers: readonly (readonly unknown[] | undefined)[],
    areRoutesNew: boolean,
  ): boolean {
    const found = new Map<string, FoundLink>();
    for (const answer of names === 'all' ? [answers[0]] : answers.slice(0, names.length))
      for (const json of objects(answer)) {
        const link = foundLink(json);
        if (link !== undefined) found.set(link.name, link);
      }
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
      if (isWord(name)) this.#staleNeighbours.some.add(name);
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
