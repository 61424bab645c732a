/** Objects of the network stack as `ip -json` shows them. */
import { asHost, type Family } from '../../allocators/addresses.ts';
import { isPlainObject, type PlainObject } from '../../api/plain-object.ts';
import { number, objects, text, UNICAST } from '../programs/ip-json.ts';
import {
  asHostIfBare,
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

export function foundLink(json: PlainObject): FoundLink | undefined {
  const name = text(json['ifname']);
  if (name === undefined) return undefined;
  const info = isPlainObject(json['linkinfo']) ? json['linkinfo'] : {};
  const data = isPlainObject(info['info_data']) ? info['info_data'] : {};
  const flags = Array.isArray(json['flags']) ? json['flags'] : [];
  const kind = text(info['info_kind']);
  const addresses = objects(json['addr_info']);
  return {
    index: number(json['ifindex']) ?? 0,
    name,
    kind,
    table: kind === 'vrf' ? number(data['table']) : undefined,
    master: text(json['master']),
    mac: text(json['address']),
    isUp: flags.includes('UP'),
    hasCarrier: flags.includes('LOWER_UP'),
    alias: text(json['ifalias']) ?? '',
    addresses: addresses.flatMap((address) => {
      const local = text(address['local']);
      if (local === undefined) return [];
      return {
        columns: {
          dev: name,
          address: `${local}/${number(address['prefixlen']) ?? ''}`,
          ...(number(address['preferred_life_time']) === 0 ? { deprecated: true } : {}),
        },
        protocol: number(address['protocol']) ?? 0,
      };
    }),
  };
}

/** RTN_UNREACHABLE (linux/rtnetlink.h). */
const UNREACHABLE = '7';

export function foundRoute(
  json: PlainObject,
  family: Family,
  protocol: number,
): Found<RouteColumns> | undefined {
  const dst = text(json['dst']);
  if (dst === undefined) return undefined;
  const type = text(json['type']) ?? UNICAST;
  const metrics = objects(json['metrics']);
  const mtu = number(metrics.find((metric) => metric['mtu'] !== undefined)?.['mtu']);
  const via = text(json['gateway']) ?? (json['nexthops'] === undefined ? undefined : 'several');
  const dev = text(json['dev']);
  const src = text(json['prefsrc']);
  const metric = number(json['metric']);
  return {
    columns: {
      family,
      table: number(json['table']) ?? 0,
      dst: dst === 'default' ? dst : asHostIfBare(dst),
      ...(type === UNICAST
        ? {}
        : { type: (type === UNREACHABLE ? 'unreachable' : type) as 'unreachable' }),
      ...(via === undefined ? {} : { via }),
      // IPv6 shows the loopback device for what goes nowhere.
      ...(dev === undefined || type !== UNICAST ? {} : { dev }),
      ...(src === undefined ? {} : { src }),
      ...(mtu === undefined ? {} : { mtu }),
      ...(metric === undefined ? {} : { metric }),
    },
    protocol,
  };
}

const RULE_FIELDS: readonly string[] = [
  'priority',
  'src',
  'dst',
  'dstlen',
  'fwmark',
  'l3mdev',
  'table',
  'protocol',
];

/** Undefined for a rule with more to it than ours ever have: it is not one of ours. */
export function foundRule(json: PlainObject, family: Family): Found<RuleColumns> | undefined {
  if (json['src'] !== 'all' || Object.keys(json).some((field) => !RULE_FIELDS.includes(field)))
    return undefined;
  const dst = text(json['dst']);
  const length = number(json['dstlen']);
  const fwmark = text(json['fwmark']);
  const table = number(json['table']);
  return {
    columns: {
      family,
      priority: number(json['priority']) ?? 0,
      ...(dst === undefined ? {} : { to: length === undefined ? asHost(dst) : `${dst}/${length}` }),
      ...(fwmark === undefined ? {} : { fwmark }),
      ...('l3mdev' in json ? { l3mdev: true } : {}),
      ...(table === undefined ? {} : { table }),
    },
    protocol: number(json['protocol']) ?? 0,
  };
}

export function foundNeighbour(json: PlainObject): Found<NeighbourColumns> | undefined {
  const address = text(json['dst']);
  const dev = text(json['dev']);
  const mac = text(json['lladdr']);
  if (address === undefined || dev === undefined || mac === undefined) return undefined;
  return { columns: { dev, address, mac }, protocol: number(json['protocol']) ?? 0 };
}
