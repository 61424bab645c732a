import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { VERSION } from '../../../src/process/version.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string): unknown => parse(readFileSync(join(ROOT, path), 'utf8'));

test('the release has one number: in commands, packages, the chart and the images that manifests name', () => {
  const chart = read('deploy/helm/heddle/Chart.yaml') as { version: string; appVersion: string };
  const numbers = [
    ...['package.json', 'src/ovsdb/package.json', 'src/netlink/package.json'].map(
      (path) => (read(path) as { version: string }).version,
    ),
    chart.version,
    chart.appVersion,
    ...['deploy', 'deploy/cleanup'].flatMap((folder) =>
      (read(`${folder}/kustomization.yaml`) as { images: { newTag: string }[] }).images.map(
        ({ newTag }) => newTag,
      ),
    ),
  ];
  expect(numbers.length).toBeGreaterThanOrEqual(7);
  expect(new Set(numbers)).toEqual(new Set([VERSION]));
});
