/** What `heddle explain` is asked about: a row, a flow, a rule, by name, number or as a program printed it. Pure. */
import {
  asHost,
  familyOf,
  parseAddress,
  parsePrefix,
  type Family,
} from '../allocators/addresses.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { parseFlow, type FoundFlow } from '../node/openflow/flow-plan.ts';
import type { RouteColumns, RuleColumns } from '../node/linux/linux-rows.ts';

/** What is asked for, and in which words it was written. */
export type Asked =
  | { readonly kind: 'row'; readonly table: string; readonly name: string }
  | { readonly kind: 'uuid'; readonly prefix: string }
  | { readonly kind: 'cookie'; readonly cookie: string }
  | { readonly kind: 'flow'; readonly flow: FoundFlow }
  | { readonly kind: 'nft'; readonly handle?: number; readonly text: string }
  | { readonly kind: 'rule'; readonly rules: readonly RuleColumns[]; readonly protocol: string }
  | {
      readonly kind: 'route';
      readonly routes: readonly (Omit<RouteColumns, 'table'> & { readonly table?: string })[];
      readonly protocol: string;
    }
  | { readonly kind: 'name'; readonly name: string };

/** Characters; the longest flow of an ovn-controller that was seen has a tenth of it. */
export const LONGEST_QUESTION = 32_768;
/** Of fewer digits nearly everything has some. */
const SHORTEST_PREFIX = 4;

const UUID_PREFIX = /^[0-9a-f]{1,8}(-[0-9a-f]{0,4}){0,3}(-[0-9a-f]{0,12})?$/;
const COOKIE = /^(?:cookie=)?(0x[0-9a-f]{1,16})(?:\/\S+)?$/i;
/** What counts, and is no part of what a flow is. */
const STATISTICS = /\b(?:duration|n_packets|n_bytes|idle_age|hard_age)=[^,\s]+,?\s*/g;

/** Throws ConfigurationError for what can't be asked for. */
export function askedOrigin(written: string): Asked {
  const text = written.trim();
  if (text === '') throw new ConfigurationError('ROW|FLOW|RULE', 'is empty');
  if (text.length > LONGEST_QUESTION)
    throw new ConfigurationError(
      'ROW|FLOW|RULE',
      `has ${text.length} characters; write at most ${LONGEST_QUESTION}`,
    );
  const cookie = COOKIE.exec(text)?.[1];
  if (cookie !== undefined && BigInt(cookie) === 0n)
    throw new ConfigurationError(
      'FLOW',
      'cookie 0x0 says nothing: give the whole line of ovs-ofctl dump-flows',
    );
  if (cookie !== undefined) return { kind: 'cookie', cookie: plainCookie(cookie) };
  if (text.includes('actions=')) return askedFlow(text);
  const handle = /(?:^|\s#?\s*)handle (\d+)$/.exec(text)?.[1];
  if (handle !== undefined) {
    const rest = text.replace(/(?:^|\s*#?\s*)handle \d+$/, '').trim();
    return { kind: 'nft', handle: Number(handle), text: rest };
  }
  return (
    askedRule(text) ??
    askedRoute(text) ??
    (/\s/.test(text) && !/^\w+\//.test(text) ? { kind: 'nft', text } : askedRow(text))
  );
}

function askedRow(text: string): Asked {
  const lower = text.toLowerCase();
  if (UUID_PREFIX.test(lower)) {
    if (lower.replaceAll('-', '').length < SHORTEST_PREFIX)
      throw new ConfigurationError(
        'ROW|FLOW|RULE',
        `"${text}" is too short for the beginning of a UUID: write at least ${SHORTEST_PREFIX} digits`,
      );
    return { kind: 'uuid', prefix: lower };
  }
  const [, table, name] = /^([A-Za-z]\w*)\/(.+)$/s.exec(text) ?? [];
  return table !== undefined && name !== undefined
    ? { kind: 'row', table, name }
    : { kind: 'name', name: text };
}

/** As Open vSwitch prints it: without zeros before it. */
const plainCookie = (cookie: string): string => `0x${BigInt(cookie).toString(16)}`;

function askedFlow(text: string): Asked {
  const flow = parseFlow(text.replaceAll(STATISTICS, '').replace(/^NXST_\S+:?\s*/, ''));
  // It has "actions=".
  if (flow === undefined) throw new ConfigurationError('FLOW', 'is no line of dump-flows');
  return { kind: 'flow', flow: { ...flow, cookie: plainCookie(flow.cookie) } };
}

const TABLES: ReadonlyMap<string, number> = new Map([
  ['local', 255],
  ['main', 254],
  ['default', 253],
]);

const familiesOf = (addresses: readonly string[]): readonly Family[] => {
  const [first] = addresses;
  return first === undefined ? ['v4', 'v6'] : [familyOf(first)];
};

const isAddress = (text: string | undefined): text is string =>
  text !== undefined && (text.includes('/') ? parsePrefix(text) : parseAddress(text)) !== undefined;

/** Words in pairs, as ip(8) prints them. */
function pairsOf(words: readonly string[], alone: readonly string[]): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (alone.includes(word)) pairs.set(word, '');
    else pairs.set(word, words[(at += 1)] ?? '');
  }
  return pairs;
}

/** `2000: from all fwmark 0x1001 lookup 10001 proto 85`, of `ip rule`. */
function askedRule(text: string): Asked | undefined {
  const [, priority, rest] = /^(?:ip rule )?(?:priority )?(\d+):?\s+(from\s.*)$/.exec(text) ?? [];
  if (priority === undefined || rest === undefined) return undefined;
  const words = pairsOf(rest.split(/\s+/), ['l3mdev', 'unreachable', 'prohibit', 'blackhole']);
  const address = (name: string): string | undefined => {
    const value = words.get(name);
    return value === 'all' || !isAddress(value) ? undefined : value;
  };
  const [from, to, fwmark, sport] = [
    address('from'),
    address('to'),
    words.get('fwmark'),
    words.get('sport'),
  ];
  const lookup = words.get('lookup') ?? '';
  const table = TABLES.get(lookup) ?? (/^\d+$/.test(lookup) ? Number(lookup) : undefined);
  const isL3mdev = lookup === '[l3mdev-table]' || words.has('l3mdev');
  if (table === undefined && !isL3mdev && lookup !== '')
    throw new ConfigurationError(
      'RULE',
      `table ${lookup} has a name here: write its number, as "ip -N rule" prints it`,
    );
  const known = ['from', 'to', 'fwmark', 'sport', 'lookup', 'l3mdev', 'proto'];
  const hasMore = [...words.keys()].some((word) => !known.includes(word));
  return {
    kind: 'rule',
    protocol: words.get('proto') ?? '',
    // One that has more to it is none of ours.
    rules: hasMore
      ? []
      : familiesOf([from, to].filter((one) => one !== undefined)).map((family) => ({
          family,
          priority: Number(priority),
          ...(fwmark === undefined || Number.isNaN(Number(fwmark))
            ? {}
            : { fwmark: `0x${Number(fwmark).toString(16)}` }),
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
          ...(sport === undefined ? {} : { sport: Number(sport) }),
          ...(isL3mdev ? { l3mdev: true } : {}),
          ...(table === undefined || isL3mdev ? {} : { table }),
        })),
  };
}

const ROUTE_TYPES = [
  'unreachable',
  'local',
  'blackhole',
  'prohibit',
  'broadcast',
  'anycast',
  'multicast',
];
const ALONE = ['onlink', 'linkdown', 'dead', 'pervasive', 'offload', 'trap', 'rt_offload'];

/** `10.20.0.0/16 via 10.20.0.1 dev ovn-k8s-mp1 table 10001 proto 85`, of `ip route`. */
function askedRoute(text: string): Asked | undefined {
  const words = text.replace(/^ip (-\d )?route /, '').split(/\s+/);
  const hasType = ROUTE_TYPES.includes(words[0] ?? '');
  const [dst = '', ...rest] = hasType ? words.slice(1) : words;
  if (dst !== 'default' && !isAddress(dst)) return undefined;
  // An address alone is nothing that ip(8) prints of a route.
  if (rest.length === 0 && !hasType && !dst.includes('/') && dst !== 'default') return undefined;
  const pairs = pairsOf(rest, ALONE);
  const [type] = words;
  const via = pairs.get('via') === 'inet6' ? undefined : pairs.get('via');
  const metric = pairs.get('metric');
  const table = pairs.get('table');
  const families = familiesOf([dst, via].filter((one) => isAddress(one)));
  return {
    kind: 'route',
    protocol: pairs.get('proto') ?? '',
    routes: families.map((family) => ({
      family,
      dst: dst === 'default' ? dst : dst.includes('/') ? dst : asHost(dst),
      ...(hasType && (type === 'unreachable' || type === 'local') ? { type } : {}),
      ...(via === undefined ? {} : { via }),
      ...(pairs.get('dev') === undefined ? {} : { dev: pairs.get('dev') ?? '' }),
      ...(metric === undefined ? {} : { metric: Number(metric) }),
      ...(table === undefined ? {} : { table: String(TABLES.get(table) ?? table) }),
    })),
  };
}
