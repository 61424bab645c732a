/** Messages of netlink: a header of 16 bytes and what belongs to it (linux/netlink.h). */
import { Attributes } from './attributes.ts';
import { ByteWriter } from './byte-writer.ts';
import { aligned, LITTLE_ENDIAN, viewOf } from './layout.ts';
import { MalformedMessage } from './malformed.ts';

const HEADER = 16;

/** NLM_F_*: what a message is, or asks for. */
export const FLAG = {
  request: 0x1,
  ack: 0x4,
  /** The kernel's tables changed during the dump. */
  dumpInterrupted: 0x10,
  /** The acknowledgement does not repeat the request. */
  capped: 0x100,
  /** The acknowledgement has attributes. */
  withAttributes: 0x200,
  dump: 0x300,
  /** Of what makes something: what is there is replaced, is an error, does not matter. */
  replace: 0x100,
  exclusive: 0x200,
  create: 0x400,
  append: 0x800,
} as const;

/** NLMSG_*: types that all families have. */
export const CONTROL = { noop: 1, error: 2, done: 3, overrun: 4 } as const;

export interface NetlinkMessage {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  /** Of what the kernel sends: port of the socket with whose request it began, mostly the number of its process; 0 for none. */
  readonly port?: number;
  /** Without the header. */
  readonly body: Uint8Array;
}

/** The messages of one datagram. Throws MalformedMessage, then for all of them. */
export function readMessages(datagram: Uint8Array): readonly NetlinkMessage[] {
  const view = viewOf(datagram);
  const found: NetlinkMessage[] = [];
  let at = 0;
  while (at < datagram.length) {
    const left = datagram.length - at;
    if (left < HEADER) throw new MalformedMessage(`${left} bytes at ${at} are no message`);
    const length = view.getUint32(at, LITTLE_ENDIAN);
    if (length < HEADER || length > left)
      throw new MalformedMessage(
        `the message at ${at} says that it has ${length} bytes, of ${left}`,
      );
    found.push({
      type: view.getUint16(at + 4, LITTLE_ENDIAN),
      flags: view.getUint16(at + 6, LITTLE_ENDIAN),
      sequence: view.getUint32(at + 8, LITTLE_ENDIAN),
      port: view.getUint32(at + 12, LITTLE_ENDIAN),
      body: datagram.subarray(at + HEADER, at + length),
    });
    at += aligned(length);
  }
  return found;
}

/** A message to the kernel, up to where another one may begin. */
export function writeMessage({ type, flags, sequence, body }: NetlinkMessage): Uint8Array {
  const length = HEADER + body.length;
  return new ByteWriter()
    .u32(length)
    .u16(type)
    .u16(flags)
    .u32(sequence)
    .u32(0)
    .put(body)
    .put(new Uint8Array(aligned(length) - length)).bytes;
}

/** What the kernel says of a request: an error number (0: done), and why, where it tells. */
export interface Acknowledgement {
  /** As in errno.h. */
  readonly errno: number;
  readonly reason?: string;
}

/** NLMSGERR_ATTR_MSG (linux/netlink.h). */
const REASON = 1;

/** Of NLMSG_ERROR, and of NLMSG_DONE, which may end a dump with an error. Throws MalformedMessage. */
export function readAcknowledgement({ type, flags, body }: NetlinkMessage): Acknowledgement {
  const isDone = type === CONTROL.done;
  if (body.length < 4) {
    if (isDone && body.length === 0) return { errno: 0 };
    throw new MalformedMessage(`an acknowledgement of ${body.length} bytes`);
  }
  const view = viewOf(body);
  const errno = -view.getInt32(0, LITTLE_ENDIAN);
  if (errno < 0) throw new MalformedMessage(`an acknowledgement with the error ${-errno}`);
  if ((flags & FLAG.withAttributes) === 0) return { errno };
  let at = 4;
  if (!isDone) {
    // The request's header follows, and with an error that is not capped the request.
    if (body.length < 4 + HEADER)
      throw new MalformedMessage(`an acknowledgement of ${body.length} bytes`);
    const length = view.getUint32(4, LITTLE_ENDIAN);
    at += (flags & FLAG.capped) === 0 && errno !== 0 ? aligned(length) : HEADER;
    if (at < 4 + HEADER || at > body.length)
      throw new MalformedMessage(`an acknowledgement of a request of ${length} bytes`);
  }
  const reason = new Attributes(body, at, 'an acknowledgement').text(REASON);
  return { errno, ...(reason === undefined ? {} : { reason }) };
}
