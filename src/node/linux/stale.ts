/** What an announcement of the kernel means for what is known of the network stack: it says what to read again, and no more. */
import type { Link, Route, RouteEvent } from 'rtnetlink-ts';
import { MAIN_TABLE, PROTOCOL_KERNEL } from '../numbers.ts';
import { DEFAULTS } from './linux-found.ts';

/** What has to be read again. */
export type Stale =
  | {
      readonly kind: 'link';
      readonly dev: string;
      /** Of a link to another network namespace, as pods have them: it is there, or goes, or is held by a device such as a VRF. */
      readonly isOutward?: 'there' | 'gone' | 'held';
    }
  | { readonly kind: 'sysctls'; readonly dev: string }
  | { readonly kind: 'sysctl'; readonly path: string }
  | { readonly kind: 'routes'; readonly table: number }
  /** `table`: 0 for a rule that names none. */
  | { readonly kind: 'rules'; readonly table: number }
  | { readonly kind: 'neighbour'; readonly dev: string; readonly address: string }
  | { readonly kind: 'all' };

/** Names of devices by their numbers. */
export type DeviceNames = ReadonlyMap<number, string>;

/** Numbers that stand for no device (linux/netconf.h). */
const ALL_DEVICES = -1;
const NEW_DEVICES = -2;

/** Open vSwitch's kernel datapath, as which it holds ports. */
const DATAPATH = 'ovs-system';
const LINK_LOCAL = /^fe80:/;
const MANAGEMENT_PORT = /^ovn-k8s-mp/;

function staleLink(link: Link, isGone: boolean, names: DeviceNames): Stale {
  const { name: dev, peer, peerNamespace, master } = link;
  // Its other end is in another namespace, or gone already.
  if (peerNamespace === undefined && peer !== 0) return { kind: 'link', dev };
  if (isGone) return { kind: 'link', dev, isOutward: 'gone' };
  const isHeld = master !== undefined && names.get(master) !== DATAPATH;
  return { kind: 'link', dev, isOutward: isHeld ? 'held' : 'there' };
}

/** A route that the kernel made for an address of a management port, and that somebody removes. */
const isKernelsOfOurs = ({ protocol, hops }: Route, names: DeviceNames): boolean =>
  protocol === PROTOCOL_KERNEL &&
  hops.some(({ device = 0 }) => MANAGEMENT_PORT.test(names.get(device) ?? ''));

/** What an announcement means for somebody whose routes and neighbours have `protocol`; undefined: nothing. Of a device that is not there any more its end was announced. */
export function staleAfter(
  event: RouteEvent,
  protocol: number,
  names: DeviceNames,
): Stale | undefined {
  switch (event.kind) {
    case 'link':
      return staleLink(event.link, event.isGone, names);
    case 'address': {
      const dev = names.get(event.address.device);
      // Every device gets a link-local one by itself, those of pods as well.
      return dev === undefined || LINK_LOCAL.test(event.address.address)
        ? undefined
        : { kind: 'link', dev };
    }
    case 'route': {
      const { route, isGone } = event;
      // A route of somebody else is nothing to us, however many there are.
      const isOurs = route.protocol === protocol || (isGone && isKernelsOfOurs(route, names));
      return isOurs ? { kind: 'routes', table: route.table } : undefined;
    }
    case 'rule':
      return { kind: 'rules', table: event.rule.table };
    case 'neighbour': {
      const { address, device, protocol: maker } = event.neighbour;
      const dev = names.get(device);
      return maker !== protocol || dev === undefined
        ? undefined
        : { kind: 'neighbour', dev, address };
    }
    case 'settings': {
      if (event.device === ALL_DEVICES) return { kind: 'sysctls', dev: 'all' };
      if (event.device === NEW_DEVICES) return { kind: 'sysctls', dev: 'default' };
      const dev = names.get(event.device);
      return dev === undefined ? undefined : { kind: 'sysctls', dev };
    }
  }
}

/** True for a default route of the main table, whoever made it. */
export const isDefaultRoute = ({ table, destination }: Route): boolean =>
  table === MAIN_TABLE && DEFAULTS.includes(destination);
