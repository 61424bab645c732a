/** Rules that choose a routing table: RTM_NEWRULE and its like (linux/fib_rules.h). */
import { Attributes } from '../wire/attributes.ts';
import { ByteWriter } from '../wire/byte-writer.ts';
import {
  FAMILY,
  familyOfNumber,
  ipText,
  parsePrefix,
  type Family,
  type Prefix,
} from '../wire/ip-text.ts';
import { LITTLE_ENDIAN, viewOf } from '../wire/layout.ts';
import { MalformedMessage } from '../wire/malformed.ts';
import { FLAG, type NetlinkMessage } from '../wire/message.ts';
import type { Query, Request } from '../wire/request.ts';

const TYPE = { new: 32, delete: 33, get: 34 } as const;

/** FRA_* */
const A = {
  destination: 1,
  source: 2,
  inputDevice: 3,
  priority: 6,
  mark: 10,
  suppressGroup: 13,
  suppressLength: 14,
  table: 15,
  mask: 16,
  outputDevice: 17,
  l3mdev: 19,
  protocol: 21,
  sourcePorts: 23,
  /** Since Linux 6.15. */
  sourcePortMask: 28,
} as const;
const READ: ReadonlySet<number> = new Set(Object.values(A));

/** FR_ACT_TO_TBL, FR_ACT_UNSPEC */
const TO_TABLE = 1;
const ANY_ACTION = 0;
/** FIB_RULE_INVERT */
const INVERT = 0x2;
/** The field of the header has eight bits; of other tables 0 (RT_TABLE_UNSPEC) stands there. */
const SMALL_TABLES = 256;
const NO_LENGTH = -1;
const EVERY_PORT_BIT = 0xffff;

export interface Rule {
  readonly family: Family;
  readonly priority: number;
  /** FR_ACT_*: 1 leads into a table. */
  readonly action: number;
  /** 0 of a rule that names none: with `isL3mdev` that of the VRF. */
  readonly table: number;
  /** With prefix length. */
  readonly source: string | undefined;
  /** With prefix length. */
  readonly destination: string | undefined;
  readonly mark: number | undefined;
  readonly mask: number | undefined;
  readonly inputDevice: string | undefined;
  readonly outputDevice: string | undefined;
  /** First and last. */
  readonly sourcePorts: readonly [number, number] | undefined;
  readonly isL3mdev: boolean;
  readonly isInverted: boolean;
  readonly protocol: number;
  /** It also goes by something that is not among these: other ports, users, a length of prefixes. */
  readonly hasMore: boolean;
}

const HEADER = 12;

const prefixText = (bytes: Uint8Array | undefined, length: number): string | undefined =>
  bytes === undefined ? undefined : `${ipText(bytes)}/${length}`;

/** struct fib_rule_port_range */
const PORT_RANGE = 4;

function portsOf(bytes: Uint8Array | undefined): readonly [number, number] | undefined {
  if (bytes === undefined) return undefined;
  if (bytes.length < PORT_RANGE) throw new MalformedMessage(`ports of ${bytes.length} bytes`);
  const view = viewOf(bytes);
  return [view.getUint16(0, LITTLE_ENDIAN), view.getUint16(2, LITTLE_ENDIAN)];
}

/** A rule of which the kernel tells; undefined for another message, and of families that are no IP. Throws MalformedMessage. */
export function readRule({ type, body }: NetlinkMessage): Rule | undefined {
  if (type !== TYPE.new && type !== TYPE.delete) return undefined;
  if (body.length < HEADER) throw new MalformedMessage(`a rule of ${body.length} bytes`);
  const view = viewOf(body);
  const family = familyOfNumber(view.getUint8(0));
  if (family === undefined) return undefined;
  const all = new Attributes(body, HEADER, 'a rule');
  const isL3mdev = all.u8(A.l3mdev) === 1;
  return {
    family,
    priority: all.u32(A.priority) ?? 0,
    action: view.getUint8(7),
    table: all.u32(A.table) ?? view.getUint8(4),
    source: prefixText(all.bytes(A.source), view.getUint8(2)),
    destination: prefixText(all.bytes(A.destination), view.getUint8(1)),
    mark: all.u32(A.mark),
    mask: all.u32(A.mask),
    inputDevice: all.text(A.inputDevice),
    outputDevice: all.text(A.outputDevice),
    sourcePorts: portsOf(all.bytes(A.sourcePorts)),
    isL3mdev,
    isInverted: (view.getUint32(8, LITTLE_ENDIAN) & INVERT) !== 0,
    protocol: all.u8(A.protocol) ?? 0,
    hasMore:
      view.getUint8(3) !== 0 ||
      all.types.some((attribute) => !READ.has(attribute)) ||
      (all.u16(A.sourcePortMask) ?? EVERY_PORT_BIT) !== EVERY_PORT_BIT ||
      (all.i32(A.suppressLength) ?? NO_LENGTH) !== NO_LENGTH ||
      (all.i32(A.suppressGroup) ?? NO_LENGTH) !== NO_LENGTH,
  };
}

export const isRuleGone = ({ type }: NetlinkMessage): boolean => type === TYPE.delete;

export interface NewRule {
  readonly family: Family;
  readonly priority: number;
  readonly table?: number;
  /** With prefix length. */
  readonly source?: string;
  /** With prefix length. */
  readonly destination?: string;
  readonly mark?: number;
  /** Every bit, if none is named. */
  readonly mask?: number;
  readonly sourcePort?: number;
  readonly isL3mdev?: boolean;
  readonly protocol?: number;
}

function prefixOf(text: string | undefined, family: Family): Prefix | undefined {
  if (text === undefined) return undefined;
  const prefix = parsePrefix(text);
  if (prefix.family !== family) throw new RangeError(`${text} in a rule of family ${family}`);
  return prefix;
}

function write(rule: NewRule, action: number): Uint8Array {
  const { family, priority, table = 0, mark, mask, protocol, sourcePort } = rule;
  const source = prefixOf(rule.source, family);
  const destination = prefixOf(rule.destination, family);
  const writer = new ByteWriter()
    .u8(FAMILY[family])
    .u8(destination?.length ?? 0)
    .u8(source?.length ?? 0)
    .u8(0)
    .u8(table < SMALL_TABLES ? table : 0)
    .u16(0)
    .u8(action)
    .u32(0)
    .attribute(A.priority, (w) => w.u32(priority));
  if (protocol !== undefined) writer.attribute(A.protocol, (w) => w.u8(protocol));
  if (destination !== undefined) writer.attribute(A.destination, (w) => w.put(destination.bytes));
  if (source !== undefined) writer.attribute(A.source, (w) => w.put(source.bytes));
  if (mark !== undefined) writer.attribute(A.mark, (w) => w.u32(mark));
  if (mask !== undefined) writer.attribute(A.mask, (w) => w.u32(mask));
  if (rule.isL3mdev === true) writer.attribute(A.l3mdev, (w) => w.u8(1));
  if (sourcePort !== undefined)
    writer.attribute(A.sourcePorts, (w) => w.u16(sourcePort).u16(sourcePort));
  if (table >= SMALL_TABLES) writer.attribute(A.table, (w) => w.u32(table));
  return writer.bytes;
}

const textOf = ({ family, priority, table }: NewRule): string =>
  `${family} rule of priority ${priority}${table === undefined ? '' : ` to table ${table}`}`;

/** Makes a rule that is not there yet. Throws RangeError for what is no address or number. */
export const addRule = (rule: NewRule): Request => ({
  type: TYPE.new,
  flags: FLAG.create | FLAG.exclusive,
  body: write(rule, TO_TABLE),
  what: `add ${textOf(rule)}`,
});

export const deleteRule = (rule: NewRule): Request => ({
  type: TYPE.delete,
  flags: 0,
  body: write(rule, ANY_ACTION),
  what: `delete ${textOf(rule)}`,
});

export const rules = ({ family }: { readonly family: Family }): Query<Rule> => ({
  type: TYPE.get,
  flags: FLAG.dump,
  body: new ByteWriter().u8(FAMILY[family]).u8(0).u16(0).u32(0).u32(0).bytes,
  what: `show ${family} rules`,
  read: readRule,
});
