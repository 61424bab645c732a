/** What is asked of the kernel to give a pod its interfaces: on the host, and in the pod's network namespace. Pure. */
import { createHash } from 'node:crypto';
import {
  addAddress,
  addLink,
  addRoute,
  addRule,
  ADDRESS_FLAG,
  setLink,
  type Request,
} from 'rtnetlink-ts';
import {
  asHost,
  familyOf,
  formatPrefix,
  parseInterfaceAddress,
  prefixOf,
  withoutPrefix,
} from '../../allocators/addresses.ts';
import { POD_LINK_GROUP } from '../../node/numbers.ts';
import type { CniInterface, WayOut } from '../protocol/result.ts';

const ALIAS = 'heddle-cni';
/** Linux takes no longer names of links. */
const LONGEST_DEVICE = 15;

/** Group of the host's ends, as `ip` shows it. */
export const LINK_GROUP = String(POD_LINK_GROUP);

/** Whose a link on the host is. */
export interface LinkOwner {
  readonly container: string;
  /** Name in the pod. */
  readonly device: string;
  /** Of the pod; links that older releases made do not tell. */
  readonly uid?: string;
}

/** Alias of a link on the host: whose it is, known before and after it has a port. */
export const linkAlias = ({ container, device, uid }: LinkOwner): string =>
  [ALIAS, container, device, ...(uid === undefined ? [] : [uid])].join(' ');

/** The owner that an alias of ours names. */
export function ownerOf(alias: string): LinkOwner | undefined {
  const [word, container, device, uid, ...more] = alias.split(' ');
  if (word !== ALIAS || container === undefined || device === undefined || more.length > 0)
    return undefined;
  return { container, device, ...(uid === undefined ? {} : { uid }) };
}

/** True for a name that the host's end of an interface of this container has (reference/node.md §6.3, step 8). */
export function isHostDeviceOf(container: string, name: string): boolean {
  const [start = '', index] = name.split('_');
  const length = name.length - (index === undefined ? 0 : index.length + 1);
  const isWhole = name.length === LONGEST_DEVICE || container.length === length;
  return (
    isWhole &&
    start === container.slice(0, length) &&
    (index === undefined || (/^\d+$/.test(index) && name === `${start}_${index}`))
  );
}

/** Address of the host's end: locally administered, the same for the same interface. */
export function hostMac(container: string, device: string): string {
  const digest = createHash('sha256').update(`${container} ${device}`).digest('hex');
  return `02:${(digest.slice(0, 10).match(/../g) ?? []).join(':')}`;
}

/** Makes both ends, the pod's one in its namespace, of which `netns` is a descriptor, from the beginning. */
export const hostLink = (
  { device, hostDevice, mac, mtu }: CniInterface,
  container: string,
  netns: number,
): Request =>
  addLink({
    name: hostDevice,
    mtu,
    mac: hostMac(container, device),
    group: POD_LINK_GROUP,
    kind: { kind: 'veth', peer: { name: device, mtu, mac, namespace: netns } },
  });

/** Says whose the host's end is, and lets it be used. */
export const hostLinkReady = (
  { device, hostDevice, externalIds: { 'iface-id-ver': uid } }: CniInterface,
  container: string,
): Request =>
  setLink(hostDevice, {
    alias: linkAlias({ container, device, ...(uid === undefined ? {} : { uid }) }),
    isUp: true,
  });

/** Settings below /proc/sys before the interface is up: IPv6 addresses are there at once, and its link-local one follows from the MAC (reference/node.md §2.5). */
export const podSysctls = ({
  device,
  addresses,
  gateways,
  isOnUnderlay,
}: CniInterface): readonly (readonly [string, string])[] => {
  const of = (name: string): string => `net/ipv6/conf/${device}/${name}`;
  return [
    ...(addresses.some((address) => familyOf(address) === 'v6')
      ? [
          [of('disable_ipv6'), '0'] as const,
          [of('dad_transmits'), '0'] as const,
          // Without it the kernel waits up to a second before it sends none.
          [of('accept_dad'), '0'] as const,
          [of('addr_gen_mode'), '0'] as const,
        ]
      : []),
    // Gateways come from the annotation, not from whichever pod of the segment says that it is one, also where the network has no IPv6. One without
    // addresses is its pods' own.
    ...(addresses.length === 0 || (isOnUnderlay && gateways.length === 0)
      ? []
      : [[of('accept_ra'), '0'] as const]),
  ];
};

/** Addresses and routes inside the pod, of the device that has the number `index` there. */
export const podRequests = (
  { addresses, gateways, routes, wayOut }: CniInterface,
  index: number,
): readonly Request[] => [
  setLink(index, { isUp: true }),
  ...addresses.map((address) =>
    addAddress({
      device: index,
      address,
      ...(familyOf(address) === 'v6' ? { flags: ADDRESS_FLAG.noDad } : {}),
    }),
  ),
  ...gateways.map((gateway) =>
    addRoute({
      destination: familyOf(gateway) === 'v6' ? '::/0' : '0.0.0.0/0',
      hops: [{ via: gateway, device: index }],
    }),
  ),
  ...routes.map(({ dest, nextHop }) =>
    addRoute({
      destination: dest,
      hops: [{ device: index, ...(nextHop === undefined ? {} : { via: nextHop }) }],
    }),
  ),
  ...(wayOut === undefined ? [] : wayOutRequests(wayOut, index)),
];

/** Table `main`: without what leads out of secondary networks, and so the way of what answers by other interfaces. */
const MAIN = 254;

/**
 * A table of its own, which comes before the main one but for what has an address of another interface already; and one before all for what has
 * an address of this interface, whoever it is for: on another one it would be dropped.
 */
function wayOutRequests(
  { table, routes, otherAddresses, ownTable, own }: WayOut,
  index: number,
): readonly Request[] {
  const families = new Set(routes.map(({ dest }) => familyOf(dest)));
  const priority = table + table;
  return [
    ...routes.map(({ dest, nextHop }) =>
      addRoute({
        destination: dest,
        table,
        hops: [{ device: index, ...(nextHop === undefined ? {} : { via: nextHop }) }],
      }),
    ),
    ...[...families].flatMap((family) => [
      ...otherAddresses
        .filter((address) => familyOf(address) === family)
        .map((address) => addRule({ family, priority, source: asHost(address), table: MAIN })),
      addRule({ family, priority: priority + 1, table }),
    ]),
    ...own.flatMap(({ address, gateway }) => {
      const parsed = parseInterfaceAddress(address);
      if (parsed === undefined) return [];
      const { family } = parsed;
      return [
        addRoute({
          destination: formatPrefix(prefixOf(parsed)),
          table: ownTable,
          hops: [{ device: index }],
        }),
        addRoute({
          destination: family === 'v6' ? '::/0' : '0.0.0.0/0',
          table: ownTable,
          hops: [{ device: index, via: gateway }],
        }),
        addRule({
          family,
          priority: table,
          source: asHost(withoutPrefix(address)),
          table: ownTable,
        }),
      ];
    }),
  ];
}
