/** `heddle cluster` as processes on a real Kubernetes API server: killed, stopped, paused, cut off. */
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  namespaces,
  networkAttachmentDefinitions,
  nodes,
  userDefinedNetworks,
} from '../../../src/api/kinds.ts';
import { objectKey, type KubeObject } from '../../../src/api/objects.ts';
import type { Store } from '../../../src/store/store.ts';
import { CNI_TYPE } from '../../../src/api/nad/nad-config.ts';
import { networkId } from '../../../src/api/annotations/network-annotations.ts';
import { nodeId } from '../../../src/api/annotations/node-annotations.ts';
import { Informers } from '../../../src/store/informers.ts';
import { NodePodAddresses } from '../../../src/addresses/node-pod-addresses.ts';
import { KubernetesStore } from '../../../src/store/kubernetes/kubernetes-store.ts';
import { startApiProxy, type ApiProxy } from '../../support/cluster/api-proxy.ts';
import {
  apply,
  layer3,
  namespace,
  node,
  rawNad,
  silent,
  testSettings,
} from '../../support/cluster/cluster.ts';
import {
  checkNothingTwice,
  HISTORIES_LIMIT,
  inWords,
  play,
  runHistory,
  runs,
  straight,
  versions,
  visible,
  wipe,
} from '../../support/cluster/cluster-history.ts';
import { mixed, NODES } from '../../support/cluster/cluster-scenarios.ts';
import { command, type RunningCommand } from '../../support/run/heddle.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';
import { retryingStore } from '../../support/cluster/retrying-store.ts';
import { servedDefinitions } from '../../support/cluster/served-definitions.ts';
import { nadsOf } from '../../support/cluster/nads-of.ts';

const LEASE =
  '/apis/coordination.k8s.io/v1/namespaces/ovn-kubernetes/leases/heddle-cluster-manager';
const SETTINGS = ['--cluster-subnets=10.244.0.0/16/24', '--k8s-service-cidrs=10.96.0.0/16'];
const QUICK = [
  '--ha-election-lease-duration=3',
  '--ha-election-renew-deadline=2',
  '--ha-election-retry-period=1',
];
const WAIT = { timeout: 30_000, interval: 100 };

/** Ids of networks, by their NADs. */
const given = async (store: Store): Promise<readonly string[]> =>
  (await store.list(networkAttachmentDefinitions))
    .map((nad) => `${objectKey(nad.metadata)} ${networkId(nad).value}`)
    .sort();

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`killed cluster managers are not tested on a real API server: ${started}`);

describe.skipIf(typeof started === 'string')('cluster managers as processes', () => {
  const api = started as KubeApi;
  const store =
    typeof started === 'string'
      ? undefined
      : new KubernetesStore({
          connection: started.connection,
          watchTiming: { backoff: { first: 100, longest: 1000 } },
        });
  const objects = store as KubernetesStore;
  beforeAll(() => api.install(servedDefinitions));
  beforeEach(async () => {
    await wipe(objects);
    await api.call('DELETE', LEASE);
  });
  afterAll(async () => {
    await objects.close();
    await api[Symbol.asyncDispose]();
  });

  const manager = (...args: readonly string[]): RunningCommand =>
    command(
      'cluster',
      ...(args.some((arg) => arg.startsWith('--kubeconfig='))
        ? []
        : [`--kubeconfig=${api.kubeconfig}`]),
      '--metrics-bind-address=127.0.0.1:0',
      ...SETTINGS,
      ...args,
    );
  const holder = async (): Promise<string> => {
    const { body } = await api.call('GET', LEASE);
    return (body as { spec?: { holderIdentity?: string } }).spec?.holderIdentity ?? '';
  };
  const someHolder = async (other: string = ''): Promise<string> => {
    await expect.poll(holder, WAIT).not.toBe('');
    await expect.poll(holder, WAIT).not.toBe(other);
    return holder();
  };
  const allocated = async (): Promise<number> =>
    (await objects.list(networkAttachmentDefinitions)).filter(
      (nad) => networkId(nad).value !== undefined,
    ).length;
  const nodesWithId = async (): Promise<number> =>
    (await objects.list(nodes)).filter((one) => nodeId(one).value !== undefined).length;
  const networks = (first: number, count: number): Promise<void> =>
    apply(
      objects,
      ...Array.from({ length: count }, (_, index) => `t${first + index}`).flatMap((name) => [
        namespace(name),
        layer3(`${name}/net`, '10.100.0.0/16/24'),
      ]),
    );

  test('asked to stop, a leader is followed at once, not when its lease has run out', async () => {
    await using first = manager();
    const leader = await someHolder();
    await using _second = manager();
    await networks(0, 3);
    await expect.poll(allocated, WAIT).toBe(3);
    expect(await first.end('SIGTERM')).toBe(0);
    expect(await someHolder(leader)).not.toBe(leader);
    await networks(3, 3);
    await expect.poll(allocated, WAIT).toBe(6);
    await checkNothingTwice(objects);
  }, 120_000);

  test('an etcd that is put back to a backup under a manager that runs: networks are as they were then, what is new gets what nobody has', async () => {
    await using process = manager();
    await someHolder();
    await apply(objects, ...NODES.map((name) => node(name)));
    await networks(0, 4);
    await expect.poll(allocated, WAIT).toBe(4);
    const before = await given(objects);
    await api.backup();
    // What the backup does not know has ids now, one of them that of a network which the backup does know.
    const [udn] = await objects.list(userDefinedNetworks);
    await objects.delete(userDefinedNetworks, objectKey((udn as KubeObject).metadata));
    await expect.poll(allocated, WAIT).toBe(3);
    await networks(10, 4);
    await expect.poll(allocated, WAIT).toBe(7);
    await api.restore();
    await expect.poll(holder, WAIT).not.toBe('');
    await expect.poll(() => given(objects), WAIT).toEqual(before);
    await networks(20, 4);
    await expect.poll(allocated, WAIT).toBe(8);
    await checkNothingTwice(objects);
    expect(await given(objects)).toEqual(expect.arrayContaining([...before]));
    expect(await process.end('SIGTERM')).toBe(0);
  }, 120_000);

  describe('a leader that loses its lease in the middle of its work', () => {
    let proxy: ApiProxy;
    beforeEach(async () => {
      proxy = await startApiProxy(api);
      return () => proxy[Symbol.asyncDispose]();
    });
    /** Writes of the leader behind the proxy, without those of its lease. */
    const writes = (): readonly string[] =>
      proxy.requests.filter((line) => !line.startsWith('GET ') && !line.includes('/leases'));
    const behindProxy = async (): Promise<RunningCommand> =>
      manager(
        `--kubeconfig=${await api.kubeconfigFor(proxy.url)}`,
        '--ha-election-lease-duration=6',
        '--ha-election-renew-deadline=4',
        '--ha-election-retry-period=1',
      );

    /** Waits until the process says that it lost the lease. */
    const hasLost = (process: RunningCommand): Promise<void> =>
      expect
        .poll(() => process.log, WAIT)
        .toMatch(
          /"reason":"heddle-cluster-manager: leadership is lost: .*"msg":"leadership was lost; competes for it anew"/,
        );
    /** Ends the other one: the process that lost the lease has it again, has read everything anew, and works. */
    const leadsAgain = async (
      process: RunningCommand,
      identity: string,
      other: RunningCommand,
    ): Promise<void> => {
      expect(await other.end('SIGTERM')).toBe(0);
      await expect.poll(holder, WAIT).toBe(identity);
      await networks(20, 3);
      await expect.poll(allocated, WAIT).toBe(23);
      await checkNothingTwice(objects);
      const url = /"health":"([^"]*)"/.exec(process.log)?.[1] ?? '';
      const metrics = async (): Promise<string> => (await fetch(`${url}/metrics`)).text();
      for (const line of [
        /^heddle_cluster_leading 1$/m,
        /^heddle_cluster_leadership_lost_total [1-9]/m,
        /^ovnkube_clustermanager_num_egress_ips 0$/m,
      ])
        await expect.poll(metrics, WAIT).toMatch(line);
      const { body } = await api.call('GET', '/api/v1/namespaces/ovn-kubernetes/events');
      const { items } = body as { items: { message: string; count: number }[] };
      const [event] = items.filter(({ message }) => message === `${identity} became leader`);
      expect(event).toMatchObject({ reason: 'LeaderElection', involvedObject: { kind: 'Lease' } });
      expect(event?.count).toBeGreaterThan(1);
      expect(await process.end('SIGTERM')).toBe(0);
    };

    test('because it is cut off: it writes nothing more, competes anew, and nothing is given twice', async () => {
      await using first = await behindProxy();
      const leader = await someHolder();
      // It keeps the lease, however busy the machine is.
      await using second = manager();
      await apply(objects, ...NODES.map((name) => node(name)));
      const seen = Promise.withResolvers<void>();
      let isCut = false;
      // Its writes are done, but it does not hear of it.
      proxy.hold = (request) => {
        if (request.startsWith('GET ') || writes().length < 12) return undefined;
        isCut = true;
        seen.resolve();
        return new Promise(() => undefined);
      };
      proxy.intercept = (_target, response) => {
        if (isCut) response.destroy();
        return isCut;
      };
      const applying = networks(0, 20);
      await seen.promise;
      proxy.cut();
      expect(await someHolder(leader)).not.toBe(leader);
      const before = writes().length;
      isCut = false;
      proxy.hold = () => undefined;
      await applying;
      await expect.poll(allocated, WAIT).toBe(20);
      await expect.poll(nodesWithId, WAIT).toBe(NODES.length);
      await hasLost(first);
      expect(writes().slice(before)).toEqual([]);
      await checkNothingTwice(objects);
      await leadsAgain(first, leader, second);
    }, 120_000);

    test('because it was paused: it writes nothing when it wakes up, though it is in the middle of its work', async () => {
      await using first = await behindProxy();
      const leader = await someHolder();
      // It keeps the lease, however busy the machine is.
      await using second = manager();
      const paused = Promise.withResolvers<void>();
      const woken = Promise.withResolvers<void>();
      let isAsleep = false;
      proxy.hold = (request) => {
        if (request.startsWith('GET ') || (writes().length < 12 && !isAsleep)) return undefined;
        if (!isAsleep) first.send('SIGSTOP');
        isAsleep = true;
        paused.resolve();
        return woken.promise;
      };
      const applying = networks(0, 20);
      await paused.promise;
      expect(await someHolder(leader)).not.toBe(leader);
      const before = writes().length;
      proxy.hold = () => undefined;
      woken.resolve();
      first.send('SIGCONT');
      await hasLost(first);
      await applying;
      await expect.poll(allocated, WAIT).toBe(20);
      expect(writes().slice(before)).toEqual([]);
      await leadsAgain(first, leader, second);
      await checkNothingTwice(objects);
    }, 120_000);
  });

  /** Makes a network of one raw NAD, waits until the manager has given it an id, and takes it away again. */
  const comeAndGone = async (name: string): Promise<void> => {
    const config = {
      name,
      type: CNI_TYPE,
      topology: 'layer2',
      netAttachDefName: `watched/${name}`,
    };
    await apply(objects, rawNad(`watched/${name}`, { cniVersion: '1.1.0', ...config }));
    const id = async (): Promise<number | undefined> => {
      const nad = await objects.get(networkAttachmentDefinitions, `watched/${name}`);
      return nad === undefined ? undefined : networkId(nad).value;
    };
    await expect.poll(id, WAIT).toBeGreaterThan(0);
    await objects.delete(networkAttachmentDefinitions, `watched/${name}`);
  };

  /** What befalls the processes, so many milliseconds after the last thing. */
  const blows = fc.array(
    fc.record({
      after: fc.integer({ min: 0, max: 900 }),
      what: fc.constantFrom('kill 0', 'kill 1', 'stop 0', 'stop 1', 'kill the API server'),
    }),
    { maxLength: 6 },
  );
  const pauses = fc.array(fc.constantFrom(0, 0, 5, 50), { minLength: 1, maxLength: 17 });

  test(
    'killed with the API server at any time, two at once: the end is the one of a quiet day',
    async () => {
      const expected = await runHistory(new MemoryStore(), straight);
      const property = async (
        steps: Parameters<typeof inWords>[0]['steps'],
        between: readonly number[],
        befalls: readonly { after: number; what: string }[],
      ): Promise<void> => {
        await wipe(objects);
        const stopping = new AbortController();
        const informers = new Informers({ store: objects, log: silent });
        const registry = nadsOf(informers);
        const onNodes = NODES.map((name) =>
          new NodePodAddresses({
            informers,
            node: name,
            registry,
            settings: testSettings.cluster,
            log: silent,
            signal: stopping.signal,
          }).run(),
        );
        const following = informers.run(stopping.signal);
        const managers = [manager(...QUICK), manager(...QUICK)];
        try {
          const user = retryingStore(objects);
          const playing = play(user, steps, between);
          for (const { after, what } of befalls) {
            // When it happens is part of the history: nothing is waited for.
            await sleep(after);
            if (what === 'kill the API server') {
              await api.stop();
              await api.start();
              continue;
            }
            const index = Number(what.slice(-1));
            await managers[index]?.end(what.startsWith('kill') ? 'SIGKILL' : 'SIGTERM');
            managers[index] = manager(...QUICK);
          }
          await playing;
          const said = inWords({ steps, pauses: between, lives: [], removal: [] });
          await expect
            .poll(() => visible(user), { ...WAIT, message: `${said}\n${JSON.stringify(befalls)}` })
            .toEqual(expected);
          await checkNothingTwice(objects);
          await apply(user, namespace('watched'));
          await comeAndGone('before');
          const before = await versions(objects);
          // What was still to be done for older objects is done when a newer one is.
          await comeAndGone('after');
          expect(await versions(objects)).toEqual(before);
        } finally {
          stopping.abort();
          await Promise.all([
            following,
            ...onNodes,
            ...managers.map((one) => one[Symbol.asyncDispose]()),
          ]);
        }
      };
      await fc.assert(fc.asyncProperty(mixed, pauses, blows, property), {
        ...runs(1),
        endOnFailure: true,
      });
      expect(await objects.list(namespaces)).not.toEqual([]);
    },
    HISTORIES_LIMIT,
  );
});
