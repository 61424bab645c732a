/**
 * Subscribes to what changes. The socket is watched by the loop of Node.js as any other one, without a thread and without asking again and again: it takes the
 * place of one end of a socket pair, a kind that Node.js knows, before the loop has begun to watch that (docs/decisions/netlink.md in the repository).
 */
import { closeSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { readMessages, type NetlinkMessage } from '../wire/message.ts';
import { openSocket, receiveFrom, type Protocol } from './kernel-socket.ts';
import { libc, type Libc } from './libc.ts';
import { systemError } from './netlink-error.ts';

export interface NetlinkMonitorOptions {
  readonly protocol: Protocol;
  /** Multicast groups of the protocol. */
  readonly groups: readonly number[];
  /** Descriptor of the network namespace; the calling thread's own, if none is named. */
  readonly namespace?: number;
  /** Bytes of the kernel's buffer for what was not read yet, whatever net.core.rmem_max says; takes CAP_NET_ADMIN. */
  readonly receiveBuffer?: number;
  readonly onMessage: (message: NetlinkMessage) => void;
  /** Messages were lost, as `error` says: what they were about has to be read. It is subscribed again already. */
  readonly onLost: (error: Error) => void;
  /** Nothing is announced any more, for a new socket could not be opened. */
  readonly onEnd: (error: Error) => void;
  readonly library?: Libc;
}

/** Messages that are taken in one go; then other code has its turn. */
const AT_ONCE = 256;

export class NetlinkMonitor implements Disposable {
  readonly #options: NetlinkMonitorOptions;
  readonly #library: Libc;
  /** A descriptor of its own, for the time after a loss. */
  #namespace: number | undefined;
  #socket: Socket | undefined;

  /** Subscribed from now on. Throws NetlinkError. */
  constructor(options: NetlinkMonitorOptions) {
    const { namespace, library = libc() } = options;
    this.#options = options;
    this.#library = library;
    if (namespace !== undefined) this.#namespace = openSync(`/proc/self/fd/${namespace}`, 'r');
    try {
      this.#socket = this.#open();
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /** The process may end while it listens. */
  unref(): this {
    this.#socket?.unref();
    return this;
  }

  [Symbol.dispose](): void {
    this.#socket?.destroy();
    this.#socket = undefined;
    if (this.#namespace !== undefined) closeSync(this.#namespace);
    this.#namespace = undefined;
  }

  #open(): Socket {
    const { protocol, onMessage, namespace: _, ...options } = this.#options;
    const place = this.#namespace === undefined ? {} : { namespace: this.#namespace };
    const take = (socket: Socket, fd: number, datagram: Uint8Array): void => {
      let next: Uint8Array | undefined = datagram;
      for (let taken = 0; next !== undefined && this.#socket === socket; taken += 1) {
        const messages = this.#read(socket, next);
        // Who listens may close it.
        for (const message of messages) if (this.#socket === socket) onMessage(message);
        next = taken < AT_ONCE && this.#socket === socket ? this.#receive(socket, fd) : undefined;
      }
    };
    const netlink = openSocket(protocol, { ...options, ...place });
    const socket = watched(netlink, this.#library, take);
    // An overrun (ENOBUFS) is an error of reading, after which Node.js reads no more.
    socket.on('error', (error) => this.#renew(socket, error));
    socket.on('end', () => this.#renew(socket, new Error('an empty message')));
    return socket;
  }

  /** What has come besides, as Node.js reads one message in each turn of its loop. In memory of its own: who listens may use sockets. */
  #receive(socket: Socket, fd: number): Uint8Array | undefined {
    try {
      return receiveFrom(fd, 'listen', this.#library)?.slice();
    } catch (error) {
      this.#renew(socket, error as Error);
      return undefined;
    }
  }

  #read(socket: Socket, datagram: Uint8Array): readonly NetlinkMessage[] {
    try {
      return readMessages(datagram);
    } catch (error) {
      this.#renew(socket, error as Error);
      return [];
    }
  }

  #renew(socket: Socket, error: Error): void {
    if (this.#socket !== socket) return;
    socket.destroy();
    try {
      this.#socket = this.#open();
    } catch (failure) {
      this[Symbol.dispose]();
      this.#options.onEnd(failure as Error);
      return;
    }
    this.#options.onLost(error);
  }
}

/** Longer than what the kernel announces at once. */
const LONGEST_DATAGRAM = 64 * 1024;

/** A socket that Node.js reads, with the given one behind it. `take` gets it, its descriptor, and what came, in memory that is used again. */
function watched(
  netlink: number,
  library: Libc,
  take: (socket: Socket, fd: number, datagram: Uint8Array) => void,
): Socket {
  const ends = new Int32Array(2);
  try {
    const made = library.socketPair(ends);
    if (made < 0) throw systemError('open a pair of sockets', -made);
    const [own = -1, other = -1] = ends;
    closeSync(other);
    const socket: Socket = new Socket({
      fd: own,
      readable: true,
      writable: false,
      // Else each announcement has 64 KiB of its own, for which the garbage collector runs again and again.
      onread: {
        buffer: Buffer.allocUnsafeSlow(LONGEST_DATAGRAM),
        callback: (length, buffer) => {
          take(socket, own, buffer.subarray(0, length));
          return true;
        },
      },
    });
    // What it says of its end is heard only while it flows.
    socket.resume();
    const replaced = library.duplicate(netlink, own);
    if (replaced >= 0) return socket;
    socket.destroy();
    throw systemError('watch a netlink socket', -replaced);
  } finally {
    closeSync(netlink);
  }
}
