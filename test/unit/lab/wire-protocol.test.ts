import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeFrame, FrameReader } from '../../../src/lab/wire-protocol.ts';

test('frames between us and a virtual machine: whatever the pieces, the same frames come out', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.uint8Array({ maxLength: 50 }), fc.nat(0xffff_ffff)), { maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 30 }),
      (sent, cuts) => {
        const stream = Buffer.concat(
          sent.map(([payload, session]) => encodeFrame('O', Buffer.from(payload), session)),
        );
        const reader = new FrameReader();
        const seen: [string, number][] = [];
        for (let at = 0, cut = 0; at < stream.length; cut += 1) {
          const next = at + (cuts[cut % cuts.length] ?? 1);
          for (const { payload, session } of reader.push(stream.subarray(at, next)))
            seen.push([payload.toString('hex'), session]);
          at = next;
        }
        expect(seen).toEqual(
          sent.map(([payload, session]) => [Buffer.from(payload).toString('hex'), session]),
        );
      },
    ),
  );
});
