/** Sets of headers as edges list them: short, and with how much is left out. */
import { formatPrefix } from '../../allocators/addresses.ts';
import type { Headers, Left, ListedHeaders } from '../findings.ts';
import {
  ANY,
  box,
  DESTINATION,
  merged,
  PORT,
  PROTOCOL,
  SOURCE,
  SOURCE_PORT,
  STATE,
  type Box,
  type Field,
  type HeaderSet,
} from './boxes.ts';
import { between, covers, isSame, partsOf, prefixesOf, without, type Ranges } from './ranges.ts';

/** Headers of an edge, and addresses or ports of one of them, that are listed. */
const MOST_HEADERS = 32;
const MOST_VALUES = 32;
/** Protocols that are named one by one. */
const MOST_PROTOCOLS = 8;
/** Sets of more boxes are listed as they are: to find those that could be one takes the square of them. */
const MOST_MERGED = 256;

const NAMES: ReadonlyMap<bigint, string> = new Map([
  [1n, 'icmp4'],
  [6n, 'tcp'],
  [17n, 'udp'],
  [58n, 'icmp6'],
  [132n, 'sctp'],
]);

/** `allSources`: where a header has all of these, it lists no source: it may be any. `isEstablished`: of packets of connections that have begun. */
export function listed(set: HeaderSet, allSources: Ranges, isEstablished = false): ListedHeaders {
  const boxes = set.length <= MOST_MERGED ? merged(set) : set;
  const all = boxes.flatMap((box) => headersOf(box, allSources, isEstablished));
  return { passes: all.slice(0, MOST_HEADERS), more: Math.max(0, all.length - MOST_HEADERS) };
}

function headersOf(box: Box, allSources: Ranges, isEstablished: boolean): readonly Headers[] {
  const of = (field: typeof SOURCE | typeof DESTINATION): Ranges => box[field] ?? [];
  const sources = covers(of(SOURCE), allSources) ? undefined : addressesOf(of(SOURCE));
  const destinations = addressesOf(of(DESTINATION));
  const ports = portsOf(box[PORT], PORT);
  const sourcePorts = portsOf(box[SOURCE_PORT], SOURCE_PORT);
  const left: Left = {
    ...(sources === undefined || sources.left === 0 ? {} : { sources: sources.left }),
    ...(destinations.left === 0 ? {} : { destinations: destinations.left }),
    ...(ports === undefined || ports.left === 0 ? {} : { ports: ports.left }),
  };
  return protocolsOf(box[PROTOCOL] ?? []).map((protocol) => ({
    ...(sources === undefined ? {} : { sources: sources.shown }),
    destinations: destinations.shown,
    protocol,
    ...(ports === undefined || ports.single.length === 0 ? {} : { ports: ports.single }),
    ...(ports === undefined || ports.several.length === 0 ? {} : { portRanges: ports.several }),
    ...(sourcePorts === undefined
      ? {}
      : {
          sourcePortRanges: [
            ...sourcePorts.single.map((one) => `${one}-${one}`),
            ...sourcePorts.several,
          ],
        }),
    ...(isEstablished ? { established: true as const } : {}),
    ...(Object.keys(left).length === 0 ? {} : { left }),
  }));
}

/** One packet of such headers, and its addresses; undefined where there are none. */
export function packetOf(set: HeaderSet): ExamplePacket | undefined {
  const [first] = set;
  if (first === undefined) return undefined;
  const one = (value: bigint): Ranges => [value, value + 1n];
  const least = (field: Field): bigint => first[field]?.[0] ?? 0n;
  const protocols = first[PROTOCOL] ?? [];
  const protocol =
    [6n, 17n, 132n].find((known) => covers(protocols, one(known))) ?? protocols[0] ?? 0n;
  const port = covers(first[PORT] ?? [], one(least(PORT) || 1n)) ? least(PORT) || 1n : least(PORT);
  const [source, destination] = ([SOURCE, DESTINATION] as const).map((field) => {
    const [prefix] = prefixesOf(one(least(field)));
    return prefix === undefined ? '?' : formatPrefix(prefix).replace(/\/\d+$/, '');
  }) as [string, string];
  const name = NAMES.get(protocol) ?? `protocol ${protocol}`;
  const hasPort = protocol === 6n || protocol === 17n || protocol === 132n;
  return {
    source,
    destination,
    text: `${source} > ${destination} ${name}${hasPort ? ` ${port}` : ''}`,
    header: [
      box({
        [SOURCE]: one(least(SOURCE)),
        [DESTINATION]: one(least(DESTINATION)),
        [PROTOCOL]: one(protocol),
        [SOURCE_PORT]: one(least(SOURCE_PORT)),
        [PORT]: one(port),
        [STATE]: one(least(STATE)),
      }),
    ],
  };
}

export interface ExamplePacket {
  readonly source: string;
  readonly destination: string;
  /** For people: `10.0.0.1 > 10.1.0.2 tcp 80`. */
  readonly text: string;
  readonly header: HeaderSet;
}

function addressesOf(ranges: Ranges): { readonly shown: readonly string[]; readonly left: number } {
  const shown: string[] = [];
  let left = 0;
  for (const prefix of prefixesOf(ranges)) {
    if (shown.length === MOST_VALUES) {
      left += 1;
      continue;
    }
    const text = formatPrefix(prefix);
    shown.push(
      prefix.length === (prefix.family === 'v4' ? 32 : 128) ? text.replace(/\/\d+$/, '') : text,
    );
  }
  return { shown, left };
}

interface Ports {
  readonly single: readonly number[];
  /** `8000-8999`. */
  readonly several: readonly string[];
  readonly left: number;
}

function portsOf(ranges: Ranges = [], field: typeof PORT | typeof SOURCE_PORT): Ports | undefined {
  if (isSame(ranges, ANY[field] ?? [])) return undefined;
  const parts = [...partsOf(ranges)];
  const shown = parts.slice(0, MOST_VALUES);
  return {
    single: shown.filter(([first, last]) => first === last).map(([first]) => Number(first)),
    several: shown
      .filter(([first, last]) => first !== last)
      .map(([first, last]) => `${first}-${last}`),
    left: parts.length - shown.length,
  };
}

/** Protocols by their names; of nearly all of them, what they are not. */
function protocolsOf(ranges: Ranges): readonly string[] {
  const all = ANY[PROTOCOL] ?? between(0, 255);
  const nameOf = (one: bigint): string => NAMES.get(one) ?? String(one);
  const numbers = (of: Ranges): readonly bigint[] =>
    [...partsOf(of)].flatMap(([first, last]) =>
      Array.from({ length: Number(last - first) + 1 }, (_, i) => first + BigInt(i)),
    );
  if (isSame(ranges, all)) return ['ip'];
  const found = numbers(ranges);
  if (found.length <= MOST_PROTOCOLS) return found.map(nameOf);
  const others = numbers(without(all, ranges));
  if (others.length <= MOST_PROTOCOLS) return [`ip but ${others.map(nameOf).join(', ')}`];
  return [[...partsOf(ranges)].map(([first, last]) => `${first}-${last}`).join(', ')];
}
