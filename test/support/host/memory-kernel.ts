/** A kernel's network stack in memory: takes the changes of plans as the real one takes their commands. */
import type { FoundState } from '../../../src/node/linux/linux-draft.ts';
import type { LinuxChange } from '../../../src/node/linux/linux-change.ts';
import { formatPrefix, parsePrefix } from '../../../src/allocators/addresses.ts';
import type { Found, FoundLink } from '../../../src/node/linux/linux-found.ts';
import { connectedKey } from '../../../src/node/linux/linux-state.ts';
import { MAIN_TABLE } from '../../../src/node/numbers.ts';
import {
  addressKey,
  routeKey,
  ruleKey,
  type AddressColumns,
  type NeighbourColumns,
  type RouteColumns,
  type RuleColumns,
} from '../../../src/node/linux/linux-rows.ts';

/** `ip` args after the object and the verb, as pairs; args without a value are named in `flags`. */
function wordsOf(args: readonly string[], flags: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index] ?? '';
    if (flags.includes(word)) found.set(word, '');
    else found.set(word, args[(index += 1)] ?? '');
  }
  return found;
}

const number = (text: string | undefined): { readonly value: number } | undefined =>
  text === undefined ? undefined : { value: Number(text) };

export class MemoryKernel implements FoundState {
  readonly links = new Map<string, FoundLink>();
  readonly routes = new Map<number, readonly Found<RouteColumns>[]>();
  ruleList: Found<RuleColumns>[] = [];
  neighbourList: Found<NeighbourColumns>[] = [];
  readonly values = new Map<string, string>();
  /** Networks of addresses whose routes somebody removed. */
  readonly disconnected = new Set<string>();
  #index = 0;

  readonly sysctl = (path: string): string | undefined => this.values.get(path);

  get rules(): ReadonlyMap<number, readonly Found<RuleColumns>[]> {
    return Map.groupBy(this.ruleList, ({ columns }) => columns.table ?? 0);
  }

  get neighbours(): ReadonlyMap<string, Found<NeighbourColumns>> {
    return new Map(this.neighbourList.map((one) => [addressKey(one.columns), one]));
  }

  get connected(): ReadonlyMap<number, ReadonlySet<string>> {
    const found = new Map<number, Set<string>>();
    for (const { name, master = '', addresses } of this.links.values())
      for (const { columns } of addresses) {
        const prefix = parsePrefix(columns.address);
        const network = prefix === undefined ? '' : connectedKey(formatPrefix(prefix), name);
        if (this.disconnected.has(network)) continue;
        const table = this.links.get(master)?.table ?? MAIN_TABLE;
        found.set(table, (found.get(table) ?? new Set()).add(network));
      }
    return found;
  }

  addDevice(name: string, mac: string, more: Partial<FoundLink> = {}): void {
    this.#index += 1;
    this.links.set(name, {
      index: this.#index,
      name,
      mac,
      kind: undefined,
      table: undefined,
      master: undefined,
      isUp: false,
      hasCarrier: true,
      alias: '',
      addresses: [],
      ...more,
    });
  }

  apply(changes: readonly LinuxChange[]): void {
    for (const { commands, write } of changes) {
      if (write !== undefined) this.values.set(write.path, write.value);
      for (const { family, args } of commands) this.#run(family === 'inet6' ? 'v6' : 'v4', args);
    }
  }

  #run(family: 'v4' | 'v6', [object = '', verb = '', ...args]: readonly string[]): void {
    switch (object) {
      case 'link':
        this.#link(verb, args);
        break;
      case 'address':
        this.#address(verb, args);
        break;
      case 'route':
        this.#route(family, verb, args);
        break;
      case 'rule':
        this.#rule(family, verb, args);
        break;
      case 'neighbour':
        this.#neighbour(verb, args);
        break;
      default:
        throw new Error(`what is ip ${object}?`);
    }
  }

  #changeLink(name: string, change: Partial<FoundLink>): void {
    const link = this.links.get(name);
    if (link === undefined) throw new Error(`Cannot find device "${name}"`);
    this.links.set(name, { ...link, ...change });
  }

  #link(verb: string, args: readonly string[]): void {
    const given = wordsOf(args, ['up', 'down', 'nomaster']);
    const name = given.get('name') ?? given.get('dev') ?? '';
    if (verb === 'add') {
      if (this.links.has(name)) throw new Error('File exists');
      this.addDevice(name, '02:00:00:00:00:01', { kind: 'vrf', table: Number(given.get('table')) });
      return;
    }
    if (verb === 'delete') {
      this.#changeLink(name, {});
      this.links.delete(name);
      for (const link of this.links.values())
        if (link.master === name) this.#changeLink(link.name, { master: undefined });
      return;
    }
    const master = given.get('master');
    if (master !== undefined && !this.links.has(master)) throw new Error(`no VRF ${master}`);
    const alias = given.get('alias');
    this.#changeLink(name, {
      ...(master === undefined ? {} : { master }),
      ...(given.has('nomaster') ? { master: undefined } : {}),
      ...(alias === undefined ? {} : { alias }),
      ...(given.has('up') ? { isUp: true } : {}),
      ...(given.has('down') ? { isUp: false } : {}),
    });
  }

  #address(verb: string, [address = '', ...args]: readonly string[]): void {
    const given = wordsOf(args, ['nodad']);
    const dev = given.get('dev') ?? '';
    const { addresses = [] } = this.links.get(dev) ?? {};
    const others = addresses.filter(({ columns }) => columns.address !== address);
    this.disconnected.clear();
    if ((verb === 'add') !== (others.length === addresses.length))
      throw new Error(`${verb} ${address}: File exists, or not`);
    const columns: AddressColumns = {
      dev,
      address,
      ...(given.get('preferred_lft') === '0' ? { deprecated: true } : {}),
    };
    const protocol = Number(given.get('proto'));
    this.#changeLink(dev, {
      addresses: verb === 'add' ? [...others, { columns, protocol }] : others,
    });
  }

  #route(family: 'v4' | 'v6', verb: string, all: readonly string[]): void {
    const isUnreachable = all[0] === 'unreachable';
    const [dst = '', ...args] = isUnreachable ? all.slice(1) : all;
    const given = wordsOf(args, []);
    const table = Number(given.get('table'));
    const mtu = number(given.get('mtu'));
    const metric = number(given.get('metric')) ?? (family === 'v6' ? { value: 1024 } : undefined);
    const columns: RouteColumns = {
      family,
      table,
      dst,
      ...(isUnreachable ? { type: 'unreachable' } : {}),
      ...Object.fromEntries(
        ['via', 'dev', 'src'].flatMap((name) => (given.has(name) ? [[name, given.get(name)]] : [])),
      ),
      ...(mtu === undefined ? {} : { mtu: mtu.value }),
      ...(metric === undefined ? {} : { metric: metric.value }),
    };
    if (columns.dev !== undefined && !this.links.has(columns.dev))
      throw new Error(`Cannot find device ${columns.dev}`);
    const routes = this.routes.get(table) ?? [];
    const others = routes.filter((route) => routeKey(route.columns) !== routeKey(columns));
    if ((verb === 'add') !== (others.length === routes.length))
      throw new Error(`${verb} ${dst}: File exists, or not`);
    this.routes.set(
      table,
      verb === 'add' ? [...others, { columns, protocol: Number(given.get('proto')) }] : others,
    );
  }

  #rule(family: 'v4' | 'v6', verb: string, args: readonly string[]): void {
    const given = wordsOf(args, ['l3mdev']);
    const table = number(given.get('lookup'));
    const fwmark = given.get('fwmark');
    const to = given.get('to');
    const columns: RuleColumns = {
      family,
      priority: Number(given.get('priority')),
      ...(to === undefined ? {} : { to }),
      ...(fwmark === undefined ? {} : { fwmark }),
      ...(given.has('l3mdev') ? { l3mdev: true } : {}),
      ...(table === undefined ? {} : { table: table.value }),
    };
    const protocol = Number(given.get('protocol'));
    const isIt = (rule: Found<RuleColumns>): boolean =>
      rule.protocol === protocol && ruleKey(rule.columns) === ruleKey(columns);
    if (this.ruleList.some(isIt) === (verb === 'add'))
      throw new Error(`${verb} rule: File exists, or not`);
    this.ruleList =
      verb === 'add'
        ? [...this.ruleList, { columns, protocol }]
        : this.ruleList.filter((rule) => !isIt(rule));
  }

  #neighbour(verb: string, [address = '', ...args]: readonly string[]): void {
    const given = wordsOf(args, []);
    const columns: NeighbourColumns = {
      address,
      dev: given.get('dev') ?? '',
      mac: given.get('lladdr') ?? '',
    };
    const others = this.neighbourList.filter(
      (one) => addressKey(one.columns) !== addressKey(columns),
    );
    this.neighbourList =
      verb === 'replace'
        ? [...others, { columns, protocol: Number(given.get('protocol')) }]
        : others;
  }
}
