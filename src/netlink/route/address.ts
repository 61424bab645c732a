/** Addresses of links: RTM_NEWADDR and its like (linux/if_addr.h). */
import { Attributes } from '../wire/attributes.ts';
import { ByteWriter } from '../wire/byte-writer.ts';
import {
  FAMILY,
  familyOfNumber,
  ipText,
  parseIp,
  parsePrefix,
  type Family,
} from '../wire/ip-text.ts';
import { LITTLE_ENDIAN, viewOf } from '../wire/layout.ts';
import { MalformedMessage } from '../wire/malformed.ts';
import { FLAG, type NetlinkMessage } from '../wire/message.ts';
import type { Query, Request } from '../wire/request.ts';

const TYPE = { new: 20, delete: 21, get: 22 } as const;

/** IFA_* */
const A = {
  address: 1,
  local: 2,
  label: 3,
  broadcast: 4,
  cacheInfo: 6,
  flags: 8,
  metric: 9,
  protocol: 11,
} as const;

/** IFA_F_*. The first means temporary for IPv6, and a second one of a subnet for IPv4. */
export const ADDRESS_FLAG = {
  secondary: 0x1,
  noDad: 0x2,
  dadFailed: 0x8,
  deprecated: 0x20,
  tentative: 0x40,
  permanent: 0x80,
  noPrefixRoute: 0x200,
} as const;

/** Seconds that never end. */
export const FOREVER = 0xffff_ffff;

export interface Address {
  readonly family: Family;
  /** Number of the device. */
  readonly device: number;
  /** With prefix length. */
  readonly address: string;
  /** Of the other end of a line between two. */
  readonly peer: string | undefined;
  readonly broadcast: string | undefined;
  readonly label: string | undefined;
  /** ADDRESS_FLAG and others. */
  readonly flags: number;
  /** RT_SCOPE_*: 0 is global. */
  readonly scope: number;
  /** Who made it (since Linux 5.18); 0 where it is not known. */
  readonly protocol: number;
  /** Seconds until it is no source any more, until it is gone: FOREVER. */
  readonly lifetimes: { readonly preferred: number; readonly valid: number };
  /** Of the route that it brings. */
  readonly metric: number | undefined;
}

const HEADER = 8;
/** Those that the header has place for. */
const HEADER_FLAGS = 0xff;

/** An address of which the kernel tells; undefined for another message. Throws MalformedMessage. */
export function readAddress({ type, body }: NetlinkMessage): Address | undefined {
  if (type !== TYPE.new && type !== TYPE.delete) return undefined;
  if (body.length < HEADER) throw new MalformedMessage(`an address of ${body.length} bytes`);
  const view = viewOf(body);
  const family = familyOfNumber(view.getUint8(0));
  if (family === undefined) return undefined;
  const device = view.getUint32(4, LITTLE_ENDIAN);
  const length = view.getUint8(1);
  const all = new Attributes(body, HEADER, `an address of device ${device}`);
  const remote = all.bytes(A.address);
  const own = all.bytes(A.local) ?? remote;
  if (own === undefined) throw new MalformedMessage(`an address of device ${device} without value`);
  const text = ipText(own);
  const other = remote === undefined ? text : ipText(remote);
  const broadcast = all.bytes(A.broadcast);
  const cache = all.bytes(A.cacheInfo);
  if (cache !== undefined && cache.length < 8)
    throw new MalformedMessage(
      `an address of device ${device}: lifetimes of ${cache.length} bytes`,
    );
  const times = cache === undefined ? undefined : viewOf(cache);
  return {
    family,
    device,
    address: `${text}/${length}`,
    peer: other === text ? undefined : `${other}/${length}`,
    broadcast: broadcast === undefined ? undefined : ipText(broadcast),
    label: all.text(A.label),
    flags: all.u32(A.flags) ?? view.getUint8(2),
    scope: view.getUint8(3),
    protocol: all.u8(A.protocol) ?? 0,
    lifetimes: {
      preferred: times?.getUint32(0, LITTLE_ENDIAN) ?? FOREVER,
      valid: times?.getUint32(4, LITTLE_ENDIAN) ?? FOREVER,
    },
    metric: all.u32(A.metric),
  };
}

export const isAddressGone = ({ type }: NetlinkMessage): boolean => type === TYPE.delete;

export interface NewAddress {
  /** Number of the device. */
  readonly device: number;
  /** With prefix length. */
  readonly address: string;
  /** Of the other end of a line between two, with the same prefix length. */
  readonly peer?: string;
  readonly broadcast?: string;
  /** Of IPv4: the name of the device, with or without something behind it. */
  readonly label?: string;
  /** Of the route that it brings. */
  readonly metric?: number;
  readonly flags?: number;
  readonly protocol?: number;
  readonly lifetimes?: { readonly preferred: number; readonly valid: number };
}

function write(added: NewAddress): Uint8Array {
  const { device, address, peer = address, broadcast, label, metric } = added;
  const { flags = 0, protocol, lifetimes } = added;
  const { family, bytes, length } = parsePrefix(address);
  const other = parsePrefix(peer);
  if (other.family !== family || other.length !== length)
    throw new RangeError(`peer ${peer} of ${address} has another family or prefix length`);
  const writer = new ByteWriter()
    .u8(FAMILY[family])
    .u8(length)
    .u8(flags > HEADER_FLAGS ? 0 : flags)
    .u8(0)
    .u32(device)
    .attribute(A.local, (w) => w.put(bytes))
    .attribute(A.address, (w) => w.put(other.bytes));
  if (broadcast !== undefined) writer.attribute(A.broadcast, (w) => w.put(parseIp(broadcast)));
  if (label !== undefined) writer.text(A.label, label);
  if (metric !== undefined) writer.attribute(A.metric, (w) => w.u32(metric));
  if (flags > HEADER_FLAGS) writer.attribute(A.flags, (w) => w.u32(flags));
  if (protocol !== undefined) writer.attribute(A.protocol, (w) => w.u8(protocol));
  if (lifetimes !== undefined)
    writer.attribute(A.cacheInfo, (w) =>
      w.u32(lifetimes.preferred).u32(lifetimes.valid).u32(0).u32(0),
    );
  return writer.bytes;
}

const textOf = ({ address, device }: NewAddress): string => `address ${address}, device ${device}`;

/** Gives a device an address that it does not have. Throws RangeError for what is no address. */
export const addAddress = (address: NewAddress): Request => ({
  type: TYPE.new,
  flags: FLAG.create | FLAG.exclusive,
  body: write(address),
  what: `add ${textOf(address)}`,
});

/** Gives a device an address, or the one that it has other lifetimes, flags and metric. Throws RangeError for what is no address. */
export const replaceAddress = (address: NewAddress): Request => ({
  type: TYPE.new,
  flags: FLAG.create | FLAG.replace,
  body: write(address),
  what: `replace ${textOf(address)}`,
});

export const deleteAddress = (
  address: Pick<NewAddress, 'device' | 'address' | 'peer'>,
): Request => ({
  type: TYPE.delete,
  flags: 0,
  body: write(address),
  what: `delete ${textOf(address)}`,
});

/** Addresses of all devices, or of one. */
export const addresses = ({ device = 0 }: { readonly device?: number } = {}): Query<Address> => ({
  type: TYPE.get,
  flags: FLAG.dump,
  body: new ByteWriter().u8(FAMILY.unspecified).u8(0).u8(0).u8(0).u32(device).bytes,
  what: `show addresses${device === 0 ? '' : ` of device ${device}`}`,
  read: readAddress,
});
