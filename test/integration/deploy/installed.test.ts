import { execFile } from 'node:child_process';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/api/objects.ts';
import { deployedObjects as deployed } from '../../../src/lab/kubernetes/deployment.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { kubeTools, type KubeTools } from '../../support/cluster/kube-tools.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { objectPath } from '../../support/cluster/permissions.ts';

const DEPLOY = resolve(import.meta.dirname, '../../../deploy');
const NODE = '/api/v1/nodes/leaving';

const page = await readFile(resolve(DEPLOY, '../docs/install.md'), 'utf8');
const [chapter = ''] = page.split('\n## Taking it off\n')[1]?.split('\n## ') ?? [];
const removal = [...chapter.matchAll(/```sh\n([^`]*)```/g)].map(([, block = '']) => block);

const tools = await kubeTools();
const started = typeof tools === 'string' ? tools : await startKubeApi();
if (typeof started === 'string')
  console.warn(`deploy/ is not installed on an API server: ${started}`);

describe.skipIf(typeof started === 'string')('on an API server', () => {
  const api = started as KubeApi;
  const { helm, kubectl } = tools as KubeTools;
  const run = promisify(execFile);
  let folder: string;
  beforeAll(async () => {
    folder = ownFolder('heddle-chart');
    // With what Heddle's programs write into nodes, which only they may once it is installed.
    const policies = await readFile(join(DEPLOY, 'annotation-policies.yaml'), 'utf8');
    const keys = ['heddle-node-allocations', 'heddle-node-facts'].flatMap((name) => {
      const [policy = ''] = policies.split(`  name: ${name}\n`)[1]?.split('\n---\n') ?? [];
      return [...policy.matchAll(/'(k8s\.ovn\.org\/[a-z0-9-]+)'/g)].map(([, key = '']) => key);
    });
    expect(keys.length).toBeGreaterThan(10);
    const annotations = Object.fromEntries(keys.map((key) => [key, 'x']));
    const { status, body } = await api.call('POST', '/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'leaving', annotations: { ...annotations, mine: 'stays' } },
    });
    expect(status, JSON.stringify(body)).toBe(201);
  });
  afterAll(async () => {
    await api[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const kubeconfig = `--kubeconfig=${api?.kubeconfig}`;

  /** Versions of the objects of deploy/ that the server has. */
  const there = async (): Promise<Readonly<Record<string, string>>> => {
    const found: Record<string, string> = {};
    for (const object of deployed()) {
      const path = `${objectPath(object)}/${object.metadata.name}`;
      const { status, body } = await api.call('GET', path);
      if (status === 200) found[path] = (body as KubeObject).metadata.resourceVersion ?? '';
    }
    return found;
  };

  test('nothing has a field that the server does not know', async () => {
    for (const object of deployed()) {
      const path = `${objectPath(object)}?fieldValidation=Strict&dryRun=All`;
      const { status, body } = await api.call('POST', path, object);
      expect(status, JSON.stringify(body)).toBe(201);
    }
  });

  test('kubectl apply -k creates everything, changes nothing the second time, and takes it off', async () => {
    const apply = ['apply', '--server-side', '-k', DEPLOY, kubeconfig];
    await run(kubectl, apply);
    const first = await there();
    expect(Object.keys(first)).toHaveLength(deployed().length);
    await run(kubectl, apply);
    expect(await there()).toEqual(first);
    await run(kubectl, ['delete', '-k', DEPLOY, '--wait=false', kubeconfig]);
    await expect.poll(there, { timeout: 10_000 }).toEqual({});
  });

  describe('docs/install.md takes all of it off, by commands that succeed', () => {
    // Nobody here runs a DaemonSet: it would be waited for in vain.
    const commands = removal.map((block) =>
      block
        .replace(/^ *kubectl .* rollout status .*$/m, '')
        .replaceAll(/ \\\n */g, ' ')
        .trim(),
    );
    beforeAll(async () => {
      expect(commands).toHaveLength(4);
      await run(kubectl, ['apply', '--server-side', '-k', DEPLOY, kubeconfig]);
    });

    // Each can be done again: a test that is tried once more finds what it had done.
    test.each(commands)('%s', async (block) => {
      await run('sh', ['-ec', block], {
        cwd: resolve(DEPLOY, '..'),
        env: {
          ...process.env,
          KUBECONFIG: api.kubeconfig,
          PATH: `${dirname(kubectl)}:${process.env['PATH'] ?? ''}`,
        },
      });
    });

    test('nothing is left, nor what was written into the nodes', async () => {
      expect(await there()).toEqual({});
      const left = (await api.call('GET', NODE)).body as KubeObject;
      expect(left.metadata.annotations).toEqual({ mine: 'stays' });
    });
  });

  test('helm install, upgrade and uninstall, in the namespace that is there', async () => {
    await run(kubectl, ['apply', '-f', join(DEPLOY, 'namespace.yaml'), kubeconfig]);
    // This server says of no version that it is it.
    const chart = join(folder, 'heddle');
    await cp(join(DEPLOY, 'helm/heddle'), chart, { recursive: true, dereference: true });
    const about = await readFile(join(chart, 'Chart.yaml'), 'utf8');
    await writeFile(join(chart, 'Chart.yaml'), about.replace(/^kubeVersion: .*$/m, ''));
    const common = ['heddle', chart, '--namespace=heddle', kubeconfig];
    await run(helm, ['install', ...common, '--disable-openapi-validation']);
    expect(Object.keys(await there())).toHaveLength(deployed().length);
    await run(helm, ['upgrade', ...common, '--set=mtu=1300', '--disable-openapi-validation']);
    const settings = '/api/v1/namespaces/heddle/configmaps/heddle-settings';
    expect((await api.call('GET', settings)).body).toMatchObject({ data: { HEDDLE_MTU: '1300' } });
    await run(helm, ['uninstall', 'heddle', '--namespace=heddle', kubeconfig]);
    expect(Object.keys(await there())).toEqual(['/api/v1/namespaces/heddle']);
  });
});
