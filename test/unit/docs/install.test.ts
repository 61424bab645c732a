/** What docs/install.md asks of a node is what the lab's nodes have, and nothing that Heddle sets itself. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { resolveConfiguration } from '../../../src/settings/configuration.ts';
import { chassisSettings } from '../../../src/node/chassis/settings.ts';
import { manifests, type Manifest } from '../../support/cluster/deploy-manifests.ts';
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

interface Container {
  readonly name: string;
  readonly resources: {
    readonly requests: { readonly memory: string };
    readonly limits: { readonly memory: string };
  };
  readonly securityContext: {
    readonly runAsUser?: number;
    readonly capabilities: { readonly add?: readonly string[] };
  };
}
interface PodSpec {
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes?: readonly { readonly hostPath?: { readonly path: string } }[];
}
const INSTALL = read('docs/install.md');
const specs = manifests
  .filter(({ kind }) => kind === 'DaemonSet' || kind === 'Deployment')
  .map((manifest) => (manifest as Manifest & { spec: { template: { spec: PodSpec } } }).spec)
  .map(({ template }) => template.spec);

test('docs/install.md has each container with its user, capabilities and memory', () => {
  const [, table = ''] = INSTALL.split(/^\| Container \|.*\n\|[-|]+\n/m);
  const told = (table.split('\n\n')[0] ?? '').split('\n').map((row) => {
    const [, name = '', who = '', , ...memory] = row.split('|').map((cell) => cell.trim());
    return {
      name: /`([\w-]+)`/.exec(name)?.[1],
      user: /^\w+/.exec(who)?.[0],
      capabilities: [...who.matchAll(/`([A-Z_]+)`/g)].map(([, text = '']) => text).toSorted(),
      memory: memory.slice(0, 2),
    };
  });
  const run = specs.flatMap(({ initContainers = [], containers }) =>
    [...initContainers, ...containers].map(({ name, resources, securityContext }) => ({
      name,
      user: String(securityContext.runAsUser ?? 'root'),
      capabilities: (securityContext.capabilities.add ?? []).toSorted(),
      memory: [resources.requests.memory, resources.limits.memory].map((text) =>
        text.replace(/^(\d+)/, '$1 '),
      ),
    })),
  );
  expect(run.length).toBeGreaterThan(5);
  expect(told).toEqual(run);
});

test('docs/install.md has each path of the host that is mounted', () => {
  const [, table = ''] = INSTALL.split('| Path of the host | Why |\n|---|---|\n');
  const told = [...(table.split('\n\n')[0] ?? '').matchAll(/^\| (.*?) \|/gm)].flatMap(
    ([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
  );
  const mounted = specs.flatMap(({ volumes = [] }) =>
    volumes.flatMap(({ hostPath }) => (hostPath === undefined ? [] : [hostPath.path])),
  );
  expect(told.toSorted()).toEqual(mounted.toSorted());
});

test('docs/install.md takes every annotation of Heddle off the Nodes', () => {
  const written = [
    ...read('src/api/annotations/node-annotations.ts').matchAll(/= '(k8s\.ovn\.org\/[\w-]+)';/g),
  ].map(([, key = '']) => key);
  const [, commands = ''] = INSTALL.split('## Taking it off');
  const taken = [...commands.matchAll(/(k8s\.ovn\.org\/[\w-]+?)-(?=\s)/g)].map(
    ([, key = '']) => key,
  );
  expect(written.length).toBeGreaterThan(10);
  // Of an ovn-kubernetes that was there before.
  expect(taken.toSorted()).toEqual([...written, 'k8s.ovn.org/network-ids'].toSorted());
});
