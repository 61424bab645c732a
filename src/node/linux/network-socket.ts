/** Sockets of netlink in a network namespace that is named by its path, and many commands over one. */
import { closeSync, openSync } from 'node:fs';
import {
  changeAll,
  getLink,
  NetlinkError,
  NetlinkSocket,
  type Link,
  type LinkReference,
  type Request,
} from 'rtnetlink-ts';

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

const PLAIN = /^[\w.@+%=-]+$/;

/** False for a name that others gave a device, and that may be another one by the time it was read as text. */
export const isAskable = (device: string): boolean => PLAIN.test(device);

/** A link, if it is there. Throws NetlinkError. */
export function linkOf(socket: NetlinkSocket, reference: LinkReference): Link | undefined {
  try {
    return socket.get(getLink(reference));
  } catch (error) {
    const isGone = error instanceof NetlinkError && error.code === 'ENODEV';
    // No device can have such a name.
    if (isGone || error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * Has the kernel do what commands say, in their order, while the caller goes on; `requestOf` gets the number that a device has by then. Gives why each was
 * refused, also by `requestOf`: that harms no other. `known` has the numbers of devices that are known, and gets those that are asked. Throws NetlinkError, MalformedMessage when it is not known what became of them.
 */
export async function carryOut<C>(
  path: string | undefined,
  commands: readonly C[],
  requestOf: (command: C, indexOf: (dev: string) => number) => Request,
  known = new Map<string, number>(),
): Promise<readonly (Error | undefined)[]> {
  const refusals: (Error | undefined)[] = commands.map(() => undefined);
  if (commands.length === 0) return refusals;
  using names = openRouteSocket(path);
  const indexOf = (dev: string): number => {
    const index = known.get(dev) ?? names.get(getLink(dev)).index;
    known.set(dev, index);
    return index;
  };
  const asked: number[] = [];
  function* requests(): Iterable<Request> {
    for (const [place, command] of commands.entries())
      try {
        const request = requestOf(command, indexOf);
        asked.push(place);
        yield request;
      } catch (error) {
        refusals[place] = error as Error;
      }
  }
  const answers = await withNamespace(path, (namespace) =>
    changeAll('route', requests(), namespace),
  );
  for (const [index, place] of asked.entries()) refusals[place] = answers[index];
  return refusals;
}
