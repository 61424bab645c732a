/** A real Prometheus reads a real daemon, and takes what deploy/monitoring asks of it. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { Installation, type RunningCommand } from '../../support/run/heddle.ts';
import { bound, ownFolder } from '../../support/run/left-behind.ts';
import { OvsdbServer } from '../../support/ovsdb/ovsdb-server.ts';
import { freePort } from '../../support/run/free-port.ts';

const MONITORING = resolve(import.meta.dirname, '../../../deploy/monitoring');
const EXAMPLE = join(import.meta.dirname, '../cli/fixtures/worked-example');
const SOON = { timeout: 30_000, interval: 200 };
const run = promisify(execFile);

const isThere = (program: string): boolean => spawnSync(program, ['--version']).status === 0;
const missing = ['prometheus', 'promtool'].filter((program) => !isThere(program));
const why = missing.length === 0 ? '' : ` (no ${missing.join(', ')}: apt-get install prometheus)`;

/** What Grafana puts in the place of its variables. */
const asked = (expr: string): string =>
  expr.replaceAll(/"\$(node|network)"/g, '".*"').replaceAll(/\$__(rate_interval|range)/g, '1m');

const dashboards = readdirSync(join(MONITORING, 'dashboards')).map((name) => ({
  name,
  exprs: (
    JSON.parse(readFileSync(join(MONITORING, 'dashboards', name), 'utf8')) as {
      panels: { targets?: { expr: string }[] }[];
    }
  ).panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => asked(expr))),
}));

describe.skipIf(missing.length > 0)(`Prometheus${why}`, () => {
  const folder = ownFolder('heddle-prometheus');
  const rules = join(folder, 'rules.yml');
  let installation: Installation;
  let northbound: OvsdbServer;
  let daemon: RunningCommand;
  let server: ReturnType<typeof spawn>;
  let url: string;

  async function api<T>(path: string): Promise<T> {
    const answer = await fetch(`${url}/api/v1/${path}`);
    const { data, error } = (await answer.json()) as { data?: T; error?: string };
    if (data === undefined) throw new Error(`${path}: ${error}`);
    return data;
  }

  beforeAll(async () => {
    const { spec } = parse(readFileSync(join(MONITORING, 'alerts.yaml'), 'utf8')) as {
      spec: object;
    };
    writeFileSync(rules, stringify(spec));
    const [metrics, web] = [await freePort(), await freePort()];
    northbound = await OvsdbServer.start();
    installation = new Installation([
      '--node=ovn-worker',
      '--cluster-subnets=10.244.0.0/16/24',
      '--k8s-service-cidrs=10.96.0.0/16',
    ]);
    installation.copy(EXAMPLE);
    daemon = installation.daemon(
      '--nb',
      northbound.remote,
      `--metrics-bind-address=127.0.0.1:${metrics}`,
    );
    const config = join(folder, 'prometheus.yml');
    writeFileSync(
      config,
      stringify({
        global: { scrape_interval: '500ms', evaluation_interval: '500ms' },
        rule_files: [rules],
        scrape_configs: [
          {
            job_name: 'heddle',
            honor_labels: true,
            static_configs: [{ targets: [`127.0.0.1:${metrics}`], labels: { node: 'ovn-worker' } }],
          },
        ],
      }),
    );
    url = `http://127.0.0.1:${web}`;
    server = spawn(
      ...bound('prometheus', [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${web}`,
        '--log.level=warn',
      ]),
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
  });
  afterAll(async () => {
    const ended = once(server, 'close');
    server.kill();
    await ended;
    await daemon[Symbol.asyncDispose]();
    installation[Symbol.dispose]();
    await northbound[Symbol.asyncDispose]();
  });

  test('takes the alerts as they are', async () => {
    const { stdout } = await run('promtool', ['check', 'rules', rules]);
    expect(stdout).toContain('SUCCESS');
  });

  test('reads what the daemon says of its zone', async () => {
    await expect
      .poll(async () => {
        const found = await api<{ result: { value: [number, string] }[] }>(
          `query?query=${encodeURIComponent('sum(heddle_zone_networks)')}`,
        ).catch(() => ({ result: [] }));
        return Number(found.result[0]?.value[1] ?? 0);
      }, SOON)
      .toBeGreaterThan(1);
  });

  test('works out every alert', async () => {
    const health = async (): Promise<(readonly [string, string])[]> => {
      const { groups } = await api<{
        groups: { rules: { name: string; health: string; lastError?: string }[] }[];
      }>('rules');
      return groups.flatMap((group) =>
        group.rules.map((rule) => [rule.name, rule.lastError ?? rule.health] as const),
      );
    };
    await expect
      .poll(async () => (await health()).filter(([, one]) => one !== 'ok'), SOON)
      .toEqual([]);
    expect((await health()).length).toBeGreaterThan(10);
  });

  test.each(dashboards)('answers what $name asks', async ({ exprs }) => {
    for (const expr of exprs) {
      const { resultType } = await api<{ resultType: string }>(
        `query?query=${encodeURIComponent(expr)}`,
      );
      expect(resultType, expr).toBe('vector');
    }
  });

  test.each([
    ['heddle-overview.json', 4],
    ['heddle-nodes.json', 5],
  ])('has figures of a daemon alone for many panels of %s', async (file, least) => {
    const exprs = dashboards.find(({ name }) => name === file)?.exprs ?? [];
    const filled = async (): Promise<number> => {
      const found = await Promise.all(
        exprs.map((expr) => api<{ result: unknown[] }>(`query?query=${encodeURIComponent(expr)}`)),
      );
      return found.filter(({ result }) => result.length > 0).length;
    };
    await expect.poll(filled, SOON).toBeGreaterThanOrEqual(least);
  });
});
