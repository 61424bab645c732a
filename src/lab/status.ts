/** What a lab consists of right now. */
import { outputInside } from './exec.ts';
import { hasKubernetes, kubeconfigFile } from './kubernetes/files.ts';
import { nodeSockets, stateFolder, type LabKind, type NodeSockets } from './paths.ts';
import type { LabRecord } from './state-file.ts';

interface NodeStatus {
  readonly name: string;
  readonly address: string;
  /** Process number inside the lab of each service; null when it does not run. */
  readonly services: Readonly<Record<string, number | null>>;
  /** Likewise of each daemon that was started: Heddle's, the container runtime. */
  readonly daemons: Readonly<Record<string, number | null>>;
  /** Present when the sockets can be reached from outside. */
  readonly sockets?: NodeSockets;
}

export interface LabStatus {
  readonly name: string;
  readonly kind: LabKind;
  readonly folder: string;
  readonly nodes: readonly NodeStatus[];
  readonly versions: Readonly<Record<string, string>>;
  /** Network namespaces of pods, `<namespace>_<pod>`. */
  readonly pods: readonly string[];
  /** Present when it has a Kubernetes API server. */
  readonly kubernetes?: {
    readonly kubeconfig: string;
    /** Processes beside the nodes, as those of a node. */
    readonly daemons: Readonly<Record<string, number | null>>;
  };
}

type Processes = Readonly<Record<string, number | null>>;

interface Reported {
  readonly nodes: readonly { name: string; services: Processes; daemons: Processes }[];
  readonly daemons: Processes;
  readonly versions: Record<string, string>;
  readonly pods: readonly string[];
}

/** Underlay address of node `n<i>`. */
export const nodeAddress = (node: string): string => `172.18.0.${10 + Number(node.slice(1))}`;

export async function labStatus(record: LabRecord): Promise<LabStatus> {
  const reported = JSON.parse(await outputInside(record, ['lab-status'])) as Reported;
  const folder = stateFolder(record.name);
  return {
    name: record.name,
    kind: record.kind,
    folder,
    nodes: reported.nodes.map(({ name, services, daemons }) => ({
      name,
      address: nodeAddress(name),
      services,
      daemons,
      ...(record.kind === 'host' ? { sockets: nodeSockets(folder, name) } : {}),
    })),
    versions: reported.versions,
    pods: reported.pods,
    ...(hasKubernetes(record.name)
      ? { kubernetes: { kubeconfig: kubeconfigFile(record.name), daemons: reported.daemons } }
      : {}),
  };
}

/** Whether the kernel of the nodes has VRFs. */
export async function hasVrfs(record: LabRecord): Promise<boolean> {
  const { versions } = await labStatus(record);
  return versions['vrf'] !== 'no';
}

const notRunning = (processes: Processes): string[] =>
  Object.entries(processes)
    .filter(([, pid]) => pid === null)
    .map(([name]) => name);

/** The status as people read it. */
export function statusText(status: LabStatus): string {
  const { versions } = status;
  const lines = [
    `lab '${status.name}' (${status.kind}): ${status.nodes.length} nodes, OVN ${versions['ovn'] ?? '?'}, Open vSwitch ${versions['ovs'] ?? '?'}, kernel ${versions['kernel'] ?? '?'}${versions['vrf'] === 'no' ? ' without VRFs' : ''}; state in ${status.folder}`,
  ];
  for (const node of status.nodes) {
    const dead = notRunning({ ...node.services, ...node.daemons });
    const daemons = Object.keys(node.daemons);
    lines.push(
      `  ${node.name}  ${node.address}  ${dead.length === 0 ? ['all services run', ...daemons].join(', ') : `NOT RUNNING: ${dead.join(', ')}`}` +
        (node.sockets === undefined ? '' : `  --nb unix:${node.sockets.nb}`),
    );
  }
  if (status.kubernetes !== undefined) {
    const dead = notRunning(status.kubernetes.daemons);
    lines.push(
      `  Kubernetes API: ${dead.length === 0 ? '' : `NOT RUNNING: ${dead.join(', ')}; `}export KUBECONFIG=${status.kubernetes.kubeconfig}`,
    );
  }
  lines.push(
    status.pods.length === 0
      ? '  no pods'
      : `  pods: ${status.pods.map((p) => p.replace('_', '/')).join(' ')}`,
  );
  return lines.join('\n');
}
