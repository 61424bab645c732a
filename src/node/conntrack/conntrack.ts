/** Connections that the kernel tracks: those of an address, of services or by way of next hops that go, or with a wrong source, are forgotten, by netlink. */
import {
  connectionCount,
  connections,
  deleteConnection,
  NetlinkError,
  type Connection,
  type ConnectionFilter,
  type NetlinkSocket,
} from 'rtnetlink-ts';
import { familyOf } from '../../allocators/addresses.ts';
import { plainAddress } from '../plain-address.ts';
import { WrongSources, type SourceConnections } from './egress-connections.ts';
import { hopMac, type HopConnections } from './hop-connections.ts';
import type { StaleConnections } from './service-connections.ts';

/** Of IP (IANA). */
export const PROTOCOLS = { tcp: 6, udp: 17, sctp: 132 } as const;

/**
 * For each look the kernel goes through all of its table, 10 ms of processor time for the size that it has by default, and more for what it shows: instead of more looks than
 * `MOST_LOOKS`, and of any with filters in a table that holds less than `FEW`, it shows all once.
 */
const MOST_LOOKS = 8;
const FEW = 5000;

export class Conntrack implements AsyncDisposable {
  readonly #open: () => NetlinkSocket;
  readonly #few: number;
  /** Addresses that are forgotten together, once what is under way is done. */
  #next: { readonly addresses: Set<string>; readonly done: Promise<void> } | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** Addresses whose connections are not forgotten yet, and what ends with that. */
  readonly #pending = new Map<string, Promise<void>>();

  /** `open` makes a socket to the tracked connections of the host; of fewer than `few` all are looked at, once. */
  constructor(open: () => NetlinkSocket, few = FEW) {
    this.#open = open;
    this.#few = few;
  }

  /** Forgets the connections that addresses, without prefix length, began or answer. Throws NetlinkError, MalformedMessage. */
  async forget(addresses: readonly string[]): Promise<void> {
    if (addresses.length === 0) return;
    const { addresses: all, done } = (this.#next ??= this.#afterLast());
    for (const address of addresses.map(plain)) {
      all.add(address);
      this.#pending.set(address, done);
    }
    await done;
  }

  /** Resolves when no connections of these addresses are being forgotten, or could not be: what begins before may go with them. */
  async forgotten(addresses: readonly string[]): Promise<void> {
    await Promise.allSettled(
      addresses.flatMap((address) => this.#pending.get(plain(address)) ?? []),
    );
  }

  /** Resolves when nothing is being forgotten. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#pending.values());
  }

  /** However many ask at once: the kernel goes through its table once or twice, and not for each of them. */
  #afterLast(): { readonly addresses: Set<string>; readonly done: Promise<void> } {
    const addresses = new Set<string>();
    const done = this.#last
      .then(() => {
        this.#next = undefined;
        return this.#forgetAddresses(addresses);
      })
      .finally(() => {
        for (const address of addresses)
          if (this.#pending.get(address) === done) this.#pending.delete(address);
      });
    // Who asked is told what went wrong.
    this.#last = done.catch(() => undefined);
    return { addresses, done };
  }

  async #forgetAddresses(addresses: ReadonlySet<string>): Promise<void> {
    const looks = [...Map.groupBy(addresses, familyOf)].flatMap(
      ([family, all]): ConnectionFilter[] =>
        // By IPv6 addresses the kernel can't choose.
        family === 'v6'
          ? [{ family }]
          : all.flatMap((source) => [{ original: { source } }, { reply: { source } }]),
    );
    await this.#forgetChosen(
      [...addresses],
      looks,
      ({ original, reply }) => addresses.has(original.source) || addresses.has(reply.source),
    );
  }

  /** Forgets connections that went to services. Ends between two pieces of the table when `signal` aborts, with its reason. Throws NetlinkError, MalformedMessage. */
  async forgetServices(stale: readonly StaleConnections[], signal: AbortSignal): Promise<void> {
    const keys = new Set(
      stale.map(({ protocol, destination: { address, port }, endpoint }) =>
        keyOf(PROTOCOLS[protocol], address, port, endpoint),
      ),
    );
    const looks = new Map(
      stale.map(({ protocol, destination: { family, port } }) => [
        `${family} ${protocol} ${port}`,
        { family, original: { protocol: PROTOCOLS[protocol], destinationPort: port } },
      ]),
    );
    const isStale = ({ original, reply }: Connection): boolean => {
      const { protocol, destination, destinationPort } = original;
      return [undefined, reply.source].some((endpoint) =>
        keys.has(keyOf(protocol, destination, destinationPort, endpoint)),
      );
    };
    const among = new Set(stale.map(({ destination: { address } }) => address));
    await this.#forgetChosen([...among], [...looks.values()], isStale, signal);
  }

  /** Forgets connections of pods that are answered by way of a next hop. Ends and throws as `forgetServices`. */
  async forgetHops(stale: readonly HopConnections[], signal: AbortSignal): Promise<void> {
    const keys = new Set(stale.map(({ source, mac }) => `${source} ${mac}`));
    const isStale = ({ original, reply, labels }: Connection): boolean =>
      labels !== 0n &&
      [original.destination, reply.source].some((pod) => keys.has(`${pod} ${hopMac(labels)}`));
    await this.#forgetChosen(
      [...new Set(stale.map(({ source }) => source))],
      [{}],
      isStale,
      signal,
    );
  }

  /** Forgets connections of pods that leave with a wrong source, in whatever zone. Ends and throws as `forgetServices`. */
  async forgetSources(stale: readonly SourceConnections[], signal: AbortSignal): Promise<void> {
    const found = new WrongSources(stale);
    const sources = [...new Set(stale.map(({ source }) => source))];
    await this.#forgetChosen(sources, bySource(sources), (one) => found.isWrong(one), signal);
    const ways = found.ways;
    if (ways.length > 0)
      await this.#forgetChosen(ways, bySource(ways), (one) => found.isWrongBehind(one), signal);
  }

  /** All that are meant have one of some addresses, and are chosen by one of the filters. */
  async #forgetChosen(
    among: readonly string[],
    filters: readonly ConnectionFilter[],
    isMeant: (connection: Connection) => boolean,
    signal?: AbortSignal,
  ): Promise<void> {
    using table = this.#open();
    using deletions = this.#open();
    const count = table.get(connectionCount());
    if (count === 0) return;
    const looks = count < this.#few || filters.length > MOST_LOOKS ? [{}] : filters;
    for (const filter of looks)
      for await (const piece of table.dumpInPieces(connections({ ...filter, among }))) {
        signal?.throwIfAborted();
        for (const connection of piece) if (isMeant(connection)) forgetOne(deletions, connection);
      }
  }
}

/** By IPv6 addresses the kernel can't choose. */
const bySource = (sources: readonly string[]): readonly ConnectionFilter[] =>
  [...Map.groupBy(sources, familyOf)].flatMap(([family, all]): ConnectionFilter[] =>
    family === 'v6' ? [{ family }] : all.map((source) => ({ original: { source } })),
  );

const plain = (address: string): string => plainAddress(address) ?? address;

const keyOf = (
  protocol: number,
  address: string,
  port: number | undefined,
  endpoint: string | undefined,
): string => `${protocol} ${address} ${port} ${endpoint ?? ''}`;

/** One that ended by itself meanwhile is forgotten, too. */
function forgetOne(socket: NetlinkSocket, connection: Connection): void {
  try {
    socket.change(deleteConnection(connection));
  } catch (error) {
    if (!(error instanceof NetlinkError) || error.code !== 'ENOENT') throw error;
  }
}
