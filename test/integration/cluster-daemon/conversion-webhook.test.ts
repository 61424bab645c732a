import { request } from 'node:https';
import { readFile } from 'node:fs/promises';
import { connect as connectPlain } from 'node:net';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { definitions } from '../../../src/api/validation/catalog.ts';
import { resourceKinds, userDefinedNetworks } from '../../../src/api/kinds.ts';
import {
  serveConversions,
  type ConversionWebhook,
} from '../../../src/cluster-daemon/conversion-webhook.ts';
import { systemClock } from '../../../src/store/clock.ts';
import { KubernetesStore } from '../../../src/store/kubernetes/kubernetes-store.ts';
import { command } from '../../support/run/heddle.ts';
import { until } from '../../support/run/until.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { freePort } from '../../support/run/free-port.ts';

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`definitions and conversion are not tested against a real API server: ${started}`);

interface Definition {
  readonly spec: {
    readonly conversion: {
      readonly webhook: { readonly clientConfig: { readonly caBundle: string } };
    };
  };
}

const NETWORKS = '/namespaces/tenant-a/userdefinednetworks';
const STABLE = `/apis/k8s.ovn.org/v1${NETWORKS}`;
const FLAT = `/apis/k8s.ovn.org/v1alpha1${NETWORKS}`;

const LEASES = '/apis/coordination.k8s.io/v1/leases';

const flat = (name: string, spec: object): object => ({
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'UserDefinedNetwork',
  metadata: { name, namespace: 'tenant-a' },
  spec,
});

describe.skipIf(typeof started === 'string')('definitions on an API server', () => {
  const api = started as KubeApi;
  const store =
    typeof started === 'string' ? undefined : new KubernetesStore({ connection: api.connection });
  const stopping = new AbortController();
  const failures: unknown[] = [];
  let first: ConversionWebhook | undefined;
  let second: ConversionWebhook | undefined;

  const serve = (): Promise<ConversionWebhook> =>
    serveConversions(
      {
        store: store as KubernetesStore,
        host: '127.0.0.1',
        port: 0,
        name: '127.0.0.1',
        namespace: 'heddle',
        clock: systemClock,
        random: Math.random,
        onFailure: (error) => failures.push(error),
        timing: { interval: 500, beforeSwitch: 2000, overlap: 4000 },
      },
      stopping.signal,
    );
  /** Points the definitions at our port: a test has no Service. */
  const pointAt = async ({ port }: ConversionWebhook): Promise<void> => {
    for (const name of ['userdefinednetworks', 'clusteruserdefinednetworks'])
      await store?.patch(
        {
          apiVersion: 'apiextensions.k8s.io/v1',
          kind: 'CustomResourceDefinition',
          plural: 'customresourcedefinitions',
          namespaced: false,
        },
        `${name}.k8s.ovn.org`,
        {
          spec: {
            conversion: {
              webhook: {
                clientConfig: { service: null, url: `https://127.0.0.1:${port}/convert` },
              },
            },
          },
        },
        { fieldManager: 'test' },
      );
  };

  beforeAll(async () => {
    await api.install(definitions);
    [first, second] = await Promise.all([serve(), serve()]);
    await pointAt(first);
  });
  afterAll(async () => {
    stopping.abort();
    await first?.[Symbol.asyncDispose]();
    await second?.[Symbol.asyncDispose]();
    await store?.close();
    await api[Symbol.asyncDispose]();
  });

  test('every kind of ours is accepted and served', async () => {
    for (const kind of resourceKinds.filter(({ apiVersion }) => apiVersion.includes('.ovn.org')))
      expect(await store?.list(kind), kind.kind).toEqual([]);
  });

  test('a flat network is stored as v1 and reads back as it was written', async () => {
    const spec = { topology: 'Layer3', role: 'Primary', subnets: ['10.20.0.0/16/24'] };
    const created = await api.call('POST', FLAT, flat('blue', spec));
    expect(created.body).toMatchObject({ apiVersion: 'k8s.ovn.org/v1alpha1', spec });
    const blue = await store?.get(userDefinedNetworks, 'tenant-a/blue');
    expect(blue?.spec).toEqual({
      topology: 'Layer3',
      layer3: { role: 'Primary', subnets: [{ cidr: '10.20.0.0/16', hostSubnet: 24 }] },
    });
    expect((await api.call('GET', `${FLAT}/blue`)).body).toMatchObject({ spec });
  });

  test('a v1 network can be read as flat, lists included', async () => {
    const spec = { topology: 'Layer2', layer2: { role: 'Secondary', subnets: ['10.9.0.0/24'] } };
    const green = { ...flat('green', spec), apiVersion: 'k8s.ovn.org/v1' };
    expect((await api.call('POST', STABLE, green)).status).toBe(201);
    const { body } = await api.call('GET', FLAT);
    const found = (body as { items: { metadata: { name: string }; spec: object }[] }).items;
    expect(found.find(({ metadata }) => metadata.name === 'green')?.spec).toMatchObject({
      topology: 'Layer2',
      role: 'Secondary',
      subnets: ['10.9.0.0/24'],
    });
  });

  test('a flat network that has no meaning is refused, with field and value', async () => {
    const spec = { topology: 'Layer3', role: 'Primary', subnets: ['10.20.0.0/16/xyz'] };
    const refused = await api.call('POST', FLAT, flat('bad', spec));
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect((refused.body as { message: string }).message).toMatch(/subnets.*10\.20\.0\.0\/16\/xyz/);
  });

  test('replicas share one certificate; either of them converts', async () => {
    if (second !== undefined) await pointAt(second);
    await expect
      .poll(async () => (await api.call('GET', `${FLAT}/blue`)).status, { timeout: 10_000 })
      .toBe(200);
    expect(failures).toEqual([]);
  });

  test('no conversion fails while the certificate is replaced, and the old one is not trusted for ever', async () => {
    const path = '/api/v1/namespaces/heddle/secrets/heddle-conversion';
    const bundle = async (): Promise<readonly string[]> => {
      const { body } = await api.call(
        'GET',
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/userdefinednetworks.k8s.ovn.org',
      );
      const { caBundle } = (body as Definition).spec.conversion.webhook.clientConfig;
      return Buffer.from(caBundle, 'base64').toString().match(/BEGIN/g) ?? [];
    };
    const shown = (port = 0): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
          resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? '');
          socket.destroy();
        }).on('error', reject);
      });
    const before = await Promise.all([shown(first?.port), shown(second?.port)]);
    expect(before[0]).toBe(before[1]);
    await until('one certificate to be trusted', async () => (await bundle()).length === 1, 20_000);
    let [converted, overlapped] = [0, 0];
    const over = new AbortController();
    const converting = (async () => {
      while (!over.signal.aborted) {
        // Each from one replica, then from the other.
        const { status, body } = await api.call('GET', `${FLAT}/blue`);
        expect(status, JSON.stringify(body)).toBe(200);
        converted += 1;
        if (converted % 40 === 0 && first !== undefined && second !== undefined)
          await pointAt(converted % 80 === 0 ? first : second);
        if ((await bundle()).length === 2) overlapped += 1;
      }
    })();
    await api.call('DELETE', path);
    await until(
      'both replicas to show another certificate',
      async () => {
        const [one, other] = await Promise.all([shown(first?.port), shown(second?.port)]);
        return one === other && one !== before[0];
      },
      30_000,
    );
    await until('one certificate to be trusted', async () => (await bundle()).length === 1, 20_000);
    over.abort();
    await converting;
    expect(overlapped).toBeGreaterThan(0);
    expect(converted).toBeGreaterThan(20);
  }, 90_000);

  test('what is no review is refused and harms nothing', async () => {
    const post = (path: string, body: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const url = `https://127.0.0.1:${second?.port}${path}`;
        const outgoing = request(url, { method: 'POST', rejectUnauthorized: false }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        outgoing.on('error', reject).end(body);
      });
    expect(await post('/convert', 'not JSON')).toBe(400);
    expect(await post('/convert', '[]')).toBe(400);
    expect(await post('/convert', '{"request": {"uid": 5}}')).toBe(400);
    expect(await post('/other', '{}')).toBe(404);
    const oddObjects = {
      request: { uid: 'u', desiredAPIVersion: 'k8s.ovn.org/v1', objects: [null] },
    };
    expect(await post('/convert', JSON.stringify(oddObjects))).toBe(200);
    expect((await api.call('GET', `${FLAT}/blue`)).status).toBe(200);
  });

  test('a cluster manager that leads goes on, alive and within its memory, whatever anybody sends to its port', async () => {
    // Their certificate names another host: they would take turns with this one.
    await first?.[Symbol.asyncDispose]();
    await second?.[Symbol.asyncDispose]();
    const port = await freePort();
    await using manager = command(
      'cluster',
      `--kubeconfig=${api.kubeconfig}`,
      '--cluster-subnets=10.244.0.0/16/24',
      '--k8s-service-cidrs=10.96.0.0/16',
      '--metrics-bind-address=127.0.0.1:0',
      `--conversion-bind-address=127.0.0.1:${port}`,
    );
    const url = `https://127.0.0.1:${port}/convert`;
    const post = (body: Buffer | string, chunked = false): Promise<number> =>
      new Promise((resolve) => {
        const headers = chunked ? { 'transfer-encoding': 'chunked' } : {};
        const options = { method: 'POST', rejectUnauthorized: false, agent: false, headers };
        const outgoing = request(url, options, (response) => {
          response.resume().on('close', () => resolve(response.statusCode ?? 0));
        });
        // Who sends too much is cut off.
        outgoing.on('error', () => resolve(0)).end(body);
      });
    await until('the port', async () => (await post('{}')) === 400, {
      limit: 60_000,
      output: () => manager.log,
    });
    const health = /"health":"(?<url>[^"]+)"/.exec(manager.log)?.groups?.['url'] ?? '';
    const renewed = async (): Promise<string> => {
      const { body } = await api.call('GET', LEASES);
      const { items } = body as { items: readonly { spec: { renewTime?: string } }[] };
      return items.map(({ spec }) => spec.renewTime ?? '').join();
    };
    await until('the lease', async () => (await renewed()) !== '', 30_000);
    const before = await renewed();

    const over = new AbortController();
    const waits: number[] = [];
    const asking = (async () => {
      while (!over.signal.aborted) {
        const began = performance.now();
        expect((await fetch(`${health}/healthz`)).status).toBe(200);
        waits.push(performance.now() - began);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })();
    const large = Buffer.alloc(63 * 1024 * 1024, '[');
    const nested = Buffer.from(`[${'[],'.repeat(5 * 1024 * 1024)}0]`);
    const slow = Array.from({ length: 200 }, () =>
      connectPlain(port, '127.0.0.1').on('error', () => undefined),
    );
    for (const socket of slow) socket.write('\u0016\u0003');
    const answers = [
      await post(large),
      await post(large, true),
      ...(await Promise.all(Array.from({ length: 3 }, () => post(nested)))),
      ...(await Promise.all(Array.from({ length: 3 }, () => post(nested, true)))),
    ];
    expect(answers).not.toContain(200);
    for (const socket of slow) socket.destroy();
    await until('an answer after it', async () => (await post('{}')) === 400, 30_000);
    await until('the lease to be renewed', async () => (await renewed()) !== before, 30_000);
    over.abort();
    await asking;
    expect(Math.max(...waits)).toBeLessThan(5000);
    expect(manager.log).not.toContain('leadership was lost');
    const status = await readFile(`/proc/${manager.pid}/status`, 'utf8');
    const peak = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
    // deploy/ gives it a GiB.
    expect(peak).toBeLessThan(900);
    console.info(
      `conversion attack: peak ${Math.round(peak)} MiB, /healthz after ${Math.round(Math.max(...waits))} ms at most`,
    );
  }, 180_000);
});
