/** Who sends what he likes to the CNI socket: the next honest request is answered, and those that are being answered go on. */
import { rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { serveCni } from '../../../../src/cni/server/cni-socket.ts';
import { LONGEST_CNI_REQUEST } from '../../../../src/cni/protocol/request.ts';
import { ownFolder } from '../../../support/run/left-behind.ts';
import { until } from '../../../support/run/until.ts';

const folder = ownFolder('heddle-cni-socket');
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, 'cni.sock');
const log = { debug: () => undefined, warn: () => undefined };

/** Answers of the double of the plugin, by the text of the request; others are said again. */
let waiting: Map<string, PromiseWithResolvers<void>>;
let serving: AsyncDisposable;
let sockets: Socket[];

beforeEach(async () => {
  waiting = new Map();
  sockets = [];
  serving = await serveCni({
    path,
    log,
    answer: async (text) => {
      const wait = Promise.withResolvers<void>();
      if (text.startsWith('wait')) {
        waiting.set(text, wait);
        await wait.promise;
      }
      return { isError: text.startsWith('bad'), body: JSON.stringify(text) };
    },
  });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  for (const wait of waiting.values()) wait.resolve();
  await serving[Symbol.asyncDispose]();
});

/** The status and body of the answer; 0 where the connection breaks. */
const post = (body: string | Buffer): Promise<readonly [number, string]> =>
  new Promise((resolve) => {
    const asked = request({ socketPath: path, method: 'POST', path: '/' }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve([response.statusCode ?? 0, text.trim()]));
      response.on('error', () => resolve([0, text]));
    });
    asked.on('error', () => resolve([0, '']));
    asked.end(body);
  });

/** A connection on which bytes are sent, once it is open or refused. */
const open = async (bytes: string): Promise<Socket> => {
  const socket = connect(path);
  sockets.push(socket);
  await new Promise((resolve) => socket.once('error', resolve).once('connect', resolve));
  socket.on('error', () => undefined).resume();
  if (bytes !== '') socket.write(bytes);
  return socket;
};

describe('the CNI socket answers an honest request', () => {
  test.each([
    ['connections that say nothing', ''],
    ['requests whose headers do not end', 'POST / HTTP/1.1\r\nHost: x\r\nX: '],
    [
      'requests whose bodies do not come',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{',
    ],
    ['bytes that are no HTTP', '\u0016\u0003\u0001{}\n\n'],
  ])('beside 2,000 %s', async (_, bytes) => {
    for (let n = 0; n < 2000; n += 50)
      await Promise.all(Array.from({ length: 50 }, () => open(bytes)));
    expect(await post('honest')).toEqual([200, '"honest"']);
    const isOpen = (socket: Socket): boolean => !socket.closed;
    await until('most of them to be closed', () => sockets.filter(isOpen).length <= 512);
  });

  test('and goes on with those that it had while others come by the thousand', async () => {
    const first = post('wait');
    await until('the request', () => waiting.has('wait'));
    for (let n = 0; n < 1000; n += 50)
      await Promise.all(Array.from({ length: 50 }, () => open('')));
    waiting.get('wait')?.resolve();
    expect(await first).toEqual([200, '"wait"']);
  });

  test('after one that is too long, which is told so, and one that does not end, which is cut off', async () => {
    const long = Buffer.alloc(LONGEST_CNI_REQUEST + 1, 'x');
    const [status, body] = await post(long);
    expect(status).toBe(400);
    expect(body).toContain(`the request has more than ${LONGEST_CNI_REQUEST} bytes`);
    const endless = await open('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    let sent = 0;
    await until('the connection to be closed', () => {
      if (endless.writable && endless.writableLength < 1_000_000) {
        endless.write(chunk);
        sent += 0x10000;
      }
      return endless.closed;
    });
    expect(sent).toBeLessThan(8 * LONGEST_CNI_REQUEST);
    expect(await post('honest')).toEqual([200, '"honest"']);
  });

  test('after errors', async () => {
    for (let n = 0; n < 100; n += 1) expect((await post(`bad ${n}`))[0]).toBe(400);
    expect(await post('honest')).toEqual([200, '"honest"']);
  });

  test('and ends without waiting for a body that does not come', async () => {
    const half = await open('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
    expect(await post('honest')).toEqual([200, '"honest"']);
    await serving[Symbol.asyncDispose]();
    await until('the connection to be closed', () => half.closed);
    serving = { async [Symbol.asyncDispose]() {} };
  });
});
