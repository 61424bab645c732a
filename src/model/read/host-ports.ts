/** Pod objects → ports of the node that their containers ask for (`hostPort`). Pure. */
import { isWithoutNetworks } from '../../api/annotations/pod-annotations.ts';
import type { Pod, Protocol } from '../../api/types.ts';
import type { ObjectPart } from './object-kind.ts';

export interface HostPortRequest {
  readonly protocol: Protocol;
  readonly hostPort: number;
  readonly containerPort: number;
  /** Where it asks for one address; `0.0.0.0` and `::` are all of their family. */
  readonly hostIp?: string;
}

export interface HostPortRequests {
  readonly namespace: string;
  readonly name: string;
  /** When the pod was created, as the object says it. */
  readonly created: string;
  readonly ports: readonly HostPortRequest[];
}

function readHostPorts(pod: Pod): HostPortRequests | undefined {
  if (isWithoutNetworks(pod)) return undefined;
  const { name, namespace = '', creationTimestamp: created = '' } = pod.metadata;
  const ports = (pod.spec.containers ?? []).flatMap((container) =>
    (container.ports ?? []).flatMap(
      ({ hostPort, hostIP, containerPort, protocol }): HostPortRequest[] =>
        hostPort === undefined
          ? []
          : [
              {
                protocol,
                hostPort,
                containerPort,
                ...(hostIP === undefined ? {} : { hostIp: hostIP }),
              },
            ],
    ),
  );
  return ports.length === 0 ? undefined : { namespace, name, created, ports };
}

export const hostPortsPart = {
  table: 'hostPortRequests',
  read: (pod, { isOwn }) => (isOwn ? readHostPorts(pod) : undefined),
} as const satisfies ObjectPart<Pod, HostPortRequests>;
