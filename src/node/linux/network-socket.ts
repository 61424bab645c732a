/** Sockets of netlink in a network namespace that is named by its path, and many commands over one. */
import { closeSync, openSync } from 'node:fs';
import {
  changeAll,
  getLink,
  getNeighbour,
  NetlinkError,
  NetlinkSocket,
  sendFrame,
  type Link,
  type LinkReference,
  type Neighbour,
  type Query,
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

/** Sends a frame, in hexadecimal, by a device. Throws NetlinkError. */
export function sendFrameBy(path: string | undefined, device: string, frame: string): void {
  using socket = openRouteSocket(path);
  const index = linkOf(socket, device)?.index;
  if (index === undefined) throw new Error(`there is no device ${device}`);
  withNamespace(path, (options) => sendFrame(index, Buffer.from(frame, 'hex'), options));
}

/** At most IFNAMSIZ (linux/if.h), without the zero at its end. */
const PLAIN = /^[\w.@+%=-]{1,15}$/;

/** False for what can't be the name of a device, and for one of bytes that may be no text. */
export const isAskable = (device: string): boolean => PLAIN.test(device);

/** What a query is for; undefined where the kernel refuses it with one of these codes: it is not there. Throws NetlinkError. */
function ifThere<T>(
  socket: NetlinkSocket,
  query: Query<T>,
  codes: readonly string[],
): T | undefined {
  try {
    return socket.get(query);
  } catch (error) {
    if (error instanceof NetlinkError && codes.includes(error.code)) return undefined;
    throw error;
  }
}

/** A link, if it is there; there is none of a name that is not askable. Throws NetlinkError. */
export function linkOf(socket: NetlinkSocket, reference: LinkReference): Link | undefined {
  const mayBe = typeof reference === 'number' || isAskable(reference);
  return mayBe ? ifThere(socket, getLink(reference), ['ENODEV']) : undefined;
}

/** A neighbour, if it is there. Throws NetlinkError. */
export const neighbourOf = (
  socket: NetlinkSocket,
  place: { readonly device: number; readonly address: string },
): Neighbour | undefined => ifThere(socket, getNeighbour(place), ['ENOENT', 'ENODEV']);

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
