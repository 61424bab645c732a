/** Connections that the kernel tracks: ctnetlink (linux/netfilter/nfnetlink_conntrack.h). */
import { Attributes, someAttribute } from '../wire/attributes.ts';
import { ByteWriter } from '../wire/byte-writer.ts';
import { FAMILY, familyOf, familyOfNumber, ipText, parseIp, type Family } from '../wire/ip-text.ts';
import { LITTLE_ENDIAN, viewOf } from '../wire/layout.ts';
import { MalformedMessage } from '../wire/malformed.ts';
import { FLAG, type NetlinkMessage } from '../wire/message.ts';
import type { Query, Request } from '../wire/request.ts';

/** NFNL_SUBSYS_CTNETLINK and IPCTNL_MSG_CT_* */
const TYPE = { new: 0x100, get: 0x101, delete: 0x102, statistics: 0x105 } as const;
/** CTA_STATS_GLOBAL_ENTRIES */
const ENTRIES = 1;

/** CTA_* */
const A = {
  original: 1,
  reply: 2,
  status: 3,
  timeout: 7,
  mark: 8,
  id: 12,
  zone: 18,
  markMask: 21,
  labels: 22,
  filter: 25,
} as const;
/** CTA_TUPLE_* */
const TUPLE = { addresses: 1, protocol: 2 } as const;
/** CTA_IP_* */
const IP = { source4: 1, destination4: 2, source6: 3, destination6: 4 } as const;
/** CTA_PROTO_* */
const PROTOCOL = {
  number: 1,
  sourcePort: 2,
  destinationPort: 3,
  icmpId: 4,
  icmpType: 5,
  icmpCode: 6,
  icmp6Id: 7,
  icmp6Type: 8,
  icmp6Code: 9,
} as const;
/** CTA_FILTER_ORIG_FLAGS, CTA_FILTER_REPLY_FLAGS, and CTA_FILTER_F_* of the fields that count in them (net/netfilter/nf_conntrack_core.h). */
const FILTER = { original: 1, reply: 2 } as const;
const COUNTS = {
  source: 1 << 0,
  destination: 1 << 1,
  protocol: 1 << 3,
  sourcePort: 1 << 4,
  destinationPort: 1 << 5,
} as const;

const EVERY_BIT = 0xffff_ffff;

/** IPPROTO_ICMP: of IPv4 alone. */
const ICMP = 1;

/** One direction of a connection: who sends to whom. */
export interface Tuple {
  readonly source: string;
  readonly destination: string;
  /** IPPROTO_*: 6 is TCP, 17 UDP. */
  readonly protocol: number;
  readonly sourcePort: number | undefined;
  readonly destinationPort: number | undefined;
  readonly icmp: { readonly id: number; readonly type: number; readonly code: number } | undefined;
}

export interface Connection {
  readonly family: Family;
  /** As who began it sends. */
  readonly original: Tuple;
  /** As who answers sends, after translation. */
  readonly reply: Tuple;
  readonly zone: number;
  readonly mark: number;
  /** 128 bits that are who tracks it's own (nf_conntrack_labels.h); 0n where it has none. */
  readonly labels: bigint;
  /** IPS_* (linux/netfilter/nf_conntrack_common.h). */
  readonly status: number;
  /** Seconds until it is forgotten. */
  readonly timeout: number | undefined;
  readonly id: number | undefined;
}

/** `nfgenmsg`: family, version, and a number of which nothing is made here. */
const HEADER = 4;

function readTuple(all: Attributes | undefined): Tuple {
  const addresses = all?.nested(TUPLE.addresses);
  const protocol = all?.nested(TUPLE.protocol);
  const source = addresses?.bytes(IP.source4) ?? addresses?.bytes(IP.source6);
  const destination = addresses?.bytes(IP.destination4) ?? addresses?.bytes(IP.destination6);
  const number = protocol?.u8(PROTOCOL.number);
  if (source === undefined || destination === undefined || number === undefined)
    throw new MalformedMessage('a connection without addresses or protocol');
  const type = protocol?.u8(PROTOCOL.icmpType) ?? protocol?.u8(PROTOCOL.icmp6Type);
  return {
    source: ipText(source),
    destination: ipText(destination),
    protocol: number,
    sourcePort: protocol?.u16Network(PROTOCOL.sourcePort),
    destinationPort: protocol?.u16Network(PROTOCOL.destinationPort),
    icmp:
      type === undefined
        ? undefined
        : {
            id:
              protocol?.u16Network(PROTOCOL.icmpId) ?? protocol?.u16Network(PROTOCOL.icmp6Id) ?? 0,
            type,
            code: protocol?.u8(PROTOCOL.icmpCode) ?? protocol?.u8(PROTOCOL.icmp6Code) ?? 0,
          },
  };
}

/** One number in the order of this machine's bytes, as Open vSwitch writes it. */
function readLabels(bytes: Uint8Array = new Uint8Array()): bigint {
  const ordered = LITTLE_ENDIAN ? bytes.toReversed() : bytes;
  return ordered.reduce((all, byte) => (all << 8n) | BigInt(byte), 0n);
}

/** A connection of which the kernel tells; undefined for another message, and of families that are no IP. Throws MalformedMessage. */
export function readConnection({ type, body }: NetlinkMessage): Connection | undefined {
  if (type !== TYPE.new && type !== TYPE.delete) return undefined;
  if (body.length < HEADER) throw new MalformedMessage(`a connection of ${body.length} bytes`);
  const family = familyOfNumber(viewOf(body).getUint8(0));
  if (family === undefined) return undefined;
  const all = new Attributes(body, HEADER, 'a connection');
  return {
    family,
    original: readTuple(all.nested(A.original)),
    reply: readTuple(all.nested(A.reply)),
    zone: all.u16Network(A.zone) ?? 0,
    mark: all.u32Network(A.mark) ?? 0,
    labels: readLabels(all.bytes(A.labels)),
    status: all.u32Network(A.status) ?? 0,
    timeout: all.u32Network(A.timeout),
    id: all.u32Network(A.id),
  };
}

/** What of one direction has to be so; what is not named may be anything. */
export interface TupleFilter {
  readonly source?: string;
  readonly destination?: string;
  readonly protocol?: number;
  /** With `protocol`. */
  readonly sourcePort?: number;
  /** With `protocol`. */
  readonly destinationPort?: number;
}

export interface ConnectionFilter {
  readonly family?: Family;
  readonly zone?: number | undefined;
  readonly mark?: number | undefined;
  /** Which bits of the mark count: all, if none are named. */
  readonly markMask?: number;
  readonly original?: TupleFilter | undefined;
  readonly reply?: TupleFilter | undefined;
}

/** What can only be shown, as the kernel is not asked for it. */
export interface Among {
  /** Whom one of the connection's addresses has to be, as sent or as answered: any of these. */
  readonly among?: readonly string[];
}

const header = (family: Family | undefined, version = 0): ByteWriter =>
  new ByteWriter()
    .u8(family === undefined ? FAMILY.unspecified : FAMILY[family])
    .u8(version)
    .u16(0);

function writeTuple(
  writer: ByteWriter,
  type: number,
  tuple: Partial<Pick<Tuple, keyof TupleFilter | 'icmp'>>,
): void {
  const { source, destination, protocol, sourcePort, destinationPort, icmp } = tuple;
  const address = (inside: ByteWriter, text: string, v4: number, v6: number): void => {
    const bytes = parseIp(text);
    inside.attribute(bytes.length === 4 ? v4 : v6, (w) => w.put(bytes));
  };
  writer.nested(type, (all) => {
    if (source !== undefined || destination !== undefined)
      all.nested(TUPLE.addresses, (inside) => {
        if (source !== undefined) address(inside, source, IP.source4, IP.source6);
        if (destination !== undefined)
          address(inside, destination, IP.destination4, IP.destination6);
      });
    if (protocol === undefined) return;
    all.nested(TUPLE.protocol, (inside) => {
      inside.attribute(PROTOCOL.number, (w) => w.u8(protocol));
      if (sourcePort !== undefined)
        inside.attribute(PROTOCOL.sourcePort, (w) => w.u16Network(sourcePort));
      if (destinationPort !== undefined)
        inside.attribute(PROTOCOL.destinationPort, (w) => w.u16Network(destinationPort));
      if (icmp === undefined) return;
      const [number, kind, code] =
        protocol === ICMP
          ? [PROTOCOL.icmpId, PROTOCOL.icmpType, PROTOCOL.icmpCode]
          : [PROTOCOL.icmp6Id, PROTOCOL.icmp6Type, PROTOCOL.icmp6Code];
      inside.attribute(number, (w) => w.u16Network(icmp.id));
      inside.attribute(kind, (w) => w.u8(icmp.type));
      inside.attribute(code, (w) => w.u8(icmp.code));
    });
  });
}

function countedFields(tuple: TupleFilter | undefined): number {
  let fields = 0;
  for (const [name, bit] of Object.entries(COUNTS))
    if (tuple?.[name as keyof typeof COUNTS] !== undefined) fields |= bit;
  return fields;
}

/** Throws RangeError for a filter that the kernel would take for another one. */
function checkedFilter({ family, original, reply }: ConnectionFilter): Family | undefined {
  const tuples = [original, reply].filter((tuple) => tuple !== undefined);
  for (const { protocol, sourcePort, destinationPort } of tuples)
    if (protocol === undefined && (sourcePort ?? destinationPort) !== undefined)
      throw new RangeError('a filter by port has to name the protocol');
  const families = new Set([
    ...(family === undefined ? [] : [family]),
    ...tuples.flatMap(({ source, destination }) =>
      [source, destination].filter((one) => one !== undefined).map(familyOf),
    ),
  ]);
  if (families.size > 1) throw new RangeError('a filter has addresses of two families');
  const [one] = families;
  if (one === undefined && tuples.length > 0)
    throw new RangeError('a filter by protocol has to name the family');
  return one;
}

function writeFilter(writer: ByteWriter, filter: ConnectionFilter): ByteWriter {
  const { zone, mark, markMask = EVERY_BIT, original, reply } = filter;
  if (zone !== undefined) writer.attribute(A.zone, (w) => w.u16Network(zone));
  if (mark !== undefined)
    writer
      .attribute(A.mark, (w) => w.u32Network(mark))
      .attribute(A.markMask, (w) => w.u32Network(markMask));
  if (original === undefined && reply === undefined) return writer;
  if (original !== undefined) writeTuple(writer, A.original, original);
  if (reply !== undefined) writeTuple(writer, A.reply, reply);
  return writer.nested(A.filter, (flags) =>
    flags
      .attribute(FILTER.original, (w) => w.u32(countedFields(original)))
      .attribute(FILTER.reply, (w) => w.u32(countedFields(reply))),
  );
}

const textOf = (filter: ConnectionFilter): string =>
  Object.keys(filter).length === 0 ? 'all connections' : `connections ${JSON.stringify(filter)}`;

/** Linux, 6.18 at least, takes an IPv6 address in a filter for every other one. */
const isTrusted = (tuple: TupleFilter | undefined): boolean =>
  [tuple?.source, tuple?.destination].every((one) => one === undefined || familyOf(one) === 'v4');

function withoutV6(tuple: TupleFilter | undefined): TupleFilter | undefined {
  if (tuple === undefined || isTrusted(tuple)) return tuple;
  const { source: _, destination: __, ...rest } = tuple;
  return Object.keys(rest).length === 0 ? undefined : rest;
}

const isSame = (a: string, b: string): boolean => ipText(parseIp(a)) === ipText(parseIp(b));

function isChosen(tuple: Tuple, filter: TupleFilter = {}): boolean {
  const { source, destination, protocol, sourcePort, destinationPort } = filter;
  return (
    (source === undefined || isSame(source, tuple.source)) &&
    (destination === undefined || isSame(destination, tuple.destination)) &&
    (protocol === undefined || protocol === tuple.protocol) &&
    (sourcePort === undefined || sourcePort === tuple.sourcePort) &&
    (destinationPort === undefined || destinationPort === tuple.destinationPort)
  );
}

/** What of an address is compared before all of it is read: the whole of IPv4, and of IPv6 what differs most. */
const END = 4;

/**
 * Whether one of a message's addresses may be among some, of which `ends` are the last bytes. Reading all of a message takes ten times as long, and of a large
 * table hardly any are meant. What can't be read may be: its reader says what is wrong.
 */
function mayBeAmong(body: Uint8Array, ends: ReadonlySet<number>): boolean {
  const view = viewOf(body);
  const isEnd = (_type: number, start: number, end: number): boolean =>
    end - start < END || ends.has(view.getUint32(end - END));
  const inTuple = (type: number, start: number, end: number): boolean =>
    type === TUPLE.addresses && someAttribute(view, start, end, isEnd);
  const inConnection = (type: number, start: number, end: number): boolean =>
    (type === A.original || type === A.reply) && someAttribute(view, start, end, inTuple);
  return body.length < HEADER || someAttribute(view, HEADER, body.length, inConnection);
}

/** Connections that a filter chooses. What the kernel is not asked, or too old to go by, is left out here. Throws RangeError. */
export function connections({
  among,
  ...filter
}: ConnectionFilter & Among = {}): Query<Connection> {
  const family = checkedFilter(filter);
  const { zone, mark, markMask = EVERY_BIT, original, reply } = filter;
  const asked = { zone, mark, markMask, original: withoutV6(original), reply: withoutV6(reply) };
  const [someV6] = [original, reply]
    .flatMap((tuple) => [tuple?.source, tuple?.destination])
    .filter((address) => address !== undefined && familyOf(address) === 'v6');
  const chosen = (among ?? (someV6 === undefined ? undefined : [someV6]))?.map((one) =>
    parseIp(one),
  );
  const ends =
    chosen && new Set(chosen.map((bytes) => viewOf(bytes).getUint32(bytes.length - END)));
  const addresses = chosen && new Set(chosen.map(ipText));
  return {
    type: TYPE.get,
    flags: FLAG.dump,
    body: writeFilter(header(family), asked).bytes,
    what: `show ${textOf(filter)}${among === undefined ? '' : ` of ${among.length} addresses`}`,
    read: (message) => {
      if (ends !== undefined && !mayBeAmong(message.body, ends)) return undefined;
      const found = readConnection(message);
      if (found === undefined) return undefined;
      const isMeant =
        (family === undefined || found.family === family) &&
        (zone === undefined || found.zone === zone) &&
        (mark === undefined || ((found.mark ^ mark) & markMask) === 0) &&
        isChosen(found.original, original) &&
        isChosen(found.reply, reply) &&
        (addresses === undefined ||
          [found.original, found.reply].some(
            ({ source, destination }) => addresses.has(source) || addresses.has(destination),
          ));
      return isMeant ? found : undefined;
    },
  };
}

/** How many connections the socket's network namespace has: told at once, while the kernel goes through the tables of all namespaces to show some. */
export const connectionCount = (): Query<number> => ({
  type: TYPE.statistics,
  flags: 0,
  body: header(undefined).bytes,
  what: 'count connections',
  read: ({ type, body }) =>
    type === TYPE.statistics
      ? new Attributes(body, HEADER, 'a count of connections').u32Network(ENTRIES)
      : undefined,
});

/**
 * Forgets all connections that a filter chooses, in one request. Tuples and zones are for Linux 6.8 and newer: older ones refuse a tuple
 * (EOPNOTSUPP). Throws RangeError for a filter that names nothing, which would mean all, and for IPv6 addresses, by which the kernel chooses all others:
 * show the connections, and forget each.
 */
export function deleteConnections(filter: ConnectionFilter): Request {
  const family = checkedFilter(filter);
  if (family === undefined && filter.zone === undefined && filter.mark === undefined)
    throw new RangeError('a filter that names nothing would forget all connections');
  if (!isTrusted(filter.original) || !isTrusted(filter.reply))
    throw new RangeError(
      "the kernel can't choose by IPv6 address: show the connections and delete each of them",
    );
  // Of version 0 the kernel does not look at the family.
  return {
    type: TYPE.delete,
    flags: 0,
    body: writeFilter(header(family, 1), filter).bytes,
    what: `forget ${textOf(filter)}`,
  };
}

/** Forgets one connection, known by what its originator sends, and by its number where that is known. */
export function deleteConnection({
  original,
  zone,
  id,
}: Pick<Connection, 'original' | 'zone' | 'id'>): Request {
  const { source, destination, protocol } = original;
  const writer = header(familyOf(source));
  writeTuple(writer, A.original, original);
  if (zone !== 0) writer.attribute(A.zone, (w) => w.u16Network(zone));
  if (id !== undefined) writer.attribute(A.id, (w) => w.u32Network(id));
  return {
    type: TYPE.delete,
    flags: 0,
    body: writer.bytes,
    what: `forget the connection from ${source} to ${destination}, protocol ${protocol}`,
  };
}
