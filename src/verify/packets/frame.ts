/** The packet of a witness as it is sent, and found again wherever it comes out: plain, or within a tunnel. */
import { parseAddress, type Address } from '../../allocators/addresses.ts';
import { TTL, type Witness } from '../witnesses/choice.ts';

/** By what a packet is known: no address and port that translation changes. */
export interface Mark {
  /** Of all packets of a run, 32 bits that nobody knows before: the sequence number of its SYN. */
  readonly nonce: number;
  /** Of the packet, 1 to `MOST_NUMBERS`: the window of its SYN, which means nothing before a connection stands. */
  readonly number: number;
}
export const MOST_NUMBERS = 0xffff;

/** A frame that has the mark. */
export interface MarkedFrame {
  readonly number: number;
  /** Of the tunnel that it is in (VNI of Geneve, RFC 8926 §3.1). */
  readonly tunnelKey?: number;
}

const ETHERNET = 14;
const VLAN_TAG = 4;
const ETHER_TYPE = { v4: 0x0800, v6: 0x86dd } as const;
const VLAN_TYPES: readonly number[] = [0x8100, 0x88a8];
const LENGTH = { v4: 20, v6: 40 } as const;
const TCP = 6;
const TCP_LENGTH = 20;
const UDP = 17;
const UDP_LENGTH = 8;
const GENEVE_LENGTH = 8;
/** In 4 bytes each. */
const GENEVE_OPTIONS = 0x3f;
const SYN = 0x02;

/** A SYN without options from the pod, with the addresses and ports that tracers are asked about. Throws for addresses of a witness that are none. */
export function frameOf(witness: Witness, { nonce, number }: Mark): Uint8Array {
  const [source, target] = [witness.address, witness.toAddress].map(checkedAddress) as [
    Address,
    Address,
  ];
  const { family } = target;
  const ip = LENGTH[family];
  const frame = new Uint8Array(ETHERNET + ip + TCP_LENGTH);
  const view = new DataView(frame.buffer);
  frame.set(macBytes(witness.toMac), 0);
  frame.set(macBytes(witness.mac), 6);
  view.setUint16(12, ETHER_TYPE[family]);
  const [from, to] = [addressBytes(source), addressBytes(target)];
  if (family === 'v4') {
    view.setUint8(ETHERNET, 0x45);
    view.setUint16(ETHERNET + 2, ip + TCP_LENGTH);
    view.setUint8(ETHERNET + 8, TTL);
    view.setUint8(ETHERNET + 9, TCP);
    frame.set(from, ETHERNET + 12);
    frame.set(to, ETHERNET + 16);
    view.setUint16(ETHERNET + 10, onesComplement(frame.subarray(ETHERNET, ETHERNET + ip)));
  } else {
    view.setUint8(ETHERNET, 0x60);
    view.setUint16(ETHERNET + 4, TCP_LENGTH);
    view.setUint8(ETHERNET + 6, TCP);
    view.setUint8(ETHERNET + 7, TTL);
    frame.set(from, ETHERNET + 8);
    frame.set(to, ETHERNET + 24);
  }
  const tcp = ETHERNET + ip;
  view.setUint16(tcp, witness.fromPort);
  view.setUint16(tcp + 2, witness.toPort);
  view.setUint32(tcp + 4, nonce);
  view.setUint8(tcp + 12, (TCP_LENGTH / 4) << 4);
  view.setUint8(tcp + 13, SYN);
  view.setUint16(tcp + 14, number);
  // RFC 9293 §3.1: over the addresses, the length and the protocol, too.
  const pseudo = [...from, ...to, 0, TCP, 0, TCP_LENGTH, ...frame.subarray(tcp)];
  view.setUint16(tcp + 16, onesComplement(Uint8Array.from(pseudo)));
  return frame;
}

/** The mark that a frame has; undefined for every other one, whatever it holds. */
export function readFrame(frame: Uint8Array, nonce: number): MarkedFrame | undefined {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const outer = transportOf(view, 0);
  if (outer === undefined) return undefined;
  if (outer.protocol === TCP) return markOf(view, outer.at, nonce);
  const geneve = outer.at + UDP_LENGTH;
  if (outer.protocol !== UDP || geneve + GENEVE_LENGTH > view.byteLength) return undefined;
  const options = (view.getUint8(geneve) & GENEVE_OPTIONS) * 4;
  const inner = transportOf(view, geneve + GENEVE_LENGTH + options);
  const mark = inner?.protocol === TCP ? markOf(view, inner.at, nonce) : undefined;
  return mark && { ...mark, tunnelKey: view.getUint32(geneve + 4) >>> 8 };
}

/** The protocol of an Ethernet frame that begins at `start`, and where its header is. */
function transportOf(
  view: DataView,
  start: number,
): { readonly protocol: number; readonly at: number } | undefined {
  if (start + ETHERNET + VLAN_TAG > view.byteLength) return undefined;
  const isTagged = VLAN_TYPES.includes(view.getUint16(start + 12));
  const ip = start + ETHERNET + (isTagged ? VLAN_TAG : 0);
  const type = view.getUint16(ip - 2);
  if (type === ETHER_TYPE.v4 && ip + LENGTH.v4 <= view.byteLength)
    return { protocol: view.getUint8(ip + 9), at: ip + (view.getUint8(ip) & 0x0f) * 4 };
  if (type === ETHER_TYPE.v6 && ip + LENGTH.v6 <= view.byteLength)
    return { protocol: view.getUint8(ip + 6), at: ip + LENGTH.v6 };
  return undefined;
}

function markOf(view: DataView, tcp: number, nonce: number): MarkedFrame | undefined {
  if (tcp + TCP_LENGTH > view.byteLength || view.getUint32(tcp + 4) !== nonce) return undefined;
  // An answer, or what another program makes of it, is not the packet.
  return view.getUint8(tcp + 13) === SYN ? { number: view.getUint16(tcp + 14) } : undefined;
}

function checkedAddress(text: string): Address {
  const address = parseAddress(text);
  if (address === undefined) throw new RangeError(`${JSON.stringify(text)} is no address`);
  return address;
}

function addressBytes({ family, value }: Address): readonly number[] {
  const count = family === 'v4' ? 4 : 16;
  const byte = (index: number): number =>
    Number((value >> BigInt(8 * (count - 1 - index))) & 0xffn);
  return Array.from({ length: count }, (_, index) => byte(index));
}

const macBytes = (mac: string): readonly number[] =>
  mac.split(':').map((part) => Number.parseInt(part, 16));

/** The Internet checksum (RFC 1071) of bytes in which its own are 0. */
function onesComplement(bytes: Uint8Array): number {
  let sum = 0;
  for (const [index, byte] of bytes.entries()) sum += index % 2 === 0 ? byte << 8 : byte;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
