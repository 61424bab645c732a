/** The uplink and the bridge as the kernel has them: what moves from one to the other. */
import { isPlainObject, type PlainObject } from '../../api/plain-object.ts';
import { MAIN_TABLE, PROTOCOL, PROTOCOL_KERNEL } from '../numbers.ts';
import type { UplinkAddress, UplinkDevice, UplinkHop, UplinkRoute } from './state.ts';
import type { Argv } from '../programs/program.ts';
import { isIpv6 } from './ip-arguments.ts';
import { number, objects, text, UNICAST } from '../programs/ip-json.ts';
import { isWord, type IpProgram } from '../programs/ip-program.ts';

/** Numbers of linux/rtnetlink.h: RT_TABLE_LOCAL, RT_SCOPE_UNIVERSE; and of ip(8) for what lasts. */
const LOCAL_TABLE = 255;
const SCOPE_GLOBAL = '0';
const FOREVER = 4_294_967_295;

/** Only what is there. */
const present = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };

/** Ours, those of one link, and those that the kernel makes for a while by itself stay where they are. */
function uplinkAddress(json: PlainObject): readonly UplinkAddress[] {
  const local = text(json['local']);
  const length = number(json['prefixlen']);
  const isOurs = number(json['protocol']) === PROTOCOL;
  if (local === undefined || length === undefined || isOurs) return [];
  if (text(json['scope']) !== SCOPE_GLOBAL || json['temporary'] === true) return [];
  const peer = text(json['address']);
  const valid = number(json['valid_life_time']) ?? FOREVER;
  const preferred = number(json['preferred_life_time']) ?? FOREVER;
  return [
    {
      address: `${local}/${length}`,
      hasNoRoute: json['noprefixroute'] === true,
      ...present({
        peer: peer === undefined ? undefined : `${peer}/${length}`,
        broadcast: text(json['broadcast']),
        label: text(json['label']),
        metric: number(json['metric']),
        lifetimes:
          valid === FOREVER && preferred === FOREVER
            ? undefined
            : { valid: valid === FOREVER ? ('forever' as const) : valid, preferred },
      }),
    },
  ];
}

const withLength = (dst: string, isV6: boolean): string =>
  dst === 'default'
    ? isV6
      ? '::/0'
      : '0.0.0.0/0'
    : dst.includes('/')
      ? dst
      : `${dst}/${isV6 ? 128 : 32}`;

function uplinkHop(json: PlainObject, dev: string): UplinkHop {
  const family = isPlainObject(json['via']) ? json['via'] : {};
  const flags = Array.isArray(json['flags']) ? json['flags'] : [];
  return {
    dev: text(json['dev']) ?? dev,
    weight: number(json['weight']) ?? 1,
    isOnLink: flags.includes('onlink'),
    ...present({ via: text(json['gateway']) ?? text(family['host']) }),
  };
}

/** `ip` shows no device where only those over `dev` were asked for. */
function uplinkRoute(json: PlainObject, dev: string, isV6: boolean): readonly UplinkRoute[] {
  const dst = text(json['dst']);
  const table = number(json['table']) ?? MAIN_TABLE;
  const protocol = number(json['protocol']) ?? 0;
  if (dst === undefined || (text(json['type']) ?? UNICAST) !== UNICAST) return [];
  if (table === LOCAL_TABLE || protocol === PROTOCOL || /^f[ef][89a-f0]/.test(dst)) return [];
  const legs = objects(json['nexthops']);
  const hops = (legs.length === 0 ? [json] : legs).map((leg) => uplinkHop(leg, dev));
  if (!hops.some((hop) => hop.dev === dev)) return [];
  return [
    {
      dst: withLength(dst, isV6),
      table,
      protocol,
      metrics: objects(json['metrics']).flatMap((entry) =>
        Object.entries(entry).flatMap(([name, value]): readonly [string, string][] =>
          isWord(name) && isWord(String(value)) ? [[name, String(value)]] : [],
        ),
      ),
      hops,
      ...present({
        scope: number(json['scope']),
        src: text(json['prefsrc']),
        metric: number(json['metric']),
        expires: number(json['expires']),
        preference: text(json['pref']),
      }),
    },
  ];
}

/** A route that comes and goes with an address. */
const isOfAddress = (
  { protocol, dst, hops }: UplinkRoute,
  addresses: readonly UplinkAddress[],
): boolean =>
  protocol === PROTOCOL_KERNEL &&
  hops.every(({ via }) => via === undefined) &&
  // With NetworkManager addresses have none, and routes of their networks are its own.
  addresses.some(
    ({ address, hasNoRoute, peer }) => !hasNoRoute && isIpv6(peer ?? address) === isIpv6(dst),
  );

/** Each of these devices that is there. */
export async function readUplinkDevices(
  ip: IpProgram,
  names: readonly string[],
): Promise<ReadonlyMap<string, UplinkDevice>> {
  const known = names.filter(isWord);
  const shown = await ip.read(
    'any',
    known.map((name): Argv => ['address', 'show', 'dev', name]),
  );
  const there = known.filter((_, index) => shown[index] !== undefined);
  const routeDumps = there.flatMap((name): Argv[] => [
    ['route', 'show', 'table', 'all', 'dev', name],
    // Those with a leg over another device are not shown so.
    ['route', 'show', 'default', 'table', String(MAIN_TABLE)],
  ]);
  const [v4, v6] = await Promise.all([ip.read('inet', routeDumps), ip.read('inet6', routeDumps)]);
  const found = new Map<string, UplinkDevice>();
  for (const [index, name] of known.entries()) {
    const json = objects(shown[index]).find((one) => text(one['ifname']) === name);
    if (json === undefined) continue;
    const at = 2 * there.indexOf(name);
    // It went meanwhile, and its routes with it.
    if (v4[at] === undefined || v6[at] === undefined) continue;
    const addresses = objects(json['addr_info']).flatMap(uplinkAddress);
    const routes = [
      ...[v4[at], v4[at + 1]].map((dump) => ({ dump, isV6: false })),
      ...[v6[at], v6[at + 1]].map((dump) => ({ dump, isV6: true })),
    ].flatMap(({ dump, isV6 }, which) =>
      objects(dump)
        // Of all default routes those that name the device.
        .filter(
          (route) =>
            which % 2 === 0 || route['dev'] !== undefined || route['nexthops'] !== undefined,
        )
        .flatMap((route) => uplinkRoute(route, name, isV6)),
    );
    const flags = Array.isArray(json['flags']) ? json['flags'] : [];
    found.set(name, {
      name,
      index: number(json['ifindex']) ?? 0,
      mac: text(json['address']),
      isUp: flags.includes('UP'),
      master: text(json['master']),
      addresses,
      routes: unique(routes).filter((route) => !isOfAddress(route, addresses)),
    });
  }
  return found;
}

const unique = (routes: readonly UplinkRoute[]): readonly UplinkRoute[] => [
  ...new Map(routes.map((route) => [JSON.stringify(route), route])).values(),
];
