/** What the kernel announces of its network stack to who listens (multicast groups of rtnetlink). */
import { Attributes } from '../wire/attributes.ts';
import type { NetlinkMessage } from '../wire/message.ts';
import { isAddressGone, readAddress, type Address } from './address.ts';
import { isLinkGone, readLink, type Link } from './link.ts';
import { isNeighbourGone, readNeighbour, type Neighbour } from './neighbour.ts';
import { isRouteGone, readRoute, type Route } from './route.ts';
import { isRuleGone, readRule, type Rule } from './rule.ts';

/** RTNLGRP_* (linux/rtnetlink.h). */
export const ROUTE_GROUP = {
  link: 1,
  neighbour: 3,
  v4Address: 5,
  v4Route: 7,
  v4Rule: 8,
  v6Address: 9,
  v6Route: 11,
  v6Rule: 19,
  v4Settings: 24,
  v6Settings: 25,
} as const;

export type RouteEvent =
  | { readonly kind: 'link'; readonly isGone: boolean; readonly link: Link }
  | { readonly kind: 'address'; readonly isGone: boolean; readonly address: Address }
  | { readonly kind: 'route'; readonly isGone: boolean; readonly route: Route }
  | { readonly kind: 'rule'; readonly isGone: boolean; readonly rule: Rule }
  | { readonly kind: 'neighbour'; readonly isGone: boolean; readonly neighbour: Neighbour }
  | {
      readonly kind: 'settings';
      /** Number of the device; -1 for all, -2 for what new ones get. */
      readonly device: number;
    };

/** RTM_NEWNETCONF, RTM_DELNETCONF; NETCONFA_IFINDEX (linux/netconf.h). */
const SETTINGS: readonly number[] = [80, 81];
const SETTINGS_DEVICE = 1;
/** The header, with what fills it up. */
const SETTINGS_HEADER = 4;

/** Undefined for what is none of these. Throws MalformedMessage. */
export function readRouteEvent(message: NetlinkMessage): RouteEvent | undefined {
  const link = readLink(message);
  if (link !== undefined) return { kind: 'link', isGone: isLinkGone(message), link };
  const address = readAddress(message);
  if (address !== undefined) return { kind: 'address', isGone: isAddressGone(message), address };
  const route = readRoute(message);
  if (route !== undefined) return { kind: 'route', isGone: isRouteGone(message), route };
  const rule = readRule(message);
  if (rule !== undefined) return { kind: 'rule', isGone: isRuleGone(message), rule };
  const neighbour = readNeighbour(message);
  if (neighbour !== undefined)
    return { kind: 'neighbour', isGone: isNeighbourGone(message), neighbour };
  if (!SETTINGS.includes(message.type)) return undefined;
  const device = new Attributes(message.body, SETTINGS_HEADER, 'settings').i32(SETTINGS_DEVICE);
  return device === undefined ? undefined : { kind: 'settings', device };
}
