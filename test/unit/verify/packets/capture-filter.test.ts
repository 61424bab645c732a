import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { captureFilter } from '../../../../src/verify/packets/capture-filter.ts';
import { frameOf, readFrame } from '../../../../src/verify/packets/frame.ts';
import { inGeneve, inVlan } from '../../../support/verify/marked-frames.ts';
import { V4, V6 } from '../../../support/verify/test-witnesses.ts';

const NONCE = 0xfedcba98;
const MARK = { nonce: NONCE, number: 7 };
const PROGRAM = captureFilter(NONCE);

/** What the kernel's machine gives back (Documentation/networking/filter.rst); a read past the end gives 0. */
function run(frame: Uint8Array): number {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  let [a, x, at] = [0, 0, 0];
  const memory: number[] = [];
  for (;;) {
    const step = PROGRAM[at++];
    if (step === undefined) throw new Error('it runs past its end');
    const { code, value = 0, jumpTrue = 0, jumpFalse = 0 } = step;
    const size = { 0x40: 4, 0x48: 2, 0x50: 1 }[code];
    if (size !== undefined) {
      const from = x + value;
      if (from + size > frame.length) return 0;
      a =
        size === 4 ? view.getUint32(from) : size === 2 ? view.getUint16(from) : view.getUint8(from);
    } else if (code === 0x01) x = value;
    else if (code === 0x60) a = memory[value] ?? 0;
    else if (code === 0x02) memory[value] = a;
    else if (code === 0x04) a += value;
    else if (code === 0x0c) a += x;
    else if (code === 0x54) a &= value;
    else if (code === 0x64) a <<= value;
    else if (code === 0x05) at += value;
    else if (code === 0x15) at += a === value ? jumpTrue : jumpFalse;
    else if (code === 0x07) x = a;
    else if (code === 0x87) a = x;
    else if (code === 0x06) return value;
    else throw new Error(`there is no instruction ${code}`);
  }
}

test('is a program that the kernel takes: jumps lead forward, to an instruction of it', () => {
  for (const [index, { code, value = 0, jumpTrue = 0 }] of PROGRAM.entries()) {
    const distance = code === 0x05 ? value : jumpTrue;
    expect(distance).toBeGreaterThanOrEqual(0);
    expect(distance).toBeLessThan(256);
    expect(index + 1 + distance).toBeLessThanOrEqual(PROGRAM.length);
  }
  expect(PROGRAM.at(-1)?.code).toBe(0x06);
});

test('lets pass all frames with the mark, as a whole', () => {
  for (const frame of [frameOf(V4, MARK), frameOf(V6, MARK)])
    for (const one of [frame, inVlan(frame, 7), inGeneve(frame, 5), inGeneve(frame, 5, true)]) {
      expect(run(one)).toBeGreaterThan(one.length);
    }
  expect(run(frameOf(V4, { ...MARK, nonce: NONCE + 1 }))).toBe(0);
});

test('lets nothing go by in which the mark would be found, whatever bytes a frame has', () => {
  const of = fc.constantFrom(
    frameOf(V4, MARK),
    inVlan(frameOf(V6, MARK), 3),
    inGeneve(frameOf(V4, MARK), 5),
    inGeneve(frameOf(V6, MARK), 5, true),
  );
  const changes = fc.array(fc.tuple(fc.nat(160), fc.nat(255)), { maxLength: 3 });
  fc.assert(
    fc.property(of, changes, (frame, places) => {
      const changed = frame.slice();
      for (const [at, byte] of places) if (at < changed.length) changed[at] = byte;
      if (readFrame(changed, NONCE) !== undefined) expect(run(changed)).toBeGreaterThan(0);
    }),
    { numRuns: 5000 },
  );
});
