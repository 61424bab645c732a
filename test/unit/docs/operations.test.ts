/** What docs/operations.md and README.md list is what there is. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { registerDurations } from '../../../src/cluster/metrics.ts';
import { controlMethods, type ZoneView } from '../../../src/zone/zone-view.ts';
import { ZoneMetrics } from '../../../src/zone/zone-metrics.ts';
import { OPTIONS } from '../../../src/settings/options.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const OPERATIONS = read('docs/operations.md');

/** What stands in backticks: `render`, `--kubeconfig`, and `…-v6-…` for what differs in the middle from the one before it. */
const quoted = [...OPERATIONS.matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text);

test('every setting is explained', () => {
  const isNamed = (name: string): boolean =>
    quoted.some((text) => {
      if (text === name || text === `--${name}` || text.startsWith(`--${name} `)) return true;
      const parts = text.split('…');
      if (parts.length < 2) return false;
      const [first = '', ...rest] = parts;
      return name.startsWith(first) && rest.every((part) => name.includes(part));
    });
  expect(OPTIONS.map(({ name }) => name).filter((name) => !isNamed(name))).toEqual([]);
});

test('every metric of ours is listed', async () => {
  const zone = await new ZoneMetrics().registry.getMetricsAsJSON();
  const cluster = new Registry();
  registerDurations(cluster);
  const names = [
    ...[...zone, ...(await cluster.getMetricsAsJSON())].map(({ name }) => name),
    ...['src/cluster/metrics.ts', 'src/cluster-daemon/cluster-daemon.ts'].flatMap((file) =>
      [...read(file).matchAll(/'(heddle_\w+)'/g)].map(([, name = '']) => name),
    ),
  ].filter((name) => /^(heddle|ovnkube)_/.test(name));
  expect(names.length).toBeGreaterThan(12);
  expect(
    names.filter((name) => !quoted.some((text) => text === name || text.startsWith(`${name}{`))),
  ).toEqual([]);
});

test('README lists the commands that there are', () => {
  const table = [...read('README.md').matchAll(/^\| `heddle (\w+)/gm)].map(([, name]) => name);
  const commands = [...read('src/cli/program.ts').matchAll(/^ {2}(\w+): \(\) => import\(/gm)].map(
    ([, name]) => name,
  );
  expect(commands.length).toBeGreaterThan(5);
  // `kubectl heddle` runs it in pods, and nobody else.
  const isForPeople = (name: string | undefined): boolean => name !== 'control';
  expect(new Set(table)).toEqual(new Set(commands.filter(isForPeople)));
});

test('the methods of the control socket are listed', () => {
  const [, listed = ''] = /\bwith the\s+methods (`about`.*?) \(/s.exec(OPERATIONS) ?? [];
  const methods = [...listed.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
  expect(new Set(methods)).toEqual(new Set(Object.keys(controlMethods({} as ZoneView))));
});

test('metrics have the labels that are named with them', () => {
  const { registry } = new ZoneMetrics();
  const compared = [...OPERATIONS.matchAll(/\b(heddle_\w+)\{([\w,]+)\}/g)].flatMap(
    ([, name = '', labels = '']) => {
      const metric = registry.getSingleMetric(name) as { labelNames?: string[] } | undefined;
      return metric?.labelNames === undefined
        ? []
        : [{ name, labels, written: metric.labelNames.join() }];
    },
  );
  expect(compared.length).toBeGreaterThan(8);
  expect(compared.filter(({ labels, written }) => labels !== written)).toEqual([]);
});
