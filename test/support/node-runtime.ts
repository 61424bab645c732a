/**
 * A stand-in for the kubelet of a lab's node: makes the pods of an API server containers of the node's containerd, asks their readiness
 * probes, and reports their status. No volumes, no restarts, no resources.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { pods as podKind } from '../../src/api/kinds.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import { runInside } from '../../src/lab/exec.ts';
import { BOX_IMAGE, openRuntime } from '../../src/lab/runtime/containerd.ts';
import { CriError, type ContainerRuntime } from '../../src/lab/runtime/cri.ts';
import type { LabRecord } from '../../src/lab/state-file.ts';
import type { Store } from '../../src/store/store.ts';
import type { KubeApi } from './kube-api.ts';

const PAUSE_MS = 200;
/** Programs and the lab's servers, as on the node. */
const MOUNTS = ['/usr', '/lab'].map((path) => ({ hostPath: path, containerPath: path }));

interface Probe {
  readonly tcpSocket?: { readonly port: number };
  readonly exec?: { readonly command: readonly string[] };
}

interface Container {
  readonly name: string;
  readonly command?: readonly string[];
  readonly readinessProbe?: Probe;
}

interface Spec {
  readonly nodeName?: string;
  readonly hostNetwork?: boolean;
  readonly containers: readonly Container[];
}

interface Run {
  readonly uid: string;
  readonly addresses: readonly string[];
  /** Container ids by name. */
  readonly containers: ReadonlyMap<string, string>;
  reported: string;
}

export class NodeRuntime implements AsyncDisposable {
  readonly #lab: LabRecord;
  readonly #node: string;
  readonly #api: KubeApi;
  readonly #store: Store;
  readonly #runtime: ContainerRuntime;
  readonly #runs = new Map<string, Run>();
  readonly #stopping = new AbortController();
  readonly #loop: Promise<void>;
  /** Why a pod does not run yet, by its key: what a kubelet says in events. */
  readonly problems = new Map<string, string>();

  constructor(lab: LabRecord, node: string, api: KubeApi, store: Store) {
    this.#lab = lab;
    this.#node = node;
    this.#api = api;
    this.#store = store;
    this.#runtime = openRuntime(lab, node);
    this.#loop = this.#run();
  }

  /** Runs a program in a pod's first container. */
  async exec(key: string, ...command: string[]): Promise<{ code: number; stdout: string }> {
    const [container] = this.#runs.get(key)?.containers.values() ?? [];
    if (container === undefined) throw new Error(`pod ${key} does not run on ${this.#node}`);
    return this.#runtime.exec(container, command);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    this.#runtime[Symbol.dispose]();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const pods = await this.#store.list(podKind);
      const mine = pods.filter(({ spec }) => (spec as Spec).nodeName === this.#node);
      const uids = new Set(mine.map(({ metadata }) => metadata.uid));
      const gone = [...this.#runs].filter(([, { uid }]) => !uids.has(uid));
      await Promise.all(gone.map(([key]) => this.#end(key)));
      await Promise.all(mine.map((pod) => this.#sync(pod)));
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => {}); // being stopped
    }
  }

  async #sync(pod: KubeObject): Promise<void> {
    const { namespace = '', name, uid = '', deletionTimestamp } = pod.metadata;
    const key = `${namespace}/${name}`;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    try {
      if (deletionTimestamp !== undefined) {
        await this.#end(key);
        const body = { gracePeriodSeconds: 0, preconditions: { uid } };
        await this.#api.call('DELETE', path, body);
        return;
      }
      const { containers } = pod.spec as Spec;
      const run = this.#runs.get(key) ?? (await this.#start(key, uid, containers));
      this.#runs.set(key, run);
      this.problems.delete(key);
      const ready = await Promise.all(containers.map((one) => this.#isReady(run, one)));
      const status = statusOf(run, containers, ready);
      const text = JSON.stringify(status);
      if (text === run.reported) return;
      const answer = await this.#api.call('PATCH', `${path}/status`, { status });
      if (answer.status !== 200)
        throw new Error(`status of ${key}: ${JSON.stringify(answer.body)}`);
      run.reported = text;
    } catch (error) {
      if (!(error instanceof CriError)) throw error;
      this.problems.set(key, error.message);
      await this.#end(key);
    }
  }

  async #start(key: string, uid: string, containers: readonly Container[]): Promise<Run> {
    const [namespace = '', name = ''] = key.split('/');
    const config = { metadata: { namespace, name, uid }, hostname: name };
    const sandbox = await this.#runtime.run(config);
    const ids = new Map<string, string>();
    for (const { name: container, command } of containers)
      ids.set(
        container,
        await this.#runtime.start(sandbox, config, {
          name: container,
          image: BOX_IMAGE,
          mounts: MOUNTS,
          ...(command === undefined ? {} : { command }),
        }),
      );
    const { addresses } = await this.#runtime.status(sandbox);
    return { uid, addresses, containers: ids, reported: '' };
  }

  /** Ends what runs of a pod, also what an attempt left that failed half way. */
  async #end(key: string): Promise<void> {
    this.#runs.delete(key);
    for (const { id, metadata } of await this.#runtime.list()) {
      if (`${metadata.namespace}/${metadata.name}` !== key) continue;
      await this.#runtime.stop(id);
      await this.#runtime.remove(id);
    }
  }

  async #isReady(run: Run, { name, readinessProbe }: Container): Promise<boolean> {
    const container = run.containers.get(name) ?? '';
    if (readinessProbe?.exec !== undefined)
      return (await this.#runtime.exec(container, readinessProbe.exec.command)).code === 0;
    if (readinessProbe?.tcpSocket === undefined) return true;
    const where = `${run.addresses[0]}/${readinessProbe.tcpSocket.port}`;
    const ask = ['timeout', '1', 'bash', '-c', `< /dev/tcp/${where}`];
    return (await runInside(this.#lab, ['on', this.#node, ...ask])).code === 0;
  }
}

function statusOf(
  { addresses, containers }: Run,
  all: readonly Container[],
  ready: readonly boolean[],
): object {
  const condition = (type: string, is: boolean): object => ({
    type,
    status: is ? 'True' : 'False',
  });
  const isReady = ready.every(Boolean);
  return {
    phase: 'Running',
    podIP: addresses[0],
    podIPs: addresses.map((ip) => ({ ip })),
    conditions: [
      condition('PodScheduled', true),
      condition('Initialized', true),
      condition('ContainersReady', isReady),
      condition('Ready', isReady),
    ],
    containerStatuses: all.map(({ name }, index) => ({
      name,
      ready: ready[index],
      restartCount: 0,
      image: BOX_IMAGE,
      imageID: '',
      containerID: `containerd://${containers.get(name)}`,
      state: { running: {} },
    })),
  };
}
