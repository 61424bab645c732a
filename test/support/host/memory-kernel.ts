/** A kernel's network stack in memory: takes the commands of plans as the real one does. */
import type { FoundState } from '../../../src/node/linux/linux-draft.ts';
import type { LinuxChange, LinuxCommand } from '../../../src/node/linux/linux-change.ts';
import { formatPrefix, parsePrefix } from '../../../src/allocators/addresses.ts';
import type { Found, FoundLink } from '../../../src/node/linux/linux-found.ts';
import { connectedKey } from '../../../src/node/linux/linux-state.ts';
import { MAIN_TABLE, PROTOCOL, PROTOCOL_KERNEL } from '../../../src/node/numbers.ts';
import {
  addressKey,
  metricOf,
  routeKey,
  ruleKey,
  type AddressColumns,
  type NeighbourColumns,
  type RouteColumns,
  type RuleColumns,
} from '../../../src/node/linux/linux-rows.ts';

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
      for (const command of commands) this.#run(command);
    }
  }

  #run(command: LinuxCommand): void {
    switch (command.kind) {
      case 'add-vrf': {
        const { name, table } = command;
        if (this.links.has(name)) throw new Error(`device ${name}: File exists`);
        this.addDevice(name, '02:00:00:00:00:01', { kind: 'vrf', table });
        break;
      }
      case 'set-link':
        this.#setLink(command);
        break;
      case 'delete-link':
        this.#deleteLink(command.name);
        break;
      case 'add-address':
      case 'delete-address':
        this.#address(command.kind === 'add-address', command.address);
        break;
      case 'add-route':
      case 'delete-route':
        this.#route(command.kind === 'add-route', command.route);
        break;
      case 'add-rule':
      case 'delete-rule':
        this.#rule(command.kind === 'add-rule', command.rule);
        break;
      case 'replace-neighbour':
      case 'delete-neighbour': {
        const { neighbour } = command;
        const others = this.neighbourList.filter(
          (one) => addressKey(one.columns) !== addressKey(neighbour),
        );
        const isNew = command.kind === 'replace-neighbour';
        this.neighbourList = isNew
          ? [...others, { columns: neighbour, protocol: PROTOCOL }]
          : others;
      }
    }
  }

  #changeLink(name: string, change: Partial<FoundLink>): void {
    const link = this.links.get(name);
    if (link === undefined) throw new Error(`Cannot find device "${name}"`);
    this.links.set(name, { ...link, ...change });
  }

  #setLink({
    name,
    isUp,
    alias,
    master,
  }: Extract<LinuxCommand, { readonly kind: 'set-link' }>): void {
    if (master !== undefined && master !== '' && !this.links.has(master))
      throw new Error(`no VRF ${master}`);
    this.#changeLink(name, {
      ...(master === undefined ? {} : { master: master === '' ? undefined : master }),
      ...(alias === undefined ? {} : { alias }),
      ...(isUp === undefined ? {} : { isUp }),
    });
  }

  #deleteLink(name: string): void {
    this.#changeLink(name, {});
    this.links.delete(name);
    for (const link of this.links.values())
      if (link.master === name) this.#changeLink(link.name, { master: undefined });
  }

  #address(isNew: boolean, columns: AddressColumns): void {
    const { dev, address } = columns;
    const { addresses = [] } = this.links.get(dev) ?? {};
    const others = addresses.filter((one) => one.columns.address !== address);
    this.disconnected.clear();
    if (isNew !== (others.length === addresses.length))
      throw new Error(`${address}: File exists, or not`);
    this.#changeLink(dev, {
      addresses: isNew ? [...others, { columns, protocol: PROTOCOL }] : others,
    });
  }

  #route(isNew: boolean, wanted: RouteColumns): void {
    const { table, dst, dev } = wanted;
    const metric = metricOf(wanted);
    const columns = metric === 0 ? wanted : { ...wanted, metric };
    if (dev !== undefined && !this.links.has(dev)) throw new Error(`Cannot find device ${dev}`);
    const routes = this.routes.get(table) ?? [];
    const others = routes.filter((route) => routeKey(route.columns) !== routeKey(columns));
    if (isNew !== (others.length === routes.length)) throw new Error(`${dst}: File exists, or not`);
    this.routes.set(table, isNew ? [...others, { columns, protocol: PROTOCOL }] : others);
  }

  #rule(isNew: boolean, { isKernels, ...columns }: RuleColumns): void {
    const protocol = isKernels === true ? PROTOCOL_KERNEL : PROTOCOL;
    const isIt = (rule: Found<RuleColumns>): boolean =>
      rule.protocol === protocol && ruleKey(rule.columns) === ruleKey(columns);
    if (this.ruleList.some(isIt) === isNew)
      throw new Error(`rule ${ruleKey(columns)}: File exists, or not`);
    this.ruleList = isNew
      ? [...this.ruleList, { columns, protocol }]
      : this.ruleList.filter((rule) => !isIt(rule));
  }
}
