/** The cluster manager on a real API server, over a bad network and beside what others broke. */
import * as fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { events, networkAttachmentDefinitions, nodes } from '../../../src/api/kinds.ts';
import { KubernetesStore } from '../../../src/store/kubernetes/kubernetes-store.ts';
import { startApiProxy, type ApiProxy } from '../../support/cluster/api-proxy.ts';
import {
  ALLOCATED,
  apply,
  conditions,
  CREATED,
  layer3,
  namespace,
  node,
  pod,
  rawNad,
} from '../../support/cluster/cluster.ts';
import {
  checkNothingTwice,
  HISTORIES_LIMIT,
  inWords,
  play,
  runHistory,
  runs,
  straight,
  visible,
  wipe,
} from '../../support/cluster/cluster-history.ts';
import { mixed, NODES } from '../../support/cluster/cluster-scenarios.ts';
import { startProcess } from '../../support/cluster/cluster-process.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import { servedDefinitions } from '../../support/cluster/served-definitions.ts';

const WAIT = { timeout: 60_000, interval: 100 };
const TIMING = {
  watchTiming: { page: 7, backoff: { first: 20, longest: 200 } },
  leaseTiming: { lease: 30_000, renew: 20_000, retry: 1000 },
};

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`the cluster manager is not tested on a bad network: ${started}`);

describe.skipIf(typeof started === 'string')('the cluster manager', () => {
  const api = started as KubeApi;
  let objects: KubernetesStore;
  beforeAll(async () => {
    await api.install(servedDefinitions);
    objects = new KubernetesStore({ connection: api.connection, namespace: 'default', ...TIMING });
  });
  beforeEach(() => wipe(objects));
  afterAll(async () => {
    await objects.close();
    await api[Symbol.asyncDispose]();
  });

  /** What befalls the next event of a watch. */
  const nuisances = fc.array(
    fc.constantFrom('none', 'none', 'none', 'twice', 'late', 'cut', 'expired'),
    { minLength: 7, maxLength: 40 },
  );

  /** Makes watches of the proxy repeat events, deliver them late, break, and find their version expired. */
  function annoy(proxy: ApiProxy, list: readonly string[]): void {
    let at = 0;
    let breaks = 12;
    let isExpired = false;
    const next = (): string | undefined => list[at++ % list.length];
    proxy.lag = () => (next() === 'late' ? 120 : 0);
    proxy.mangle = (line) => {
      const what = next();
      if (what === 'twice') return [line, line];
      if ((what === 'cut' || what === 'expired') && breaks > 0) {
        breaks -= 1;
        isExpired ||= what === 'expired';
        setImmediate(() => proxy.cut());
      }
      return [line];
    };
    proxy.intercept = (target, response) => {
      if (!isExpired || !target.includes('watch=1')) return false;
      isExpired = false;
      const status = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' };
      response.end(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
      return true;
    };
  }

  test(
    'with watches that repeat, lag, break and expire: the end is the one of a good network',
    async () => {
      const expected = await runHistory(new MemoryStore(), straight);
      const property = async (
        steps: Parameters<typeof play>[1],
        pauses: readonly number[],
        list: readonly string[],
      ): Promise<void> => {
        await wipe(objects);
        await using proxy = await startApiProxy(api);
        annoy(proxy, list);
        const viaProxy = new KubernetesStore({
          connection: { ...api.connection, server: proxy.url },
          namespace: 'default',
          ...TIMING,
        });
        try {
          await using _running = startProcess(viaProxy, NODES);
          await play(objects, steps, pauses);
          const message = `${inWords({ steps, pauses, lives: [], removal: [] })}\n${list.join()}`;
          await expect.poll(() => visible(objects), { ...WAIT, message }).toEqual(expected);
          await checkNothingTwice(objects);
        } finally {
          await viaProxy.close();
        }
      };
      const pauses = fc.array(fc.constantFrom(0, 0, 5, 40), { minLength: 1, maxLength: 17 });
      await fc.assert(fc.asyncProperty(mixed, pauses, nuisances, property), {
        ...runs(1),
        endOnFailure: true,
      });
    },
    HISTORIES_LIMIT,
  );

  test('beside 1000 NADs that can’t be read, one of 1 MB, and nodes and pods that others broke', async () => {
    const junk = 'x'.repeat(1_000_000);
    const broken = Array.from({ length: 1000 }, (_, index) =>
      rawNad(`bad/nad${index}`, '{"type": "ovn-k8s-cni-overlay", "name":'),
    );
    await apply(objects, namespace('bad'), namespace('good'));
    await apply(
      objects,
      rawNad('bad/big', `{"type":"ovn-k8s-cni-overlay","name":"big","topology":"${junk}"}`),
      node('broken', { 'k8s.ovn.org/node-subnets': '[[[', 'k8s.ovn.org/node-id': '1e9' }),
      pod('good/broken', 'broken', {
        'k8s.ovn.org/pod-networks': '{"good/net":{"ip_addresses":7}}',
      }),
    );
    const lanes = Array.from({ length: 16 }, async (_, lane) => {
      for (let index = lane; index < broken.length; index += 16)
        await apply(objects, ...broken.slice(index, index + 1));
    });
    await Promise.all(lanes);
    await using _running = startProcess(objects, ['n1']);
    await apply(objects, node('n1'), layer3('good/net', '10.20.0.0/16/24'), pod('good/web', 'n1'));
    await expect.poll(() => conditions(objects, 'good/net'), WAIT).toEqual([ALLOCATED, CREATED]);
    for (const [kind, key, content] of [
      [nodes, 'broken', /good_net/],
      [nodes, 'n1', /good_net/],
    ] as const)
      await expect
        .poll(async () => JSON.stringify(await objects.get(kind, key)), WAIT)
        .toMatch(content);
    const told = async (): Promise<boolean> =>
      (await objects.list(events)).some(
        (event) =>
          'involvedObject' in event &&
          JSON.stringify(event.involvedObject).includes('"name":"big"'),
      );
    await expect.poll(told, WAIT).toBe(true);
    expect(await objects.list(networkAttachmentDefinitions)).toHaveLength(1002);
    await checkNothingTwice(objects);
  }, 240_000);

  test('a namespace that is gone before what is in it: nothing counts as removed until it is', async () => {
    const NAD = '/apis/k8s.cni.cncf.io/v1/namespaces/blue/network-attachment-definitions/net';
    const UDN = '/apis/k8s.ovn.org/v1/namespaces/blue/userdefinednetworks/net';
    const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic';
    const policy = { metadata: { name: 'asks-for-the-namespace' } };
    const isThere = async (path: string): Promise<boolean> =>
      (await api.call('GET', path)).status === 200;
    await using proxy = await startApiProxy(api);
    const viaProxy = new KubernetesStore({
      connection: { ...api.connection, server: proxy.url },
      namespace: 'default',
      ...TIMING,
    });
    try {
      await using _running = startProcess(viaProxy, NODES);
      await apply(objects, namespace('blue'), node('n1'), layer3('blue/net', '10.20.0.0/16/24'));
      await expect.poll(() => conditions(objects, 'blue/net'), WAIT).toEqual([ALLOCATED, CREATED]);
      // Before a write that a policy is for, the server reads the namespace.
      await api.call('POST', `${POLICIES}ies`, {
        ...policy,
        spec: {
          matchConstraints: {
            resourceRules: [
              {
                apiGroups: ['k8s.cni.cncf.io'],
                apiVersions: ['v1'],
                operations: ['UPDATE'],
                resources: ['network-attachment-definitions'],
              },
            ],
          },
          validations: [{ expression: 'true' }],
        },
      });
      await api.call('POST', `${POLICIES}ybindings`, {
        ...policy,
        spec: { policyName: policy.metadata.name, validationActions: ['Deny'] },
      });
      // As somebody does who takes the finalizer off a namespace that does not go.
      await api.call('DELETE', '/api/v1/namespaces/blue');
      const touch = { metadata: { annotations: { touched: 'x' } } };
      await expect.poll(async () => (await api.call('PATCH', NAD, touch)).status, WAIT).toBe(404);
      await api.call('DELETE', UDN);
      const removals = (): number =>
        proxy.requests.filter((line) => line.startsWith(`PATCH ${NAD}?`)).length;
      const before = removals();
      await expect.poll(removals, WAIT).toBeGreaterThan(before + 1);
      expect([await isThere(NAD), await isThere(UDN)]).toEqual([true, true]);
      await apply(objects, namespace('blue'));
      await expect.poll(() => isThere(UDN), WAIT).toBe(false);
      expect(await isThere(NAD)).toBe(false);
    } finally {
      await viaProxy.close();
      for (const kind of ['ybindings', 'ies'])
        await api.call('DELETE', `${POLICIES}${kind}/${policy.metadata.name}`);
    }
  });
});
