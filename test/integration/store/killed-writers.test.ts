import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ManifestStore } from '../../../src/store/manifests/manifest-store.ts';
import { bound, ownFolder } from '../../support/run/left-behind.ts';
import { PARTS, plainRules, WIDGETS } from '../../support/cluster/plain-rules.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** Counts `spec.size` of one shared object up, says so after each success, and creates an object of its own per step. */
const WRITER = `
import { ManifestStore } from '${ROOT}/src/store/manifests/manifest-store.ts';
import { plainRules, PARTS, WIDGETS } from '${ROOT}/test/support/cluster/plain-rules.ts';
const [manifests, state, me] = process.argv.slice(1);
const store = await ManifestStore.open({ manifests, state, rules: plainRules });
const write = { fieldManager: me };
for (let step = 0; ; step += 1) {
  const counter = await store.get(WIDGETS, 'a/counter');
  const { resourceVersion } = counter.metadata;
  const patch = { spec: { size: counter.spec.size + 1 } };
  try {
    await store.patch(WIDGETS, 'a/counter', patch, { ...write, resourceVersion });
    console.log('counted');
  } catch (error) {
    if (error.code !== 'conflict') throw error;
  }
  const metadata = { namespace: 'a', name: me + '-' + step };
  await store.create(PARTS, { apiVersion: 'example.org/v1', kind: 'Part', metadata }, write);
  console.log('created ' + metadata.name);
}`;

test('writers killed at any moment lose nothing that they were told is written, and break nothing', async () => {
  const folder = ownFolder('heddle-killed');
  const manifests = join(folder, 'manifests');
  const state = join(folder, 'state');
  await mkdir(manifests);
  await writeFile(
    join(manifests, 'counter.yaml'),
    'apiVersion: example.org/v1\nkind: Widget\nmetadata: { name: counter, namespace: a }\nspec: { size: 1 }\n',
  );
  const said: string[] = [];
  const complaints: string[] = [];
  const start = (name: string): ChildProcess => {
    const child = spawn(
      ...bound(process.execPath, ['--input-type=module', '-e', WRITER, manifests, state, name]),
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said.push(...text.split('\n').filter((line) => line !== ''));
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => complaints.push(text));
    return child;
  };
  let kills = 0;
  const writers = ['one', 'two', 'three'].map(start);
  try {
    for (let round = 0; round < 6; round += 1) {
      const before = said.length;
      await expect.poll(() => said.length, { timeout: 20_000 }).toBeGreaterThan(before + 10);
      await sleep(Math.random() * 20); // any moment will do: nothing is waited for here
      const index = round % writers.length;
      const victim = writers[index];
      victim?.kill('SIGKILL');
      if (victim !== undefined) await once(victim, 'close');
      kills += 1;
      writers[index] = start(`next-${round}`);
    }
  } finally {
    for (const writer of writers) {
      writer.kill('SIGKILL');
      if (writer.exitCode === null && writer.signalCode === null) await once(writer, 'close');
      kills += 1;
    }
  }
  expect(complaints).toEqual([]);

  const store = await ManifestStore.open({ manifests, state, rules: plainRules });
  const counter = await store.get(WIDGETS, 'a/counter');
  const counted = said.filter((line) => line === 'counted').length;
  const { size } = (counter?.spec ?? { size: 0 }) as { size: number };
  expect(size - 1).toBeGreaterThanOrEqual(counted);
  expect(size - 1).toBeLessThanOrEqual(counted + kills); // written, but killed before it could say so
  const parts = new Set((await store.list(PARTS)).map(({ metadata }) => metadata.name));
  const created = said.flatMap((line) => /^created (.*)$/.exec(line)?.[1] ?? []);
  expect(created.filter((name) => !parts.has(name))).toEqual([]);
  expect(parts.size).toBeLessThanOrEqual(created.length + kills);
  expect(store.problems).toEqual([]);
  await store.close();
  const left = await readdir(join(state, 'objects'), { recursive: true });
  expect(left.filter((name) => name.endsWith('.corrupt'))).toEqual([]);
  await rm(folder, { recursive: true });
});
