/** Alerts and dashboards ask for metrics that there are, and alerts lead to pages that there are. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<string, string>>;
}
const { spec } = parse(read('deploy/monitoring/alerts.yaml')) as {
  spec: { groups: { rules: Rule[] }[] };
};
const rules = spec.groups.flatMap((group) => group.rules);
const runbooks = [...read('docs/runbooks.md').matchAll(/^## (\w+)$/gm)].map(([, title]) => title);

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.generated.ts'))
  .map((name) => read(join('src', name)))
  .join('\n');
/** Metrics of the cluster manager that ovn-kubernetes has, too, have their prefix in common. */
const hasMetric = (name: string): boolean =>
  [name, name.replace(/^ovnkube_clustermanager_/, '')].some((one) => sources.includes(`'${one}'`));

describe('alerts', () => {
  test.each(rules)('$alert asks for metrics of Heddle, and has a page', (rule) => {
    const metrics = rule.expr.match(/heddle_\w+/g) ?? [];
    expect(metrics.length).toBeGreaterThan(0);
    expect(metrics.filter((name) => !hasMetric(name))).toEqual([]);
    expect(['critical', 'warning']).toContain(rule.labels.severity);
    const [, anchor] =
      /^docs\/runbooks\.md#(\w+)$/.exec(rule.annotations['runbook_url'] ?? '') ?? [];
    expect(runbooks.map((title) => title?.toLowerCase())).toContain(anchor);
    expect(rule.annotations['summary']).toBeTruthy();
  });

  test('have names of their own, and no page is without one', () => {
    const names = rules.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    const pages = rules.map(({ annotations }) => annotations['runbook_url']?.split('#')[1]);
    expect(runbooks.filter((title) => !pages.includes(title?.toLowerCase()))).toEqual([]);
  });
});

interface GrafanaPanel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly { readonly expr: string }[];
}

describe('dashboards', () => {
  const folder = 'deploy/monitoring/dashboards';
  const all = readdirSync(join(ROOT, folder)).map((name) => ({
    name,
    ...(JSON.parse(read(join(folder, name))) as {
      readonly uid: string;
      readonly templating: { readonly list: readonly { readonly query: unknown }[] };
      readonly panels: readonly GrafanaPanel[];
    }),
  }));

  test.each(all)('$name asks for metrics of Heddle', ({ panels, templating }) => {
    const texts = [
      ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      ...templating.list.map(({ query }) => JSON.stringify(query)),
    ];
    const metrics = texts.flatMap((text) => text.match(/(?:heddle|ovnkube)_\w+/g) ?? []);
    expect(metrics.length).toBeGreaterThan(5);
    const named = metrics.map((name) => name.replace(/_bucket$/, ''));
    expect(named.filter((name) => !hasMetric(name))).toEqual([]);
  });

  test.each(all)('$name has panels beside each other', ({ panels }) => {
    const taken = new Set<string>();
    for (const { title, gridPos } of panels)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(x, title).toBeLessThan(24);
          expect(taken.has(`${x} ${y}`), title).toBe(false);
          taken.add(`${x} ${y}`);
        }
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });

  test('are all applied', () => {
    const { configMapGenerator } = parse(read('deploy/monitoring/kustomization.yaml')) as {
      configMapGenerator: { files: string[] }[];
    };
    expect(configMapGenerator.flatMap(({ files }) => files).sort()).toEqual(
      all.map(({ name }) => `dashboards/${name}`).sort(),
    );
  });
});

test('what is scraped are the ports that daemons have for metrics', () => {
  const [monitor] = parseAllDocuments(read('deploy/monitoring/pod-monitors.yaml'))
    .map((document) => document.toJS() as { spec?: { podMetricsEndpoints?: { port: string }[] } })
    .filter(({ spec: found }) => found?.podMetricsEndpoints !== undefined);
  expect(monitor?.spec?.podMetricsEndpoints?.map(({ port }) => port)).toEqual(['metrics']);
  for (const file of ['deploy/node-daemon.yaml', 'deploy/cluster-manager.yaml'])
    expect(read(file)).toContain('{name: metrics, containerPort:');
});
