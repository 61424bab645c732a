/** What is said of an API server that can't be used as it is: its certificate, our credentials; and that it is used as soon as it can be. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kubeconfigText } from '../../../src/lab/kubernetes/kubeconfig.ts';
import { systemClock } from '../../../src/store/clock.ts';
import { KubernetesClient } from '../../../src/store/kubernetes/kubernetes-client.ts';
import { kubeconfigConnection } from '../../../src/store/kubernetes/kubeconfig.ts';
import { Authority, type Identity } from '../../support/run/certificates.ts';
import { heddle } from '../../support/run/heddle.ts';
import { temporaryFolder } from '../../support/ovsdb/ovsdb-server.ts';

const folder = temporaryFolder();
const foreign = temporaryFolder();
let identities: Readonly<Record<'good' | 'expired' | 'stranger', Identity>>;

beforeAll(() => {
  const ours = new Authority(folder.path, 'ours');
  const theirs = new Authority(foreign.path, 'theirs');
  identities = {
    good: ours.issue('apiserver'),
    expired: ours.issue('expired', -1),
    stranger: theirs.issue('stranger'),
  };
});
afterAll(() => {
  folder[Symbol.dispose]();
  foreign[Symbol.dispose]();
});

/** A server with that certificate that knows `token` alone. */
async function serving(
  { certificate, privateKey }: Identity,
  token = 'known',
): Promise<AsyncDisposable & { readonly server: Server; readonly port: number }> {
  const server = createServer(
    { cert: readFileSync(certificate), key: readFileSync(privateKey) },
    (request, response) => {
      const isKnown = request.headers.authorization === `Bearer ${token}`;
      const body = isKnown
        ? { kind: 'Status', status: 'Success' }
        : { kind: 'Status', status: 'Failure', message: 'Unauthorized', reason: 'Unauthorized' };
      response.writeHead(isKnown ? 200 : 401).end(JSON.stringify(body));
    },
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    server,
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A kubeconfig for it; `name` is that of its certificate. */
function kubeconfig(server: string, name: string, token = 'known'): string {
  const path = join(folder.path, `${name}.kubeconfig`);
  const ca = readFileSync(identities.good.caCertificate, 'utf8');
  const text = kubeconfigText({ server, ca, token });
  writeFileSync(path, text.replace(/^( +)server:/m, `$1tls-server-name: ${name}\n$1server:`));
  return path;
}

const asked = async (path: string): Promise<string> => {
  const { code, stderr } = await heddle('status', '--kubeconfig', path, '--socket', 'none');
  expect(code, stderr).toBe(69);
  return stderr;
};

test('a certificate that has ended, or is of another authority or name, is said to be that, with what to do, and exit code 69', async () => {
  for (const [identity, name, what] of [
    [
      identities.expired,
      'expired',
      /its certificate has expired; renew it at the API server, or set the clock of this machine/,
    ],
    [
      identities.stranger,
      'stranger',
      /its certificate is of an authority that is not the one given there; give that of this API server/,
    ],
    [
      identities.good,
      'else',
      /its certificate is for other names than the one in that address; .*tls-server-name/,
    ],
  ] as const) {
    await using there = await serving(identity);
    const path = kubeconfig(`https://127.0.0.1:${there.port}`, name);
    const said = await asked(path);
    expect(said).toMatch(what);
    expect(said).toContain(path);
    expect(said).not.toMatch(/\n {4}at /);
  }
}, 60_000);

test('a token that was revoked is said with where it is from; another one there is taken without a restart', async () => {
  await using there = await serving(identities.good, 'renewed');
  const server = `https://127.0.0.1:${there.port}`;
  const path = kubeconfig(server, 'apiserver', 'revoked');
  expect(await asked(path)).toMatch(
    new RegExp(
      `Unauthorized; the API server does not know the credentials of context lab of ${path}: the token, or the client certificate, has ended, was revoked, or is of another cluster; give others there`,
    ),
  );
  const connection = await kubeconfigConnection({
    files: [path],
    environment: {},
    clock: systemClock,
  });
  const client = new KubernetesClient(connection, 'test');
  const get = (): Promise<unknown> =>
    client.send({ method: 'GET', path: '/readyz', about: 'readiness' });
  await expect(get()).rejects.toThrow(/does not know the credentials of/);
  kubeconfig(server, 'apiserver', 'renewed');
  await expect(get()).resolves.toMatchObject({ status: 'Success' });
  client.close();
});

test('where nobody listens that is said, also of a name with several addresses', async () => {
  const there = await serving(identities.good);
  await there[Symbol.asyncDispose]();
  for (const host of ['127.0.0.1', 'localhost'])
    expect(await asked(kubeconfig(`https://${host}:${there.port}`, 'nobody'))).toMatch(
      new RegExp(`connect \\S+:${there.port}: nobody listens there`),
    );
});

/** How a connection ends is seen as ECONNRESET of different kinds, or EPIPE, by who comes first. */
const ends: Readonly<Record<string, (socket: Socket) => void>> = {
  'closes each connection': (socket) => socket.destroy(),
  'resets each connection': (socket) => socket.resetAndDestroy(),
  'resets each connection at its first bytes': (socket) => {
    socket.once('data', () => socket.resetAndDestroy());
  },
};

test.each(Object.entries(ends))(
  'what stands in front of an API server that is away, and %s, is told as that',
  async (_, end) => {
    const balancer = createTcpServer(end).listen(0, '127.0.0.1');
    await once(balancer, 'listening');
    const { port } = balancer.address() as AddressInfo;
    expect(await asked(kubeconfig(`https://127.0.0.1:${port}`, 'balancer'))).toMatch(
      /the connection is closed before the server says who it is; where a load balancer or a proxy stands there, see whether it has an API server that runs/,
    );
    balancer.close();
  },
);
