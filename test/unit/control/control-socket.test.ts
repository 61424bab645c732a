/** The control socket of a daemon, and who asks on it. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import { connect, createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import {
  connectControl,
  ControlError,
  type ControlClient,
} from '../../../src/control/control-client.ts';
import { defaultSocket, linesOf } from '../../../src/control/control-protocol.ts';
import {
  invalidParams,
  serveControl,
  type ControlMethod,
} from '../../../src/control/control-socket.ts';
import { ConfigurationError } from '../../../src/process/configuration-error.ts';
import { ownFolder } from '../../support/run/left-behind.ts';

const root = ownFolder('heddle-control');
afterAll(() => rmSync(root, { recursive: true }));
let count = 0;
const freshPath = (): string => join(root, `d${(count += 1)}`, 'control.sock');

const log = { debug: () => undefined, warn: () => undefined };
const methods: Readonly<Record<string, ControlMethod>> = {
  echo: async (params) => Promise.resolve(params ?? null),
  rows: async () => Promise.resolve({ map: new Map([['a', 2n ** 60n]]) }),
  fail: async () => Promise.reject(new Error('no zone yet')),
  nobody: async () => Promise.reject(new ConfigurationError('POD', 'there is no pod blue/x')),
  strict: async () => Promise.reject(invalidParams('params.details must be true or false')),
};
const serve = (path: string, more = methods): Promise<AsyncDisposable> =>
  serveControl({ path, methods: more, log });

const signal = (): AbortSignal => AbortSignal.timeout(60_000);

async function client(path: string): Promise<ControlClient> {
  const connected = await connectControl(path);
  if (!('call' in connected)) throw new Error(connected.reason);
  return connected;
}

/** Sends bytes as they are, ends, and returns the lines that come back. */
async function raw(path: string, bytes: string | Buffer): Promise<unknown[]> {
  const socket = connect({ path, allowHalfOpen: true });
  // A server that hangs up on a long request is written to for a while.
  socket.on('error', () => undefined);
  socket.end(bytes);
  const answers: unknown[] = [];
  for await (const line of linesOf(socket, 1024 * 1024)) answers.push(JSON.parse(line ?? ''));
  return answers;
}

describe('a control socket', () => {
  test('says whether what it was asked for can not be, or it could not do it', async () => {
    const path = freshPath();
    await using _server = await serve(path);
    using asking = await client(path);
    for (const [method, message, isOfRequest] of [
      ['nobody', 'POD: there is no pod blue/x', true],
      ['strict', 'params.details must be true or false', true],
      ['fail', 'no zone yet', false],
    ] as const)
      await expect(asking.call(method, {}, signal())).rejects.toEqual(
        new ControlError(message, { isOfRequest }),
      );
  });

  test('warns of a fault of ours with where it is, and of nothing that it could not do', async () => {
    const path = freshPath();
    const warned: object[] = [];
    const warn = (fields: object): void => void warned.push(fields);
    const odd = async (): Promise<unknown> => (undefined as unknown as string).trim();
    await using _server = await serveControl({
      path,
      methods: { ...methods, odd },
      log: { ...log, warn } as Parameters<typeof serveControl>[0]['log'],
    });
    using asking = await client(path);
    for (const method of ['fail', 'odd'])
      await expect(asking.call(method, {}, signal())).rejects.toThrow();
    expect(warned).toEqual([{ component: 'control', error: expect.any(TypeError) as TypeError }]);
  });

  test('answers requests, also several on one connection', async () => {
    const path = freshPath();
    await using _control = await serve(path);
    using daemon = await client(path);
    expect(await daemon.call('echo', { a: [1] }, signal())).toEqual({ a: [1] });
    expect(await Promise.all([1, 2, 3].map((n) => daemon.call('echo', { n }, signal())))).toEqual([
      { n: 1 },
      { n: 2 },
      { n: 3 },
    ]);
    expect(await daemon.call('rows', {}, signal())).toEqual({ map: { a: String(2n ** 60n) } });
  });

  test('is for its user alone', async () => {
    const path = freshPath();
    await using _control = await serve(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700);
  });

  test('is gone after the end', async () => {
    const path = freshPath();
    const control = await serve(path);
    using daemon = await client(path);
    await control[Symbol.asyncDispose]();
    expect(existsSync(path)).toBe(false);
    await expect(daemon.call('echo', {}, signal())).rejects.toThrow(
      `the daemon on ${path} went away before it answered`,
    );
  });

  test('takes the place of one whose process was killed', async () => {
    const path = freshPath();
    mkdirSync(join(path, '..'), { mode: 0o700 });
    const dead = await listening(path);
    // What SIGKILL leaves: a socket file that nobody listens on.
    const left = `${path}.left`;
    renameSync(path, left);
    await new Promise((resolve) => dead.close(resolve));
    renameSync(left, path);
    await using _control = await serve(path);
    using daemon = await client(path);
    expect(await daemon.call('echo', { still: true }, signal())).toEqual({ still: true });
  });

  test('does not take the place of one that is answered', async () => {
    const path = freshPath();
    await using _control = await serve(path);
    await expect(serve(path)).rejects.toThrow(
      `--socket: a process answers on ${path} already: end it, or name another path`,
    );
    using daemon = await client(path);
    expect(await daemon.call('echo', {}, signal())).toEqual({});
  });

  test('does not take the place of something else', async () => {
    const path = freshPath();
    mkdirSync(join(path, '..'), { mode: 0o700 });
    writeFileSync(path, 'mine');
    await expect(serve(path)).rejects.toThrow(`--socket: ${path} is no socket: remove it`);
    expect(statSync(path).isFile()).toBe(true);
  });

  test('is in no folder that others write into', async () => {
    const path = freshPath();
    mkdirSync(join(path, '..'));
    chmodSync(join(path, '..'), 0o777);
    await expect(serve(path)).rejects.toThrow(/others may write into folder .*: chmod 700 it/);
    await expect(serve('/proc/heddle/x.sock')).rejects.toThrow(
      /folder \/proc\/heddle can't be used/,
    );
    await expect(serve(`/run/${'x'.repeat(107)}`)).rejects.toThrow(/more than 107 bytes/);
  });

  test.each<[string, string, number, RegExp]>([
    ['no JSON', '{"jsonrpc":\n', -32_700, /^not JSON: /],
    ['no object', '[{"jsonrpc":"2.0","id":1,"method":"echo"}]\n', -32_600, /one JSON object/],
    ['nothing', 'null\n', -32_600, /one JSON object/],
    ['an empty line', '\n', -32_700, /^not JSON: /],
    ['no method', '{"jsonrpc":"2.0","id":1}\n', -32_600, /one JSON object/],
    ['no version', '{"id":1,"method":"echo"}\n', -32_600, /Invalid Request/],
    ['unknown', '{"jsonrpc":"2.0","id":1,"method":"toString"}\n', -32_601, /Method not found/],
    ['a prototype', '{"jsonrpc":"2.0","id":1,"method":"__proto__"}\n', -32_601, /not found/],
    ['one that fails', '{"jsonrpc":"2.0","id":1,"method":"fail"}\n', -32_000, /^no zone yet$/],
    ['bad params', '{"jsonrpc":"2.0","id":1,"method":"strict"}\n', -32_602, /^params\.details /],
    ['without end', 'x'.repeat(100_000), -32_600, /^a request has at most 65536 bytes$/],
    ['too long', `${'x'.repeat(70_000)}\n`, -32_600, /^a request has at most 65536 bytes$/],
  ])('answers a bad request (%s) with an error, and goes on', async (_, text, code, message) => {
    const path = freshPath();
    await using _control = await serve(path);
    expect(await raw(path, text)).toEqual([
      expect.objectContaining({
        jsonrpc: '2.0',
        error: { code, message: expect.stringMatching(message) as string },
      }),
    ]);
    using daemon = await client(path);
    expect(await daemon.call('echo', { on: 1 }, signal())).toEqual({ on: 1 });
  });

  test('says nothing to notifications and to bytes without a newline', async () => {
    const path = freshPath();
    await using _control = await serve(path);
    expect(await raw(path, '{"jsonrpc":"2.0","method":"echo"}\n{"jsonrpc"')).toEqual([]);
  });

  test('goes on when a client hangs up before it was answered', async () => {
    const path = freshPath();
    const entered = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const slow: ControlMethod = async () => {
      entered.resolve();
      await goOn.promise;
      return 'x'.repeat(1_000_000);
    };
    await using _control = await serve(path, { ...methods, slow });
    const socket = connect(path);
    socket.write('{"jsonrpc":"2.0","id":1,"method":"slow"}\n');
    await entered.promise;
    socket.destroy();
    goOn.resolve();
    using daemon = await client(path);
    expect(await daemon.call('echo', {}, signal())).toEqual({});
  });

  test('answers beside thousands of connections that ask nothing, or half a question, and goes on with what it was asked before', async () => {
    const path = freshPath();
    const entered = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const slow: ControlMethod = async () => {
      entered.resolve();
      await goOn.promise;
      return 'done';
    };
    await using _control = await serve(path, { ...methods, slow });
    using early = await client(path);
    const answer = early.call('slow', {}, signal());
    await entered.promise;
    const idle = await Promise.all(
      Array.from({ length: 2000 }, async (_, n) => {
        const socket = connect(path);
        await new Promise((resolve) => socket.once('error', resolve).once('connect', resolve));
        socket.on('error', () => undefined);
        if (n % 2 === 0) socket.write('{"jsonrpc":');
        return socket;
      }),
    );
    using daemon = await client(path);
    expect(await daemon.call('echo', { on: 1 }, signal())).toEqual({ on: 1 });
    goOn.resolve();
    expect(await answer).toBe('done');
    for (const socket of idle) socket.destroy();
  });

  test('tells a method that the daemon stops', async () => {
    const path = freshPath();
    const entered = Promise.withResolvers<void>();
    const stopped = Promise.withResolvers<string>();
    const slow: ControlMethod = async (_, stopping) => {
      stopping.addEventListener('abort', () => stopped.resolve('stopped'), { once: true });
      entered.resolve();
      return stopped.promise;
    };
    const control = await serve(path, { slow });
    using daemon = await client(path);
    const answer = daemon.call('slow', {}, signal());
    answer.catch(() => undefined);
    await entered.promise;
    await control[Symbol.asyncDispose]();
    expect(await stopped.promise).toBe('stopped');
    await expect(answer).rejects.toThrow('went away');
  });
});

describe('who asks', () => {
  test('is told that nobody answers', async () => {
    const path = freshPath();
    const reason = `no daemon answers on ${path}`;
    expect(await connectControl(path)).toEqual({ reason, hasEnded: false });
  });

  test('is told of a daemon that ended without taking its socket along', async () => {
    const path = freshPath();
    mkdirSync(dirname(path), { recursive: true });
    const left = spawnSync(process.execPath, [
      '--eval',
      `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`,
    ]);
    expect(left.signal).toBe('SIGKILL');
    const reason = `no daemon answers on ${path}`;
    expect(await connectControl(path)).toEqual({ reason, hasEnded: true });
  });

  test('gets the words of a daemon that refuses', async () => {
    const path = freshPath();
    await using _control = await serve(path);
    using daemon = await client(path);
    await expect(daemon.call('fail', {}, signal())).rejects.toThrow('no zone yet');
    await expect(daemon.call('unknown', {}, signal())).rejects.toThrow('Method not found');
    await expect(daemon.call('echo', { x: 'y'.repeat(70_000) }, signal())).rejects.toThrow(
      'a request has at most 65536 bytes',
    );
  });

  test('gives up in time, naming what was waited for', async () => {
    const path = freshPath();
    const never = new Promise<never>(() => undefined);
    await using _control = await serve(path, { never: async () => never });
    using daemon = await client(path);
    await expect(daemon.call('never', {}, AbortSignal.timeout(20))).rejects.toThrow(
      `gave up waiting for the daemon on ${path} to answer "never"`,
    );
  });

  test.each(['nonsense\n', '5\n', '[]\n'])('sees that %j is no daemon', async (text) => {
    const path = freshPath();
    mkdirSync(join(path, '..'), { mode: 0o700 });
    const server = await listening(path, text);
    using daemon = await client(path);
    await expect(daemon.call('echo', {}, signal())).rejects.toThrow(
      `what answers on ${path} is no Heddle daemon`,
    );
    server.close();
  });
});

test('the default socket of a node is a file in one folder, whatever the node is called', () => {
  expect(defaultSocket('/run', 'n1')).toBe('/run/heddle/n1.sock');
  expect(defaultSocket('/run', '../../etc/x')).toBe('/run/heddle/%2E.%2F..%2Fetc%2Fx.sock');
  const long = defaultSocket('/run', `${'a'.repeat(63)}.${'b'.repeat(63)}.example`);
  expect(long).toMatch(/^\/run\/heddle\/[0-9a-f]{32}\.sock$/);
});

/** A server that says `text` to everybody. */
async function listening(path: string, text = ''): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => undefined).end(text));
  await new Promise<void>((resolve) => {
    server.listen(path, resolve);
  });
  return server;
}
