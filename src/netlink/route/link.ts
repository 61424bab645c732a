/** Links (devices): RTM_NEWLINK and its like (linux/if_link.h, linux/veth.h, rtnetlink(7)). */
import { Attributes } from '../wire/attributes.ts';
import { ByteWriter } from '../wire/byte-writer.ts';
import { FAMILY, ipText, macText, parseIp, parseMac } from '../wire/ip-text.ts';
import { LITTLE_ENDIAN, viewOf } from '../wire/layout.ts';
import { MalformedMessage } from '../wire/malformed.ts';
import { FLAG, type NetlinkMessage } from '../wire/message.ts';
import type { Query, Request } from '../wire/request.ts';

const TYPE = { new: 16, delete: 17, get: 18 } as const;

/** IFLA_* */
const A = {
  address: 1,
  name: 3,
  mtu: 4,
  link: 5,
  master: 10,
  info: 18,
  alias: 20,
  group: 27,
  namespaceFd: 28,
  extensionMask: 29,
  peerNamespaceId: 37,
} as const;
/** IFLA_INFO_* */
const INFO = { kind: 1, data: 2, slaveKind: 4 } as const;
const VETH_PEER = 1;
const VRF_TABLE = 1;
/** IFLA_VLAN_ID */
const VLAN_ID = 1;
/** IFLA_VXLAN_* */
const VXLAN = {
  id: 1,
  device: 3,
  local4: 4,
  learning: 7,
  port: 15,
  local6: 17,
  collectMetadata: 25,
} as const;

/** IFF_* (linux/if.h). */
export const LINK_FLAG = { up: 0x1, loopback: 0x8, lowerUp: 0x1_0000 } as const;

/** RTEXT_FILTER_SKIP_STATS (linux/rtnetlink.h): counters are most of what a link has to say. */
const SKIP_STATISTICS = 8;

/** What a link has of its kind alone. */
export type LinkData =
  | { readonly kind: 'vrf'; readonly table: number }
  | { readonly kind: 'vlan'; readonly id: number }
  | {
      readonly kind: 'vxlan';
      /** Undefined for one that takes it from each packet. */
      readonly id: number | undefined;
      /** UDP. */
      readonly port: number;
      readonly local: string | undefined;
      /** Number of the device that it sends by. */
      readonly device: number | undefined;
      readonly isLearning: boolean;
      readonly isExternal: boolean;
    };

export interface Link {
  readonly index: number;
  readonly name: string;
  /** ARPHRD_* (linux/if_arp.h): 1 is Ethernet. */
  readonly type: number;
  /** LINK_FLAG and others. */
  readonly flags: number;
  readonly isUp: boolean;
  /** False while nothing is behind it. */
  readonly hasCarrier: boolean;
  readonly mtu: number;
  readonly mac: string | undefined;
  readonly group: number;
  readonly alias: string | undefined;
  /** Number of the device that holds it: a bridge, a VRF. */
  readonly master: number | undefined;
  /** Number of its other end, or of the device below it; 0 when that end is gone. */
  readonly peer: number | undefined;
  /** Set when `peer` is a number in another network namespace; -1 when that is not known. */
  readonly peerNamespace: number | undefined;
  /** `veth`, `vrf`, `openvswitch` …; undefined for hardware and the loopback device. */
  readonly kind: string | undefined;
  /** As what its master holds it. */
  readonly slaveKind: string | undefined;
  readonly data: LinkData | undefined;
}

const HEADER = 16;

function readData(kind: string | undefined, info: Attributes | undefined): LinkData | undefined {
  const data = info?.nested(INFO.data);
  if (data === undefined) return undefined;
  if (kind === 'vrf') {
    const table = data.u32(VRF_TABLE);
    return table === undefined ? undefined : { kind, table };
  }
  if (kind === 'vlan') {
    const id = data.u16(VLAN_ID);
    return id === undefined ? undefined : { kind, id };
  }
  if (kind !== 'vxlan') return undefined;
  const local = data.bytes(VXLAN.local4) ?? data.bytes(VXLAN.local6);
  const isExternal = data.u8(VXLAN.collectMetadata) === 1;
  return {
    kind,
    id: isExternal ? undefined : data.u32(VXLAN.id),
    port: data.u16Network(VXLAN.port) ?? 0,
    local: local === undefined ? undefined : ipText(local),
    device: data.u32(VXLAN.device),
    isLearning: data.u8(VXLAN.learning) === 1,
    isExternal,
  };
}

/** A link of which the kernel tells; undefined for another message. Throws MalformedMessage. */
export function readLink({ type, body }: NetlinkMessage): Link | undefined {
  if (type !== TYPE.new && type !== TYPE.delete) return undefined;
  if (body.length < HEADER) throw new MalformedMessage(`a link of ${body.length} bytes`);
  const view = viewOf(body);
  // As ports of bridges, and for router advertisements, links are announced by themselves.
  if (view.getUint8(0) !== FAMILY.unspecified) return undefined;
  const index = view.getInt32(4, LITTLE_ENDIAN);
  const flags = view.getUint32(8, LITTLE_ENDIAN);
  const all = new Attributes(body, HEADER, `link ${index}`);
  const info = all.nested(A.info);
  const kind = info?.text(INFO.kind);
  const mac = all.bytes(A.address);
  return {
    index,
    name: all.text(A.name) ?? '',
    type: view.getUint16(2, LITTLE_ENDIAN),
    flags,
    isUp: (flags & LINK_FLAG.up) !== 0,
    hasCarrier: (flags & LINK_FLAG.lowerUp) !== 0,
    mtu: all.u32(A.mtu) ?? 0,
    mac: mac === undefined || mac.length === 0 ? undefined : macText(mac),
    group: all.u32(A.group) ?? 0,
    alias: all.text(A.alias),
    master: all.u32(A.master),
    peer: all.u32(A.link),
    peerNamespace: all.i32(A.peerNamespaceId),
    kind,
    slaveKind: info?.text(INFO.slaveKind),
    data: readData(kind, info),
  };
}

/** True for a message that says that the link is gone. */
export const isLinkGone = ({ type }: NetlinkMessage): boolean => type === TYPE.delete;

/** A link by its number, or by its name. */
export type LinkReference = number | string;

const nameOf = (link: LinkReference): string =>
  typeof link === 'number' ? `device ${link}` : link;

/** IFNAMSIZ (linux/if.h), with the zero at its end. */
const LONGEST_NAME = 15;

function checkedName(name: string): string {
  const length = new TextEncoder().encode(name).length;
  if (length === 0 || length > LONGEST_NAME || /[\s/:\0]/.test(name) || /^\.\.?$/.test(name))
    throw new RangeError(
      `${JSON.stringify(name)} can't be the name of a device: 1 to ${LONGEST_NAME} bytes without "/", ":" and blanks`,
    );
  return name;
}

interface Header {
  readonly index?: number;
  readonly flags?: number;
  readonly changed?: number;
}

const header = (
  writer: ByteWriter,
  { index = 0, flags = 0, changed = 0 }: Header = {},
): ByteWriter => writer.u8(0).u8(0).u16(0).i32(index).u32(flags).u32(changed);

/** The beginning of a request about one link. */
function about(link: LinkReference, rest: Header = {}): ByteWriter {
  const writer = new ByteWriter();
  if (typeof link === 'number') return header(writer, { ...rest, index: link });
  return header(writer, rest).text(A.name, checkedName(link));
}

/** What can be set when a link is made, and later. */
export interface LinkSettings {
  readonly mtu?: number;
  readonly mac?: string;
  readonly group?: number;
  /** Number of the device that is to hold it; 0: none. */
  readonly master?: number;
}

function writeSettings(writer: ByteWriter, { mtu, mac, group, master }: LinkSettings): void {
  if (mtu !== undefined) writer.attribute(A.mtu, (w) => w.u32(mtu));
  if (mac !== undefined) writer.attribute(A.address, (w) => w.put(parseMac(mac)));
  if (group !== undefined) writer.attribute(A.group, (w) => w.u32(group));
  if (master !== undefined) writer.attribute(A.master, (w) => w.u32(master));
}

/** The other end of a veth pair. */
export interface VethPeer extends LinkSettings {
  readonly name: string;
  /** Descriptor of the network namespace that it is in from the beginning. */
  readonly namespace?: number;
}

export type NewLinkKind =
  | { readonly kind: 'dummy' }
  | { readonly kind: 'veth'; readonly peer: VethPeer }
  | { readonly kind: 'vrf'; readonly table: number }
  | {
      readonly kind: 'vxlan';
      readonly id: number;
      readonly port: number;
      readonly local?: string;
      readonly device?: number;
      readonly isLearning?: boolean;
    };

export interface NewLink extends LinkSettings {
  readonly name: string;
  readonly isUp?: boolean;
  readonly kind: NewLinkKind;
}

function writeData(writer: ByteWriter, kind: NewLinkKind): void {
  switch (kind.kind) {
    case 'dummy':
      return;
    case 'veth':
      writer.nested(INFO.data, (data) =>
        data.nested(VETH_PEER, (peer) => {
          const { name, namespace } = kind.peer;
          writeSettings(header(peer), kind.peer);
          if (namespace !== undefined) peer.attribute(A.namespaceFd, (w) => w.u32(namespace));
          peer.text(A.name, checkedName(name));
        }),
      );
      return;
    case 'vrf':
      writer.nested(INFO.data, (data) => data.attribute(VRF_TABLE, (w) => w.u32(kind.table)));
      return;
    case 'vxlan': {
      const { id, port, local, device, isLearning = true } = kind;
      writer.nested(INFO.data, (data) => {
        data.attribute(VXLAN.id, (w) => w.u32(id));
        if (device !== undefined) data.attribute(VXLAN.device, (w) => w.u32(device));
        if (local !== undefined) {
          const bytes = parseIp(local);
          data.attribute(bytes.length === 4 ? VXLAN.local4 : VXLAN.local6, (w) => w.put(bytes));
        }
        data.attribute(VXLAN.learning, (w) => w.u8(isLearning ? 1 : 0));
        data.attribute(VXLAN.port, (w) => w.u16Network(port));
      });
    }
  }
}

/** Makes a link that is not there yet. Throws RangeError for what can't be a name, an address, a number of it. */
export function addLink(link: NewLink): Request {
  const { name, kind, isUp = false } = link;
  const up = isUp ? LINK_FLAG.up : 0;
  const writer = header(new ByteWriter(), { flags: up, changed: up });
  writer.text(A.name, checkedName(name));
  writeSettings(writer, link);
  writer.nested(A.info, (info) => writeData(info.word(INFO.kind, kind.kind), kind));
  const peer = kind.kind === 'veth' ? ` with peer ${kind.peer.name}` : '';
  return {
    type: TYPE.new,
    flags: FLAG.create | FLAG.exclusive,
    body: writer.bytes,
    what: `add ${kind.kind} link ${name}${peer}`,
  };
}

export interface LinkChange extends LinkSettings {
  readonly isUp?: boolean;
  readonly alias?: string;
}

/** Changes a link; what is not named stays. */
export function setLink(link: LinkReference, change: LinkChange): Request {
  const { isUp, alias } = change;
  const writer = about(link, {
    flags: isUp === true ? LINK_FLAG.up : 0,
    changed: isUp === undefined ? 0 : LINK_FLAG.up,
  });
  writeSettings(writer, change);
  if (alias !== undefined) writer.word(A.alias, alias);
  return { type: TYPE.new, flags: 0, body: writer.bytes, what: `set link ${nameOf(link)}` };
}

export const deleteLink = (link: LinkReference): Request => ({
  type: TYPE.delete,
  flags: 0,
  body: about(link).bytes,
  what: `delete link ${nameOf(link)}`,
});

const withoutStatistics = (writer: ByteWriter): ByteWriter =>
  writer.attribute(A.extensionMask, (w) => w.u32(SKIP_STATISTICS));

/** One link. */
export const getLink = (link: LinkReference): Query<Link> => ({
  type: TYPE.get,
  flags: 0,
  body: withoutStatistics(about(link)).bytes,
  what: `show link ${nameOf(link)}`,
  read: readLink,
});

/** All links, or those of a kind. */
export function links({ kind }: { readonly kind?: string } = {}): Query<Link> {
  const writer = withoutStatistics(header(new ByteWriter()));
  if (kind !== undefined) writer.nested(A.info, (info) => info.word(INFO.kind, kind));
  return {
    type: TYPE.get,
    flags: FLAG.dump,
    body: writer.bytes,
    what: `show ${kind === undefined ? 'all' : kind} links`,
    read: readLink,
  };
}
