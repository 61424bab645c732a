/** State of the Linux network stack as rows, so that one engine keeps a row, a route and a rule: tables, columns, and keys. */
import { asHost, type Family } from '../../allocators/addresses.ts';
import type { RowOf } from '../reconcile/claims.ts';

/** Name of the "database" whose tables are the kernel's. */
export const LINUX = 'Linux';

/** A VRF of ours, or what we want of a device that somebody else makes. */
export interface LinkColumns {
  readonly name: string;
  /** With `table`: the device is made by us. */
  readonly kind?: 'vrf';
  readonly table?: number;
  /** Nothing is done to a device of another MAC address: it is not, or not yet, the one that is meant. */
  readonly mac?: string;
  readonly master?: string;
}

export interface AddressColumns {
  readonly dev: string;
  /** With prefix length. */
  readonly address: string;
  /** Never chosen as a source by the kernel. */
  readonly deprecated?: boolean;
  /** The kernel takes it away by itself unless its lease is renewed (`CardLeases`). */
  readonly isLeased?: boolean;
}

export interface RouteColumns {
  readonly family: Family;
  readonly table: number;
  /** `default`, or a network with its prefix length. */
  readonly dst: string;
  /** A number (ROUTE_TYPE) of a route that was found, and is of no kind that we make. */
  readonly type?: 'unreachable' | 'local' | `${number}`;
  /** Of a route that was found, and has more than one: SEVERAL_HOPS. */
  readonly via?: string;
  readonly dev?: string;
  /** The next hop is on the device whatever routes say. */
  readonly onlink?: boolean;
  readonly src?: string;
  readonly mtu?: number;
  readonly metric?: number;
}

export interface RuleColumns {
  readonly family: Family;
  readonly priority: number;
  /** Lower-case hexadecimal with `0x`. */
  readonly fwmark?: string;
  readonly from?: string;
  readonly to?: string;
  /** Source port. */
  readonly sport?: number;
  readonly l3mdev?: boolean;
  readonly table?: number;
  /** One of the rules that the kernel makes by itself: put back when it is gone, never removed. */
  readonly isKernels?: boolean;
}

export interface NeighbourColumns {
  readonly dev: string;
  readonly address: string;
  readonly mac: string;
}

export interface SysctlColumns {
  /** Device that it is a setting of. */
  readonly dev?: string;
  readonly value: string;
  /** Key to set where the kernel does not have this one. */
  readonly otherwise?: string;
}

/** A row of one of the tables. */
export type LinuxRow = RowOf<{
  readonly link: LinkColumns;
  readonly address: AddressColumns;
  readonly route: RouteColumns;
  readonly rule: RuleColumns;
  readonly neighbour: NeighbourColumns;
  readonly sysctl: SysctlColumns;
}>;

export type LinuxTable = LinuxRow['table'];

/** Metric of an IPv6 route that names none. */
const IPV6_METRIC = 1024;

/** Stands for next hops of which we never give a route more than one. */
export const SEVERAL_HOPS = 'several';

/** The metric that the kernel gives it. */
export const metricOf = ({ family, metric = 0 }: RouteColumns): number =>
  metric === 0 && family === 'v6' ? IPV6_METRIC : metric;

/** What follows from rows is asked for again and again, and rows never change. */
export function remembered<C extends object, T>(valueOf: (columns: C) => T): (columns: C) => T {
  const known = new WeakMap<C, { readonly value: T }>();
  return (columns) => {
    let found = known.get(columns);
    if (found === undefined) known.set(columns, (found = { value: valueOf(columns) }));
    return found.value;
  };
}

/** What tells a route from all others: of one family, table, destination and metric the kernel has one. */
export const routeKey = remembered(
  (route: RouteColumns) =>
    `${route.family === 'v6' ? 'inet6' : 'inet'} table ${route.table} ${route.dst} metric ${metricOf(route)}`,
);

export const ruleKey = remembered(
  (rule: RuleColumns) =>
    `${rule.family === 'v6' ? 'inet6' : 'inet'} ${ruleArguments(rule).join(' ')}`,
);

export const addressKey = ({ dev, address }: Pick<AddressColumns, 'dev' | 'address'>): string =>
  `${dev} ${address}`;

/** The route in the syntax of ip(8), without table and protocol. */
export function routeArguments(route: RouteColumns): string[] {
  const { type, dst, via, dev, onlink, src, mtu } = route;
  const metric = metricOf(route);
  return [
    ...(type === undefined ? [] : [type]),
    dst,
    ...(via === undefined ? [] : ['via', via]),
    ...(dev === undefined ? [] : ['dev', dev]),
    ...(onlink === true ? ['onlink'] : []),
    ...(src === undefined ? [] : ['src', src]),
    ...(mtu === undefined ? [] : ['mtu', String(mtu)]),
    ...(metric === 0 || (metric === IPV6_METRIC && route.family === 'v6')
      ? []
      : ['metric', String(metric)]),
  ];
}

/** The rule in the syntax of ip(8), without its protocol. */
export function ruleArguments(rule: RuleColumns): string[] {
  const { priority, fwmark, from, to, sport, l3mdev, table } = rule;
  return [
    'priority',
    String(priority),
    ...(from === undefined ? [] : ['from', asHostIfBare(from)]),
    ...(to === undefined ? [] : ['to', asHostIfBare(to)]),
    ...(fwmark === undefined ? [] : ['fwmark', fwmark]),
    ...(sport === undefined ? [] : ['sport', String(sport)]),
    ...(l3mdev === true ? ['l3mdev'] : []),
    ...(table === undefined ? [] : ['lookup', String(table)]),
  ];
}

export const asHostIfBare = (address: string): string =>
  address.includes('/') ? address : asHost(address);
