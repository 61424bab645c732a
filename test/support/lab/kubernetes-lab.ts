/** A lab with a Kubernetes API server for end-to-end tests: what `kubectl` says to it, and what its pods see. */
import { stringify } from 'yaml';
import { runInside } from '../../../src/lab/exec.ts';
import { upWithKubernetes, type KubernetesOptions } from '../../../src/lab/kubernetes/cluster.ts';
import { kubeconfigFile } from '../../../src/lab/kubernetes/files.ts';
import { programPath } from '../../../src/lab/kubernetes/programs.ts';
import { down } from '../../../src/lab/lifecycle.ts';
import { LabError } from '../../../src/lab/paths.ts';
import { command } from '../../../src/lab/processes.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { endsWithUs, whyNoLab } from './lab.ts';

export const IMAGE = 'heddle.lab/box:1';
/** On which `webPod` answers. */
export const PORT = 8080;

/** Why it can't be had here; undefined where it can. */
export async function whyNoKubernetes(): Promise<string | undefined> {
  if (whyNoLab !== undefined) return whyNoLab;
  try {
    for (const program of ['etcd', 'apiserver', 'kubectl'] as const) await programPath(program);
    return undefined;
  } catch (error) {
    if (error instanceof LabError) return error.message;
    throw error;
  }
}

/** A pod that answers with its name, and says itself where it runs only when that matters. */
export function webPod(key: string, spec: object = {}): object {
  const [namespace = '', name = ''] = key.split('/');
  const ask = `/bin/nc -w 1 127.0.0.1 ${PORT} < /dev/null`;
  const main = {
    name: 'main',
    image: IMAGE,
    command: ['/usr/bin/python3', '/lab/bin/lab-serve', key, String(PORT)],
    readinessProbe: { exec: { command: ['/bin/sh', '-c', ask] } },
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels: { app: 'web', name } },
    spec: { containers: [main], ...spec },
  };
}

export interface FoundPod {
  readonly metadata: {
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly podIP?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly containerID?: string }[];
  };
}

export class KubernetesLab implements AsyncDisposable {
  readonly record: LabRecord;
  /** What `lab up` said last. */
  readonly lines: string[];
  readonly #options: KubernetesOptions;
  readonly #program: string;

  private constructor(
    record: LabRecord,
    lines: string[],
    options: KubernetesOptions,
    program: string,
  ) {
    this.record = record;
    this.lines = lines;
    this.#options = options;
    this.#program = program;
  }

  static async up(
    name: string,
    nodes: number,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<KubernetesLab> {
    const lines: string[] = [];
    const progress = (line: string): void => {
      lines.push(line);
    };
    const options = { name, kind: 'host', nodes, settings, progress } as const;
    await down(name, progress); // what a killed run left
    const record = await upWithKubernetes(options);
    endsWithUs(record);
    return new KubernetesLab(record, lines, options, await programPath('kubectl'));
  }

  /** `lab up --kubernetes` on the lab that is up. */
  async upAgain(): Promise<LabRecord> {
    this.lines.length = 0;
    return upWithKubernetes(this.#options);
  }

  down(): Promise<boolean> {
    return down(this.#options.name, this.#options.progress);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
  }

  kubectl(
    args: readonly string[],
    input?: string,
  ): Promise<{ code: number; stdout: string; stderr: string }> {
    const environment = { KUBECONFIG: kubeconfigFile(this.#options.name) };
    return command(this.#program, args, {
      environment,
      ...(input === undefined ? {} : { input }),
    });
  }

  /** What kubectl prints; throws what it complains of. */
  async done(args: readonly string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.kubectl(args, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  apply(...objects: readonly object[]): Promise<string> {
    return this.done(['apply', '-f', '-'], manifests(...objects));
  }

  async pod(key: string): Promise<FoundPod> {
    const [namespace = '', name = ''] = key.split('/');
    return JSON.parse(
      await this.done(['get', 'pod', '-n', namespace, name, '-o', 'json']),
    ) as FoundPod;
  }

  async ready(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const [namespace = '', name = ''] = key.split('/');
      const wait = ['wait', '-n', namespace, `pod/${name}`, '--for=condition=Ready'];
      await this.done([...wait, '--timeout=60s']);
    }
  }

  inPod(key: string, ...argv: string[]): Promise<{ code: number; stdout: string }> {
    return runInside(this.record, ['pod', key, ...argv]);
  }

  /** Who answers a pod on an address; empty where nobody does. */
  async answer(key: string, address: string, port = PORT): Promise<string> {
    const ask = `/bin/nc -w 2 ${address} ${port} < /dev/null`;
    return (await this.inPod(key, '/bin/sh', '-c', ask)).stdout.split(' ')[0] ?? '';
  }

  /** A pod's address on its primary network. */
  async address(key: string): Promise<string> {
    const show = ['/usr/bin/ip', '-o', '-4', 'address', 'show', 'ovn-udn1'];
    const { stdout } = await this.inPod(key, ...show);
    return /inet ([\d.]+)\//.exec(stdout)?.[1] ?? `no address: ${stdout}`;
  }
}

export const manifests = (...objects: readonly object[]): string =>
  objects.map((one) => stringify(one)).join('---\n');
