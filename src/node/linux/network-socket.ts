/** Sockets of netlink in a network namespace that is named by its path. */
import { closeSync, openSync } from 'node:fs';
import { NetlinkSocket } from 'rtnetlink-ts';

/** Calls `work` with a descriptor of the namespace, which is closed afterwards; with none where no path is named: the process's own is meant. */
export function withNamespace<T>(
  path: string | undefined,
  work: (options: { readonly namespace?: number }) => T,
): T {
  if (path === undefined) return work({});
  const namespace = openSync(path, 'r');
  try {
    return work({ namespace });
  } finally {
    closeSync(namespace);
  }
}

/** To what the kernel tracks of connections. Throws NetlinkError. */
export const openConntrackSocket = (path?: string): NetlinkSocket =>
  withNamespace(path, (options) => new NetlinkSocket('netfilter', options));

/** To links, addresses, routes, rules and neighbours. Throws NetlinkError. */
export const openRouteSocket = (path: string | undefined): NetlinkSocket =>
  withNamespace(path, (options) => new NetlinkSocket('route', options));
