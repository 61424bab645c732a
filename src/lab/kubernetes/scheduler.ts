/** A stand-in for kube-scheduler: which node a pod gets that names none. Pure. */
import { objectKey, type ObjectKey } from '../../api/objects.ts';
import { matchesSelector } from '../../api/selectors.ts';
import { hasEnded, type LabNodeObject, type LabPodObject } from './objects.ts';

export type Placement =
  | { readonly pod: ObjectKey; readonly node: string }
  /** Why no node can have it. */
  | { readonly pod: ObjectKey; readonly problem: string };

/**
 * A node for each pod without one, by `nodeSelector` and `unschedulable` alone: the one with the fewest pods, of several the first by
 * name, the oldest pod first.
 */
export function placements(
  pods: readonly LabPodObject[],
  nodes: readonly LabNodeObject[],
): readonly Placement[] {
  const count = new Map(nodes.map(({ metadata }) => [metadata.name, 0]));
  for (const pod of pods) {
    const { nodeName = '' } = pod.spec;
    const before = count.get(nodeName);
    if (before !== undefined && !hasEnded(pod)) count.set(nodeName, before + 1);
  }
  return pods
    .filter(({ metadata, spec }) => isUnset(spec.nodeName) && isUnset(metadata.deletionTimestamp))
    .toSorted(byAge)
    .map((pod) => {
      const key = objectKey(pod.metadata);
      const { nodeSelector: matchLabels = {} } = pod.spec;
      const [node] = nodes
        .filter(({ spec }) => spec?.unschedulable !== true)
        .filter(({ metadata }) => matchesSelector({ matchLabels }, metadata.labels))
        .map(({ metadata }) => metadata.name)
        .toSorted((a, b) => (count.get(a) ?? 0) - (count.get(b) ?? 0) || byText(a, b));
      if (node === undefined)
        return {
          pod: key,
          problem: `none of ${nodes.length} nodes can have it: each is cordoned, or has not the labels of spec.nodeSelector`,
        };
      count.set(node, (count.get(node) ?? 0) + 1);
      return { pod: key, node };
    });
}

const isUnset = (text: string | undefined): boolean => text === undefined || text === '';

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const byAge = ({ metadata: a }: LabPodObject, { metadata: b }: LabPodObject): number =>
  byText(a.creationTimestamp ?? '', b.creationTimestamp ?? '') ||
  byText(objectKey(a), objectKey(b));
