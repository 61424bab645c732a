/** Pods → what they say of their interfaces. */
import {
  isWithoutNetworks,
  openDefaultPorts,
  podNetworks,
  OPEN_DEFAULT_PORTS,
  POD_NETWORKS,
} from '../../api/annotations/pod-annotations.ts';
import { NETWORKS } from '../../api/annotations/network-selection.ts';
import { annotationOf, complaint } from '../../api/annotations/annotations.ts';
import { DEFAULT_NAD_KEY } from '../../api/nad/nad-key.ts';
import { pods } from '../../api/kinds.ts';
import type { Pod } from '../../api/types.ts';
import type { EndingPod, HostNetworkPod, NamedPort, PodFacts, PodInterface } from '../model.ts';
import {
  earlyArrival,
  machineOf,
  machineTexts,
  strayMachine,
  unnamedMachine,
} from '../rules/virtual-machines.ts';
import {
  readNetworkRequests,
  SELECTED_PRIMARY,
  type PodNetworkRequests,
} from '../rules/pod-plan.ts';
import { gatewayPodPart } from './external-routes.ts';
import { hostPortsPart } from './host-ports.ts';
import type { ObjectKind, ObjectPart } from './object-kind.ts';
import { optional, type ObjectReading, reading } from './reading.ts';
import { unheeded } from './unheeded.ts';

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
function readHostNetworkPod({ metadata, spec, status }: Pod): HostNetworkPod | undefined {
  const { name, namespace = '', uid = '' } = metadata;
  if (spec.hostNetwork !== true || status?.phase === 'Succeeded' || status?.phase === 'Failed')
    return undefined;
  return { namespace, name, uid };
}

/** A pod's interfaces in the order of its annotation, read in a round of the process; none for a pod without ports. */
function readInterfaces(pod: Pod, since: number): ObjectReading<readonly PodInterface[]> {
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

/** What a pod's interfaces are read from: while it stays the same, so do they. */
const interfaceTexts = (pod: Pod): readonly unknown[] => [
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

const requestsPart = {
  table: 'networkRequests',
  texts: interfaceTexts,
  read: readNetworkRequests,
} as const satisfies ObjectPart<Pod, PodNetworkRequests>;

const labelsPart = { table: 'pods', read: readPod } as const satisfies ObjectPart<Pod, PodFacts>;

/** Pods of this node that are being deleted. */
const endingPart = {
  table: 'endingPods',
  read: ({ metadata: { namespace = '', name, deletionTimestamp } }, { isOwn }) =>
    isOwn && deletionTimestamp !== undefined ? { namespace, name } : undefined,
} as const satisfies ObjectPart<Pod, EndingPod>;

const hostNetworkPart = {
  table: 'hostNetworkPods',
  read: (pod, { isOwn }) => (isOwn ? readHostNetworkPod(pod) : undefined),
} as const satisfies ObjectPart<Pod, HostNetworkPod>;

const NO_GATEWAYS =
  'has no gateways by annotations: write an AdminPolicyBasedExternalRoute that selects this pod';

/** What is wrong with a pod and harms nothing else of it. */
const CHECKS: readonly ((pod: Pod) => string | undefined)[] = [
  unheeded({
    'k8s.ovn.org/routing-namespaces': NO_GATEWAYS,
    'k8s.ovn.org/routing-network': NO_GATEWAYS,
    'k8s.ovn.org/bfd-enabled': NO_GATEWAYS,
  }),
  unnamedMachine,
  strayMachine,
  earlyArrival,
  (pod) => complaint(openDefaultPorts(pod)),
];

/** A sentence for each thing that is wrong with a pod and harms nothing else of it. */
export const checkPod = (pod: Pod): readonly string[] =>
  CHECKS.map((check) => check(pod)).filter((message) => message !== undefined);

export const podKind = {
  kind: pods,
  table: 'interfaces',
  texts: interfaceTexts,
  read: (pod, { round }) => readInterfaces(pod, round),
  onUnreadable: 'keep',
  also: [requestsPart, labelsPart, endingPart, hostNetworkPart, gatewayPodPart, hostPortsPart],
  nodeOf: ({ spec }) => spec.nodeName,
  // A virtual machine may move to another node or come from one.
  needsOtherPods: (interfaces) =>
    interfaces.some(({ machine, nadKey }) => machine && nadKey !== DEFAULT_NAD_KEY),
  checks: CHECKS,
} as const satisfies ObjectKind<Pod, readonly PodInterface[]>;
