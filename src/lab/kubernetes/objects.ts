/** Objects of an API server as the lab's stand-ins for Kubernetes' own programs read and write them: fields that Heddle has no use for. Pure. */
import type { KubeObject } from '../../api/objects.ts';
import type { LabelSelector } from '../../api/types.ts';

export interface Probe {
  readonly exec?: { readonly command?: readonly string[] };
  readonly tcpSocket?: { readonly port: number | string };
  readonly httpGet?: { readonly port: number | string; readonly path?: string };
  readonly timeoutSeconds?: number;
  readonly periodSeconds?: number;
}

export interface ContainerSpec {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: object;
  }[];
  readonly envFrom?: readonly object[];
  readonly volumeMounts?: readonly object[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly readinessProbe?: Probe;
}

export interface LabPodObject extends KubeObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly hostNetwork?: boolean;
    readonly initContainers?: readonly object[];
    readonly containers: readonly ContainerSpec[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly podIPs?: readonly { readonly ip: string }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export interface LabNodeObject extends KubeObject {
  readonly spec?: { readonly unschedulable?: boolean };
}

export interface LabServiceObject extends KubeObject {
  readonly spec: {
    readonly type?: string;
    readonly selector?: LabelSelector['matchLabels'];
    readonly publishNotReadyAddresses?: boolean;
    readonly ports?: readonly {
      readonly name?: string;
      readonly protocol?: string;
      readonly port: number;
      readonly targetPort?: number | string;
    }[];
  };
}

/** Number of a port that a probe or a service may call by its name in the pod; undefined where no container has it. */
export function portNumber(
  port: number | string,
  containers: readonly ContainerSpec[],
): number | undefined {
  if (typeof port === 'number') return port;
  return containers.flatMap(({ ports = [] }) => ports).find(({ name }) => name === port)
    ?.containerPort;
}

export const isReady = ({ status }: LabPodObject): boolean =>
  status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true;

/** Pods that ended by themselves use nothing any more. */
export const hasEnded = ({ status }: LabPodObject): boolean =>
  status?.phase === 'Succeeded' || status?.phase === 'Failed';
