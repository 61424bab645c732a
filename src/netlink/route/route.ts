/** Routes: RTM_NEWROUTE and its like (linux/rtnetlink.h). */
import { Attributes } from '../wire/attributes.ts';
import { ByteWriter } from '../wire/byte-writer.ts';
import {
  FAMILY,
  familyOf,
  familyOfNumber,
  ipText,
  lengthOf,
  parseIp,
  parsePrefix,
  type Family,
} from '../wire/ip-text.ts';
import { aligned, LITTLE_ENDIAN, viewOf } from '../wire/layout.ts';
import { MalformedMessage } from '../wire/malformed.ts';
import { FLAG, type NetlinkMessage } from '../wire/message.ts';
import type { Query, Request } from '../wire/request.ts';

const TYPE = { new: 24, delete: 25, get: 26 } as const;

/** RTA_* */
const A = {
  destination: 1,
  source: 2,
  inputDevice: 3,
  device: 4,
  gateway: 5,
  metric: 6,
  preferredSource: 7,
  metrics: 8,
  multipath: 9,
  cacheInfo: 12,
  table: 15,
  mark: 16,
  via: 18,
  preference: 20,
  expires: 23,
} as const;
/** RTAX_*, by the names that ip(8) has for them. */
export const ROUTE_METRIC = {
  lock: 1,
  mtu: 2,
  window: 3,
  rtt: 4,
  rttvar: 5,
  ssthresh: 6,
  cwnd: 7,
  advmss: 8,
  reordering: 9,
  hoplimit: 10,
  initcwnd: 11,
  features: 12,
  rto_min: 13,
  initrwnd: 14,
  quickack: 15,
  fastopen_no_cookie: 17,
} as const;
type MetricName = keyof typeof ROUTE_METRIC;
const METRIC_NAMES: ReadonlyMap<number, MetricName> = new Map(
  Object.entries(ROUTE_METRIC).map(([name, type]) => [type, name as MetricName]),
);
/** RTAX_CC_ALGO, the one that is a text. */
const CONGESTION_CONTROL = 16;
/** The field of the header has eight bits; of other tables 0 (RT_TABLE_UNSPEC) stands there. */
const SMALL_TABLES = 256;

export const MAIN_TABLE = 254;
export const LOCAL_TABLE = 255;

/** RTN_* */
export const ROUTE_TYPE = {
  unicast: 1,
  local: 2,
  broadcast: 3,
  anycast: 4,
  multicast: 5,
  blackhole: 6,
  unreachable: 7,
  prohibit: 8,
  throw: 9,
} as const;

/** RT_SCOPE_*; of what is deleted nowhere means any. */
const SCOPE = { universe: 0, link: 253, host: 254, nowhere: 255 } as const;

/** RTNH_F_* */
export const HOP_FLAG = { dead: 0x1, onLink: 0x4, linkDown: 0x10 } as const;

/** How what goes by a route is sent, in the kernel's own units. `lock` has a bit for each (1 << RTAX_*) that path discovery must not change. */
export type RouteMetrics = { readonly [name in MetricName]?: number } & {
  readonly congctl?: string;
};

export interface Hop {
  /** Number of the device. */
  readonly device: number | undefined;
  /** Gateway, which may be one of the other family. */
  readonly via: string | undefined;
  /** From 1. */
  readonly weight: number;
  /** HOP_FLAG and others. */
  readonly flags: number;
}

export interface Route {
  readonly family: Family;
  readonly table: number;
  /** With prefix length; of a default route `0.0.0.0/0` or `::/0`. */
  readonly destination: string;
  /** ROUTE_TYPE */
  readonly type: number;
  /** RTPROT_*: 2 the kernel, 3 at boot, 4 an administrator. */
  readonly protocol: number;
  readonly scope: number;
  readonly metric: number | undefined;
  readonly preferredSource: string | undefined;
  readonly metrics: RouteMetrics;
  /** Seconds; undefined for a route that stays. */
  readonly expires: number | undefined;
  /** ICMPV6_ROUTER_PREF_*, of IPv6: 0 medium, 1 high, 3 low. */
  readonly preference: number | undefined;
  /** One, or several that share what is sent; none of a route that leads nowhere. */
  readonly hops: readonly Hop[];
}

const HEADER = 12;
const HOP_HEADER = 8;

/** `rtvia`: a family and an address. */
function viaText(bytes: Uint8Array, what: string): string {
  if (bytes.length < 2) throw new MalformedMessage(`${what}: a gateway of ${bytes.length} bytes`);
  return ipText(bytes.subarray(2));
}

function gatewayOf(all: Attributes, what: string): string | undefined {
  const [gateway, via] = [all.bytes(A.gateway), all.bytes(A.via)];
  if (gateway !== undefined) return ipText(gateway);
  return via === undefined ? undefined : viaText(via, what);
}

function readHops(bytes: Uint8Array, what: string): readonly Hop[] {
  const view = viewOf(bytes);
  const hops: Hop[] = [];
  let at = 0;
  while (at < bytes.length) {
    const left = bytes.length - at;
    const length = left < HOP_HEADER ? 0 : view.getUint16(at, LITTLE_ENDIAN);
    if (length < HOP_HEADER || length > left)
      throw new MalformedMessage(`${what}: a next hop at ${at} of ${length} bytes, of ${left}`);
    const all = new Attributes(bytes.subarray(at, at + length), HOP_HEADER, what);
    hops.push({
      device: view.getInt32(at + 4, LITTLE_ENDIAN) || undefined,
      via: gatewayOf(all, what),
      weight: view.getUint8(at + 3) + 1,
      flags: view.getUint8(at + 2),
    });
    at += aligned(length);
  }
  return hops;
}

function readMetrics(bytes: Uint8Array | undefined, what: string): RouteMetrics {
  if (bytes === undefined) return {};
  const all = new Attributes(bytes, 0, what);
  const metrics: Partial<Record<MetricName, number>> & { congctl?: string } = {};
  const congctl = all.text(CONGESTION_CONTROL);
  if (congctl !== undefined) metrics.congctl = congctl;
  for (const type of all.types) {
    const name = METRIC_NAMES.get(type);
    const value = name === undefined ? undefined : all.u32(type);
    if (name !== undefined && value !== undefined) metrics[name] = value;
  }
  return metrics;
}

/** Where `rta_cacheinfo` has how long the route is there, and in which parts of a second (USER_HZ). */
const EXPIRES_AT = 8;
const TICKS = 100;

function readExpires(bytes: Uint8Array | undefined, what: string): number | undefined {
  if (bytes === undefined) return undefined;
  if (bytes.length < EXPIRES_AT + 4)
    throw new MalformedMessage(`${what}: lifetimes of ${bytes.length} bytes`);
  const ticks = viewOf(bytes).getInt32(EXPIRES_AT, LITTLE_ENDIAN);
  // One that has ended is there until the kernel looks for such.
  return ticks === 0 ? undefined : Math.max(0, Math.floor(ticks / TICKS));
}

/** A route of which the kernel tells; undefined for another message, and of families that are no IP. Throws MalformedMessage. */
export function readRoute({ type, body }: NetlinkMessage): Route | undefined {
  if (type !== TYPE.new && type !== TYPE.delete) return undefined;
  if (body.length < HEADER) throw new MalformedMessage(`a route of ${body.length} bytes`);
  const view = viewOf(body);
  const family = familyOfNumber(view.getUint8(0));
  if (family === undefined) return undefined;
  const what = 'a route';
  const all = new Attributes(body, HEADER, what);
  const length = view.getUint8(1);
  if (length > lengthOf(family)) throw new MalformedMessage(`${what}: a prefix of ${length} bits`);
  const destination = all.bytes(A.destination) ?? new Uint8Array(lengthOf(family) / 8);
  const [device, via] = [all.u32(A.device), gatewayOf(all, what)];
  const several = all.bytes(A.multipath);
  const source = all.bytes(A.preferredSource);
  const single = device === undefined && via === undefined;
  return {
    family,
    table: all.u32(A.table) ?? view.getUint8(4),
    destination: `${ipText(destination)}/${length}`,
    type: view.getUint8(7),
    protocol: view.getUint8(5),
    scope: view.getUint8(6),
    metric: all.u32(A.metric),
    preferredSource: source === undefined ? undefined : ipText(source),
    metrics: readMetrics(all.bytes(A.metrics), what),
    expires: readExpires(all.bytes(A.cacheInfo), what),
    preference: all.u8(A.preference),
    hops:
      several !== undefined
        ? readHops(several, what)
        : single
          ? []
          : [{ device, via, weight: 1, flags: view.getUint32(8, LITTLE_ENDIAN) & 0xff }],
  };
}

export const isRouteGone = ({ type }: NetlinkMessage): boolean => type === TYPE.delete;

export interface NewHop {
  /** Number of the device. */
  readonly device?: number;
  readonly via?: string;
  readonly weight?: number;
  /** The gateway is reached over the device, whatever routes say. */
  readonly isOnLink?: boolean;
}

export interface NewRoute {
  /** With prefix length. */
  readonly destination: string;
  /** The main table, if none is named. */
  readonly table?: number;
  /** ROUTE_TYPE; unicast, if none is named. */
  readonly type?: number;
  /** RTPROT_*; as ip(8) does, 3 if none is named. */
  readonly protocol?: number;
  /** RT_SCOPE_*; as ip(8) does, what follows from the next hops, if none is named. */
  readonly scope?: number;
  readonly metric?: number;
  readonly preferredSource?: string;
  readonly metrics?: RouteMetrics;
  /** Seconds, of IPv6. */
  readonly expires?: number;
  /** ICMPV6_ROUTER_PREF_*, of IPv6. */
  readonly preference?: number;
  readonly hops?: readonly NewHop[];
}

/** RTPROT_BOOT */
const BOOT = 3;

function writeGateway(writer: ByteWriter, via: string, family: Family): void {
  const bytes = parseIp(via);
  if (familyOf(via) === family) writer.attribute(A.gateway, (w) => w.put(bytes));
  else writer.attribute(A.via, (w) => w.u16(FAMILY[familyOf(via)]).put(bytes));
}

function writeHops(writer: ByteWriter, hops: readonly NewHop[], family: Family): void {
  const [first, ...others] = hops;
  if (first !== undefined && others.length === 0) {
    const { device, via } = first;
    if (via !== undefined) writeGateway(writer, via, family);
    if (device !== undefined) writer.attribute(A.device, (w) => w.u32(device));
    return;
  }
  if (first === undefined) return;
  writer.attribute(A.multipath, (list) => {
    for (const { device = 0, via, weight = 1, isOnLink = false } of hops)
      list.measured((hop) => {
        hop
          .u16(0)
          .u8(isOnLink ? HOP_FLAG.onLink : 0)
          .u8(weight - 1)
          .i32(device);
        if (via !== undefined) writeGateway(hop, via, family);
      });
  });
}

function writeMetrics(writer: ByteWriter, { congctl, ...numbers }: RouteMetrics): void {
  for (const [name, value] of Object.entries(numbers))
    writer.attribute(ROUTE_METRIC[name as MetricName], (w) => w.u32(value));
  if (congctl !== undefined) writer.word(CONGESTION_CONTROL, congctl);
}

function write(route: NewRoute, isDeletion: boolean): Uint8Array {
  const { table = MAIN_TABLE, type = ROUTE_TYPE.unicast, metric, preferredSource } = route;
  const { metrics = {}, expires, preference } = route;
  const { family, bytes, length } = parsePrefix(route.destination);
  const hops = route.hops ?? [];
  const isDirect = type === ROUTE_TYPE.unicast && hops.every(({ via }) => via === undefined);
  // As ip(8) has it: to what is on the device itself.
  const ofFamily = type === ROUTE_TYPE.local ? SCOPE.host : isDirect ? SCOPE.link : SCOPE.universe;
  const usual = family === 'v4' ? ofFamily : SCOPE.universe;
  const { scope = isDeletion ? SCOPE.nowhere : usual } = route;
  const [only, ...others] = hops;
  const isOnLink = others.length === 0 && only?.isOnLink === true;
  const writer = new ByteWriter()
    .u8(FAMILY[family])
    .u8(length)
    .u8(0)
    .u8(0)
    .u8(table < SMALL_TABLES ? table : 0)
    .u8(route.protocol ?? (isDeletion ? 0 : BOOT))
    .u8(scope)
    .u8(isDeletion && route.type === undefined ? 0 : type)
    .u32(isOnLink ? HOP_FLAG.onLink : 0);
  if (length > 0 || family === 'v6') writer.attribute(A.destination, (w) => w.put(bytes));
  if (table >= SMALL_TABLES) writer.attribute(A.table, (w) => w.u32(table));
  if (metric !== undefined) writer.attribute(A.metric, (w) => w.u32(metric));
  if (preferredSource !== undefined)
    writer.attribute(A.preferredSource, (w) => w.put(parseIp(preferredSource)));
  if (Object.keys(metrics).length > 0)
    writer.nested(A.metrics, (nested) => writeMetrics(nested, metrics));
  if (preference !== undefined) writer.attribute(A.preference, (w) => w.u8(preference));
  if (expires !== undefined) writer.attribute(A.expires, (w) => w.u32(expires));
  writeHops(writer, hops, family);
  return writer.bytes;
}

const textOf = ({ destination, table = MAIN_TABLE, hops = [] }: NewRoute): string => {
  const via = hops.map((hop) => hop.via ?? `device ${hop.device}`).join(', ');
  return `route ${destination}${via === '' ? '' : ` by ${via}`}, table ${table}`;
};

/** Makes a route that is not there yet. Throws RangeError for what is no address or number. */
export const addRoute = (route: NewRoute): Request => ({
  type: TYPE.new,
  flags: FLAG.create | FLAG.exclusive,
  body: write(route, false),
  what: `add ${textOf(route)}`,
});

/** Makes a route, in the place of one with the same table, destination and metric. */
export const replaceRoute = (route: NewRoute): Request => ({
  type: TYPE.new,
  flags: FLAG.create | FLAG.replace,
  body: write(route, false),
  what: `replace ${textOf(route)}`,
});

/** Removes the first route that has all that is named. */
export const deleteRoute = (route: NewRoute): Request => ({
  type: TYPE.delete,
  flags: 0,
  body: write(route, true),
  what: `delete ${textOf(route)}`,
});

export interface RouteFilter {
  readonly family: Family;
  readonly table?: number;
  readonly protocol?: number;
  /** Number of the device. */
  readonly device?: number;
}

/** ENOENT: of a table that has no route the kernel says that there is none. */
const NO_SUCH_TABLE = 2;

/** Routes of a family, of all tables or of one. */
export function routes({ family, table, protocol = 0, device }: RouteFilter): Query<Route> {
  const writer = new ByteWriter()
    .u8(FAMILY[family])
    .u8(0)
    .u8(0)
    .u8(0)
    .u8(0)
    .u8(protocol)
    .u16(0)
    .u32(0);
  if (table !== undefined) writer.attribute(A.table, (w) => w.u32(table));
  if (device !== undefined) writer.attribute(A.device, (w) => w.u32(device));
  return {
    type: TYPE.get,
    flags: FLAG.dump,
    body: writer.bytes,
    what: `show ${family} routes of ${table === undefined ? 'all tables' : `table ${table}`}`,
    read: readRoute,
    none: NO_SUCH_TABLE,
  };
}

export interface RouteLookup {
  /** Without prefix length. */
  readonly destination: string;
  readonly source?: string;
  /** Number of the device by which the packet comes; absent for one of the host itself. */
  readonly device?: number;
  readonly mark?: number;
}

/** RTM_F_LOOKUP_TABLE: the answer has the table in which the route is; of IPv6 it has so in any case, and the flag is refused. */
const WITH_TABLE = { v4: 0x1000, v6: 0 } as const;

/**
 * The route that the kernel takes for a packet, by its rules and tables; its `destination` is the address itself. The kernel refuses what has no route (ENETUNREACH,
 * EHOSTUNREACH), and what reverse path filtering would drop (EXDEV).
 */
export function lookUpRoute({ destination, source, device, mark }: RouteLookup): Query<Route> {
  const family = familyOf(destination);
  const length = lengthOf(family);
  if (source !== undefined && familyOf(source) !== family)
    throw new RangeError(`${source} and ${destination} are of two families`);
  const writer = new ByteWriter()
    .u8(FAMILY[family])
    .u8(length)
    .u8(source === undefined ? 0 : length)
    .u8(0)
    .u8(0)
    .u8(0)
    .u16(0)
    .u32(WITH_TABLE[family])
    .attribute(A.destination, (w) => w.put(parseIp(destination)));
  if (source !== undefined) writer.attribute(A.source, (w) => w.put(parseIp(source)));
  if (device !== undefined) writer.attribute(A.inputDevice, (w) => w.u32(device));
  if (mark !== undefined) writer.attribute(A.mark, (w) => w.u32(mark));
  return {
    type: TYPE.get,
    flags: 0,
    body: writer.bytes,
    what: `look up the route to ${destination}${source === undefined ? '' : ` from ${source}`}`,
    read: readRoute,
  };
}
