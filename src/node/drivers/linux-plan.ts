/**
 * What differs between the wanted and the found state of the network stack, and the smallest change that ends it. Pure. What is marked and
 * nobody wants goes; what is not marked is never changed: an equal object of somebody else will do, another one in the way is a problem.
 */
import { bitsOf, formatPrefix, parsePrefix } from '../../allocators/addresses.ts';
import type { RowOwner } from '../../desired/engine.ts';
import { MARK, type DesiredRow } from '../../desired/rows.ts';
import {
  addressKey,
  remembered,
  routeKey,
  routeWords,
  ruleKey,
  ruleWords,
  type AddressColumns,
  type LinkColumns,
  type LinuxTable,
  type NeighbourColumns,
  type RouteColumns,
  type RuleColumns,
  type SysctlColumns,
} from '../linux-rows.ts';
import { MAIN_TABLE, PROTOCOL, PROTOCOL_KERNEL } from '../numbers.ts';
import type { IpFamily, Words } from './ip-program.ts';
import { connectedKey, type Found, type FoundLink } from './linux-state.ts';

/** A row, and who wants it. */
export interface Wanted {
  readonly row: DesiredRow;
  readonly owner: Pick<RowOwner, 'id'>;
}

/** The found state, as far as a plan looks at it. */
export interface FoundState {
  readonly links: ReadonlyMap<string, FoundLink>;
  readonly routes: ReadonlyMap<number, readonly Found<RouteColumns>[]>;
  /** Networks that the kernel reaches over devices by itself, by table. */
  readonly connected: ReadonlyMap<number, ReadonlySet<string>>;
  readonly rules: readonly Found<RuleColumns>[];
  readonly neighbours: readonly Found<NeighbourColumns>[];
  /** Value of a key; undefined where the kernel has no such key. */
  readonly sysctl: (path: string) => string | undefined;
}

export interface LinuxCommand {
  readonly family: IpFamily;
  readonly words: Words;
}

export interface LinuxChange {
  readonly action: 'add' | 'change' | 'remove';
  readonly table: LinuxTable;
  readonly key: string;
  /** The object as it was found, and as it will be, in the words of ip(8). */
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** As in plans of databases: of what no unit knows, `["unwanted",<mark>]`. */
  readonly unit: string;
  readonly rule: string | undefined;
  readonly object: string | undefined;
  /** Changes of a lower stage come first; what fails in one ends the later ones of its unit. */
  readonly stage: number;
  readonly commands: readonly LinuxCommand[];
  /** An object that is as it should be, and is made anew for what the kernel made with it and has no more: not at once again. */
  readonly isRenewal?: true;
  /** Path and value to write, of a sysctl. */
  readonly write?: { readonly path: string; readonly value: string };
}

export type LinuxProblemKind = 'held-by-other' | 'name-taken' | 'awaited' | 'refused';

export interface LinuxProblem {
  readonly kind: LinuxProblemKind;
  readonly table: LinuxTable;
  readonly key: string;
  readonly unit: string;
  readonly object: string | undefined;
  readonly message: string;
}

export interface LinuxPlan {
  readonly isEmpty: boolean;
  /** In the order in which they are made. */
  readonly changes: readonly LinuxChange[];
  readonly problems: readonly LinuxProblem[];
  /** Objects of ours that nobody wants and that stay, because not every unit has been built yet. */
  readonly heldBack: number;
}

/**
 * Ways into a network go before what they lead to, and come after it: first of all the table ends in "unreachable", last of all rules lead
 * into it. A device has addresses only inside of its VRF.
 */
const REMOVE = { rule: 0, neighbour: 1, route: 2, address: 3, link: 4, sysctl: 4 } as const;
const ADD = {
  link: 5,
  master: 6,
  sysctl: 7,
  address: 8,
  route: 9,
  neighbour: 10,
  rule: 11,
} as const;

/** Longest alias of a device (linux/if.h, IFALIASZ, with its end). */
const LONGEST_ALIAS = 255;

/** Alias of a device of ours: for whom it is there. */
export const aliasOf = (object: string): string =>
  `${MARK} ${object}`.replaceAll(/[^\w .:/-]/g, '_').slice(0, LONGEST_ALIAS);
const isOurAlias = (alias: string): boolean => alias.startsWith(`${MARK} `);

const familyFlag = (family: 'v4' | 'v6'): IpFamily => (family === 'v6' ? 'inet6' : 'inet');
const ip = (family: IpFamily, ...words: string[]): LinuxCommand => ({ family, words });

export class LinuxPlanner {
  readonly #state: FoundState;
  readonly #changes: LinuxChange[] = [];
  readonly #problems: LinuxProblem[] = [];
  /** Units that can't be as they should, for now: nothing is added for them. */
  readonly #blocked = new Set<string>();
  /** Devices whose rows wait until they are there. */
  readonly #awaited = new Set<string>();
  #heldBack = 0;

  constructor(state: FoundState) {
    this.#state = state;
  }

  plan(wanted: Iterable<Wanted>, isComplete: boolean): LinuxPlan {
    const tables = Map.groupBy(wanted, ({ row }) => row.table as LinuxTable);
    const of = (table: LinuxTable): readonly Wanted[] => tables.get(table) ?? [];
    this.#planLinks(of('link'), isComplete);
    this.#planSysctls(of('sysctl'));
    this.#planAddresses(of('address'), isComplete);
    this.#planRoutes(of('route'), isComplete);
    this.#planNeighbours(of('neighbour'), isComplete);
    this.#planRules(of('rule'), isComplete);
    const changes = this.#changes
      .filter(({ action, unit }) => action === 'remove' || !this.#blocked.has(unit))
      .sort((a, b) => a.stage - b.stage);
    return {
      isEmpty: changes.length === 0,
      changes,
      problems: this.#problems,
      heldBack: this.#heldBack,
    };
  }

  #change(
    { row, owner }: Wanted,
    change: Pick<
      LinuxChange,
      'action' | 'before' | 'after' | 'stage' | 'commands' | 'write' | 'isRenewal'
    >,
  ): void {
    const { key, rule, object } = row;
    this.#changes.push({
      table: row.table as LinuxTable,
      key,
      unit: owner.id,
      rule,
      object,
      ...change,
    });
  }

  #problem({ row, owner }: Wanted, kind: LinuxProblemKind, message: string): void {
    const { key, object } = row;
    this.#problems.push({
      kind,
      table: row.table as LinuxTable,
      key,
      unit: owner.id,
      object,
      message,
    });
    if (kind === 'held-by-other') this.#blocked.add(owner.id);
  }

  #remove(
    table: LinuxTable,
    key: string,
    before: string,
    commands: readonly LinuxCommand[],
    isComplete: boolean,
    mark = '',
  ): void {
    if (!isComplete) {
      this.#heldBack += 1;
      return;
    }
    this.#changes.push({
      action: 'remove',
      table,
      key,
      before,
      after: undefined,
      unit: JSON.stringify(['unwanted', mark]),
      rule: undefined,
      object: mark === '' ? undefined : mark,
      stage: REMOVE[table],
      commands,
    });
  }

  #planLinks(wanted: readonly Wanted[], isComplete: boolean): void {
    const names = new Map<string, Wanted>(wanted.map((one) => [one.row.key, one]));
    const foreign = new Map<number, FoundLink>();
    for (const link of this.#state.links.values())
      if (link.table !== undefined && !isOurAlias(link.alias) && !names.has(link.name))
        foreign.set(link.table, link);
    for (const one of wanted) {
      const columns = one.row.columns as unknown as LinkColumns;
      if (columns.kind === 'vrf') this.#planVrf(one, columns, foreign);
      else this.#planMaster(one, columns);
    }
    for (const link of this.#state.links.values()) {
      if (link.kind !== 'vrf' || !isOurAlias(link.alias) || names.has(link.name)) continue;
      const mark = link.alias.slice(MARK.length + 1);
      this.#remove('link', link.name, vrfText(link), this.#withoutVrf(link.name), isComplete, mark);
    }
  }

  /** Devices that are in the VRF go down first: none is left outside of it with its addresses. */
  #withoutVrf(name: string): LinuxCommand[] {
    const inside = [...this.#state.links.values()].filter(({ master }) => master === name);
    return [
      ...inside.map((link) => ip('any', 'link', 'set', 'dev', link.name, 'down')),
      ip('any', 'link', 'delete', 'dev', name),
    ];
  }

  #planVrf(
    wanted: Wanted,
    { name, table }: LinkColumns,
    foreign: ReadonlyMap<number, FoundLink>,
  ): void {
    const found = this.#state.links.get(name);
    const alias = aliasOf(wanted.row.object);
    const isAdoptable = found?.alias === '' && found.table === table;
    if (
      found !== undefined &&
      (found.kind !== 'vrf' || !(isOurAlias(found.alias) || isAdoptable))
    ) {
      const what =
        found.kind === 'vrf' ? `a VRF with table ${found.table}` : (found.kind ?? 'device');
      this.#problem(
        wanted,
        'held-by-other',
        `VRF ${name}: a device of this name is there that is not ours (${what}); rename or remove it`,
      );
      return;
    }
    const other = foreign.get(table ?? 0);
    if (other !== undefined) {
      this.#problem(
        wanted,
        'held-by-other',
        `VRF ${name}: routing table ${table} is that of VRF ${other.name}, which is not ours; give it another one, or Heddle another --routing-table-id-start`,
      );
      return;
    }
    const after = `type vrf table ${table} alias "${alias}" up`;
    const set = [
      ip('any', 'link', 'set', 'dev', name, 'alias', alias),
      ip('any', 'link', 'set', 'dev', name, 'up'),
    ];
    const create = ip('any', 'link', 'add', 'name', name, 'type', 'vrf', 'table', String(table));
    const common = { after, stage: ADD.link };
    if (found === undefined)
      this.#change(wanted, {
        ...common,
        action: 'add',
        before: undefined,
        commands: [create, ...set],
      });
    else if (found.table !== table)
      this.#change(wanted, {
        ...common,
        action: 'change',
        before: vrfText(found),
        commands: [...this.#withoutVrf(name), create, ...set],
      });
    else if (found.alias !== alias || !found.isUp)
      this.#change(wanted, { ...common, action: 'change', before: vrfText(found), commands: set });
  }

  #planMaster(wanted: Wanted, { name, master, mac }: LinkColumns): void {
    const found = this.#state.links.get(name);
    if (found === undefined || (mac !== undefined && found.mac !== mac)) {
      this.#awaited.add(name);
      const why =
        found === undefined ? 'is not there yet' : `has the MAC address ${found.mac}, not ${mac}`;
      this.#problem(wanted, 'awaited', `device ${name} ${why}`);
      return;
    }
    const isRight = found.master === master;
    if (isRight && found.isUp) return;
    const inside = master === undefined ? ['nomaster'] : ['master', master];
    this.#change(wanted, {
      action: 'change',
      before: deviceText(found.master, found.isUp),
      after: deviceText(master, true),
      stage: ADD.master,
      commands: [
        ...(isRight ? [] : [ip('any', 'link', 'set', 'dev', name, ...inside)]),
        ip('any', 'link', 'set', 'dev', name, 'up'),
      ],
    });
  }

  /** False while the device is not there, or is not the one that is meant. */
  #isUsable(dev: string | undefined): boolean {
    return dev === undefined || (this.#state.links.has(dev) && !this.#awaited.has(dev));
  }

  #planSysctls(wanted: readonly Wanted[]): void {
    for (const one of wanted) {
      const { dev, value, otherwise } = one.row.columns as unknown as SysctlColumns;
      if (!this.#isUsable(dev)) continue;
      const own = this.#state.sysctl(one.row.key);
      const path = own === undefined && otherwise !== undefined ? otherwise : one.row.key;
      const before = own ?? this.#state.sysctl(path);
      if (before === value) continue;
      this.#change(one, {
        action: 'change',
        before,
        after: value,
        stage: ADD.sysctl,
        commands: [],
        write: { path, value },
      });
    }
  }

  /** False if the kernel's route for the network of an address was removed; the address makes it when it comes. */
  #isConnected({ dev, address }: AddressColumns): boolean {
    const link = this.#state.links.get(dev);
    if (link === undefined || !link.isUp || !link.hasCarrier || link.addresses.length === 0)
      return true;
    const network = parsePrefix(address);
    if (network === undefined || network.length === bitsOf(network.family)) return true;
    const vrf = link.master === undefined ? undefined : this.#state.links.get(link.master);
    const networks = this.#state.connected.get(vrf?.table ?? MAIN_TABLE);
    return networks?.has(connectedKey(formatPrefix(network), dev)) === true;
  }

  #planAddresses(wanted: readonly Wanted[], isComplete: boolean): void {
    const keys = new Set(wanted.map(({ row }) => row.key));
    for (const one of wanted) {
      const columns = one.row.columns as unknown as AddressColumns;
      const { dev, address } = columns;
      if (!this.#isUsable(dev)) continue;
      const all = this.#state.links.get(dev)?.addresses ?? [];
      const found = all.find((other) => other.columns.address === address);
      const text = addressText(columns);
      const isOurs = found?.protocol === PROTOCOL;
      const isRight = found !== undefined && addressText(found.columns) === text;
      const isRenewal = isRight && isOurs && !this.#isConnected(columns);
      if (found !== undefined && !isRenewal && (!isOurs || isRight)) continue;
      const add = ip('any', 'address', 'add', ...addressWords(columns), 'proto', String(PROTOCOL));
      this.#change(one, {
        action: found === undefined ? 'add' : 'change',
        before: found && addressText(found.columns),
        after: text,
        stage: ADD.address,
        commands: found === undefined ? [add] : [withoutAddress(columns), add],
        ...(isRenewal ? { isRenewal } : {}),
      });
    }
    for (const { addresses } of this.#state.links.values())
      for (const { columns, protocol } of addresses) {
        const key = addressKey(columns);
        if (protocol === PROTOCOL && !keys.has(key))
          this.#remove('address', key, addressText(columns), [withoutAddress(columns)], isComplete);
      }
  }

  #planRoutes(wanted: readonly Wanted[], isComplete: boolean): void {
    const found = new Map<string, RouteColumns>();
    for (const routes of this.#state.routes.values())
      for (const { columns } of routes) found.set(routeKey(columns), columns);
    // What goes nowhere first: until the others are there nothing may leave by another table.
    const rank = ({ row }: Wanted): number =>
      row.columns['type'] === undefined ? (row.columns['via'] === undefined ? 1 : 2) : 0;
    for (const one of wanted.toSorted((a, b) => rank(a) - rank(b))) {
      const columns = one.row.columns as unknown as RouteColumns;
      const before = found.get(one.row.key);
      found.delete(one.row.key);
      if (!this.#isUsable(columns.dev)) continue;
      const text = routeText(columns);
      if (before !== undefined && routeText(before) === text) continue;
      const add = routeCommand('add', columns);
      this.#change(one, {
        action: before === undefined ? 'add' : 'change',
        before: before && routeText(before),
        after: text,
        stage: ADD.route,
        commands: before === undefined ? [add] : [routeCommand('delete', before), add],
      });
    }
    for (const [key, columns] of found)
      this.#remove('route', key, routeText(columns), [routeCommand('delete', columns)], isComplete);
  }

  #planNeighbours(wanted: readonly Wanted[], isComplete: boolean): void {
    const found = new Map(this.#state.neighbours.map((one) => [addressKey(one.columns), one]));
    const keys = new Set(wanted.map(({ row }) => row.key));
    for (const one of wanted) {
      const columns = one.row.columns as unknown as NeighbourColumns;
      if (!this.#isUsable(columns.dev)) continue;
      const before = found.get(one.row.key);
      if (before?.columns.mac === columns.mac) continue;
      if (before !== undefined && before.protocol !== PROTOCOL) {
        this.#problem(
          one,
          'held-by-other',
          `neighbour ${columns.address} of ${columns.dev} is ${before.columns.mac} by somebody else's permanent entry; remove it`,
        );
        continue;
      }
      this.#change(one, {
        action: before === undefined ? 'add' : 'change',
        before: before && neighbourText(before.columns),
        after: neighbourText(columns),
        stage: ADD.neighbour,
        commands: [neighbourCommand('replace', columns)],
      });
    }
    for (const [key, { columns, protocol }] of found)
      if (protocol === PROTOCOL && !keys.has(key))
        this.#remove(
          'neighbour',
          key,
          neighbourText(columns),
          [neighbourCommand('delete', columns)],
          isComplete,
        );
  }

  #planRules(wanted: readonly Wanted[], isComplete: boolean): void {
    const found = new Map<string, RuleColumns>();
    const all = new Set<string>();
    for (const { columns, protocol } of this.#state.rules) {
      const key = ruleKey(columns);
      all.add(key);
      if (protocol === PROTOCOL) found.set(key, columns);
    }
    for (const one of wanted) {
      found.delete(one.row.key);
      if (all.has(one.row.key)) continue;
      const columns = one.row.columns as unknown as RuleColumns;
      this.#change(one, {
        action: 'add',
        before: undefined,
        after: ruleText(columns),
        stage: ADD.rule,
        commands: [ruleCommand('add', columns)],
      });
    }
    for (const [key, columns] of found)
      this.#remove('rule', key, ruleText(columns), [ruleCommand('delete', columns)], isComplete);
  }
}

const vrfText = ({ table, alias, isUp }: FoundLink): string =>
  `type vrf table ${table}${alias === '' ? '' : ` alias "${alias}"`}${isUp ? ' up' : ' down'}`;

const deviceText = (master: string | undefined, isUp: boolean): string =>
  `${master === undefined ? '' : `master ${master} `}${isUp ? 'up' : 'down'}`;

const addressText = ({ address, dev, deprecated }: AddressColumns): string =>
  `${address} dev ${dev}${deprecated === true ? ' deprecated' : ''}`;

/** Nobody else has the addresses that we give: no need to look for duplicates before they work. */
const addressWords = ({ address, dev, deprecated }: AddressColumns): string[] => [
  address,
  'dev',
  dev,
  ...(address.includes(':') ? ['nodad'] : []),
  ...(deprecated === true ? ['valid_lft', 'forever', 'preferred_lft', '0'] : []),
];

const withoutAddress = ({ address, dev }: AddressColumns): LinuxCommand =>
  ip('any', 'address', 'delete', address, 'dev', dev);

const routeText = remembered(
  (route: RouteColumns) => `${routeWords(route).join(' ')} table ${route.table}`,
);

const routeCommand = (what: 'add' | 'delete', route: RouteColumns): LinuxCommand => {
  const where = ['table', String(route.table), 'proto', String(PROTOCOL)];
  return ip(familyFlag(route.family), 'route', what, ...routeWords(route), ...where);
};

const neighbourText = ({ address, mac, dev }: NeighbourColumns): string =>
  `${address} lladdr ${mac} dev ${dev}`;

const neighbourCommand = (
  what: 'replace' | 'delete',
  { address, mac, dev }: NeighbourColumns,
): LinuxCommand =>
  what === 'delete'
    ? ip('any', 'neighbour', 'delete', address, 'dev', dev)
    : ip(
        'any',
        'neighbour',
        'replace',
        address,
        'lladdr',
        mac,
        'dev',
        dev,
        'nud',
        'permanent',
        'protocol',
        String(PROTOCOL),
      );

const ruleText = (rule: RuleColumns): string => ruleWords(rule).join(' ');

const ruleCommand = (what: 'add' | 'delete', rule: RuleColumns): LinuxCommand =>
  ip(
    familyFlag(rule.family),
    'rule',
    what,
    ...ruleWords(rule),
    'protocol',
    String(rule.isKernels === true ? PROTOCOL_KERNEL : PROTOCOL),
  );
