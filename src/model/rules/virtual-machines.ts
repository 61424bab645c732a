/** Virtual machines of KubeVirt, which move from one pod to another and keep their addresses (reference/topology.md §14). Pure. */
import { annotationOf } from '../../api/annotations/annotations.ts';
import type { Pod } from '../../api/types.ts';
import type { Attachment, VirtualMachine } from '../model.ts';

/** The label by which pods of KubeVirt name their virtual machine. */
const MACHINE_NAME = 'vm.kubevirt.io/name';
/** When the machine was seen running in the pod that it moved to. */
const ARRIVED = 'kubevirt.io/migration-target-ready-timestamp';

const nameOf = ({ metadata: { labels = {} } }: Pod): string | undefined =>
  Object.hasOwn(labels, MACHINE_NAME) ? labels[MACHINE_NAME] : undefined;

export function machineOf(pod: Pod): VirtualMachine | undefined {
  const name = nameOf(pod);
  if (name === undefined || name === '') return undefined;
  return { name, hasArrived: (annotationOf(pod, ARRIVED) ?? '') !== '' };
}

export const machineTexts = (pod: Pod): readonly unknown[] => [
  nameOf(pod),
  annotationOf(pod, ARRIVED),
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
