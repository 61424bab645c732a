/** How numbers and parts of messages lie in memory: in the byte order of the machine, each part at a multiple of four. */

/** True on machines whose numbers begin with their lowest byte. */
export const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** NLMSG_ALIGN, NLA_ALIGN (linux/netlink.h). */
export const aligned = (length: number): number => (length + 3) & ~3;

export const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
