/** Addresses and ways out of the host as the kernel has them, whoever set them. */
import type { PlainObject } from '../../api/plain-object.ts';
import { MAIN_TABLE } from '../numbers.ts';
import { objects, text } from '../programs/ip-json.ts';
import type { IpProgram } from '../programs/ip-program.ts';

interface HostAddress {
  /** With prefix length. */
  readonly address: string;
  /** False for one that the node is not known by: a second one of a subnet, a deprecated, temporary or virtual one. */
  readonly isLasting: boolean;
}

export interface HostDevice {
  readonly name: string;
  readonly mac: string | undefined;
  readonly addresses: readonly HostAddress[];
}

export interface DefaultRoute {
  readonly dev: string;
  readonly nextHop: string;
  readonly metric: number;
}

export interface HostState {
  readonly devices: readonly HostDevice[];
  /** Of the main table; the kernel goes by the lowest metric. */
  readonly defaultRoutes: readonly DefaultRoute[];
}

/** An address that nobody may use yet, or ever: duplicate address detection goes on, or found another one's. */
const isUnusable = (address: PlainObject): boolean =>
  ['tentative', 'dadfailed'].some((flag) => address[flag] === true);

/** Keepalived labels the addresses that it moves between hosts so (reference/node.md §5). */
const VIRTUAL = /vip$/;

function hostAddress(json: PlainObject): HostAddress | undefined {
  const local = text(json['local']);
  const length = json['prefixlen'];
  if (local === undefined || typeof length !== 'number' || isUnusable(json)) return undefined;
  const isPassing = ['secondary', 'temporary', 'deprecated'].some((flag) => json[flag] === true);
  const isVirtual = VIRTUAL.test(text(json['label']) ?? '');
  return { address: `${local}/${length}`, isLasting: !isPassing && !isVirtual };
}

/** A device as `ip -json address` shows it. */
export function hostDevice(json: PlainObject): HostDevice | undefined {
  const name = text(json['ifname']);
  if (name === undefined) return undefined;
  const addresses = objects(json['addr_info']).flatMap((one) => hostAddress(one) ?? []);
  return { name, mac: text(json['address']), addresses };
}

/** Default routes out of one that `ip -json route` shows: one per next hop. */
export function defaultRoutes(json: PlainObject): readonly DefaultRoute[] {
  const metric = typeof json['metric'] === 'number' ? json['metric'] : 0;
  return [json, ...objects(json['nexthops'])].flatMap((hop) => {
    const [dev, nextHop] = [text(hop['dev']), text(hop['gateway'])];
    const isDead = Array.isArray(hop['flags']) && hop['flags'].includes('dead');
    return dev === undefined || nextHop === undefined || isDead ? [] : [{ dev, nextHop, metric }];
  });
}

export async function readHostState(ip: IpProgram): Promise<HostState> {
  const routes = [['route', 'show', 'default', 'table', String(MAIN_TABLE)]];
  const [devices, v4, v6] = await Promise.all([
    ip.read('any', [['address', 'show']]),
    ip.read('inet', routes),
    ip.read('inet6', routes),
  ]);
  return {
    devices: objects(devices[0]).flatMap((json) => hostDevice(json) ?? []),
    defaultRoutes: [...objects(v4[0]), ...objects(v6[0])].flatMap(defaultRoutes),
  };
}
