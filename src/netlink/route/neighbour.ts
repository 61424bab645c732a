/** Neighbours: which MAC address an IP address has on a device; RTM_NEWNEIGH and its like (linux/neighbour.h). */
import { Attributes } from '../wire/attributes.ts';
import { ByteWriter } from '../wire/byte-writer.ts';
import {
  FAMILY,
  familyOf,
  familyOfNumber,
  ipText,
  macText,
  parseIp,
  parseMac,
  type Family,
} from '../wire/ip-text.ts';
import { LITTLE_ENDIAN, viewOf } from '../wire/layout.ts';
import { MalformedMessage } from '../wire/malformed.ts';
import { FLAG, type NetlinkMessage } from '../wire/message.ts';
import type { Query, Request } from '../wire/request.ts';

const TYPE = { new: 28, delete: 29, get: 30 } as const;

/** NDA_* */
const A = { destination: 1, mac: 2, device: 8, protocol: 12 } as const;

/** NUD_*: what is known of a neighbour. */
export const NEIGHBOUR_STATE = {
  incomplete: 0x1,
  reachable: 0x2,
  stale: 0x4,
  delay: 0x8,
  probe: 0x10,
  failed: 0x20,
  noArp: 0x40,
  permanent: 0x80,
} as const;

export interface Neighbour {
  readonly family: Family;
  /** Number of the device. */
  readonly device: number;
  readonly address: string;
  /** Undefined while it is not known. */
  readonly mac: string | undefined;
  /** NEIGHBOUR_STATE */
  readonly state: number;
  /** Who made it; 0 where it is not known. */
  readonly protocol: number;
}

const HEADER = 12;

/** A neighbour of which the kernel tells; undefined for another message, and of families that are no IP. Throws MalformedMessage. */
export function readNeighbour({ type, body }: NetlinkMessage): Neighbour | undefined {
  if (type !== TYPE.new && type !== TYPE.delete) return undefined;
  if (body.length < HEADER) throw new MalformedMessage(`a neighbour of ${body.length} bytes`);
  const view = viewOf(body);
  const family = familyOfNumber(view.getUint8(0));
  if (family === undefined) return undefined;
  const all = new Attributes(body, HEADER, 'a neighbour');
  const [destination, mac] = [all.bytes(A.destination), all.bytes(A.mac)];
  if (destination === undefined) throw new MalformedMessage('a neighbour without an address');
  return {
    family,
    device: view.getInt32(4, LITTLE_ENDIAN),
    address: ipText(destination),
    mac: mac === undefined ? undefined : macText(mac),
    state: view.getUint16(8, LITTLE_ENDIAN),
    protocol: all.u8(A.protocol) ?? 0,
  };
}

export const isNeighbourGone = ({ type }: NetlinkMessage): boolean => type === TYPE.delete;

export interface NewNeighbour {
  /** Number of the device. */
  readonly device: number;
  readonly address: string;
  readonly mac: string;
  /** NEIGHBOUR_STATE; permanent, if none is named. */
  readonly state?: number;
  readonly protocol?: number;
}

const header = (device: number, address: string, state: number, flags = 0): ByteWriter =>
  new ByteWriter()
    .u8(FAMILY[familyOf(address)])
    .u8(0)
    .u16(0)
    .i32(device)
    .u16(state)
    .u8(flags)
    .u8(0)
    .attribute(A.destination, (w) => w.put(parseIp(address)));

const textOf = ({ address, device }: Pick<NewNeighbour, 'address' | 'device'>): string =>
  `neighbour ${address}, device ${device}`;

/** Makes a neighbour, in the place of what is known of its address. Throws RangeError for what is no address. */
export function replaceNeighbour(neighbour: NewNeighbour): Request {
  const { device, address, mac, state = NEIGHBOUR_STATE.permanent, protocol } = neighbour;
  const writer = header(device, address, state).attribute(A.mac, (w) => w.put(parseMac(mac)));
  if (protocol !== undefined) writer.attribute(A.protocol, (w) => w.u8(protocol));
  return {
    type: TYPE.new,
    flags: FLAG.create | FLAG.replace,
    body: writer.bytes,
    what: `replace ${textOf(neighbour)}`,
  };
}

/** NTF_USE */
const USE = 0x1;

/** Has the kernel ask who has an address, as if it had something to send there; what it learns stands in the neighbour. Throws RangeError for what is no address. */
export const askNeighbour = (neighbour: Pick<NewNeighbour, 'address' | 'device'>): Request => ({
  type: TYPE.new,
  flags: FLAG.create,
  body: header(neighbour.device, neighbour.address, 0, USE).bytes,
  what: `ask for ${textOf(neighbour)}`,
});

export const deleteNeighbour = (neighbour: Pick<NewNeighbour, 'address' | 'device'>): Request => ({
  type: TYPE.delete,
  flags: 0,
  body: header(neighbour.device, neighbour.address, NEIGHBOUR_STATE.permanent).bytes,
  what: `delete ${textOf(neighbour)}`,
});

/** One neighbour; where there is none the error has the code ENOENT. Throws RangeError for what is no address. */
export const getNeighbour = (
  neighbour: Pick<NewNeighbour, 'address' | 'device'>,
): Query<Neighbour> => ({
  type: TYPE.get,
  flags: 0,
  body: header(neighbour.device, neighbour.address, 0).bytes,
  what: `show ${textOf(neighbour)}`,
  read: readNeighbour,
});

/** Neighbours of a family, or of both; of all devices, or of one. */
export function neighbours({
  family,
  device,
}: { readonly family?: Family; readonly device?: number } = {}): Query<Neighbour> {
  const writer = new ByteWriter()
    .u8(family === undefined ? FAMILY.unspecified : FAMILY[family])
    .u8(0)
    .u16(0)
    .i32(0)
    .u16(0)
    .u16(0);
  if (device !== undefined) writer.attribute(A.device, (w) => w.u32(device));
  return {
    type: TYPE.get,
    flags: FLAG.dump,
    body: writer.bytes,
    what: `show neighbours${device === undefined ? '' : ` of device ${device}`}`,
    read: readNeighbour,
  };
}
