/** Objects of the network stack as the kernel shows them, in the columns in which they are wanted. */
import {
  HOP_FLAG,
  ROUTE_TYPE,
  type Address,
  type Link,
  type Neighbour,
  type Route,
  type Rule,
} from 'rtnetlink-ts';
import {
  SEVERAL_HOPS,
  type AddressColumns,
  type NeighbourColumns,
  type RouteColumns,
  type RuleColumns,
} from './linux-rows.ts';

/** An object as found: what a feature could want, and whether somebody marked it as ours. */
export interface Found<C> {
  readonly columns: C;
  readonly protocol: number;
}

export interface FoundLink {
  readonly index: number;
  readonly name: string;
  readonly kind: string | undefined;
  /** Of a VRF. */
  readonly table: number | undefined;
  readonly master: string | undefined;
  readonly mac: string | undefined;
  readonly isUp: boolean;
  /** False while nothing is behind it: the kernel has no routes for its IPv6 addresses then. */
  readonly hasCarrier: boolean;
  readonly alias: string;
  readonly addresses: readonly Found<AddressColumns>[];
}

/** The name of a device by its number; undefined for one that is not there. */
export type NameOf = (index: number | undefined) => string | undefined;

export const foundLink = (
  { index, name, kind, data, master, mac, isUp, hasCarrier, alias = '' }: Link,
  addresses: readonly Address[],
  nameOf: NameOf,
): FoundLink => ({
  index,
  name,
  kind,
  table: data?.kind === 'vrf' ? data.table : undefined,
  master: nameOf(master),
  mac,
  isUp,
  hasCarrier,
  alias,
  addresses: addresses.map(({ address, lifetimes, protocol }) => ({
    columns: {
      dev: name,
      address,
      ...(lifetimes.preferred === 0 ? { deprecated: true } : {}),
    },
    protocol,
  })),
});

/** Destinations of default routes. */
export const DEFAULTS = ['0.0.0.0/0', '::/0'];

/** Kinds of routes that we make besides those that lead somewhere. */
const TYPES: ReadonlyMap<number, 'unreachable' | 'local'> = new Map([
  [ROUTE_TYPE.unreachable, 'unreachable'],
  [ROUTE_TYPE.local, 'local'],
]);

export function foundRoute(route: Route, nameOf: NameOf): Found<RouteColumns> {
  const { family, table, destination, type, protocol, preferredSource, metric } = route;
  const { mtu } = route.metrics;
  const [hop, ...others] = route.hops;
  const isUnicast = type === ROUTE_TYPE.unicast;
  const isLocal = type === ROUTE_TYPE.local;
  const via = others.length === 0 ? hop?.via : SEVERAL_HOPS;
  // IPv6 shows the loopback device for what goes nowhere.
  const dev = (isUnicast || isLocal) && others.length === 0 ? nameOf(hop?.device) : undefined;
  return {
    columns: {
      family,
      table,
      dst: DEFAULTS.includes(destination) ? 'default' : destination,
      ...(isUnicast ? {} : { type: TYPES.get(type) ?? (`${type}` as const) }),
      ...(via === undefined ? {} : { via }),
      ...(dev === undefined ? {} : { dev }),
      ...(dev === undefined || ((hop?.flags ?? 0) & HOP_FLAG.onLink) === 0 ? {} : { onlink: true }),
      ...(preferredSource === undefined ? {} : { src: preferredSource }),
      ...(mtu === undefined ? {} : { mtu }),
      ...(metric === undefined ? {} : { metric }),
    },
    protocol,
  };
}

/** FR_ACT_TO_TBL (linux/fib_rules.h). */
const TO_TABLE = 1;
const EVERY_BIT = 0xffff_ffff;

/** Undefined for a rule with more to it than ours ever have: it is not one of ours. */
export function foundRule(rule: Rule): Found<RuleColumns> | undefined {
  const { family, priority, action, table, source, destination, mark = 0, mask = EVERY_BIT } = rule;
  const [sport, lastPort] = rule.sourcePorts ?? [];
  const hasMore =
    rule.hasMore ||
    rule.isInverted ||
    action !== TO_TABLE ||
    mask !== EVERY_BIT ||
    sport !== lastPort ||
    (rule.inputDevice ?? rule.outputDevice) !== undefined;
  if (hasMore) return undefined;
  return {
    columns: {
      family,
      priority,
      ...(source === undefined ? {} : { from: source }),
      ...(destination === undefined ? {} : { to: destination }),
      ...(mark === 0 ? {} : { fwmark: `0x${mark.toString(16)}` }),
      ...(sport === undefined ? {} : { sport }),
      ...(rule.isL3mdev ? { l3mdev: true } : {}),
      ...(table === 0 ? {} : { table }),
    },
    protocol: rule.protocol,
  };
}

export function foundNeighbour(
  { address, device, mac, protocol }: Neighbour,
  nameOf: NameOf,
): Found<NeighbourColumns> | undefined {
  const dev = nameOf(device);
  return dev === undefined || mac === undefined
    ? undefined
    : { columns: { dev, address, mac }, protocol };
}
