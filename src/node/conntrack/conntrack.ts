/** Connections that the kernel tracks: those of an address or of services that go are forgotten, by netlink. */
import {
  connections,
  deleteConnection,
  NetlinkError,
  type Among,
  type Connection,
  type ConnectionFilter,
  type NetlinkSocket,
} from 'rtnetlink-ts';
import { familyOf } from '../../allocators/addresses.ts';
import { plainAddress } from '../plain-address.ts';
import type { StaleConnections } from './service-connections.ts';

/** Of IP (IANA). */
export const PROTOCOLS = { tcp: 6, udp: 17, sctp: 132 } as const;

/** The kernel goes through its whole table for each filter: instead of more than these all connections of the family are looked at, once. */
const MOST_FILTERS = 8;

export class Conntrack implements AsyncDisposable {
  readonly #open: () => NetlinkSocket;
  /** Addresses that are forgotten together, once what is under way is done. */
  #next: { readonly addresses: Set<string>; readonly done: Promise<void> } | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** Addresses whose connections are not forgotten yet, and what ends with that. */
  readonly #pending = new Map<string, Promise<void>>();

  /** `open` makes a socket to the tracked connections of the host. */
  constructor(open: () => NetlinkSocket) {
    this.#open = open;
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
    for (const [family, among] of Map.groupBy(addresses, familyOf))
      await this.#forgetChosen(
        { family, among },
        // By IPv6 addresses the kernel can't choose.
        family === 'v6'
          ? []
          : among.flatMap((source) => [{ original: { source } }, { reply: { source } }]),
        ({ original, reply }) => addresses.has(original.source) || addresses.has(reply.source),
      );
  }

  /** Forgets connections that went to services. Ends between two pieces of the table when `signal` aborts, with its reason. Throws NetlinkError, MalformedMessage. */
  async forgetServices(stale: readonly StaleConnections[], signal: AbortSignal): Promise<void> {
    for (const [family, all] of Map.groupBy(stale, ({ destination }) => destination.family)) {
      const keys = new Set(
        all.map(({ protocol, destination: { address, port }, endpoint }) =>
          keyOf(PROTOCOLS[protocol], address, port, endpoint),
        ),
      );
      const ports = Map.groupBy(
        all,
        ({ protocol, destination: { port } }) => `${protocol} ${port}`,
      );
      const filters = [...ports.values()].flatMap(([one]) =>
        one === undefined
          ? []
          : {
              original: {
                protocol: PROTOCOLS[one.protocol],
                destinationPort: one.destination.port,
              },
            },
      );
      const isStale = ({ original, reply }: Connection): boolean => {
        const { protocol, destination, destinationPort } = original;
        return [undefined, reply.source].some((endpoint) =>
          keys.has(keyOf(protocol, destination, destinationPort, endpoint)),
        );
      };
      const among = [...new Set(all.map(({ destination: { address } }) => address))];
      await this.#forgetChosen({ family, among }, filters, isStale, signal);
    }
  }

  /** All that are meant are among `common`, each chosen by one of `filters`, where there are some. */
  async #forgetChosen(
    common: ConnectionFilter & Among,
    filters: readonly ConnectionFilter[],
    isMeant: (connection: Connection) => boolean,
    signal?: AbortSignal,
  ): Promise<void> {
    using table = this.#open();
    using deletions = this.#open();
    const isOneGo = filters.length === 0 || filters.length > MOST_FILTERS;
    for (const filter of isOneGo ? [{}] : filters)
      for await (const piece of table.dumpInPieces(connections({ ...common, ...filter }))) {
        signal?.throwIfAborted();
        for (const connection of piece) if (isMeant(connection)) forgetOne(deletions, connection);
      }
  }
}

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
