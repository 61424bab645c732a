/** What devices do with packets on their way: the family `ethtool` of generic netlink (linux/genetlink.h, linux/ethtool_netlink_generated.h). */
import { Attributes } from '../wire/attributes.ts';
import { ByteWriter } from '../wire/byte-writer.ts';
import { viewOf } from '../wire/layout.ts';
import { MalformedMessage } from '../wire/malformed.ts';
import type { NetlinkMessage } from '../wire/message.ts';
import type { Query, Request } from '../wire/request.ts';

/** GENL_ID_CTRL: the family that knows the numbers of the others, CTRL_CMD_NEWFAMILY and CTRL_CMD_GETFAMILY. */
const CONTROL = { type: 0x10, newFamily: 1, getFamily: 3, version: 1 } as const;
/** CTRL_ATTR_* */
const FAMILY = { id: 1, name: 2 } as const;
/** ETHTOOL_MSG_FEATURES_SET */
const FEATURES_SET = 12;
const VERSION = 1;
/** ETHTOOL_A_FEATURES_* and ETHTOOL_A_HEADER_* */
const A = { header: 1, wanted: 3 } as const;
const HEADER = { index: 1, flags: 3 } as const;
/** ETHTOOL_FLAG_OMIT_REPLY: what changed is not told. */
const OMIT_REPLY = 2;
/** ETHTOOL_A_BITSET_BITS, ETHTOOL_A_BITSET_BITS_BIT, ETHTOOL_A_BITSET_BIT_*; a bit without a value is off, one that is not named stays. */
const BITS = { bits: 3, bit: 1, name: 2, value: 3 } as const;

const GENERIC_HEADER = 4;

const header = (command: number, version: number): ByteWriter =>
  new ByteWriter().u8(command).u8(version).u16(0);

/** The number of a family, which differs from boot to boot; `socket.get` of it fails with ENOENT where the kernel has none. */
export const genericFamily = (name: string): Query<number> => ({
  what: `show family ${name} of generic netlink`,
  type: CONTROL.type,
  flags: 0,
  body: header(CONTROL.getFamily, CONTROL.version).text(FAMILY.name, name).bytes,
  read: readFamily,
});

function readFamily({ type, body }: NetlinkMessage): number | undefined {
  if (type !== CONTROL.type) return undefined;
  if (body.length < GENERIC_HEADER)
    throw new MalformedMessage(`a generic message of ${body.length} bytes`);
  if (viewOf(body).getUint8(0) !== CONTROL.newFamily) return undefined;
  return new Attributes(body, GENERIC_HEADER, 'a family').u16(FAMILY.id);
}

/**
 * Turns features of a device on or off, by the kernel's names (`tx-checksum-ip-generic`); those that it can't have stay as they are. `family` is the
 * number of family `ethtool`.
 */
export const setFeatures = (
  family: number,
  device: number,
  features: Readonly<Record<string, boolean>>,
): Request => ({
  what: `set features of device ${device}: ${Object.entries(features)
    .map(([name, isOn]) => `${name} ${isOn ? 'on' : 'off'}`)
    .join(', ')}`,
  type: family,
  flags: 0,
  body: header(FEATURES_SET, VERSION)
    .nested(A.header, (writer) =>
      writer
        .attribute(HEADER.index, (value) => value.u32(device))
        .attribute(HEADER.flags, (value) => value.u32(OMIT_REPLY)),
    )
    .nested(A.wanted, (wanted) =>
      wanted.nested(BITS.bits, (bits) => {
        for (const [name, isOn] of Object.entries(features))
          bits.nested(BITS.bit, (bit) => {
            bit.text(BITS.name, name);
            if (isOn) bit.attribute(BITS.value, () => undefined);
          });
      }),
    ).bytes,
});
