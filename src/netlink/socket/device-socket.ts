/** Sockets that hear what comes in by one device alone, such as one in a VRF (Documentation/networking/vrf.rst), at an address that need not be the host's. */
import { closeSync } from 'node:fs';
import { FAMILY, parseIp, type Family } from '../wire/ip-text.ts';
import { LITTLE_ENDIAN } from '../wire/layout.ts';
import { libc, type Libc } from './libc.ts';
import { systemError } from './netlink-error.ts';

export interface DeviceSocketOptions {
  readonly family: Family;
  readonly type: 'datagram' | 'stream';
  readonly address: string;
  readonly port: number;
  readonly device: string;
  /** Packet mark of what it sends, by which rules know it, too (nft(8), `socket mark`). Takes CAP_NET_ADMIN. */
  readonly mark: number;
  /** Stands in for the C library. */
  readonly library?: Libc;
}

/** asm-generic/socket.h, linux/in.h, linux/in6.h */
const SOL_SOCKET = 1;
const SO_REUSEADDR = 2;
const SO_BINDTODEVICE = 25;
const SO_MARK = 36;
const IPPROTO_IP = 0;
const IP_FREEBIND = 15;
const IP_TRANSPARENT = 19;
const IPPROTO_IPV6 = 41;
const IPV6_V6ONLY = 26;

/** sockaddr_in: family, port, address, and 8 bytes of nothing; sockaddr_in6 has 4 bytes before its address and after it. */
function socketAddress(family: Family, address: string, port: number): Uint8Array {
  const bytes = new Uint8Array(family === 'v4' ? 16 : 28);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, FAMILY[family], LITTLE_ENDIAN);
  view.setUint16(2, port);
  bytes.set(parseIp(address), family === 'v4' ? 4 : 8);
  return bytes;
}

/** Returns the descriptor of a bound socket, which does not block. It does not listen. Throws NetlinkError. */
export function deviceSocket(options: DeviceSocketOptions): number {
  const { family, type, address, port, device, mark, library = libc() } = options;
  const fd = library.internetSocket(FAMILY[family], type);
  const what = `listen at ${address} port ${port} on device ${device}`;
  if (fd < 0) throw systemError(what, -fd);
  const name = new TextEncoder().encode(`${device}\0`);
  const steps = [
    () => library.setOption(fd, SOL_SOCKET, SO_BINDTODEVICE, name),
    () => library.setOption(fd, SOL_SOCKET, SO_MARK, mark),
    // The one before may have ended a moment ago.
    () => (type === 'stream' ? library.setOption(fd, SOL_SOCKET, SO_REUSEADDR, 1) : 0),
    // IPv4 sends nothing from an address that is not the host's but by such a socket (ip(7)).
    () => library.setOption(fd, IPPROTO_IP, family === 'v4' ? IP_TRANSPARENT : IP_FREEBIND, 1),
    () => (family === 'v6' ? library.setOption(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) : 0),
    () => library.bindToAddress(fd, socketAddress(family, address, port)),
  ];
  for (const step of steps) {
    const result = step();
    if (result >= 0) continue;
    closeSync(fd);
    throw systemError(what, -result);
  }
  return fd;
}
