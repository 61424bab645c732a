/** The network of the host as the kernel has it, by netlink: an image need not have `ip`. */
import { addresses, links, neighbours, NetlinkSocket, routes, rules } from 'rtnetlink-ts';

const FAMILIES = ['v4', 'v6'] as const;

/** By the name of the file in the bundle. Throws what NetlinkSocket does. */
export function hostNetwork(): ReadonlyMap<string, readonly unknown[]> {
  using socket = new NetlinkSocket('route');
  return new Map<string, readonly unknown[]>([
    ['host/links.json', socket.dump(links())],
    ['host/addresses.json', socket.dump(addresses())],
    ['host/neighbours.json', FAMILIES.flatMap((family) => socket.dump(neighbours({ family })))],
    ['host/rules.json', FAMILIES.flatMap((family) => socket.dump(rules({ family })))],
    ['host/routes.json', FAMILIES.flatMap((family) => socket.dump(routes({ family })))],
  ]);
}
