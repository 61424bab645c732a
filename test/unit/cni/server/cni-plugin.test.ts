import { expect, test } from 'vitest';
import { networkAttachmentDefinitions, pods } from '../../../../src/api/kinds.ts';
import type { KubeObject } from '../../../../src/api/objects.ts';
import { joinRequest, type Variable } from '../../../../src/cni/protocol/request.ts';
import { CniPlugin, type CniPluginOptions } from '../../../../src/cni/server/cni-plugin.ts';
import { ContainerTurns } from '../../../../src/cni/server/container-turns.ts';
import { createLogger } from '../../../../src/process/logger.ts';
import { NETWORK_STATUS } from '../../../../src/api/annotations/network-status.ts';
import type { Informer, ObjectView } from '../../../../src/store/informer.ts';
import { Informers } from '../../../../src/store/informers.ts';
import { MemoryStore } from '../../../support/cluster/memory-store.ts';
import { apply, silent } from '../../../support/cluster/cluster.ts';
import { PodTraces } from '../../../../src/traces/pod-traces.ts';
import type { Span } from '../../../../src/traces/span.ts';
import { nad, pod } from '../../../support/zone/pods.ts';

const networks = [{ nadKey: 'default', address: '10.244.1.5/24', role: 'primary' as const }];

const VALUES: Readonly<Partial<Record<Variable, string>>> = {
  CNI_COMMAND: 'ADD',
  CNI_CONTAINERID: '0123456789abcdef'.repeat(4),
  CNI_NETNS: '/run/netns/web',
  CNI_IFNAME: 'eth0',
  CNI_ARGS: 'K8S_POD_NAMESPACE=blue;K8S_POD_NAME=web',
};
const ADD = joinRequest(
  (name) => VALUES[name] ?? '',
  '{"cniVersion":"1.0.0","name":"ovn-kubernetes","type":"heddle-cni"}',
);

test('while Open vSwitch does not run a node takes no pods: STATUS and ADD say why, and begin nothing', async () => {
  const began: string[] = [];
  const state = { down: undefined as string | undefined };
  const store = new MemoryStore();
  const informers = new Informers({ store, log: silent });
  const plugin = new CniPlugin({
    node: 'n1',
    pods: informers.of(pods),
    nads: informers.of(networkAttachmentDefinitions),
    statuses: { write: () => undefined },
    ports: {
      unavailable: () => undefined,
      available: async () => undefined,
      list: () => [],
    } as unknown as CniPluginOptions['ports'],
    links: {
      checkNamespace: () => undefined,
      create: async () => void began.push('links'),
    } as unknown as CniPluginOptions['links'],
    connections: { forget: async () => undefined, forgotten: async () => undefined },
    linkFactsOf: () => ({ mtu: 1400, isOnUnderlay: false }),
    problemsOf: () => [],
    switchDown: () => state.down,
    turns: new ContainerTurns(),
    log: createLogger('silent'),
    limit: 100,
  });
  const STATUS = joinRequest(
    (name) => ({ ...VALUES, CNI_COMMAND: 'STATUS' })[name] ?? '',
    '{"cniVersion":"1.1.0","name":"ovn-kubernetes","type":"heddle-cni"}',
  );
  const ask = (request: string) => plugin.answer(request, AbortSignal.timeout(10_000));
  expect(await ask(STATUS)).toMatchObject({ isError: false });
  state.down = 'ovs-vswitchd has not answered since noon';
  for (const [request, code] of [
    [STATUS, 50],
    [ADD, 11],
  ] as const) {
    const { isError, body } = await ask(request);
    expect(isError).toBe(true);
    expect(JSON.parse(body)).toMatchObject({ code, msg: state.down });
  }
  expect(began).toEqual([]);
  state.down = undefined;
  expect(await ask(STATUS)).toMatchObject({ isError: false });
  expect(JSON.parse((await ask(ADD)).body)).toMatchObject({
    msg: 'gave up waiting: there is no pod blue/web on this node',
  });
});

test('an ADD reads its own pod, however many pods and NADs there are', async () => {
  const others = Array.from({ length: 50 }, (_, index) => index);
  const store = new MemoryStore();
  await apply(
    store,
    pod('blue/web', 'n1', networks),
    ...others.map((index) => pod(`blue/other-${index}`, 'n1', networks)),
    ...others.map((index) => nad(`blue/nad-${index}`, `blue_nad-${index}`)),
  );
  const informers = new Informers({ store, log: silent });
  const stopping = new AbortController();
  const running = informers.run(stopping.signal);
  const podView = informers.of(pods);
  const nadView = informers.of(networkAttachmentDefinitions);
  await informers.synced([pods, networkAttachmentDefinitions]);
  let handed = 0;
  const counted = <T extends KubeObject>(view: Informer<T>): ObjectView<T> => ({
    ...view.until(stopping.signal),
    onChange: (handler, ...from) =>
      view.onChange(
        (change) => {
          handed += 1;
          handler(change);
        },
        ...from,
      ),
  });
  let isInstalled = false;
  const listeners = new Set<() => void>();
  const ports = {
    available: async () => undefined,
    list: () => [],
    add: async () => {
      setTimeout(() => {
        isInstalled = true;
        for (const listener of listeners) listener();
      });
    },
    get: () => ({ isInstalled, logicalPort: 'blue_web' }),
    onChange: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  } as unknown as CniPluginOptions['ports'];
  const plugin = new CniPlugin({
    node: 'n1',
    pods: counted(podView),
    nads: counted(nadView),
    statuses: { write: () => undefined },
    ports,
    links: {
      checkNamespace: () => undefined,
      create: async () => undefined,
      configure: () => undefined,
    } as unknown as CniPluginOptions['links'],
    connections: { forget: async () => undefined, forgotten: async () => undefined },
    linkFactsOf: () => ({ mtu: 1400, isOnUnderlay: false }),
    problemsOf: () => [],
    turns: new ContainerTurns(),
    log: createLogger('silent'),
  });
  const answer = await plugin.answer(ADD, AbortSignal.timeout(10_000));
  expect(answer).toMatchObject({ isError: false });
  expect(answer.body).toContain('10.244.1.5/24');
  expect(handed).toBe(0);
  stopping.abort();
  await running;
});

/** A plugin whose ports are in the data plane at once, and the spans that it records. */
async function traced(object: KubeObject, changes: Partial<CniPluginOptions> = {}) {
  const store = new MemoryStore();
  await apply(store, object);
  const informers = new Informers({ store, log: silent });
  const stopping = new AbortController();
  const running = informers.run(stopping.signal);
  const shared = {
    pods: informers.of(pods),
    nads: informers.of(networkAttachmentDefinitions),
  };
  await informers.synced([pods, networkAttachmentDefinitions]);
  const spans: Span[] = [];
  const plugin = new CniPlugin({
    ...shared,
    node: 'n1',
    statuses: { write: () => undefined },
    ports: {
      available: async () => undefined,
      list: () => [],
      add: async () => undefined,
      get: () => ({ isInstalled: true, logicalPort: 'blue_web' }),
      onChange: () => () => undefined,
      remove: async () => undefined,
    } as unknown as CniPluginOptions['ports'],
    links: {
      checkNamespace: () => undefined,
      create: async () => undefined,
      configure: () => undefined,
      list: () => [],
      remove: async () => undefined,
    } as unknown as CniPluginOptions['links'],
    connections: { forget: async () => undefined, forgotten: async () => undefined },
    linkFactsOf: () => ({ mtu: 1400, isOnUnderlay: false }),
    problemsOf: () => [],
    turns: new ContainerTurns(),
    log: createLogger('silent'),
    limit: 100,
    traces: new PodTraces({ ratio: 1, send: (span) => spans.push(span) }),
    seen: () => performance.now() - 5000,
    ...changes,
  });
  return {
    spans,
    add: () => plugin.answer(ADD, AbortSignal.timeout(10_000)),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await running;
    },
  };
}

test('an ADD is a span with its stages below it, and ends the start of the pod', async () => {
  await using bed = await traced(pod('blue/web', 'n1', networks));
  expect(await bed.add()).toMatchObject({ isError: false });
  const [add, ...rest] = bed.spans;
  const start = rest.at(-1);
  expect(add).toMatchObject({ name: 'CNI ADD', kind: 'server', parentId: start?.spanId });
  expect(add?.error).toBeUndefined();
  expect(start?.name).toBe('pod start');
  expect((add?.start ?? 0) - (start?.start ?? 0)).toBeGreaterThan(4000);
  expect(start?.end).toBe(add?.end);
  const stages = rest.slice(0, -1);
  expect(stages.map(({ name }) => name)).toEqual([
    'wait for Open vSwitch',
    'wait for addresses',
    'wait for old connections',
    'create interfaces',
    'add ports',
    'configure interfaces',
    'wait for ovn-installed',
  ]);
  for (const stage of stages) {
    expect(stage.parentId).toBe(add?.spanId);
    expect(stage.start).toBeGreaterThanOrEqual(add?.start ?? Infinity);
    expect(stage.end).toBeLessThanOrEqual(add?.end ?? 0);
  }
});

test('an ADD that fails says where and why, and is no end of the start', async () => {
  await using bed = await traced(pod('blue/web', 'n1', []));
  expect(await bed.add()).toMatchObject({ isError: true });
  expect(bed.spans.map(({ name, error }) => [name, error])).toEqual([
    ['CNI ADD', expect.stringContaining('gave up waiting')],
    ['wait for Open vSwitch', undefined],
    ['wait for addresses', expect.stringContaining('gave up waiting')],
  ]);
});

test('a pod that had its interfaces before starts no second time', async () => {
  const { metadata, ...object } = pod('blue/web', 'n1', networks);
  const annotations = { ...metadata.annotations, [NETWORK_STATUS]: '[]' };
  await using bed = await traced({ ...object, metadata: { ...metadata, annotations } });
  expect(await bed.add()).toMatchObject({ isError: false });
  expect(bed.spans.map(({ name }) => name)).not.toContain('pod start');
});
