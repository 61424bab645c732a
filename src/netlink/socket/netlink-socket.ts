/**
 * Requests to the kernel, answered before the call returns: it carries them out while they are sent, and puts a dump together while it is
 * read, so nothing is waited for but the kernel's own work.
 */
import { closeSync } from 'node:fs';
import { FLAG, writeMessage, type NetlinkMessage } from '../wire/message.ts';
import type { Query, Request } from '../wire/request.ts';
import { Exchange } from './exchange.ts';
import {
  openSocket,
  checkSent,
  readAnswer,
  type Protocol,
  type SocketOptions,
} from './kernel-socket.ts';
import { libc, type Libc } from './libc.ts';
import { NetlinkError } from './netlink-error.ts';

/** A dump during which the kernel's tables changed is made again this often. */
const DUMP_ATTEMPTS = 8;
const SEQUENCES = 0x1_0000_0000;

export type NetlinkSocketOptions = Pick<SocketOptions, 'namespace' | 'library'>;

export class NetlinkSocket implements Disposable {
  readonly #library: Libc;
  #fd: number | undefined;
  #sequence = 0;

  /** Throws NetlinkError. */
  constructor(protocol: Protocol, options: NetlinkSocketOptions = {}) {
    this.#library = options.library ?? libc();
    this.#fd = openSocket(protocol, options);
  }

  /** Has something done. Throws NetlinkError with the kernel's reason. */
  change(request: Request): void {
    this.#ask({ ...request, flags: request.flags | FLAG.ack }, () => undefined);
  }

  /** All objects that a query is for. Throws NetlinkError, MalformedMessage. */
  dump<T>(query: Query<T>): readonly T[] {
    for (let attempt = 0; attempt < DUMP_ATTEMPTS; attempt += 1) {
      const { isInterrupted, results } = this.#ask(query, query.read);
      if (!isInterrupted) return results;
    }
    throw new NetlinkError(
      `${query.what}: what was to be shown changed meanwhile, ${DUMP_ATTEMPTS} times`,
      'NETLINK_INTERRUPTED',
    );
  }

  /** The one object that a query is for. Throws NetlinkError, also when there is none. */
  get<T>(query: Query<T>): T {
    const { results } = this.#ask({ ...query, flags: query.flags | FLAG.ack }, query.read);
    const [result] = results;
    if (result === undefined)
      throw new NetlinkError(`${query.what}: the kernel shows nothing`, 'NETLINK_NO_ANSWER');
    return result;
  }

  #ask<T>(
    request: Request & { readonly none?: number },
    read: (message: NetlinkMessage) => T | undefined,
  ): Exchange<T> {
    const { what, type, flags, body } = request;
    const fd = this.#fd;
    if (fd === undefined) throw new NetlinkError(`${what}: the socket is closed`, 'EBADF');
    const sequence = (this.#sequence = (this.#sequence + 1) % SEQUENCES);
    const exchange = new Exchange(request, sequence, read);
    const message = { type, flags: flags | FLAG.request, sequence, body };
    try {
      const bytes = writeMessage(message);
      checkSent(this.#library.send(fd, bytes), bytes, what);
      readAnswer(fd, exchange, what, this.#library);
    } catch (error) {
      // What is left of the answer would be taken for that of the next request.
      this[Symbol.dispose]();
      throw error;
    }
    exchange.check();
    return exchange;
  }

  /** Requests after this fail. */
  [Symbol.dispose](): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

/**
 * Has something done for which the kernel takes its time, as for a link that goes (some 20 ms), while the caller goes on. Throws NetlinkError with the
 * kernel's reason.
 */
export async function changeInBackground(
  protocol: Protocol,
  request: Request,
  options: NetlinkSocketOptions = {},
): Promise<void> {
  const { library = libc() } = options;
  const { what, type, flags, body } = request;
  const sequence = 1;
  const exchange = new Exchange(request, sequence, () => undefined);
  const all = flags | FLAG.request | FLAG.ack;
  const bytes = writeMessage({ type, flags: all, sequence, body });
  const fd = openSocket(protocol, options);
  try {
    checkSent(await library.sendAside(fd, bytes), bytes, what);
    readAnswer(fd, exchange, what, library);
  } finally {
    closeSync(fd);
  }
  exchange.check();
}
