/** Health checks of gRPC over HTTP/2, with a server and who asks it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type ClientHttp2Session } from 'node:http2';
import { connect as connectTcp, createServer } from 'node:net';
import { setTimeout as timeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { egressProbing } from '../../../src/process/egress-probing.ts';
import {
  GrpcHealthClient,
  serveGrpcHealth,
  type HealthQuestion,
} from '../../../src/process/grpc-health.ts';
import { freePort } from '../../support/run/free-port.ts';

const HOST = '127.0.0.1';

/** What a client of gRPC gets for a message of a method. */
async function call(
  session: ClientHttp2Session,
  path: string,
  message: Buffer,
): Promise<{ readonly status: unknown; readonly body: string }> {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  let status: unknown;
  const note = (headers: Record<string, unknown>): void => {
    status = headers['grpc-status'] ?? status;
  };
  stream.on('response', note);
  stream.on('trailers', note);
  stream.end(message);
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return { status, body: Buffer.concat(chunks).toString('hex') };
}
const named = (service: string): Buffer =>
  Buffer.concat([
    Buffer.from([0, 0, 0, 0, service.length + 2, 0x0a, service.length]),
    Buffer.from(service),
  ]);

test('a node answers that it serves, and is told which answer came, and whether others could have what it has', async () => {
  const port = await freePort();
  const asked: HealthQuestion[] = [];
  using _server = await serveGrpcHealth({
    host: HOST,
    port,
    answer: (question) => {
      asked.push(question);
      return asked.length === 1
        ? { token: 't1', age: Infinity }
        : { token: 't2', age: 7, fence: 30_000 };
    },
  });
  using client = new GrpcHealthClient([HOST], port);
  expect(await client.check({}, 5000)).toEqual({
    kind: 'serving',
    metadata: { token: 't1', age: Infinity },
  });
  expect(await client.check({ seen: 't1', mayMove: true }, 5000)).toEqual({
    kind: 'serving',
    metadata: { token: 't2', age: 7, fence: 30_000 },
  });
  expect(asked).toEqual([
    { seen: undefined, mayMove: false },
    { seen: 't1', mayMove: true },
  ]);
});

test('any client of gRPC is answered; other services and methods are not there', async () => {
  const port = await freePort();
  using _server = await serveGrpcHealth({
    host: HOST,
    port,
    answer: () => ({ token: 't', age: 0 }),
  });
  const session = connect(`http://${HOST}:${port}`);
  const check = '/grpc.health.v1.Health/Check';
  const serving = { status: '0', body: '00000000020801' };
  expect(await call(session, check, named('Service_Egress_IP'))).toEqual(serving);
  expect(await call(session, check, Buffer.alloc(5))).toEqual(serving);
  expect(await call(session, check, named('other'))).toEqual({ status: '5', body: '' });
  expect(await call(session, '/a.B/C', named('x'))).toEqual({ status: '12', body: '' });
  await expect(call(session, check, Buffer.alloc(100_000))).rejects.toThrow('CALM');
  session.destroy();
});

test('who sends what is not HTTP/2 loses his connection, and others are answered', async () => {
  const port = await freePort();
  using _server = await serveGrpcHealth({
    host: HOST,
    port,
    answer: () => ({ token: 't', age: 0 }),
  });
  const socket = connectTcp(port, HOST);
  socket.on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\n\r\n');
  await new Promise((resolve) => {
    socket.once('close', resolve);
    socket.resume();
  });
  using client = new GrpcHealthClient([HOST], port);
  expect((await client.check({}, 5000)).kind).toBe('serving');
});

test('a port that nobody serves refuses, one that says nothing is silent, and the next address is tried', async () => {
  const port = await freePort();
  using client = new GrpcHealthClient([HOST, '::1'], port);
  expect((await client.check({}, 5000)).kind).toBe('refused');
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => {
    server.listen(port, HOST, resolve);
  });
  using silent = new GrpcHealthClient([HOST, '127.0.0.2'], port);
  expect((await silent.check({}, 100)).kind).toBe('silent');
  using _answers = await serveGrpcHealth({
    host: '127.0.0.2',
    port,
    answer: () => ({ token: 't', age: 0 }),
  });
  expect((await silent.check({}, 5000)).kind).toBe('serving');
  server.close();
});

test('where nodes answer nothing it is enough that they are there; with no time nobody is asked', async () => {
  expect(egressProbing({ timeout: 0, port: 9107 })).toBeUndefined();
  using plain = egressProbing({ timeout: 1000, port: 0 })?.connect([HOST], () => undefined);
  expect(await plain?.check({}, 5000)).toEqual({ kind: 'serving', metadata: undefined });
});

test('a client that is done keeps no connection that nobody takes: the process could not end', async () => {
  // Its kernel takes two that nobody accepts, and no more.
  const full = spawn(
    process.execPath,
    [
      '--eval',
      `require('node:net').createServer().listen({ host: '${HOST}', port: 0, backlog: 1 }, function () { console.log(this.address().port); })`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [line] = (await once(full.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  full.kill('SIGSTOP');
  const others = [connectTcp(port, HOST), connectTcp(port, HOST)];
  try {
    await Promise.all(others.map((socket) => once(socket, 'connect')));
    const client = new GrpcHealthClient([HOST], port);
    expect(await client.check({}, 200)).toMatchObject({ kind: 'silent' });
    const asked = client.check({}, 60_000);
    client[Symbol.dispose]();
    expect((await asked).kind).not.toBe('serving');
    await expect
      .poll(() => process.getActiveResourcesInfo().filter((kind) => kind === 'ConnectWrap'))
      .toEqual([]);
  } finally {
    for (const socket of others) socket.destroy();
    full.kill('SIGKILL');
  }
});

test('who went without hearing the answer keeps no server: its connection ends with it', async () => {
  const port = await freePort();
  const server = await serveGrpcHealth({
    host: HOST,
    port,
    answer: () => ({ token: 'a', age: 1 }),
  });
  // As one whose network went: it says that it goes, and closes nothing.
  const socket = connectTcp({ host: HOST, port, allowHalfOpen: true });
  await once(socket, 'connect');
  const lost = new Promise<string>((resolve) => {
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
  });
  const settings = Buffer.from('000000040000000000', 'hex');
  const goAway = Buffer.from('0000080700000000000000000000000000', 'hex');
  socket.write(
    Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1'), settings, goAway]),
  );
  socket.resume();
  await once(socket, 'end');
  server[Symbol.dispose]();
  const writing = setInterval(() => socket.write(settings), 20);
  try {
    expect(await Promise.race([lost, timeout(3000, 'still taken')])).toMatch(/ECONNRESET|EPIPE/);
  } finally {
    clearInterval(writing);
    socket.destroy();
  }
});
