/**
 * Which frames of the host the kernel gives us at all: those with the nonce, plain or in Geneve, so that it copies nothing of what others send. The same question as
 * `readFrame` answers, which is asked again of what comes (Documentation/networking/filter.rst).
 */
import type { FilterInstruction } from 'rtnetlink-ts';

/** Bytes that are kept of a frame: both headers of a packet in a tunnel with the most options that there can be (14 + 4 + 60 + 8 + 8 + 252 + 18 + 60 + 20). */
const KEPT_BYTES = 512;

/** linux/bpf_common.h, linux/filter.h. `…At`: of the frame, counted from X. */
const CODE = {
  wordAt: 0x40,
  halfAt: 0x48,
  byteAt: 0x50,
  setX: 0x01,
  load: 0x60,
  store: 0x02,
  add: 0x04,
  addX: 0x0c,
  and: 0x54,
  shiftLeft: 0x64,
  jump: 0x05,
  ifEqual: 0x15,
  give: 0x06,
  toX: 0x07,
  fromX: 0x87,
} as const;

type Step =
  | { readonly label: string }
  | { readonly op: keyof typeof CODE; readonly value?: number; readonly to?: string };

/** Memory of the program. */
const PROTOCOL = 0;
const DROP = 'drop';
const TAKE = 'take';

/** What frames with the nonce pass. */
export const captureFilter = (nonce: number): readonly FilterInstruction[] =>
  assembled([
    { op: 'setX', value: 0 },
    ...transport('outer'),
    { op: 'ifEqual', value: 6, to: 'tcp' },
    { op: 'ifEqual', value: 17, to: 'udp' },
    { op: 'jump', to: DROP },
    { label: 'udp' },
    { op: 'byteAt', value: 8 },
    { op: 'and', value: 0x3f },
    { op: 'shiftLeft', value: 2 },
    { op: 'addX' },
    { op: 'add', value: 16 },
    { op: 'toX' },
    ...transport('inner'),
    { op: 'ifEqual', value: 6, to: 'tcp inside' },
    { op: 'jump', to: DROP },
    // Jumps lead forward alone, and 255 instructions far at most.
    { label: 'tcp' },
    { label: 'tcp inside' },
    { op: 'wordAt', value: 4 },
    { op: 'ifEqual', value: nonce, to: TAKE },
    { label: DROP },
    { op: 'give', value: 0 },
    { label: TAKE },
    { op: 'give', value: KEPT_BYTES },
  ]);

/** Of the Ethernet frame that begins at X: leaves where its protocol's header begins in X, and the protocol's number. A read past the end drops the frame. */
const transport = (of: string): readonly Step[] => [
  { op: 'halfAt', value: 12 },
  { op: 'ifEqual', value: 0x8100, to: `${of} tagged` },
  { op: 'ifEqual', value: 0x88a8, to: `${of} tagged` },
  { op: 'jump', to: `${of} plain` },
  { label: `${of} tagged` },
  { op: 'fromX' },
  { op: 'add', value: 4 },
  { op: 'toX' },
  { op: 'halfAt', value: 12 },
  { label: `${of} plain` },
  { op: 'ifEqual', value: 0x0800, to: `${of} v4` },
  { op: 'ifEqual', value: 0x86dd, to: `${of} v6` },
  { op: 'jump', to: DROP },
  { label: `${of} v4` },
  { op: 'byteAt', value: 23 },
  { op: 'store', value: PROTOCOL },
  { op: 'byteAt', value: 14 },
  { op: 'and', value: 0x0f },
  { op: 'shiftLeft', value: 2 },
  { op: 'addX' },
  { op: 'add', value: 14 },
  { op: 'jump', to: `${of} protocol` },
  { label: `${of} v6` },
  { op: 'byteAt', value: 20 },
  { op: 'store', value: PROTOCOL },
  { op: 'fromX' },
  { op: 'add', value: 54 },
  { label: `${of} protocol` },
  { op: 'toX' },
  { op: 'load', value: PROTOCOL },
];

/** Labels as distances. */
function assembled(steps: readonly Step[]): readonly FilterInstruction[] {
  const places = new Map<string, number>();
  let count = 0;
  for (const step of steps)
    if ('label' in step) places.set(step.label, count);
    else count += 1;
  let at = 0;
  return steps.flatMap((step): FilterInstruction[] => {
    if ('label' in step) return [];
    at += 1;
    const { op, value, to } = step;
    const code = CODE[op];
    if (to === undefined) return [{ code, ...(value === undefined ? {} : { value }) }];
    const distance = (places.get(to) ?? 0) - at;
    return [
      op === 'jump' ? { code, value: distance } : { code, value: value ?? 0, jumpTrue: distance },
    ];
  });
}
