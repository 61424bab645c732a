import { expect, test } from 'vitest';
import { DnsStream } from '../../../../src/node/dns/dns-stream.ts';

test('messages come as they were sent, however the stream was cut', () => {
  const messages = ['', 'a', 'bc'.repeat(200)].map((text) => Buffer.from(text));
  const bytes = Buffer.concat(messages.map((message) => DnsStream.framed(message)));
  for (const size of [1, 2, 3, 100, bytes.length]) {
    const found: string[] = [];
    const stream = new DnsStream((message) => found.push(message.toString()));
    for (let at = 0; at < bytes.length; at += size) stream.push(bytes.subarray(at, at + size));
    expect(found).toEqual(messages.map((message) => message.toString()));
  }
});
