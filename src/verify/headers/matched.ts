/**
 * Which headers a match is true of. What it asks beside headers of a packet that crosses a router (marks, registers, MACs …) is not known: such headers may
 * match, and do not surely.
 */
import { parseAddress, parsePrefix, type Prefix } from '../../allocators/addresses.ts';
import {
  box,
  DESTINATION,
  difference,
  EMPTY,
  EVERYTHING,
  intersection,
  PORT,
  PROTOCOL,
  SOURCE,
  SOURCE_PORT,
  STATE,
  STATES,
  union,
  type Field,
  type HeaderSet,
} from './boxes.ts';
import type { Match, Relation, Value } from './match.ts';
import {
  allOf,
  between,
  both,
  either,
  NONE,
  ofPrefix,
  V4,
  V6,
  without,
  type Ranges,
} from './ranges.ts';

/** Headers that surely match, and those that may. */
export interface Matched {
  readonly surely: HeaderSet;
  readonly perhaps: HeaderSet;
}

/** A port, and the names of groups that it is in. */
export interface PortSide {
  readonly name: string;
  readonly isIn: (group: string) => boolean;
}

/** Where a packet is, and what names in matches stand for. */
export interface MatchContext {
  readonly inport: PortSide | 'none' | 'any';
  /** `none`: not set yet. `any`: one of several. */
  readonly outport: PortSide | 'none' | 'any';
  /** One of the ports of the switch is in that group. */
  readonly hasGroup: (name: string) => boolean;
  /** Addresses of `$name`; undefined where no row has that name. */
  readonly addresses: (name: string) => Ranges | undefined;
}

const exactly = (set: HeaderSet): Matched => ({ surely: set, perhaps: set });
const ALL = exactly(EVERYTHING);
const NEVER = exactly(EMPTY);
const UNKNOWN: Matched = { surely: EMPTY, perhaps: EVERYTHING };

export function matched(match: Match, context: MatchContext): Matched {
  switch (match.kind) {
    case 'constant':
      return match.value ? ALL : NEVER;
    case 'flag':
      return flag(match.name, match.isSet);
    case 'compare':
      return compared(match, context);
    case 'all': {
      let found = ALL;
      // Of most rows the port says that they are about others: no set is worked out for those.
      for (const one of portsFirst(match.of)) {
        if (found.perhaps.length === 0) return NEVER;
        found = inEach(found, matched(one, context), intersection);
      }
      return found;
    }
    case 'any':
      return match.of.reduce<Matched>(
        (found, one) => inEach(found, matched(one, context), union),
        NEVER,
      );
  }
}

const isOfPort = (match: Match): boolean =>
  match.kind === 'compare' && (match.field === 'inport' || match.field === 'outport');

const portsFirst = (all: readonly Match[]): readonly Match[] =>
  all.some(isOfPort) ? [...all.filter(isOfPort), ...all.filter((one) => !isOfPort(one))] : all;

const isExact = ({ surely, perhaps }: Matched): boolean => surely === perhaps;

/** Of both, by the same operation; what is exact is worked out once. */
function inEach(
  a: Matched,
  b: Matched,
  operation: (a: HeaderSet, b: HeaderSet) => HeaderSet,
): Matched {
  if (isExact(a) && isExact(b)) return exactly(operation(a.perhaps, b.perhaps));
  return {
    surely: operation(a.surely, b.surely),
    perhaps: operation(a.perhaps, b.perhaps),
  };
}

const of = (fields: Readonly<Partial<Record<Field, Ranges>>>): HeaderSet =>
  intersection(EVERYTHING, [box(fields)]);

const IP_OF: Readonly<Record<string, HeaderSet>> = {
  ip4: of({ [SOURCE]: V4 }),
  ip6: of({ [SOURCE]: V6 }),
};

const PROTOCOLS: Readonly<Record<string, number>> = { tcp: 6, udp: 17, sctp: 132 };
const MULTICAST = parsePrefix('224.0.0.0/4');
const MULTICAST_V6 = parsePrefix('ff00::/8');

const inPrefix = (prefix: Prefix | undefined): HeaderSet =>
  prefix === undefined ? EMPTY : of({ [DESTINATION]: ofPrefix(prefix) });

const inStates = (...states: readonly (keyof typeof STATES)[]): HeaderSet =>
  of({ [STATE]: allOf(states.map((state) => between(STATES[state], STATES[state]))) });

const TRACKED = inStates('new', 'established', 'reply', 'related', 'invalid');

/** What is true of a flag that is set. */
const FLAGS: Readonly<Record<string, HeaderSet>> = {
  ip: EVERYTHING,
  ...IP_OF,
  tcp: of({ [PROTOCOL]: between(6, 6) }),
  udp: of({ [PROTOCOL]: between(17, 17) }),
  sctp: of({ [PROTOCOL]: between(132, 132) }),
  icmp4: of({ [SOURCE]: V4, [PROTOCOL]: between(1, 1) }),
  icmp6: of({ [SOURCE]: V6, [PROTOCOL]: between(58, 58) }),
  icmp: union(
    of({ [SOURCE]: V4, [PROTOCOL]: between(1, 1) }),
    of({ [SOURCE]: V6, [PROTOCOL]: between(58, 58) }),
  ),
  'ip4.mcast': inPrefix(MULTICAST),
  'ip6.mcast': inPrefix(MULTICAST_V6),
  // Addresses of the link, and who asks for them: no router leads that on.
  arp: EMPTY,
  rarp: EMPTY,
  nd: EMPTY,
  nd_na: EMPTY,
  nd_ns: EMPTY,
  nd_rs: EMPTY,
  nd_ra: EMPTY,
  mldv1: EMPTY,
  mldv2: EMPTY,
  igmp: EMPTY,
  'eth.mcast': EMPTY,
  'eth.bcast': EMPTY,
  'ct.trk': TRACKED,
  'ct.new': inStates('new'),
  'ct.est': inStates('established', 'reply'),
  'ct.rpl': inStates('reply'),
  'ct.rel': inStates('related'),
  'ct.inv': inStates('invalid'),
};

function flag(name: string, isSet: boolean): Matched {
  const found = FLAGS[name];
  if (found === undefined) return UNKNOWN;
  if (isSet) return exactly(found);
  if (name === 'ct.trk') return exactly(difference(EVERYTHING, found));
  // A bit of connection tracking that is not set is one of a packet that is tracked.
  if (name.startsWith('ct.')) return exactly(difference(TRACKED, found));
  // OpenFlow can't ask for all types and protocols but one: what OVN makes of that matches less.
  return { surely: EMPTY, perhaps: difference(EVERYTHING, found) };
}

type Comparison = Extract<Match, { kind: 'compare' }>;

function compared(match: Comparison, context: MatchContext): Matched {
  const { field, bits } = match;
  if (field === 'inport' || field === 'outport') return atPort(match, context[field]);
  if (bits !== undefined) return inBits(match);
  const address = /^(ip4|ip6)\.(src|dst)$/.exec(field);
  if (address !== null) {
    const [, family = '', end] = address;
    return atAddress(
      match,
      family === 'ip4' ? V4 : V6,
      end === 'src' ? SOURCE : DESTINATION,
      context,
    );
  }
  const port = /^(tcp|udp|sctp)\.(src|dst)$/.exec(field);
  if (port !== null) {
    const [, name = '', end] = port;
    const protocol = PROTOCOLS[name] ?? 0;
    return atNumber(match, 65_535, (numbers) => ({
      [PROTOCOL]: between(protocol, protocol),
      [end === 'src' ? SOURCE_PORT : PORT]: numbers,
    }));
  }
  if (field === 'ip.proto') {
    const found = atNumber(match, 255, (numbers) => ({ [PROTOCOL]: numbers }));
    return match.relation === '==' ? found : { surely: EMPTY, perhaps: found.perhaps };
  }
  if (/^(arp|nd|rarp)\./.test(field)) return NEVER;
  // What OVN has cut is a connection that is there.
  if (field === 'ct_mark.blocked')
    return { surely: EMPTY, perhaps: inStates('established', 'reply') };
  const inner = /^(icmp4|icmp6|icmp|ip)\./.exec(field)?.[1];
  // Kinds of ICMP, lifetimes, fragments: of some of these packets.
  if (inner !== undefined) return { surely: EMPTY, perhaps: FLAGS[inner] ?? EVERYTHING };
  return UNKNOWN;
}

function atPort({ relation, values }: Comparison, side: MatchContext['inport']): Matched {
  if (side === 'any') return UNKNOWN;
  const isOneOf =
    side !== 'none' &&
    values.some(({ kind, text }) =>
      kind === 'group' ? side.isIn(text) : kind === 'string' && side.name === text,
    );
  if (relation === '==') return isOneOf ? ALL : NEVER;
  return relation === '!=' ? (isOneOf ? NEVER : ALL) : UNKNOWN;
}

/** Multicast is known by the highest bits of an address. */
function inBits({ field, bits, relation, values }: Comparison): Matched {
  const [high, low] = bits ?? [0, 0];
  const [value] = values;
  const family = field === 'ip4.dst' ? 'v4' : 'v6';
  if (!/^ip[46]\.dst$/.test(field) || high !== (family === 'v4' ? 31 : 127)) return UNKNOWN;
  const number = value === undefined ? undefined : numberOf(value);
  if (relation !== '==' || values.length !== 1 || number === undefined) return UNKNOWN;
  const length = high - low + 1;
  if (length < 1 || number >= 2 ** length) return UNKNOWN;
  return exactly(inPrefix({ family, base: BigInt(number) << BigInt(low), length }));
}

/** Values of a field that a relation is true of, out of `whole`; undefined where that can't be told. */
function related(
  whole: Ranges,
  relation: Relation,
  values: readonly (Ranges | undefined)[],
): Ranges | undefined {
  const known = values.filter((one) => one !== undefined);
  if (known.length < values.length) return undefined;
  const all = both(whole, allOf(known));
  if (relation === '==') return all;
  if (relation === '!=') return without(whole, all);
  const [first, end] = [all[0], all[1]];
  const [start, stop] = [whole[0], whole[1]];
  if (all.length !== 2 || first === undefined || end !== first + 1n) return undefined;
  if (start === undefined || stop === undefined) return undefined;
  const below: Ranges = first > start ? [start, first] : NONE;
  const above: Ranges = end < stop ? [end, stop] : NONE;
  switch (relation) {
    case '<':
      return below;
    case '<=':
      return either(below, all);
    case '>':
      return above;
    case '>=':
      return either(all, above);
  }
}

const numberOf = ({ kind, text, mask }: Value): number | undefined =>
  kind === 'constant' && mask === undefined && /^(\d{1,9}|0x[0-9a-fA-F]{1,7})$/.test(text)
    ? Number(text)
    : undefined;

function atNumber(
  { relation, values }: Comparison,
  most: number,
  fields: (numbers: Ranges) => Readonly<Partial<Record<Field, Ranges>>>,
): Matched {
  const whole = between(0, most);
  const numbers = related(
    whole,
    relation,
    values.map((value) => {
      const number = numberOf(value);
      return number === undefined ? undefined : between(number, number);
    }),
  );
  return numbers === undefined
    ? { surely: EMPTY, perhaps: of(fields(whole)) }
    : exactly(numbers.length === 0 ? EMPTY : of(fields(numbers)));
}

function atAddress(
  { relation, values }: Comparison,
  family: Ranges,
  end: typeof SOURCE | typeof DESTINATION,
  { addresses }: MatchContext,
): Matched {
  const found = related(
    family,
    relation,
    values.map((value) => (value.kind === 'set' ? addresses(value.text) : addressesOf(value))),
  );
  if (found === undefined) return { surely: EMPTY, perhaps: of({ [end]: family }) };
  return exactly(found.length === 0 ? EMPTY : of({ [end]: found }));
}

/** Addresses of a constant, `10.0.0.0/8` or `10.0.0.0/255.0.0.0`; undefined where the mask has gaps. */
function addressesOf({ kind, text, mask }: Value): Ranges | undefined {
  if (kind !== 'constant') return undefined;
  const known = dottedQuad(text);
  if (known !== undefined && (mask === undefined || /^([0-9]|[12][0-9]|3[0-2])$/.test(mask))) {
    const host = BigInt(32 - Number(mask ?? 32));
    const first = (known >> host) << host;
    return [first, first + (1n << host)];
  }
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  const bits = address.family === 'v4' ? 32 : 128;
  const length = mask === undefined ? bits : lengthOf(mask, address.family, bits);
  const prefix = length === undefined ? undefined : parsePrefix(`${text}/${length}`);
  return prefix === undefined ? undefined : ofPrefix(prefix);
}

/** Sets have thousands of these: what takes any text takes ten times as long. */
function dottedQuad(text: string): bigint | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (parts === null) return undefined;
  const [, a, b, c, d] = parts.map(Number);
  if ([a, b, c, d].some((one) => one === undefined || one > 255)) return undefined;
  return BigInt((((a ?? 0) * 256 + (b ?? 0)) * 256 + (c ?? 0)) * 256 + (d ?? 0));
}

function lengthOf(mask: string, family: Prefix['family'], bits: number): number | undefined {
  if (/^\d{1,3}$/.test(mask)) return Number(mask);
  const address = parseAddress(mask);
  if (address?.family !== family) return undefined;
  const zeros = (1n << BigInt(bits)) - 1n - address.value;
  // Ones, then zeros alone.
  if ((zeros & (zeros + 1n)) !== 0n) return undefined;
  return bits - (zeros === 0n ? 0 : zeros.toString(2).length);
}

/** Addresses of a row of Address_Set, or of what a match gives by itself. */
export const addressesNamed = (texts: readonly string[]): Ranges =>
  allOf(
    texts.map((text) => {
      const [address = '', mask] = text.split('/');
      return (
        addressesOf({ kind: 'constant', text: address, ...(mask === undefined ? {} : { mask }) }) ??
        NONE
      );
    }),
  );
