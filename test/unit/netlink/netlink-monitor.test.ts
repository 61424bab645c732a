/** A monitor of a kernel that says what the test writes. */
import { writeSync, closeSync } from 'node:fs';
import { expect, test } from 'vitest';
import { NetlinkMonitor } from '../../../src/netlink/index.ts';
import { libc } from '../../../src/netlink/socket/libc.ts';
import { writeMessage, type NetlinkMessage } from '../../../src/netlink/wire/message.ts';

const message = (sequence: number): Uint8Array =>
  writeMessage({ type: 16, flags: 0, sequence, body: new Uint8Array(4) });

test('what is no message is a loss: it listens anew, hears of what comes then, and nothing else is thrown', async () => {
  const own = libc();
  const kernels: number[] = [];
  const library = {
    ...own,
    // In place of netlink's a pair of sockets, of which the test has the other end.
    socket: () => {
      const ends = new Int32Array(2);
      expect(own.socketPair(ends)).toBe(0);
      kernels.push(ends[1] ?? -1);
      return ends[0] ?? -1;
    },
    connect: () => 0,
    setOption: () => 0,
  };
  const heard: number[] = [];
  const lost: string[] = [];
  using _monitor = new NetlinkMonitor({
    protocol: 'route',
    groups: [1],
    onMessage: ({ sequence }: NetlinkMessage) => heard.push(sequence),
    onLost: ({ message: text }) => lost.push(text),
    onEnd: (error) => lost.push(`end: ${error.message}`),
    library,
  });
  const say = (bytes: Uint8Array): void => void writeSync(kernels.at(-1) ?? -1, bytes);
  say(message(1));
  await expect.poll(() => heard).toEqual([1]);
  const tooLong = message(2);
  new DataView(tooLong.buffer).setUint32(0, 0x7fff_ffff, true);
  const replies = [new Uint8Array(9), tooLong, new Uint8Array(64).fill(0xff)];
  for (const [index, reply] of replies.entries()) {
    say(reply);
    await expect.poll(() => lost).toHaveLength(index + 1);
    say(message(10 + index));
    await expect.poll(() => heard.at(-1)).toBe(10 + index);
  }
  expect(heard).toEqual([1, 10, 11, 12]);
  expect(kernels).toHaveLength(4);
  for (const kernel of kernels) closeSync(kernel);
});
