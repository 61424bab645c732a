/** What kubelet does with a container runtime, as far as sandboxes go; and what a meta-plugin does with a CNI plugin. */
import { setTimeout as sleep } from 'node:timers/promises';
import { runInside } from '../../../src/lab/exec.ts';
import { BOX_IMAGE } from '../../../src/lab/runtime/containerd.ts';
import {
  CriError,
  type ContainerRuntime,
  type ExecResult,
  type SandboxConfig,
} from '../../../src/lab/runtime/cri.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

export interface RunningPod {
  readonly sandbox: string;
  readonly config: SandboxConfig;
  /** Its only container, with the node's programs. */
  readonly container: string;
  /** Process id of the sandbox inside the lab. */
  readonly pid: number;
  /** What the runtime says are the pod's addresses. */
  readonly addresses: readonly string[];
  readonly exec: (...command: string[]) => Promise<ExecResult>;
}

export const uidOf = (pod: string): string => `uid-of-${pod.replace('/', '-')}`;

/** Removes the sandboxes that a pod has. */
export async function endPod(runtime: ContainerRuntime, pod: string): Promise<void> {
  for (const { id, metadata } of await runtime.list()) {
    if (`${metadata.namespace}/${metadata.name}` !== pod) continue;
    await runtime.stop(id);
    await runtime.remove(id);
  }
}

/** A sandbox, tried again with what failed removed before, as kubelet does it. */
export async function runSandbox(
  runtime: ContainerRuntime,
  pod: string,
  seconds = 60,
): Promise<{ readonly sandbox: string; readonly config: SandboxConfig }> {
  const [namespace = '', name = ''] = pod.split('/');
  const end = performance.now() + seconds * 1000;
  for (let attempt = 0; ; attempt += 1) {
    const metadata = { namespace, name, uid: uidOf(pod), attempt };
    const config = { metadata, hostname: name };
    try {
      return { sandbox: await runtime.run(config), config };
    } catch (error) {
      if (!(error instanceof CriError) || performance.now() > end) throw error;
      await endPod(runtime, pod).catch((failure: unknown) => {
        if (!(failure instanceof CriError)) throw failure; // the daemon may still be away
      });
      await sleep(200);
    }
  }
}

/** A pod with a container that has the node's programs and does nothing. */
export async function runPod(
  runtime: ContainerRuntime,
  pod: string,
  command: readonly string[] = ['/bin/sleep', 'infinity'],
): Promise<RunningPod> {
  const { sandbox, config } = await runSandbox(runtime, pod);
  const container = await runtime.start(sandbox, config, {
    name: 'main',
    image: BOX_IMAGE,
    command,
    mounts: [{ hostPath: '/usr', containerPath: '/usr' }],
  });
  const { pid, addresses } = await runtime.status(sandbox);
  return {
    sandbox,
    config,
    container,
    pid,
    addresses,
    exec: (...words) => runtime.exec(container, words),
  };
}

export interface PluginCall {
  readonly command: string;
  readonly container?: string;
  /** Path of the network namespace, as the node sees it. */
  readonly netns?: string;
  readonly device?: string;
  readonly pod?: string;
  readonly config: object;
}

export interface PluginAnswer {
  readonly code: number;
  /** Its JSON; undefined without output. */
  readonly body: unknown;
}

/** Calls the installed plugin on a node, as runtimes and meta-plugins do. */
export async function callPlugin(
  lab: LabRecord,
  node: string,
  { command, container, netns, device = 'eth0', pod, config }: PluginCall,
): Promise<PluginAnswer> {
  const [namespace, name] = (pod ?? '').split('/');
  const variables = {
    CNI_COMMAND: command,
    CNI_PATH: '/opt/cni/bin',
    CNI_IFNAME: device,
    ...(container === undefined ? {} : { CNI_CONTAINERID: container }),
    ...(netns === undefined ? {} : { CNI_NETNS: netns }),
    ...(pod === undefined
      ? {}
      : {
          CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${name};K8S_POD_UID=${uidOf(pod)}`,
        }),
  };
  const words = Object.entries(variables).map(([key, value]) => `${key}=${value}`);
  const { code, stdout } = await runInside(
    lab,
    ['on', node, 'env', ...words, '/opt/cni/bin/ovn-k8s-cni-overlay'],
    { input: JSON.stringify({ cniVersion: '1.0.0', name: 'ovn-kubernetes', ...config }) },
  );
  return { code, body: stdout.trim() === '' ? undefined : (JSON.parse(stdout) as unknown) };
}
