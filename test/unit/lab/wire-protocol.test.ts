import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeFrame, FrameReader } from '../../../src/lab/wire-protocol.ts';

describe('frames between us and a virtual machine', () => {
  test('whatever the pieces, the same frames come out, after our own greeting', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 40 }),
        fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 30 }),
        (leftOver, payloads, cuts) => {
          const stream = Buffer.concat([
            leftOver,
            encodeFrame('H', 'my-nonce'),
            ...payloads.map((payload) => encodeFrame('O', Buffer.from(payload))),
          ]);
          const reader = new FrameReader('my-nonce');
          const seen: string[] = [];
          for (let at = 0, cut = 0; at < stream.length; cut += 1) {
            const next = at + (cuts[cut % cuts.length] ?? 1);
            for (const frame of reader.push(stream.subarray(at, next)))
              seen.push(frame.payload.toString('hex'));
            at = next;
          }
          expect(reader.greeted).toBe(true);
          expect(seen).toEqual(payloads.map((payload) => Buffer.from(payload).toString('hex')));
        },
      ),
    );
  });

  test("another session's greeting is not ours", () => {
    const reader = new FrameReader('mine');
    expect(reader.push(encodeFrame('H', 'theirs'))).toEqual([]);
    expect(reader.greeted).toBe(false);
  });
});
