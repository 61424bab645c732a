/** A socket to the kernel's netlink, by its descriptor: made, set up, read, closed. */
import { closeSync } from 'node:fs';
import { constants } from 'node:os';
import { libc, type Libc } from './libc.ts';
import { NetlinkError, systemError } from './netlink-error.ts';
import { inNetworkNamespace } from './network-namespace.ts';

/** NETLINK_ROUTE, NETLINK_NETFILTER, NETLINK_GENERIC (linux/netlink.h). */
const PROTOCOL = { route: 0, netfilter: 12, generic: 16 } as const;
export type Protocol = keyof typeof PROTOCOL;

const SOL_SOCKET = 1;
const SO_RCVBUFFORCE = 33;
const SOL_NETLINK = 270;
/** NETLINK_ADD_MEMBERSHIP, NETLINK_CAP_ACK, NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK */
const OPTION = { group: 1, cappedAcks: 10, extendedAcks: 11, strictChecks: 12 } as const;

export interface SocketOptions {
  /** Descriptor of the network namespace that it is in; the calling thread's own, if none is named. */
  readonly namespace?: number;
  /** Bytes for what was not read yet, whatever net.core.rmem_max says; takes CAP_NET_ADMIN. */
  readonly receiveBuffer?: number;
  /** Multicast groups. */
  readonly groups?: readonly number[];
  /** Stands in for the C library. */
  readonly library?: Libc;
}

/** Opens one; a namespace is left again before this returns. Throws NetlinkError. */
export function openSocket(protocol: Protocol, options: SocketOptions = {}): number {
  const { namespace, receiveBuffer, groups = [], library = libc() } = options;
  const make = (): number => library.socket(PROTOCOL[protocol]);
  const fd = namespace === undefined ? make() : inNetworkNamespace(namespace, make, library);
  if (fd < 0) throw systemError(`open a netlink socket (${protocol})`, -fd);
  try {
    const done = (what: string, result: number): void => {
      if (result < 0) throw systemError(`${what} of a netlink socket (${protocol})`, -result);
    };
    const set = (option: number, value: number): number =>
      library.setOption(fd, SOL_NETLINK, option, value);
    done('extended acknowledgements', set(OPTION.extendedAcks, 1));
    done('short acknowledgements', set(OPTION.cappedAcks, 1));
    if (protocol === 'route') done('filters of dumps', set(OPTION.strictChecks, 1));
    if (receiveBuffer !== undefined)
      done('receive buffer', library.setOption(fd, SOL_SOCKET, SO_RCVBUFFORCE, receiveBuffer));
    done('connection', library.connect(fd));
    for (const group of groups) done(`group ${group}`, set(OPTION.group, group));
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return fd;
}

/** Longer than what the kernel puts into one datagram: 32 KiB of a dump, or one object. */
const LONGEST_DATAGRAM = 256 * 1024;
export const datagramBuffer = (): Uint8Array => new Uint8Array(LONGEST_DATAGRAM);
const buffer = datagramBuffer();

/** Throws NetlinkError for what became of sending: a negative number of an error, or how many bytes were taken. `what` is asked. */
export function checkSent(sent: number, message: Uint8Array, what: string): void {
  if (sent < 0) throw systemError(what, -sent);
  if (sent !== message.length)
    throw new NetlinkError(
      what,
      `${sent} of ${message.length} bytes were sent`,
      'NETLINK_TOO_LONG',
    );
}

/** What has come, in memory that the next call uses again; undefined for nothing. Throws NetlinkError. */
export function receiveFrom(fd: number, what: string, library: Libc): Uint8Array | undefined {
  const length = library.receive(fd, buffer);
  return length === -constants.errno.EAGAIN ? undefined : received(length, buffer, what);
}

/** What has come, by what became of receiving it: a negative number of an error, or the length that it has. Throws NetlinkError. */
export function received(length: number, buffer: Uint8Array, what: string): Uint8Array {
  if (length < 0) throw systemError(what, -length);
  if (length > buffer.length)
    throw new NetlinkError(
      what,
      `an answer of ${length} bytes, of which ${buffer.length} can be read`,
      'NETLINK_TOO_LONG',
    );
  return buffer.subarray(0, length);
}

/** What takes datagrams until an answer is whole. */
interface Answer {
  readonly isDone: boolean;
  take(datagram: Uint8Array): void;
}

/** Takes the whole answer. Throws NetlinkError, MalformedMessage; what is left of the answer is in the socket then. */
export function readAnswer(fd: number, answer: Answer, what: string, library: Libc): void {
  while (!answer.isDone) {
    const datagram = receiveFrom(fd, what, library);
    if (datagram === undefined)
      throw new NetlinkError(what, 'the kernel does not answer', 'NETLINK_NO_ANSWER');
    answer.take(datagram);
  }
}
