import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Gauge, Registry } from 'prom-client';
import { afterEach, describe, expect, test } from 'vitest';
import type { KubeObject, ResourceKind } from '../../../src/api/objects.ts';
import { resolveConfiguration } from '../../../src/settings/configuration.ts';
import { serveHealth, type HealthOptions, type HealthServer } from '../../../src/process/health.ts';
import { MetricsAccess } from '../../../src/process/metrics-access.ts';
import { StoreError, type Store } from '../../../src/store/store.ts';

const log = { warn: () => undefined };
const servers: HealthServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
});

const registry = new Registry();
new Gauge({ name: 'networks', help: 'x', labelNames: ['name'], registers: [registry] }).set(
  { name: 'tenant-a/secret' },
  1,
);

async function serve(options: Partial<HealthOptions> & { address: string }): Promise<HealthServer> {
  const { address, ...rest } = options;
  const server = await serveHealth({
    serving: { address },
    registry,
    log,
    notReady: () => undefined,
    judge: undefined,
    ...rest,
  });
  servers.push(server);
  return server;
}

interface Reply {
  readonly status: number;
  readonly body: string;
}
/** As a kubelet's probe and a Prometheus without `ca_file` do, no certificate is verified. */
function get(url: string, host: string, token?: string): Promise<Reply> {
  const target = new URL(url);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    httpsRequest(
      { host, port: target.port, path: target.pathname, headers, rejectUnauthorized: false },
      (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (part: string) => (body += part));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      },
    )
      .on('error', reject)
      .end();
  });
}

/**
 * A double of the API server's reviews: `tokens` says whose a token is, `readers` who may get /metrics.
 */
class Reviews implements Pick<Store, 'create'> {
  readonly asked: string[] = [];
  isReachable = true;
  readonly tokens: Readonly<Record<string, string>>;
  readonly readers: readonly string[];

  constructor(tokens: Readonly<Record<string, string>>, readers: readonly string[]) {
    this.tokens = tokens;
    this.readers = readers;
  }

  async create<T extends KubeObject>(kind: ResourceKind<T>, object: T): Promise<T> {
    if (!this.isReachable) throw new StoreError('unavailable', 'the API server is away');
    const spec = object.spec as { token?: string; user?: string; nonResourceAttributes?: object };
    this.asked.push(`${kind.kind} ${spec.token ?? spec.user ?? ''}`);
    const username = this.tokens[spec.token ?? ''];
    const status =
      kind.kind === 'TokenReview'
        ? username === undefined
          ? { authenticated: false }
          : { authenticated: true, user: { username, groups: ['system:authenticated'] } }
        : {
            allowed:
              this.readers.includes(spec.user ?? '') &&
              JSON.stringify(spec.nonResourceAttributes) === '{"path":"/metrics","verb":"get"}',
          };
    return { ...object, status };
  }
}

describe('what anybody may ask', () => {
  test('readiness says which check fails, and no name', async () => {
    const { url } = await serve({ address: '127.0.0.1:0', notReady: () => 'northbound' });
    const response = await fetch(`${url}/readyz`);
    expect(response.status).toBe(503);
    expect(await response.text()).toBe(
      "not ready: northbound; the daemon's log and heddle status say why\n",
    );
  });

  test('a loop that hangs makes liveness fail, and is named', async () => {
    let hung: string | undefined;
    const { url } = await serve({ address: '127.0.0.1:0', hung: () => hung });
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    hung = 'host';
    const response = await fetch(`${url}/healthz`);
    expect([response.status, await response.text()]).toEqual([
      503,
      'a pass of the daemon hangs: host\n',
    ]);
  });

  test('a kubelet’s probe reaches liveness and readiness over both families, without a token', async () => {
    const { url } = await serve({ address: ':0', judge: async () => 'unauthenticated' });
    for (const host of ['127.0.0.1', '::1'])
      for (const path of ['/healthz', '/readyz'])
        expect(await get(`${url}${path}`, host)).toEqual({ status: 200, body: 'ok\n' });
  });

  test('it is closed to other methods, and says nothing of what it does not know', async () => {
    const { url } = await serve({ address: '127.0.0.1:0' });
    expect((await fetch(`${url}/metrics`, { method: 'POST', body: 'x' })).status).toBe(405);
    expect((await fetch(`${url}/debug`)).status).toBe(404);
  });

  test('connections that ask nothing keep nobody out', async () => {
    const { url } = await serve({ address: '127.0.0.1:0' });
    const port = Number(new URL(url).port);
    const idle = await Promise.all(
      Array.from(
        { length: 200 },
        () =>
          new Promise<ReturnType<typeof connect>>((resolve) => {
            const socket = connect(port, '127.0.0.1', () => resolve(socket)).on(
              'error',
              () => undefined,
            );
          }),
      ),
    );
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    await expect
      .poll(() => idle.filter(({ readyState }) => readyState === 'open').length)
      .toBeLessThanOrEqual(64);
    for (const socket of idle) socket.destroy();
  });
});

describe('metrics, which name networks', () => {
  test('on loopback are for the host', async () => {
    const { url } = await serve({ address: '127.0.0.1:0' });
    expect(url).toMatch(/^http:\/\/127/);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('tenant-a/secret');
  });

  test('are on loopback alone unless somebody asks for more', () => {
    expect(resolveConfiguration({ flags: {}, environment: {} }).metrics).toEqual({
      address: '127.0.0.1:9476',
    });
  });

  test('are not served beyond it where nobody says who may read them', async () => {
    for (const address of ['0.0.0.0:0', ':0', '[::]:0', '192.0.2.1:0'])
      await expect(serve({ address })).rejects.toThrow(
        /--metrics-bind-address: .* is more than loopback/,
      );
  });

  test('beyond it are for those whose token may get /metrics', async () => {
    const reviews = new Reviews({ prometheus: 'sa:prometheus', tenant: 'sa:tenant' }, [
      'sa:prometheus',
    ]);
    const access = new MetricsAccess(reviews, log);
    const { url } = await serve({ address: ':0', judge: (header) => access.judge(header) });
    const metrics = (token?: string): Promise<Reply> => get(`${url}/metrics`, '127.0.0.1', token);
    const replies = [await metrics(), await metrics('forged'), await metrics('tenant')];
    expect(replies.map(({ status }) => status)).toEqual([401, 401, 403]);
    for (const { body } of replies) expect(body).not.toContain('tenant-a');
    expect(await metrics('prometheus')).toMatchObject({
      status: 200,
      body: expect.stringContaining('tenant-a/secret') as string,
    });
  });

  test('come with a certificate of the administrator’s where he names one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'heddle-'));
    const [certificate, privateKey] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
    const parts = ['req', '-x509', '-nodes', '-newkey', 'rsa:2048', '-subj', '/CN=own'];
    await promisify(execFile)('openssl', [...parts, '-keyout', privateKey, '-out', certificate]);
    const flags = { 'metrics-certificate': certificate, 'metrics-private-key': privateKey };
    const { metrics } = resolveConfiguration({ flags, environment: {} });
    const server = await serve({
      address: '',
      serving: { ...metrics, address: '127.0.0.1:0' },
    });
    expect(server.url).toMatch(/^https:/);
    const { status } = await get(`${server.url}/metrics`, '127.0.0.1');
    expect(status).toBe(200);
    await rm(folder, { recursive: true });
    expect(() =>
      resolveConfiguration({ flags: { 'metrics-certificate': 'a' }, environment: {} }),
    ).toThrow('--metrics-private-key: is required');
  });
});

describe('who may read metrics', () => {
  const judged = (reviews: Reviews): { access: MetricsAccess; clock: { now: number } } => {
    const clock = { now: 0 };
    return { access: new MetricsAccess(reviews, log, () => clock.now), clock };
  };

  test('is asked once a minute, and what was refused again after ten seconds', async () => {
    const reviews = new Reviews({ good: 'sa:good' }, ['sa:good']);
    const { access, clock } = judged(reviews);
    for (const now of [0, 9_999, 59_999]) {
      clock.now = now;
      expect(await access.judge('Bearer good')).toBe('allowed');
    }
    expect(reviews.asked).toEqual(['TokenReview good', 'SubjectAccessReview sa:good']);
    clock.now = 60_000;
    await access.judge('Bearer good');
    expect(reviews.asked).toHaveLength(4);
    for (const now of [60_000, 69_999, 70_000]) {
      clock.now = now;
      expect(await access.judge('Bearer bad')).toBe('unauthenticated');
    }
    expect(reviews.asked).toHaveLength(6);
  });

  test('invented tokens neither flood the API server nor keep out who was let in', async () => {
    const reviews = new Reviews({ good: 'sa:good' }, ['sa:good']);
    const { access, clock } = judged(reviews);
    await access.judge('Bearer good');
    clock.now = 61_000;
    const verdicts = await Promise.all(
      Array.from({ length: 1000 }, (_, index) => access.judge(`Bearer invented-${index}`)),
    );
    expect(verdicts.filter((verdict) => verdict === 'busy')).toHaveLength(990);
    expect(await access.judge('Bearer good')).toBe('allowed');
    clock.now = 62_000;
    expect(await access.judge('Bearer later')).toBe('unauthenticated');
  });

  test('an API server that does not answer lets nobody in who was not before, and is asked again', async () => {
    const reviews = new Reviews({ good: 'sa:good' }, ['sa:good']);
    const { access } = judged(reviews);
    reviews.isReachable = false;
    expect(await access.judge('Bearer good')).toBe('unavailable');
    reviews.isReachable = true;
    expect(await access.judge('Bearer good')).toBe('allowed');
  });

  test('who was let in reads on for a day while the API server can’t be asked, or alerts on that would see nothing', async () => {
    const reviews = new Reviews({ good: 'sa:good', other: 'sa:other' }, ['sa:good']);
    const { access, clock } = judged(reviews);
    expect(await access.judge('Bearer good')).toBe('allowed');
    expect(await access.judge('Bearer other')).toBe('forbidden');
    reviews.isReachable = false;
    const day = 24 * 60 * 60 * 1000;
    for (const now of [60_000, 360_000, day - 1]) {
      clock.now = now;
      expect(await access.judge('Bearer good')).toBe('allowed');
      expect(await access.judge('Bearer other')).toBe('unavailable');
      expect(await access.judge('Bearer invented')).toBe('unavailable');
    }
    clock.now = day + 10_000;
    expect(await access.judge('Bearer good')).toBe('unavailable');
  });

  test('a token that was revoked meanwhile is refused with the first answer', async () => {
    const tokens: Record<string, string> = { good: 'sa:good' };
    const reviews = new Reviews(tokens, ['sa:good']);
    const { access, clock } = judged(reviews);
    await access.judge('Bearer good');
    reviews.isReachable = false;
    clock.now = 60_000;
    expect(await access.judge('Bearer good')).toBe('allowed');
    delete tokens['good'];
    reviews.isReachable = true;
    clock.now = 70_000;
    expect(await access.judge('Bearer good')).toBe('unauthenticated');
    reviews.isReachable = false;
    clock.now = 80_000;
    expect(await access.judge('Bearer good')).toBe('unavailable');
  });

  test.each([undefined, '', 'Bearer', 'Bearer ', 'Basic Zm9v', 'good', 'Bearer a b'])(
    'nobody is asked about %j',
    async (header) => {
      const reviews = new Reviews({ good: 'sa:good' }, ['sa:good']);
      expect(await judged(reviews).access.judge(header)).toBe('unauthenticated');
      expect(reviews.asked).toEqual([]);
    },
  );
});
