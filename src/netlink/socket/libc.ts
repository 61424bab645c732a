/**
 * The few functions of the C library that netlink, frames, and sockets bound to a device take and Node.js has not, called through koffi. What crosses is numbers, and memory of
 * which length and place were compared here before.
 */
import { createRequire } from 'node:module';
import type * as Koffi from 'koffi';
import { LITTLE_ENDIAN } from '../wire/layout.ts';

/** A function that fails gives the number of the error, negative, as the kernel's calls do. */
export interface Libc {
  /** A socket of netlink, which does not block and does not pass to programs that are started. */
  readonly socket: (protocol: number) => number;
  /** Connects to the kernel: gets an address, and takes nothing that another process sends to it alone. */
  readonly connect: (socket: number) => number;
  /** A socket for whole frames; it receives nothing before it is bound to a protocol. */
  readonly frameSocket: () => number;
  /** Has it send on the device of this number, and receive what is of the protocol there; device 0: all of them, protocol 0: nothing. */
  readonly bindToDevice: (socket: number, device: number, protocol?: number) => number;
  /** Has the kernel ask a program (sock_filter, 8 bytes each) what of a frame the socket gets. */
  readonly attachFilter: (socket: number, program: Uint8Array) => number;
  readonly setOption: (
    socket: number,
    level: number,
    option: number,
    value: number | Uint8Array,
  ) => number;
  /** Reads an option, which is as long as `value`. */
  readonly getOption: (socket: number, level: number, option: number, value: Uint8Array) => number;
  /** A socket of IPv4 or IPv6, for datagrams or for connections. */
  readonly internetSocket: (family: number, type: 'datagram' | 'stream') => number;
  /** Gives it an address (sockaddr_in, sockaddr_in6). */
  readonly bindToAddress: (socket: number, address: Uint8Array) => number;
  readonly send: (socket: number, bytes: Uint8Array) => number;
  /** As `send`, in a thread of its own while the caller goes on. Which error it was is known to that thread alone: EIO stands for any. */
  readonly sendAside: (socket: number, bytes: Uint8Array) => Promise<number>;
  /** Takes one datagram, at once; the length that it has, which is more than the buffer's for one that was cut. */
  readonly receive: (socket: number, buffer: Uint8Array) => number;
  /** As `receive`, with the address that it came by (sockaddr_ll). */
  readonly receiveFrame: (socket: number, buffer: Uint8Array, address: Uint8Array) => number;
  /** As `receive`, in a thread of its own, which writes to the buffer until it is done; errors are as those of `sendAside`. */
  readonly receiveAside: (socket: number, buffer: Uint8Array) => Promise<number>;
  /** Moves the calling thread into the network namespace of a descriptor. */
  readonly enterNetwork: (namespace: number) => number;
  /** Two connected sockets of a kind that Node.js watches. */
  readonly socketPair: (ends: Int32Array) => number;
  /** Lets the descriptor `to` be what `from` is. */
  readonly duplicate: (from: number, to: number) => number;
}

/** linux/socket.h, asm-generic/fcntl.h, linux/sched.h, sys/socket.h. */
const AF_UNIX = 1;
const AF_NETLINK = 16;
const AF_PACKET = 17;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0o2000000;
const SOCK_NONBLOCK = 0o4000;
const MSG_TRUNC = 0x20;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const CLONE_NEWNET = 0x4000_0000;
const O_CLOEXEC = 0o2000000;
const EINTR = 4;
const EIO = 5;
const SOCKADDR_LENGTH = 12;
/** sockaddr_ll (linux/if_packet.h): family, protocol, number of the device, and more that is 0. */
export const DEVICE_LENGTH = 20;
/** asm-generic/socket.h, linux/filter.h. */
const SOL_SOCKET = 1;
const SO_ATTACH_FILTER = 26;
const INSTRUCTION_LENGTH = 8;

const require = createRequire(import.meta.url);

/** Calls a function of the C library, again where a signal interrupted it. Gives what it gave, or the number of its error, negative. */
export function uninterrupted(call: () => number, errno: () => number): number {
  for (;;) {
    const result = call();
    if (result >= 0) return result;
    const error = errno();
    if (error !== EINTR) return -error;
  }
}

const SEND = 'long send(int fd, const void *buffer, size_t length, int flags)';
const RECEIVE = 'long recv(int fd, void *buffer, size_t length, int flags)';

function load(): Libc {
  const koffi = require('koffi') as typeof Koffi;
  const library = koffi.load(null);
  type Call = (...args: readonly unknown[]) => number;
  const bindWith =
    (call: Call): Call =>
    (...args) =>
      uninterrupted(
        () => call(...args),
        () => koffi.errno(),
      );
  const bind = (definition: string): Call => bindWith(library.func(definition) as Call);
  const socket = bind('int socket(int domain, int type, int protocol)');
  const connect = bind('int connect(int fd, const void *address, uint32_t length)');
  const bindSocket = bind('int bind(int fd, const void *address, uint32_t length)');
  const setsockopt = bind(
    'int setsockopt(int fd, int level, int option, const void *value, uint32_t length)',
  );
  const getsockopt = bind(
    'int getsockopt(int fd, int level, int option, void *value, void *length)',
  );
  const program = koffi.struct({ length: 'uint16_t', filter: 'const void *' });
  const setFilter = bindWith(
    library.func('setsockopt', 'int', ['int', 'int', 'int', koffi.pointer(program), 'uint32_t']),
  );
  /** Calls in a thread of libuv's pool. */
  const aside = (definition: string): ((...args: readonly unknown[]) => Promise<number>) => {
    const call = library.func(definition).async;
    return (...args) =>
      new Promise((resolve, reject) => {
        call(...args, (error: Error | null, result: number) => {
          if (error === null) resolve(result < 0 ? -EIO : result);
          else reject(error);
        });
      });
  };
  const send = bind(SEND);
  const sendAside = aside(SEND);
  const recv = bind(RECEIVE);
  const recvfrom = bind(
    'long recvfrom(int fd, void *buffer, size_t length, int flags, void *address, void *size)',
  );
  const receiveAside = aside(RECEIVE);
  const setns = bind('int setns(int fd, int type)');
  const socketpair = bind('int socketpair(int domain, int type, int protocol, _Out_ int *ends)');
  const dup3 = bind('int dup3(int from, int to, int flags)');
  // sockaddr_nl: of the kernel the address is 0.
  const kernel = new Uint8Array(SOCKADDR_LENGTH);
  new Uint16Array(kernel.buffer)[0] = AF_NETLINK;
  return {
    socket: (protocol) => socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol),
    connect: (fd) => connect(fd, kernel, kernel.byteLength),
    frameSocket: () => socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
    bindToDevice: (fd, device, protocol = 0) => {
      const address = new Uint8Array(DEVICE_LENGTH);
      const view = new DataView(address.buffer);
      view.setUint16(0, AF_PACKET, LITTLE_ENDIAN);
      view.setUint16(Uint16Array.BYTES_PER_ELEMENT, protocol);
      view.setInt32(Uint32Array.BYTES_PER_ELEMENT, device, LITTLE_ENDIAN);
      return bindSocket(fd, address, address.byteLength);
    },
    attachFilter: (fd, filter) =>
      setFilter(
        fd,
        SOL_SOCKET,
        SO_ATTACH_FILTER,
        { length: filter.byteLength / INSTRUCTION_LENGTH, filter },
        koffi.sizeof(program),
      ),
    getOption: (fd, level, option, value) =>
      getsockopt(fd, level, option, value, Uint32Array.of(value.byteLength)),
    setOption: (fd, level, option, value) => {
      const bytes = typeof value === 'number' ? Int32Array.of(value) : value;
      return setsockopt(fd, level, option, bytes, bytes.byteLength);
    },
    internetSocket: (family, type) =>
      socket(
        family,
        (type === 'stream' ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK,
        0,
      ),
    bindToAddress: (fd, address) => bindSocket(fd, address, address.byteLength),
    send: (fd, bytes) => send(fd, bytes, bytes.byteLength, MSG_DONTWAIT | MSG_NOSIGNAL),
    sendAside: (fd, bytes) => sendAside(fd, bytes, bytes.byteLength, MSG_NOSIGNAL),
    receive: (fd, buffer) => recv(fd, buffer, buffer.byteLength, MSG_DONTWAIT | MSG_TRUNC),
    receiveFrame: (fd, buffer, address) =>
      recvfrom(
        fd,
        buffer,
        buffer.byteLength,
        MSG_DONTWAIT | MSG_TRUNC,
        address,
        Uint32Array.of(address.byteLength),
      ),
    receiveAside: (fd, buffer) =>
      receiveAside(fd, buffer, buffer.byteLength, MSG_DONTWAIT | MSG_TRUNC),
    enterNetwork: (fd) => setns(fd, CLONE_NEWNET),
    socketPair: (ends) => {
      if (ends.length !== 2) throw new RangeError('a pair has two ends');
      return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
    },
    duplicate: (from, to) => dup3(from, to, O_CLOEXEC),
  };
}

let loaded: Libc | undefined;

/** Loaded when it is first needed: it costs some milliseconds and 10 MB. Throws where koffi has no binary for the machine. */
export const libc = (): Libc => (loaded ??= load());
