/**
 * Requests to the kernel, answered before the call returns: it carries them out while they are sent, and puts a dump together while it is
 * read, so nothing is waited for but the kernel's own work. Where that is much, it is done in another thread.
 */
import { closeSync } from 'node:fs';
import { FLAG, writeMessage, type NetlinkMessage } from '../wire/message.ts';
import type { Query, Request } from '../wire/request.ts';
import { Changes, Exchange } from './exchange.ts';
import {
  openSocket,
  checkSent,
  datagramBuffer,
  readAnswer,
  received,
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
  #isDumping = false;

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
    throw interrupted(query, DUMP_ATTEMPTS);
  }

  /**
   * As `dump`, for tables through which the kernel goes for long, while the caller goes on: it does so in threads of its own, and what a datagram held is
   * given at a time, be it nothing. Nothing else is to be asked of this socket meanwhile; who ends before the end closes it. Throws NetlinkError, MalformedMessage, also
   * when objects were given already.
   */
  async *dumpInPieces<T>(query: Query<T>): AsyncGenerator<readonly T[], void, undefined> {
    const { fd, exchange, bytes } = this.#begin(query, query.read);
    const buffer = datagramBuffer();
    this.#isDumping = true;
    try {
      checkSent(await this.#library.sendAside(fd, bytes), bytes, query.what);
      while (!exchange.isDone) {
        const length = await this.#library.receiveAside(fd, buffer);
        exchange.take(received(length, buffer, query.what));
        yield exchange.results.splice(0);
      }
    } finally {
      this.#isDumping = false;
      if (!exchange.isDone) this[Symbol.dispose]();
    }
    exchange.check();
    if (exchange.isInterrupted) throw interrupted(query, 1);
  }

  /** The one object that a query is for. Throws NetlinkError, also when there is none. */
  get<T>(query: Query<T>): T {
    const { results } = this.#ask({ ...query, flags: query.flags | FLAG.ack }, query.read);
    const [result] = results;
    if (result === undefined)
      throw new NetlinkError(query.what, 'the kernel shows nothing', 'NETLINK_NO_ANSWER');
    return result;
  }

  #ask<T>(
    request: Request & { readonly none?: number },
    read: (message: NetlinkMessage) => T | undefined,
  ): Exchange<T> {
    const { fd, exchange, bytes } = this.#begin(request, read);
    try {
      checkSent(this.#library.send(fd, bytes), bytes, request.what);
      readAnswer(fd, exchange, request.what, this.#library);
    } catch (error) {
      // What is left of the answer would be taken for that of the next request.
      this[Symbol.dispose]();
      throw error;
    }
    exchange.check();
    return exchange;
  }

  #begin<T>(
    request: Request & { readonly none?: number },
    read: (message: NetlinkMessage) => T | undefined,
  ): { readonly fd: number; readonly exchange: Exchange<T>; readonly bytes: Uint8Array } {
    const { what, type, flags, body } = request;
    if (this.#fd === undefined) throw new NetlinkError(what, 'the socket is closed', 'EBADF');
    if (this.#isDumping) throw new NetlinkError(what, 'the socket is at a dump', 'EBUSY');
    const sequence = (this.#sequence = (this.#sequence + 1) % SEQUENCES);
    return {
      fd: this.#fd,
      exchange: new Exchange(request, sequence, read),
      bytes: writeMessage({ type, flags: flags | FLAG.request, sequence, body }),
    };
  }

  /** Requests after this fail. */
  [Symbol.dispose](): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

const interrupted = ({ what }: Request, times: number): NetlinkError =>
  new NetlinkError(
    what,
    `what was to be shown changed meanwhile, ${times} times`,
    'NETLINK_INTERRUPTED',
  );

/** What one send has: the answers to more, if all are refused, might not fit into the socket (net.core.rmem_default, 208 KiB). */
const CHANGES_AT_ONCE = 128;

/**
 * Has many things done, one after the other, while the caller goes on: the kernel works in a thread of its own. What one is refused harms no other.
 * `changes` is asked for further ones while those before are done. Gives what each was refused for. Throws NetlinkError, MalformedMessage when it is not
 * known what became of them, RangeError, and what `changes` throws; what came before is done then.
 */
export async function changeAll(
  protocol: Protocol,
  changes: Iterable<Request>,
  options: NetlinkSocketOptions = {},
): Promise<readonly (NetlinkError | undefined)[]> {
  const { library = libc() } = options;
  const refusals: (NetlinkError | undefined)[] = [];
  const fd = openSocket(protocol, options);
  try {
    const sets = changeSets(changes);
    let set = sets.next().value;
    while (set !== undefined) {
      const { bytes, what } = set;
      const sending = library.sendAside(fd, bytes);
      let next: Changes | undefined;
      let sent: number;
      try {
        next = sets.next().value;
      } finally {
        sent = await sending;
      }
      checkSent(sent, bytes, what);
      readAnswer(fd, set, what, library);
      refusals.push(...set.refusals);
      set = next;
    }
  } finally {
    closeSync(fd);
  }
  return refusals;
}

function* changeSets(all: Iterable<Request>): Generator<Changes, undefined> {
  let requests: Request[] = [];
  let sequence = 1;
  for (const request of all) {
    requests.push(request);
    if (requests.length < CHANGES_AT_ONCE) continue;
    yield new Changes(requests, sequence);
    sequence += requests.length;
    requests = [];
  }
  if (requests.length > 0) yield new Changes(requests, sequence);
  return undefined;
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
  const [refusal] = await changeAll(protocol, [request], options);
  if (refusal !== undefined) throw refusal;
}
