import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import { HealthCheckServers } from '../../../../src/node/health-checks/health-check-servers.ts';
import type { HostProblem } from '../../../../src/node/reconcile/host-plan.ts';
import { HEALTH_CHECKS } from '../../../../src/node/health-checks/health-checks.ts';
import { freePort } from '../../../support/run/free-port.ts';

const owner = (id: string, order = 0) => ({ id, rank: 0, order, rowsIn: () => [] });
const check = (port: number, name: string, localEndpoints: number): DesiredRow => ({
  database: HEALTH_CHECKS,
  table: 'port',
  key: String(port),
  columns: { namespace: 'shop', name, localEndpoints },
  containers: [],
  rule: 'answer',
  object: `Service shop/${name}`,
});

async function listening(port: number): Promise<Server> {
  const server = createServer();
  server.listen(port);
  await once(server, 'listening');
  return server;
}

describe('ports for health checks of services', () => {
  let servers: HealthCheckServers;
  let port: number;
  const web = owner('web');

  let problems: readonly HostProblem[];

  /** What a pass of the daemon does. */
  const flush = async (now: number): Promise<void> => {
    for (let plan = servers.plan(now); ; plan = servers.plan(now)) {
      problems = plan.problems;
      if (plan.isEmpty) return;
      await servers.apply(plan, now);
    }
  };
  const asked = async (host = '127.0.0.1'): Promise<string> => {
    const response = await fetch(`http://${host}:${port}/healthz`);
    return `${response.status} ${(await response.text()).trim()}`;
  };
  const refused = async (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => false,
      () => true,
    );

  beforeEach(async () => {
    servers = new HealthCheckServers();
    port = await freePort();
  });
  afterEach(() => servers[Symbol.dispose]());

  test('answer 200 where endpoints are ready, 503 where none is, and follow changes', async () => {
    servers.set(web, [check(port, 'web', 2)]);
    await flush(0);
    expect(await asked()).toBe(
      '200 {"service":{"namespace":"shop","name":"web"},"localEndpoints":2}',
    );
    servers.set(web, [check(port, 'web', 0)]);
    await flush(0);
    expect(await asked()).toBe(
      '503 {"service":{"namespace":"shop","name":"web"},"localEndpoints":0}',
    );
    servers.set(web, []);
    await flush(0);
    expect(await refused()).toBe(true);
    expect(problems).toEqual([]);
  });

  test('answer in both families', async () => {
    servers.set(web, [check(port, 'web', 1)]);
    await flush(0);
    expect(await asked('[::1]')).toMatch(/^200 /);
  });

  test('that somebody else has are a problem of the service, and opened when they are free', async () => {
    const other = await listening(port);
    servers.set(web, [check(port, 'web', 1)]);
    await flush(0);
    expect(problems).toMatchObject([{ kind: 'refused', object: 'Service shop/web', unit: 'web' }]);
    expect(problems[0]?.message).toContain(
      `healthCheckNodePort ${port} can't be opened on this node (listen EADDRINUSE`,
    );
    other.close();
    await once(other, 'close');
    // It rests for 30 s.
    await flush(29_999);
    expect(await refused()).toBe(true);
    await flush(30_000);
    expect(await asked()).toMatch(/^200 /);
    expect(problems).toEqual([]);
  });

  test('that two services want are those of the first, and a problem of the second', async () => {
    servers.set(owner('b', 1), [check(port, 'late', 1)]);
    servers.set(owner('a', 0), [check(port, 'web', 1)]);
    await flush(0);
    expect(await asked()).toContain('"name":"web"');
    expect(problems).toMatchObject([
      { kind: 'name-taken', object: 'Service shop/late', unit: 'b' },
    ]);
  });

  test('stay open while the service that wanted them can not be read', async () => {
    servers.set(web, [check(port, 'web', 1)]);
    await flush(0);
    servers.set(web, []);
    const isUnread = (marks: readonly string[]): boolean => marks.includes('Service shop/web');
    expect(servers.plan(0, isUnread)).toMatchObject({ isEmpty: true, heldBack: 1 });
    expect(servers.plan(0, () => false)).toMatchObject({ isEmpty: false, heldBack: 0 });
    expect(await asked()).toMatch(/^200 /);
  });

  test('answer others while one sends what is no request, or nothing', async () => {
    servers.set(web, [check(port, 'web', 1)]);
    await flush(0);
    const silent = connect(port, '127.0.0.1');
    const rude = connect(port, '127.0.0.1');
    rude.write(`GET / HTTP/1.1\r\nx: ${'x'.repeat(100_000)}\r\n`);
    rude.resume();
    rude.on('error', () => undefined); // how its end is told depends on what was still under way
    await new Promise<void>((resolve) => {
      rude.on('close', () => resolve());
    });
    expect(await asked()).toMatch(/^200 /);
    silent.destroy();
  });

  test('are closed with what is under way when the daemon ends', async () => {
    servers.set(web, [check(port, 'web', 1)]);
    await flush(0);
    const silent = connect(port, '127.0.0.1');
    await once(silent, 'connect');
    silent.resume();
    const closed = once(silent, 'close');
    servers[Symbol.dispose]();
    await closed;
    expect(await refused()).toBe(true);
  });
});
