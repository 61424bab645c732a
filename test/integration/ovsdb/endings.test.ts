import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { Authority } from '../../support/run/certificates.ts';
import { bound } from '../../support/run/left-behind.ts';
import { OvsdbServer, temporaryFolder } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';
import { freePort } from '../../support/run/free-port.ts';

/** A program whose only occupation is a client ends by itself, soon after it has closed that, whatever the server does. */

const PROGRAM = resolve(import.meta.dirname, '../../support/ovsdb/closing-client.ts');

interface Program extends AsyncDisposable {
  readonly heard: string[];
  /** Has the client closed; resolves with the milliseconds until the program was at its end. */
  close(): Promise<number>;
}

function program(options: object, writes = 0): Program {
  const [execPath, execArgv] = bound(process.execPath, []);
  const child = fork(PROGRAM, [JSON.stringify(options), String(writes)], {
    execPath,
    execArgv: [...execArgv],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const heard: string[] = [];
  let complaints = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  child.on('message', (message: string) => heard.push(message));
  const ended = once(child, 'exit');
  return {
    heard,
    async close() {
      child.send('close');
      await until('the client to be closed', () => heard.includes('closed'));
      const start = performance.now();
      const [code] = (await Promise.race([
        ended,
        new Promise((give) => {
          setTimeout(give, 10_000, ['it does not end']);
        }),
      ])) as [unknown];
      expect(code).toBe(0);
      expect(complaints).toBe('');
      return performance.now() - start;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
}

const database = 'OVN_Northbound';

test.each(['frozen before it answers', 'frozen while it is written to'])(
  'a server that is %s',
  async (when) => {
    await using server = await OvsdbServer.start();
    const isLater = when === 'frozen while it is written to';
    if (!isLater) server.suspend('SIGSTOP');
    await using user = program({ remotes: server.remote, database }, isLater ? 100 : 0);
    await until('the connection', () => user.heard.includes(isLater ? 'loaded' : 'connected'));
    server.suspend('SIGSTOP');
    expect(await user.close()).toBeLessThan(5000);
    server.suspend('SIGCONT');
  },
);

test('a peer that says nothing and does not end', async () => {
  const sockets: Socket[] = [];
  const peer = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket.on('error', () => undefined));
  }).listen(0, '127.0.0.1');
  await once(peer, 'listening');
  const address = peer.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  await using user = program({ remotes: `tcp:127.0.0.1:${port}`, database });
  await until('the connection', () => user.heard.includes('connected'));
  expect(await user.close()).toBeLessThan(5000);
  for (const socket of sockets) socket.destroy();
  peer.close();
});

test('a peer that connects to one who waits with TLS, and never shows who it is', async () => {
  using folder = temporaryFolder();
  const tls = new Authority(folder.path, 'ca').issue('client');
  const port = await freePort();
  await using user = program({ remotes: `pssl:${port}:127.0.0.1`, database, tls });
  await until('the client to wait', () => user.heard.includes('connecting'));
  let stranger: Socket | undefined;
  await until('the connection', async () => {
    stranger = connect(port, '127.0.0.1').on('error', () => undefined);
    const { promise, resolve: settle } = Promise.withResolvers<boolean>();
    stranger.once('connect', () => {
      settle(true);
    });
    stranger.once('close', () => {
      settle(false);
    });
    return promise;
  });
  expect(await user.close()).toBeLessThan(5000);
  stranger?.destroy();
});
