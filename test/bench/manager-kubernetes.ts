/** What `heddle cluster` of a large cluster costs as a process on a real API server. */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { networkId } from '../../src/api/annotations/network-annotations.ts';
import { NODE_SUBNETS } from '../../src/api/annotations/node-annotations.ts';
import {
  networkAttachmentDefinitions,
  nodes as nodeKind,
  resourceKinds,
  zoneStatuses,
} from '../../src/api/kinds.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import type { ZoneStatus } from '../../src/api/zone-status.ts';
import { inParallel } from '../../src/store/in-parallel.ts';
import { KubernetesStore } from '../../src/store/kubernetes/kubernetes-store.ts';
import { layer3, namespace, pod } from '../support/cluster/cluster.ts';
import { startKubeApi, type KubeApi } from '../support/cluster/kube-api.ts';
import { servedDefinitions } from '../support/cluster/served-definitions.ts';
import { freePort } from '../support/run/free-port.ts';
import { command, type RunningCommand } from '../support/run/heddle.ts';
import { until } from '../support/run/until.ts';
import { processorTimeOf, type Benchmark, type Figure } from './benchmark.ts';
import { readyNodes } from './converge.ts';

const USER = { fieldManager: 'user' };
interface Size {
  readonly nodes: number;
  readonly networks: number;
}

const SIZES: readonly Size[] = [
  { nodes: 200, networks: 100 },
  { nodes: 1000, networks: 500 },
];
/** Writes of the user under way at a time. */
const WRITERS = 16;
/** The first pods of a network on so many nodes. */
const USING = 3;
const LIMIT = 1_200_000;
/** Milliseconds, and what a process that has nothing to do takes of the processor in them. */
const [LOOK, IDLE] = [5000, 150];

/** The manager's process, and what it says of itself. */
class Manager {
  readonly #process: RunningCommand;
  readonly #url: string;

  constructor(process: RunningCommand, port: number) {
    this.#process = process;
    this.#url = `http://127.0.0.1:${port}/metrics`;
  }

  get processor(): number {
    return processorTimeOf(this.#process.pid);
  }

  /** Resident memory in megabytes, now and at most. */
  memory(): readonly [now: number, peak: number] {
    const status = readFileSync(`/proc/${this.#process.pid}/status`, 'utf8');
    const of = (field: string): number =>
      Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
    return [of('VmRSS'), of('VmHWM')];
  }

  /** Milliseconds of the longest stall since this was last asked. */
  async stall(): Promise<number> {
    const answer = await fetch(this.#url, { headers: { authorization: 'Bearer admin' } });
    const text = await answer.text();
    const [, value] = /^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text) ?? [];
    if (value === undefined) throw new Error(`no metrics: ${answer.status} ${text.slice(0, 200)}`);
    return Number(value) * 1000;
  }

  /** Resolves when it has had nothing to do for a while. */
  async idle(): Promise<void> {
    await until(
      'a manager with nothing to do',
      async () => {
        const before = this.processor;
        await pause(LOOK);
        return this.processor - before < IDLE;
      },
      { limit: LIMIT, pause: 0 },
    );
  }

  end(): Promise<number | null> {
    return this.#process.end('SIGTERM');
  }
}

/** How often objects were written through the API server, leases and events left out. */
async function writes(api: KubeApi): Promise<number> {
  const { body } = await api.call('GET', '/metrics');
  const lines = String(body)
    .split('\n')
    .filter((line) => line.startsWith('apiserver_request_total{'))
    .filter((line) => /verb="(POST|PATCH|PUT|APPLY)"/.test(line))
    .filter((line) =>
      /resource="(nodes|network-attachment-definitions|userdefinednetworks|zonestatuses|pods)"/.test(
        line,
      ),
    );
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** Room for four thousand nodes. */
const tenant = (index: number): readonly KubeObject[] => [
  namespace(`t${index}`),
  layer3(`t${index}/net`, '100.96.0.0/12/24'),
];

async function start(api: KubeApi): Promise<Manager & AsyncDisposable> {
  const port = await freePort();
  const process = command(
    'cluster',
    `--kubeconfig=${api.kubeconfig}`,
    `--metrics-bind-address=127.0.0.1:${port}`,
    '--log-level=warn',
    '--cluster-subnets=10.128.0.0/9/24',
  );
  return Object.assign(new Manager(process, port), {
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  });
}

async function run(
  { nodes, networks }: Size,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  const api = await startKubeApi();
  if (typeof api === 'string') {
    progress(`not measured: ${api}`);
    return [];
  }
  await using cleanup = new AsyncDisposableStack();
  cleanup.use(api);
  await api.install(servedDefinitions);
  const user = new KubernetesStore({ connection: api.connection });
  cleanup.defer(() => user.close());
  const create = async (objects: readonly KubeObject[]): Promise<void> => {
    const failures = await inParallel(WRITERS, objects, async (object) => {
      const kind = resourceKinds.find((known) => known.kind === object.kind);
      if (kind === undefined) throw new Error(`unknown kind ${object.kind}`);
      await user.create(kind, object, USER);
    });
    if (failures[0] !== undefined) throw failures[0].error;
  };
  const names = Array.from({ length: nodes }, (_, index) => `n${index + 1}`);
  /** What the daemons of all nodes say of networks that they have because all nodes do. */
  const report = async (having: readonly string[]): Promise<void> => {
    const reports = having.map((name) => ({ name, state: 'Programmed' as const }));
    const status = { observedAt: new Date().toISOString(), networks: reports, problems: [] };
    const failures = await inParallel(WRITERS, names, async (name) => {
      await user.patchStatus(zoneStatuses, name, { status }, USER);
    });
    if (failures[0] !== undefined) throw failures[0].error;
  };
  const zone = (name: string): KubeObject => ({
    apiVersion: zoneStatuses.apiVersion,
    kind: zoneStatuses.kind,
    metadata: { name },
  });
  await create(readyNodes(nodes));
  await create(names.map((name) => zone(name) as ZoneStatus));
  await report([]);
  progress(`${nodes} nodes are there`);
  const figures: Figure[] = [];
  let manager = cleanup.use(await start(api));
  const measure = async (
    what: string,
    byUser: number,
    action: () => Promise<void>,
  ): Promise<void> => {
    const before = await writes(api);
    const from = manager.processor;
    await manager.stall();
    await action();
    await manager.idle();
    const [now, peak] = manager.memory();
    const of: readonly (readonly [string, number, Figure['unit']])[] = [
      ['processor time', manager.processor - from, 'ms'],
      ['writes of the manager', (await writes(api)) - before - byUser, 'writes'],
      ['longest stall, by the clock', await manager.stall(), 'ms'],
      ['resident memory afterwards', now, 'MB'],
      ['… and at most so far', peak, 'MB'],
    ];
    figures.push(...of.map(([name, value, unit]) => ({ name: `${what}: ${name}`, value, unit })));
    progress(
      `${what}: ${of.map(([name, value, unit]) => `${name} ${value.toFixed(0)} ${unit}`).join(', ')}`,
    );
  };
  await until(
    'metrics',
    () =>
      manager.stall().then(
        () => true,
        () => false,
      ),
    LIMIT,
  );
  await manager.idle();
  await measure(`${networks} networks at once`, networks, () =>
    create(Array.from({ length: networks }, (_, index) => tenant(index)).flat()),
  );
  const nads = await user.list(networkAttachmentDefinitions);
  if (nads.filter((nad) => networkId(nad).value !== undefined).length !== networks)
    throw new Error('not all networks have an id');
  const held = await user.get(nodeKind, 'n1');
  const everywhere = Object.keys(
    JSON.parse(held?.metadata.annotations?.[NODE_SUBNETS] ?? '{}') as object,
  );
  progress(`${everywhere.length} of the networks have a subnet on n1`);
  await measure('all nodes report them', nodes, () => report(everywhere));
  await measure('one network more', 1, () => create(tenant(networks)));
  await measure('one node more', 1, () => create(readyNodes(nodes + 1).slice(nodes)));
  await measure(`its first pods on ${USING} nodes`, USING, () =>
    create(names.slice(0, USING).map((name) => pod(`t${networks}/on-${name}`, name))),
  );
  await manager.end();
  manager = cleanup.use(await start(api));
  await until(
    'metrics',
    () =>
      manager.stall().then(
        () => true,
        () => false,
      ),
    LIMIT,
  );
  await measure('a manager that starts', 0, async () => undefined);
  const list = await user.list(nodeKind);
  const largest = Math.max(...list.map((one) => JSON.stringify(one).length));
  return [...figures, { name: 'largest Node', value: largest / 1000, unit: 'kB' }];
}

export const benchmarks: readonly Benchmark[] = SIZES.map((size) => ({
  name: `manager-kubernetes-${size.nodes}×${size.networks}`,
  title: `the cluster manager on a real API server, with ${size.nodes} nodes and ${size.networks} networks`,
  onlyAs: 'manager-kubernetes',
  run: (progress) => run(size, progress),
}));
