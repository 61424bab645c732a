/** MAC addresses of next hops, as the kernel learns them: it is asked for each while it is there, as one that is gone answers nobody. */
import { askNeighbour, type NetlinkSocket } from 'rtnetlink-ts';
import { linkOf, neighbourOf } from '../linux/network-socket.ts';
import type { HopMacs } from './connection-driver.ts';

export class HopNeighbours implements HopMacs {
  readonly #open: () => NetlinkSocket;
  /** By hop: the kernel forgets one that does not answer. */
  #macs: ReadonlyMap<string, string> = new Map();

  /** `open` makes a socket to the neighbours of the host. */
  constructor(open: () => NetlinkSocket) {
    this.#open = open;
  }

  macOf(hop: string): string | undefined {
    return this.#macs.get(hop);
  }

  /** Others than these are forgotten. Throws NetlinkError, MalformedMessage. */
  learn(hops: Iterable<{ readonly hop: string; readonly device: string }>): void {
    using socket = this.#open();
    const indexes = new Map<string, number | undefined>();
    const indexOf = (device: string): number | undefined => {
      if (!indexes.has(device)) indexes.set(device, linkOf(socket, device)?.index);
      return indexes.get(device);
    };
    const known = new Map<string, string>();
    for (const { hop, device } of hops) {
      const before = this.#macs.get(hop);
      if (before !== undefined) known.set(hop, before);
      const index = indexOf(device);
      if (index === undefined) continue;
      const place = { device: index, address: hop };
      const mac = neighbourOf(socket, place)?.mac;
      if (mac === undefined) socket.change(askNeighbour(place));
      else known.set(hop, mac);
    }
    this.#macs = known;
  }
}
