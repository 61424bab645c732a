/** Virtual machines of KubeVirt, which move from one pod to another and keep their addresses (reference/topology.md §14). Pure. */
import { annotationOf } from '../../api/annotations/annotations.ts';
import type { Pod } from '../../api/types.ts';
import { isDnsSubdomain } from '../../api/validation/metadata.ts';
import type { Attachment, VirtualMachine } from '../model.ts';

/** The label of a pod of KubeVirt, whose value is what it runs. */
const KUBEVIRT = 'kubevirt.io';
const LAUNCHER = 'virt-launcher';
/** The annotation that names the machine. Label `vm.kubevirt.io/name` is its host name, which two machines may have. */
const MACHINE = 'kubevirt.io/domain';
/** When the machine was seen running in the pod that it moved to. */
const ARRIVED = 'kubevirt.io/migration-target-ready-timestamp';

const isLauncher = ({ metadata: { labels = {} } }: Pod): boolean =>
  Object.hasOwn(labels, KUBEVIRT) && labels[KUBEVIRT] === LAUNCHER;

export function machineOf(pod: Pod): VirtualMachine | undefined {
  const name = annotationOf(pod, MACHINE);
  if (!isLauncher(pod) || name === undefined || !isDnsSubdomain(name)) return undefined;
  return { name, hasArrived: saysArrived(pod) && !isPending(pod) };
}

const saysArrived = (pod: Pod): boolean => (annotationOf(pod, ARRIVED) ?? '') !== '';

/** No machine runs in it, whatever it says. */
const isPending = ({ status }: Pod): boolean => status?.phase === 'Pending';

/** What is wrong with a pod of KubeVirt that does not say which machine it runs. */
export function unnamedMachine(pod: Pod): string | undefined {
  if (!isLauncher(pod) || machineOf(pod) !== undefined) return undefined;
  const name = annotationOf(pod, MACHINE);
  const what =
    name === undefined ? 'is missing' : `${JSON.stringify(name)} is no name of an object`;
  return `it has label ${KUBEVIRT}=${LAUNCHER}, and annotation ${MACHINE} ${what}: it is taken for a pod without a virtual machine, whose addresses do not move and which DHCP does not answer; set the annotation to the name of its VirtualMachineInstance, as KubeVirt does`;
}

/** What is wrong with a pod that names a machine and is not one of KubeVirt's. */
export function strayMachine(pod: Pod): string | undefined {
  const named = [MACHINE, ARRIVED].find((key) => annotationOf(pod, key) !== undefined);
  // Other values are of what else KubeVirt runs.
  if (named === undefined || Object.hasOwn(pod.metadata.labels ?? {}, KUBEVIRT)) return undefined;
  return `annotation ${named} counts only beside label ${KUBEVIRT}=${LAUNCHER}, which KubeVirt writes: it is taken for a pod without a virtual machine; remove the annotation`;
}

/** What is wrong with a pod that says that its machine has arrived before anything runs in it. */
export const earlyArrival = (pod: Pod): string | undefined =>
  machineOf(pod) !== undefined && saysArrived(pod) && isPending(pod)
    ? `annotation ${ARRIVED} says that its virtual machine has arrived, and status.phase is Pending: nothing runs in it yet, and a pod that the machine leaves keeps its addresses; see why the pod does not start, or delete it to end the move`
    : undefined;

export const machineTexts = (pod: Pod): readonly unknown[] => [
  isLauncher(pod),
  annotationOf(pod, MACHINE),
  annotationOf(pod, ARRIVED),
  isPending(pod),
];

export type PodOfMachine = Pick<Attachment, 'namespace' | 'pod' | 'nadKey' | 'created' | 'machine'>;

/** True for interfaces of one machine, in two pods between which it moves. */
export const isSameMachine = (a: PodOfMachine, b: PodOfMachine): boolean =>
  a.namespace === b.namespace &&
  a.nadKey === b.nadKey &&
  a.machine !== undefined &&
  a.machine.name === b.machine?.name;

const isOlder = (a: PodOfMachine, b: PodOfMachine): boolean =>
  a.created === b.created ? a.pod < b.pod : a.created < b.created;

/**
 * Whether the interface is the open one of a machine that moves, which has the addresses: the one that it leaves until it has
 * arrived, then the other one. Undefined where OVN need not be told, and of a machine in more than two pods, which does not move.
 */
export function isOpenWhileMoving(
  self: PodOfMachine,
  others: readonly PodOfMachine[],
): boolean | undefined {
  const [other, ...more] = others;
  if (other === undefined || more.length > 0) return undefined;
  if (isOlder(other, self)) return self.machine?.hasArrived === true;
  return other.machine?.hasArrived === true ? false : undefined;
}

/** Whether DHCP answers the machine in this pod. Of several pods of one machine it is the open one's, else the oldest one's. */
export const isAnsweredHere = (self: PodOfMachine, others: readonly PodOfMachine[]): boolean =>
  others.length === 1
    ? isOpenWhileMoving(self, others) !== false
    : others.every((other) => isOlder(self, other));
