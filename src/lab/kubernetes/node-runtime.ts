/**
 * A stand-in for the kubelet of a lab's node: makes the pods that an API server has for it containers of its containerd, asks their readiness
 * probes, and reports their status. It runs on the node. No volumes, no restarts, no images but those that are there.
 */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { pods } from '../../api/kinds.ts';
import { objectKey, type ObjectKey, type ResourceKind } from '../../api/objects.ts';
import { timestamp } from '../../store/clock.ts';
import { Informer, type Change } from '../../store/informer.ts';
import type { Log } from '../../store/log.ts';
import { StoreError, type Store } from '../../store/store.ts';
import { WorkQueue, type Again } from '../../store/work-queue.ts';
import { LabError } from '../paths.ts';
import { command } from '../processes.ts';
import { BOX_IMAGE } from '../runtime/containerd.ts';
import { CriError, type ContainerRuntime } from '../runtime/cri.ts';
import { portNumber, type ContainerSpec, type LabPodObject, type Probe } from './objects.ts';
import {
  runningStatus,
  unsupportedFields,
  waitingStatus,
  type FoundContainer,
} from './pod-status.ts';

const podKind = pods as ResourceKind as ResourceKind<LabPodObject>;
const FIELD_MANAGER = 'heddle-lab-node-runtime';
const LOOK_EVERY_MS = 1000;
const TRY_AGAIN_MS = 5000;
/** As long as calls of the runtime may take. */
const LIMIT_MS = 300_000;
/** Kubernetes' default of `periodSeconds`: a container that has answered is asked again after this. */
const PROBE_PERIOD_SECONDS = 10;
/** gRPC's numbers: what is not there, and a runtime that does not answer. */
const NOT_FOUND = 5;
const UNAVAILABLE = 14;

/** Programs and the lab's servers, as on the node: the lab's own image has links that lead there. */
const MOUNTS = ['/usr', '/lab'].map((path) => ({ hostPath: path, containerPath: path }));

/** A pod that can't be as it wants: what its status says. */
class PodError extends LabError {
  readonly reason: string;

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

interface Run {
  readonly uid: string;
  readonly addresses: readonly string[];
  /** Container ids by name. */
  readonly containers: ReadonlyMap<string, string>;
  /** When a container last answered its probe, by name, in milliseconds of a monotonic clock. */
  readonly answered: Map<string, number>;
}

export interface NodeRuntimeOptions {
  readonly node: string;
  readonly store: Store;
  readonly runtime: ContainerRuntime;
  readonly log: Log;
}

/** Runs until `signal` aborts; containers go on then. */
export async function runNodeRuntime(
  options: NodeRuntimeOptions,
  signal: AbortSignal,
): Promise<void> {
  await new NodeRuntime(options).run(signal);
}

/** What is written to its status is no reason to look at a pod again. */
const isOther = ({ before, after }: Change<LabPodObject>): boolean =>
  before?.metadata.uid !== after?.metadata.uid ||
  before?.metadata.deletionTimestamp !== after?.metadata.deletionTimestamp ||
  !isDeepStrictEqual(before?.spec, after?.spec);

class NodeRuntime {
  readonly #options: NodeRuntimeOptions;
  readonly #runtime: ContainerRuntime;
  readonly #pods: Informer<LabPodObject>;
  readonly #queue: WorkQueue;
  readonly #runs = new Map<ObjectKey, Run>();
  readonly #reported = new Map<ObjectKey, string>();

  constructor(options: NodeRuntimeOptions) {
    this.#options = options;
    this.#runtime = options.runtime;
    const { log, node } = options;
    this.#pods = new Informer(podKind, {
      selection: { fields: { 'spec.nodeName': node } },
      onHandlerError: (error, { key }) => log.error({ error, object: key }, 'pod not looked at'),
    });
    this.#queue = new WorkQueue({
      reconcile: (key) => this.#reconcile(key),
      onFailure: ({ key, error }) => log.warn({ error, object: key }, 'pod is not as it should be'),
      parallelism: 10,
      limit: LIMIT_MS,
      backoff: { first: 500, longest: 5000 },
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#pods.onChange((change) => {
      if (isOther(change)) this.#queue.add(change.key);
    });
    const watching = this.#pods.run(this.#options.store, signal);
    await Promise.race([this.#pods.whenSynced, watching]);
    // Of pods that went meanwhile.
    for (const { metadata } of await this.#runtime.list()) this.#queue.add(objectKey(metadata));
    await Promise.all([watching, this.#queue.run(signal)]);
  }

  async #reconcile(key: ObjectKey): Promise<Again | void> {
    const pod = this.#pods.get(key);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) {
      await this.#end(key);
      this.#reported.delete(key);
      return;
    }
    try {
      await this.#report(key, pod, await this.#statusOf(key, pod));
      return { after: LOOK_EVERY_MS };
    } catch (error) {
      if (!(error instanceof PodError || error instanceof CriError)) throw error;
      // What runs goes on, for all we know.
      const isUnknown =
        error instanceof CriError &&
        (error.code === UNAVAILABLE || (error.code !== NOT_FOUND && this.#runs.has(key)));
      if (isUnknown) throw error;
      this.#options.log.warn({ object: key, error }, 'pod does not run');
      await this.#end(key);
      const reason = error instanceof PodError ? error.reason : 'RuntimeError';
      await this.#report(key, pod, waitingStatus(pod, reason, error.message));
      return { after: TRY_AGAIN_MS };
    }
  }

  async #statusOf(key: ObjectKey, pod: LabPodObject): Promise<object> {
    const unsupported = unsupportedFields(pod);
    if (unsupported.length > 0)
      throw new PodError(
        'NotSupported',
        `the lab's stand-in for a kubelet has no ${unsupported.join(', ')}: leave it out`,
      );
    const run = await this.#running(key, pod);
    const found = await Promise.all(
      pod.spec.containers.map((container) => this.#look(run, container, pod)),
    );
    return runningStatus(run.addresses, found);
  }

  async #report(key: ObjectKey, pod: LabPodObject, status: object): Promise<void> {
    const { uid = '' } = pod.metadata;
    const text = JSON.stringify([uid, status]);
    if (this.#reported.get(key) === text) return;
    try {
      // A pod of the same name that came meanwhile is another one.
      const patch = { metadata: { uid }, status };
      await this.#options.store.patchStatus(podKind, key, patch, { fieldManager: FIELD_MANAGER });
      this.#reported.set(key, text);
    } catch (error) {
      if (!(error instanceof StoreError) || !['not-found', 'conflict'].includes(error.code))
        throw error;
      this.#options.log.info({ object: key, error }, 'pod went before its status was written');
    }
  }

  /** The pod's containers: those that run since before this process was started, or new ones. */
  async #running(key: ObjectKey, pod: LabPodObject): Promise<Run> {
    const { uid = '' } = pod.metadata;
    const known = this.#runs.get(key);
    if (known?.uid === uid) return known;
    this.#runs.delete(key);
    const run = (await this.#found(key, uid, pod)) ?? (await this.#start(uid, pod));
    this.#runs.set(key, run);
    const [first] = run.containers.values();
    const { pid } = await this.#runtime.containerStatus(first ?? '');
    if (pid !== 0) await this.#name('add', key, String(pid));
    return run;
  }

  async #found(key: ObjectKey, uid: string, pod: LabPodObject): Promise<Run | undefined> {
    let found: Run | undefined;
    for (const { id, metadata, state } of await this.#runtime.list()) {
      if (objectKey(metadata) !== key) continue;
      const containers = await this.#runtime.listContainers(id);
      const isWhole = pod.spec.containers.every(({ name }) => containers.has(name));
      if (metadata.uid === uid && state === 'SANDBOX_READY' && isWhole) {
        const { addresses } = await this.#runtime.status(id);
        found = { uid, addresses, containers, answered: new Map() };
      } else await this.#remove(id);
    }
    return found;
  }

  async #start(uid: string, pod: LabPodObject): Promise<Run> {
    const { namespace = '', name } = pod.metadata;
    const config = { metadata: { namespace, name, uid }, hostname: name };
    const sandbox = await this.#runtime.run(config);
    const containers = new Map<string, string>();
    for (const container of pod.spec.containers)
      containers.set(container.name, await this.#startContainer(sandbox, config, container));
    const { addresses } = await this.#runtime.status(sandbox);
    return { uid, addresses, containers, answered: new Map() };
  }

  async #startContainer(
    sandbox: string,
    config: Parameters<ContainerRuntime['run']>[0],
    { name, image = '', command: program, args, env = [] }: ContainerSpec,
  ): Promise<string> {
    try {
      return await this.#runtime.start(sandbox, config, {
        name,
        image,
        ...(program === undefined ? {} : { command: program }),
        ...(args === undefined ? {} : { args }),
        envs: Object.fromEntries(env.map(({ name: variable, value = '' }) => [variable, value])),
        ...(image === BOX_IMAGE ? { mounts: MOUNTS } : {}),
      });
    } catch (error) {
      if (!(error instanceof CriError) || error.code !== NOT_FOUND) throw error;
      throw new PodError(
        'ErrImageNeverPull',
        `containers[${name}].image: '${image}' is not on node ${this.#options.node}, and the lab fetches none: use ${BOX_IMAGE}, or bring it there with 'ctr --namespace k8s.io images import' (${error.message})`,
        { cause: error },
      );
    }
  }

  /** Ends what runs of a pod, also what an attempt left that failed half way. */
  async #end(key: ObjectKey): Promise<void> {
    this.#runs.delete(key);
    for (const { id, metadata } of await this.#runtime.list())
      if (objectKey(metadata) === key) await this.#remove(id);
    await this.#name('remove', key);
  }

  async #remove(sandbox: string): Promise<void> {
    await this.#runtime.stop(sandbox);
    await this.#runtime.remove(sandbox);
  }

  /** Has the lab's `pod` command find it, or no more. */
  async #name(action: 'add' | 'remove', key: ObjectKey, ...pid: readonly string[]): Promise<void> {
    // Names of network namespaces are of all nodes.
    const beside = ['--target', '1', '--mount', '--net', '--'];
    const argv = ['/lab/bin/lab-containers', action, key.replace('/', '_'), ...pid];
    const { code, stderr } = await command('nsenter', [...beside, ...argv]);
    if (code === 0) return;
    this.#options.log.warn({ object: key }, `the lab's pod command does not know it: ${stderr}`);
  }

  async #look(run: Run, container: ContainerSpec, pod: LabPodObject): Promise<FoundContainer> {
    const { name, image = '', readinessProbe } = container;
    const id = run.containers.get(name) ?? '';
    const { state, exitCode, startedAt: nanoseconds } = await this.#runtime.containerStatus(id);
    const startedAt = timestamp(nanoseconds / 1e6);
    const found = { name, image, id, startedAt };
    if (state === 'CONTAINER_EXITED') return { ...found, exitCode, isReady: false };
    if (readinessProbe === undefined) return { ...found, isReady: true };
    const { periodSeconds = PROBE_PERIOD_SECONDS } = readinessProbe;
    const at = run.answered.get(name);
    if (at !== undefined && performance.now() < at + 1000 * periodSeconds)
      return { ...found, isReady: true };
    const isReady = await this.#answers(readinessProbe, id, run, pod);
    if (isReady) run.answered.set(name, performance.now());
    else run.answered.delete(name);
    return { ...found, isReady };
  }

  async #answers(probe: Probe, id: string, run: Run, { spec }: LabPodObject): Promise<boolean> {
    const { exec, tcpSocket, httpGet, timeoutSeconds = 1 } = probe;
    if (exec !== undefined) {
      try {
        return (await this.#runtime.exec(id, exec.command ?? [], timeoutSeconds)).code === 0;
      } catch (error) {
        if (error instanceof CriError) return false; // too slow, or there is no such program
        throw error;
      }
    }
    const port = portNumber(tcpSocket?.port ?? httpGet?.port ?? '', spec.containers);
    const [address] = run.addresses;
    if (port === undefined || address === undefined) return false;
    const limit = timeoutSeconds * 1000;
    return httpGet === undefined
      ? accepts(address, port, limit)
      : serves(address, port, httpGet.path ?? '/', limit);
  }
}

/** Whether somebody accepts a connection. */
async function accepts(host: string, port: number, limit: number): Promise<boolean> {
  const socket = connect({ host, port });
  const opened = new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  });
  const isOpen = await Promise.race([opened, sleep(limit, false)]);
  socket.destroy();
  return isOpen;
}

async function serves(host: string, port: number, path: string, limit: number): Promise<boolean> {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}${path}`;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(limit), redirect: 'manual' });
    await answer.body?.cancel();
    return answer.status >= 200 && answer.status < 400;
  } catch {
    return false; // nobody answers, or too late
  }
}
