/** Pods → what they say of their interfaces. */
import {
  isWithoutNetworks,
  openDefaultPorts,
  podNetworks,
  OPEN_DEFAULT_PORTS,
  POD_NETWORKS,
} from '../../api/annotations/pod-annotations.ts';
import { NETWORKS } from '../../api/annotations/network-selection.ts';
import { annotationOf, explain } from '../../api/annotations/annotations.ts';
import { DEFAULT_NAD_KEY } from '../../api/nad/nad-key.ts';
import type { Pod } from '../../api/types.ts';
import type { HostNetworkPod, NamedPort, PodFacts, PodInterface } from '../model.ts';
import { machineOf, machineTexts } from '../rules/virtual-machines.ts';
import { SELECTED_PRIMARY } from '../rules/pod-plan.ts';
import { optional, type ObjectReading, reading } from './reading.ts';

/** A pod as selectors see it; undefined for one without ports. */
export function readPod(pod: Pod): PodFacts | undefined {
  if (isWithoutNetworks(pod)) return undefined;
  const { name, namespace = '', labels = {} } = pod.metadata;
  const namedPorts = (pod.spec.containers ?? []).flatMap(({ ports = [] }) =>
    ports.flatMap((port): NamedPort[] =>
      port.name === undefined
        ? []
        : [{ name: port.name, protocol: port.protocol, port: port.containerPort }],
    ),
  );
  return { namespace, name, node: pod.spec.nodeName ?? '', labels, namedPorts };
}

/** Undefined for a pod that has a network of its own, or is done with its work. */
export function readHostNetworkPod({ metadata, spec, status }: Pod): HostNetworkPod | undefined {
  const { name, namespace = '', uid = '' } = metadata;
  if (spec.hostNetwork !== true || status?.phase === 'Succeeded' || status?.phase === 'Failed')
    return undefined;
  return { namespace, name, uid };
}

/** A pod's interfaces in the order of its annotation, read in a round of the process; none for a pod without ports. */
export function readInterfaces(pod: Pod, since: number): ObjectReading<readonly PodInterface[]> {
  if (isWithoutNetworks(pod)) return { kind: 'value', value: [] };
  const { name, namespace = '', uid = '', creationTimestamp: created = '' } = pod.metadata;
  return reading(() => {
    const networks = optional(podNetworks(pod));
    if (networks === undefined) return [];
    const open = openDefaultPorts(pod);
    const machine = machineOf(pod);
    return [...networks].map(([nadKey, podNetwork]): PodInterface => ({
      namespace,
      pod: name,
      node: pod.spec.nodeName ?? '',
      podUid: uid,
      created,
      since,
      nadKey,
      macAddress: podNetwork.macAddress,
      addresses: podNetwork.addresses,
      ...(podNetwork.tunnelId === undefined ? {} : { tunnelId: podNetwork.tunnelId }),
      ...(machine === undefined ? {} : { machine }),
      // A malformed list opens nothing; the rest of the pod goes on (reference/topology.md §17.1).
      openDefaultPorts: nadKey === DEFAULT_NAD_KEY ? (open.value ?? []) : [],
    }));
  });
}

/** What is wrong with the pod's open ports, if anything: it harms them alone. */
export function openPortsProblem(pod: Pod): string | undefined {
  const [error] = openDefaultPorts(pod).errors;
  return error === undefined ? undefined : explain(error);
}

/** What a pod's interfaces are read from: while it stays the same, so do they. */
export const interfaceTexts = (pod: Pod): readonly unknown[] => [
  pod.metadata.uid,
  pod.spec.nodeName,
  pod.metadata.creationTimestamp,
  isWithoutNetworks(pod),
  annotationOf(pod, POD_NETWORKS),
  annotationOf(pod, OPEN_DEFAULT_PORTS),
  annotationOf(pod, NETWORKS),
  annotationOf(pod, SELECTED_PRIMARY),
  ...machineTexts(pod),
];
