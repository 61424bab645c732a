/** Packets made by hand, as Buffers. */
import { parseAddress } from '../../src/allocators/addresses.ts';

/** Ethernet types. */
export const ETHERTYPE = { v4: 0x0800, v6: 0x86dd } as const;

const isV6 = (address: string): boolean => address.includes(':');
export const ethertypeOf = (address: string): number => ETHERTYPE[isV6(address) ? 'v6' : 'v4'];

const uint16 = (value: number): Buffer => Buffer.from([(value >> 8) & 0xff, value & 0xff]);

/** In network order: 4 or 16 bytes. */
export function addressBytes(address: string): Buffer {
  const { bits } = parsed(address);
  return Buffer.from(bits.toString(16).padStart(isV6(address) ? 32 : 8, '0'), 'hex');
}

function parsed(address: string): { bits: bigint } {
  const found = parseAddress(address);
  if (found === undefined) throw new Error(`${address} is no address`);
  return { bits: found.value };
}

const macBytes = (mac: string): Buffer => Buffer.from(mac.replaceAll(':', ''), 'hex');

/** RFC 1071. */
function checksum(data: Buffer): number {
  const even = data.length % 2 === 0 ? data : Buffer.concat([data, Buffer.alloc(1)]);
  let sum = 0;
  for (let at = 0; at < even.length; at += 2) sum += even.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}

const UDP = 17;

export interface Datagram {
  readonly from: string;
  readonly to: string;
  readonly port: number;
  readonly payload: Buffer;
}

/** An IPv4 or IPv6 packet with a UDP datagram. */
export function datagram({ from, to, port, payload }: Datagram): Buffer {
  const length = uint16(8 + payload.length);
  const head = Buffer.concat([uint16(40_000), uint16(port), length]);
  const ends = Buffer.concat([addressBytes(from), addressBytes(to)]);
  const pseudo = isV6(to)
    ? Buffer.concat([ends, Buffer.alloc(2), length, Buffer.from([0, 0, 0, UDP])])
    : Buffer.concat([ends, Buffer.from([0, UDP]), length]);
  const sum = checksum(Buffer.concat([pseudo, head, uint16(0), payload]));
  const udp = Buffer.concat([head, uint16(sum === 0 ? 0xffff : sum), payload]);
  if (isV6(to))
    return Buffer.concat([Buffer.from([0x60, 0, 0, 0]), length, Buffer.from([UDP, 64]), ends, udp]);
  const before = Buffer.concat([
    Buffer.from([0x45, 0]),
    uint16(20 + udp.length),
    Buffer.from([0, 1, 0x40, 0, 64, UDP]),
  ]);
  const whole = Buffer.concat([before, uint16(0), ends]);
  return Buffer.concat([before, uint16(checksum(whole)), ends, udp]);
}

export const ethernet = (to: string, from: string, type: number, packet: Buffer): Buffer =>
  Buffer.concat([macBytes(to), macBytes(from), uint16(type), packet]);

/** What a tunnel of OVN carries (ovn-architecture(7), "Tunnel Encapsulations"): `key` of the datapath, and the keys of its ports. */
export function geneve(
  { key, inPort, outPort }: { key: number; inPort: number; outPort: number },
  frame: Buffer,
): Buffer {
  const option = Buffer.concat([uint16(0x0102), Buffer.from([0x80, 1])]);
  const vni = Buffer.from([(key >> 16) & 0xff, (key >> 8) & 0xff, key & 0xff, 0]);
  return Buffer.concat([
    Buffer.from([2, 0x40, 0x65, 0x58]),
    vni,
    option,
    uint16(inPort),
    uint16(outPort),
    frame,
  ]);
}
