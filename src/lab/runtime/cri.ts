/** A container runtime of a node, spoken to as kubelet does: CRI over gRPC on its unix socket. */
import { join } from 'node:path';
import { credentials, loadPackageDefinition, type ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { checkout, LabError } from '../paths.ts';

/** Whose sandbox it is: what the runtime tells the CNI plugin as K8S_POD_NAMESPACE, …_NAME and …_UID. */
interface SandboxMetadata {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly attempt?: number;
}

export interface SandboxConfig {
  readonly metadata: SandboxMetadata;
  readonly hostname: string;
  readonly logDirectory?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Sandbox {
  readonly id: string;
  readonly metadata: SandboxMetadata;
  readonly state: 'SANDBOX_READY' | 'SANDBOX_NOTREADY';
}

export interface ListedSandbox extends Sandbox {
  readonly annotations: Readonly<Record<string, string>>;
}

export interface SandboxStatus extends Sandbox {
  /** That of the interface whose name kubelet expects, then the others. */
  readonly addresses: readonly string[];
  /** Process id of the sandbox, inside the lab; 0 when it has ended. */
  readonly pid: number;
}

export interface ContainerConfig {
  readonly name: string;
  readonly attempt?: number;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly envs?: Readonly<Record<string, string>>;
  /** Folders of the node that the container may read. */
  readonly mounts?: readonly { readonly hostPath: string; readonly containerPath: string }[];
}

export interface ContainerStatus {
  readonly id: string;
  readonly state:
    | 'CONTAINER_CREATED'
    | 'CONTAINER_RUNNING'
    | 'CONTAINER_EXITED'
    | 'CONTAINER_UNKNOWN';
  /** Process id of its program, inside the lab; 0 when it does not run. */
  readonly pid: number;
  /** Nanoseconds since 1970. */
  readonly startedAt: number;
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
}

export interface ExecResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RuntimeCondition {
  readonly type: string;
  readonly status: boolean;
  readonly message: string;
}

/** What the runtime says is wrong, with gRPC's number of it. */
export class CriError extends LabError {
  readonly code: number;

  constructor(call: string, { code, details }: ServiceError) {
    super(`${call}: ${details}`);
    this.name = 'CriError';
    this.code = code;
  }
}

type Call = (
  request: object,
  options: { readonly deadline: number },
  callback: (error: ServiceError | null, response: unknown) => void,
) => void;
type Client = Readonly<Record<string, Call>> & { close(): void };
type ClientClass = new (
  address: string,
  security: ReturnType<typeof credentials.createInsecure>,
) => Client;

/** Read when it is needed: where Heddle is installed without its sources, no runtime is called, and other commands of the lab explain themselves. */
const definition = () =>
  loadSync(join(checkout, 'src/lab/runtime/cri.proto'), {
    defaults: true,
    enums: String,
    longs: Number,
  });

/** As kubelet has it for long calls. */
const LIMIT_MS = 240_000;

/** The process in what containerd says with `verbose`. */
const pidOf = (info: Readonly<Record<string, string>>): number =>
  (JSON.parse(info['info'] ?? '{}') as { pid?: number }).pid ?? 0;

export class ContainerRuntime implements Disposable {
  readonly #client: Client;

  /** `socket` is the path of the runtime's; it is connected to with the first call. */
  constructor(socket: string) {
    const { runtime } = loadPackageDefinition(definition()) as unknown as {
      runtime: { v1: { RuntimeService: ClientClass } };
    };
    this.#client = new runtime.v1.RuntimeService(`unix:${socket}`, credentials.createInsecure());
  }

  async conditions(): Promise<readonly RuntimeCondition[]> {
    const answer = await this.#call<{ status: { conditions: RuntimeCondition[] } }>('Status', {});
    return answer.status.conditions;
  }

  /** Makes a sandbox: the CNI plugin is called, and this resolves when the pod has its interfaces. */
  async run(config: SandboxConfig): Promise<string> {
    const answer = await this.#call<{ podSandboxId: string }>('RunPodSandbox', { config });
    return answer.podSandboxId;
  }

  /** Ends what runs in a sandbox and has the CNI plugin take its interfaces away. */
  async stop(podSandboxId: string): Promise<void> {
    await this.#call('StopPodSandbox', { podSandboxId });
  }

  async remove(podSandboxId: string): Promise<void> {
    await this.#call('RemovePodSandbox', { podSandboxId });
  }

  async list(): Promise<readonly ListedSandbox[]> {
    return (await this.#call<{ items: ListedSandbox[] }>('ListPodSandbox', {})).items;
  }

  async status(podSandboxId: string): Promise<SandboxStatus> {
    const { status, info } = await this.#call<{
      status: Sandbox & { network: { ip: string; additionalIps: { ip: string }[] } | null };
      info: Readonly<Record<string, string>>;
    }>('PodSandboxStatus', { podSandboxId, verbose: true });
    const first = status.network?.ip ?? '';
    const more = (status.network?.additionalIps ?? []).map(({ ip }) => ip);
    return { ...status, pid: pidOf(info), addresses: first === '' ? [] : [first, ...more] };
  }

  /** Makes a container in a sandbox and starts it; gives its id. */
  async start(
    sandbox: string,
    sandboxConfig: SandboxConfig,
    wanted: ContainerConfig,
  ): Promise<string> {
    const { name, attempt = 0, image, envs = {}, mounts = [], ...rest } = wanted;
    const config = {
      ...rest,
      metadata: { name, attempt },
      image: { image },
      envs: Object.entries(envs).map(([key, value]) => ({ key, value })),
      mounts: mounts.map((mount) => ({ ...mount, readonly: true })),
      logPath: sandboxConfig.logDirectory === undefined ? '' : `${name}.log`,
    };
    const request = { podSandboxId: sandbox, config, sandboxConfig };
    const container = await this.#call<{ containerId: string }>('CreateContainer', request);
    await this.#call('StartContainer', container);
    return container.containerId;
  }

  async stopContainer(containerId: string, seconds = 0): Promise<void> {
    await this.#call('StopContainer', { containerId, timeout: seconds });
  }

  async removeContainer(containerId: string): Promise<void> {
    await this.#call('RemoveContainer', { containerId });
  }

  /** Ids of a sandbox's containers, by their names. */
  async listContainers(podSandboxId: string): Promise<ReadonlyMap<string, string>> {
    const { containers } = await this.#call<{
      containers: { id: string; metadata: { name: string } }[];
    }>('ListContainers', { filter: { podSandboxId } });
    return new Map(containers.map(({ id, metadata }) => [metadata.name, id]));
  }

  async containerStatus(containerId: string): Promise<ContainerStatus> {
    const { status, info } = await this.#call<{
      status: Omit<ContainerStatus, 'pid'>;
      info: Readonly<Record<string, string>>;
    }>('ContainerStatus', { containerId, verbose: true });
    return { ...status, pid: pidOf(info) };
  }

  /** Runs a program in a container to its end. */
  async exec(containerId: string, cmd: readonly string[], seconds = 60): Promise<ExecResult> {
    const { stdout, stderr, exitCode } = await this.#call<{
      stdout: Buffer;
      stderr: Buffer;
      exitCode: number;
    }>('ExecSync', { containerId, cmd, timeout: seconds });
    return { code: exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  #call<T>(name: string, request: object): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const options = { deadline: Date.now() + LIMIT_MS };
    this.#client[name]?.(request, options, (error, response) => {
      if (error === null) resolve(response as T);
      else reject(new CriError(name, error));
    });
    return promise;
  }
}
