/** Who holds many connections keeps nobody out. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { limitConnections } from '../../../src/process/connection-limit.ts';
import { until } from '../../support/run/until.ts';

const MOST = 16;
let server: Server;
let open: ReadonlySet<Socket>;
let sockets: Socket[];

beforeEach(async () => {
  sockets = [];
  server = createServer((socket) => {
    socket.on('data', () => socket.end('answer'));
  });
  open = limitConnections(server, MOST);
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  for (const socket of open) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

/** A connection from an address of this host, once the server has it. */
const from = async (localAddress: string): Promise<Socket> => {
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, 'connection');
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await accepted;
  return socket;
};
const answer = async (socket: Socket): Promise<string> => {
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => (text += part));
  socket.write('x');
  if (!socket.closed) await once(socket, 'close');
  return text;
};

test('of too many the oldest of whoever has the most goes', async () => {
  const quiet = await from('127.0.0.2');
  for (let n = 0; n < 4 * MOST; n += 1) await from('127.0.0.3');
  await until('the others to be closed', () => open.size === MOST);
  expect(await answer(quiet)).toBe('answer');
});

test('a few of the host itself stay, from however many addresses the others come', async () => {
  const own = await from('127.0.0.1');
  for (let n = 0; n < 4 * MOST; n += 1) await from(`127.0.1.${n + 1}`);
  await until('the others to be closed', () => open.size === MOST);
  expect(await answer(own)).toBe('answer');
});

test('one more is taken where all are of the host itself', async () => {
  for (let n = 0; n < 4 * MOST; n += 1) await from('127.0.0.1');
  await until('the others to be closed', () => open.size === MOST);
  expect(await answer(await from('127.0.0.1'))).toBe('answer');
});

test('who has all of them on the host itself keeps out nobody either', async () => {
  for (let n = 0; n < 4 * MOST; n += 1) await from('127.0.0.1');
  const other = await from('127.0.0.2');
  for (let n = 0; n < 4 * MOST; n += 1) await from('127.0.0.1');
  await until('the others to be closed', () => open.size === MOST);
  expect(await answer(other)).toBe('answer');
});
