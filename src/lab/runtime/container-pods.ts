/** Pods of a lab as containers: what a kubelet does, for pods that its manifests put on its nodes. */
import type { KubeObject } from '../../api/objects.ts';
import { telling } from '../../process/waiting.ts';
import { outputInside } from '../exec.ts';
import type { LabPod } from '../lab-pods.ts';
import { LabError, nodeNames } from '../paths.ts';
import {
  keepAttached,
  labPods,
  SERVER_PORT,
  type AttachOptions,
  type AttachResult,
} from '../pods.ts';
import type { LabRecord } from '../state-file.ts';
import { BOX_IMAGE, installPlugin, openRuntime, startContainerd } from './containerd.ts';
import { CriError, type ContainerRuntime, type ListedSandbox } from './cri.ts';

/** Of a sandbox: which networks its pod had, so that it is made anew when they change. */
const ATTACHMENT = 'heddle.lab/attachment';

/**
 * Makes the containers of a lab's nodes those of `pods`: each new one is a sandbox, for which containerd calls the CNI plugin, and a
 * container that answers with the pod's name; those of pods that are gone, or have other networks now, are removed; the rest is left
 * alone. Resolves when all have their interfaces, in the data plane. The daemons must run.
 */
export async function attachContainers(
  lab: LabRecord,
  pods: readonly KubeObject[],
  nads: readonly KubeObject[],
  { progress = () => undefined }: AttachOptions = {},
): Promise<AttachResult> {
  const attachments = labPods(lab, pods, nads);
  const uids = new Map(
    pods.map(({ metadata }) => [`${metadata.namespace}/${metadata.name}`, metadata.uid ?? '']),
  );
  const running = await runningContainers(lab);
  const done = await Promise.all(
    nodeNames(lab.nodes).map(async (node) => {
      const wanted = attachments.filter((pod) => pod.node === node);
      await telling(`containerd of ${node}`, progress, startContainerd(lab, node));
      await installPlugin(lab, node);
      using runtime = openRuntime(lab, node);
      const starting = new Set<string>();
      const attached = attachOnNode(runtime, wanted, uids, running, starting);
      return await telling(
        () => `pods of ${node}: ${[...starting].join(', ') || 'old ones end'}`,
        progress,
        attached,
      );
    }),
  );
  const processes = new Map([...running, ...done.flatMap(({ started }) => [...started])]);
  const lines = attachments.map(({ namespace }) => `${namespace} ${processes.get(namespace)}\n`);
  await outputInside(lab, ['lab-containers', 'name'], { input: lines.join('') });
  keepAttached(lab, attachments);
  const started = new Set(done.flatMap((node) => [...node.started.keys()]));
  return {
    attachments,
    attached: attachments.filter((pod) => started.has(pod.namespace)).map(({ name }) => name),
    detached: done.reduce((sum, { removed }) => sum + removed, 0),
  };
}

/** Process of each container that runs, by the name of its pod's network namespace. */
async function runningContainers(lab: LabRecord): Promise<ReadonlyMap<string, number>> {
  const lines = (await outputInside(lab, ['lab-containers', 'list'])).trim().split('\n');
  return new Map(
    lines
      .map((line) => line.split(' '))
      .flatMap(([name, pid]): [string, number][] =>
        name === undefined || pid === undefined ? [] : [[name, Number(pid)]],
      ),
  );
}

async function attachOnNode(
  runtime: ContainerRuntime,
  wanted: readonly LabPod[],
  uids: ReadonlyMap<string, string>,
  running: ReadonlyMap<string, number>,
  starting: Set<string>,
): Promise<{ readonly started: ReadonlyMap<string, number>; readonly removed: number }> {
  const kept = new Set<string>();
  let removed = 0;
  const isKept = (sandbox: ListedSandbox): boolean => {
    const attachment = sandbox.annotations[ATTACHMENT];
    const pod = wanted.find((one) => one.sandbox === attachment);
    if (pod === undefined || sandbox.state !== 'SANDBOX_READY' || !running.has(pod.namespace))
      return false;
    kept.add(pod.sandbox);
    return true;
  };
  for (const sandbox of await runtime.list()) {
    if (isKept(sandbox)) continue;
    await runtime.stop(sandbox.id);
    await runtime.remove(sandbox.id);
    removed += 1;
  }
  const started = await Promise.all(
    wanted
      .filter(({ sandbox }) => !kept.has(sandbox))
      .map(async (pod): Promise<[string, number]> => {
        starting.add(pod.name);
        const process = await startPod(runtime, pod, uids.get(pod.name) ?? '');
        starting.delete(pod.name);
        return [pod.namespace, process];
      }),
  );
  return { started: new Map(started), removed };
}

/** Process of a new pod's only container. A sandbox whose container does not start is removed when pods are attached next. */
async function startPod(
  runtime: ContainerRuntime,
  { name: key, sandbox: attachment }: LabPod,
  uid: string,
): Promise<number> {
  const [namespace = '', name = ''] = key.split('/');
  const config = {
    metadata: { namespace, name, uid },
    hostname: name,
    annotations: { [ATTACHMENT]: attachment },
  };
  try {
    const sandbox = await runtime.run(config);
    const container = await runtime.start(sandbox, config, {
      name: 'main',
      image: BOX_IMAGE,
      command: ['/usr/bin/python3', '/lab/bin/lab-serve', key, String(SERVER_PORT)],
      mounts: ['/usr', '/lab'].map((path) => ({ hostPath: path, containerPath: path })),
    });
    return (await runtime.containerStatus(container)).pid;
  } catch (error) {
    if (!(error instanceof CriError)) throw error;
    throw new LabError(`pod ${key} does not start: ${error.message}`, { cause: error });
  }
}
