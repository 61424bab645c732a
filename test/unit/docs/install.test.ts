/** What docs/install.md asks of a node is what the lab's nodes have, and nothing that Heddle sets itself. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { resolveConfiguration } from '../../../src/settings/configuration.ts';
import { chassisSettings } from '../../../src/node/chassis/settings.ts';
import { nodePrerequisites } from '../../support/lab/node-prerequisites.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const LAB = read('lab/guest/lab.sh');

/** What a node needs, without the other sections. */
const asked = /## What it takes\n([\s\S]*?)\n## /.exec(read('docs/install.md'))?.[1] ?? '';
const { chassis } = resolveConfiguration({
  flags: { sb: 'unix:/s', 'lflow-cache-limit': '1', 'lflow-cache-limit-kb': '1' },
  environment: {},
});
const ofHeddle = chassisSettings(chassis, {
  node: 'n1',
  encapIps: ['172.18.0.3'],
  flows: 'kept',
}).map(({ key }) => key);

test('each setting of Open vSwitch that the lab makes is asked for', () => {
  expect(nodePrerequisites).toContain('system-id');
  expect(nodePrerequisites.filter((key) => !new RegExp(`\`[^\`]*${key}\\b`).test(asked))).toEqual(
    [],
  );
});

test('none that Heddle makes is', () => {
  expect(ofHeddle.length).toBeGreaterThan(10);
  expect(ofHeddle.filter((key) => asked.includes(`${key}=`) || asked.includes(`${key}\``))).toEqual(
    [],
  );
  expect(nodePrerequisites.filter((key) => ofHeddle.includes(key))).toEqual([]);
});

test('the lab makes no other one, but where no heddle node is to run', () => {
  const functions = LAB.split(/^(?=\w+\(\) \{)/m).filter((text) => text.includes('external_ids:'));
  expect(functions.map((text) => /^\w+/.exec(text)?.[0])).toEqual(['prerequisites', 'lab_bridge']);
});

test('docs/host.md lists what Heddle sets', () => {
  const [, section = ''] = read('docs/host.md').split('## Settings of ovn-controller\n');
  expect(ofHeddle.filter((key) => !section.includes(`\`${key}\``))).toEqual([]);
});
