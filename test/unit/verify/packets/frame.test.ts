import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { frameOf, readFrame } from '../../../../src/verify/packets/frame.ts';
import { inGeneve, inVlan } from '../../../support/verify/marked-frames.ts';
import { V4, V6 } from '../../../support/verify/test-witnesses.ts';

const NONCE = 0x1a2b3c4d;
const MARK = { nonce: NONCE, number: 7 };
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** As a receiver checks it: with the checksum in its place the sum is 0xffff (RFC 1071). */
function sums(bytes: Uint8Array): number {
  let sum = 0;
  for (const [index, byte] of bytes.entries()) sum += index % 2 === 0 ? byte << 8 : byte;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return sum;
}

describe('the packet of a witness', () => {
  test('is a SYN with its MACs, addresses and ports, and the mark', () => {
    expect(hex(frameOf(V4, MARK))).toBe(
      '0a580a1400010a580a1400030800' +
        '4500002800000000400666670a1400030a500003' +
        'ee4800501a2b3c4d000000005002000756610000',
    );
  });

  test('has checksums that a receiver takes', () => {
    const v4 = frameOf(V4, MARK);
    expect(sums(v4.subarray(14, 34))).toBe(0xffff);
    expect(sums(Uint8Array.from([...v4.subarray(26, 34), 0, 6, 0, 20, ...v4.subarray(34)]))).toBe(
      0xffff,
    );
    const v6 = frameOf(V6, MARK);
    expect(sums(Uint8Array.from([...v6.subarray(22, 54), 0, 6, 0, 20, ...v6.subarray(54)]))).toBe(
      0xffff,
    );
  });

  test('is refused for what is no address', () => {
    expect(() => frameOf({ ...V4, toAddress: 'nowhere' }, MARK)).toThrow('"nowhere" is no address');
  });
});

describe('the mark', () => {
  test.each([
    ['IPv4', V4],
    ['IPv6', V6],
  ])('is found in %s, plain, in a VLAN and in a tunnel of either family', (_, witness) => {
    const frame = frameOf(witness, MARK);
    expect(readFrame(frame, NONCE)).toEqual({ number: 7 });
    expect(readFrame(inVlan(frame, 100), NONCE)).toEqual({ number: 7 });
    for (const isV6 of [false, true]) {
      const found = { number: 7, tunnelKey: 0xff0005 };
      expect(readFrame(inGeneve(frame, 0xff0005, isV6), NONCE)).toEqual(found);
      expect(readFrame(inVlan(inGeneve(frame, 0xff0005, isV6), 5), NONCE)).toEqual(found);
    }
  });

  test('is not found with another nonce, in an answer, or in an error about it', () => {
    const frame = frameOf(V4, MARK);
    expect(readFrame(frame, NONCE + 1)).toBeUndefined();
    const answer = frame.slice();
    answer[47] = 0x12;
    expect(readFrame(answer, NONCE)).toBeUndefined();
    const error = frame.slice();
    error[23] = 1;
    expect(readFrame(error, NONCE)).toBeUndefined();
  });

  test('is not found in what is cut off before its end, and nothing is thrown', () => {
    for (const frame of [frameOf(V4, MARK), inGeneve(frameOf(V6, MARK), 5)])
      for (let length = 0; length < frame.length - 4; length += 1)
        expect(readFrame(frame.subarray(0, length), NONCE)).toBeUndefined();
  });

  test('whatever bytes a frame has, nothing outside of it is read and nothing is thrown', () => {
    const of = fc.constantFrom(
      frameOf(V4, MARK),
      inGeneve(frameOf(V4, MARK), 5),
      inGeneve(frameOf(V6, MARK), 5, true),
    );
    const changes = fc.array(fc.tuple(fc.nat(160), fc.nat(255)), { maxLength: 6 });
    fc.assert(
      fc.property(of, changes, fc.nat(160), (frame, places, length) => {
        const changed = frame.slice(0, length);
        for (const [at, byte] of places) if (at < changed.length) changed[at] = byte;
        // All around it is what would be the mark.
        const around = new Uint8Array(changed.length + 256).fill(0x06);
        around.set(changed, 128);
        const inside = around.subarray(128, 128 + changed.length);
        expect(readFrame(inside, NONCE)).toEqual(readFrame(changed, NONCE));
      }),
      { numRuns: 5000 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(readFrame(bytes, NONCE)).toBeUndefined();
      }),
      { numRuns: 2000 },
    );
  });
});
