/** Pods that have not all of their addresses yet, and on what: pure, from what pods carry. */
import { isWithoutNetworks } from '../api/annotations/pod-annotations.ts';
import { objectKey } from '../api/objects.ts';
import type { Pod } from '../api/types.ts';
import { lackingNetworks } from '../model/rules/lacking-networks.ts';

export interface WaitingPod {
  /** `<namespace>/<name>`. */
  readonly pod: string;
  /** `a primary network`, or NADs that it names. */
  readonly without: readonly string[];
  /** The node that it is on. */
  readonly node?: string;
  /** Why, where that can be seen from outside of its node. */
  readonly cause?: string;
}

/** Pods on a node that lack addresses, by key. NADs other than `ours` are the business of other plugins. */
export const waitingPods = (
  pods: readonly Pod[],
  ours: ReadonlySet<string>,
): readonly WaitingPod[] =>
  pods
    .filter((pod) => pod.spec.nodeName !== undefined && !isWithoutNetworks(pod))
    .map((pod) => ({
      pod: objectKey(pod.metadata),
      without: lackingNetworks(pod, ours),
      node: pod.spec.nodeName ?? '',
    }))
    .filter(({ without }) => without.length > 0)
    .toSorted((a, b) => (a.pod < b.pod ? -1 : 1));

/** What a pod waits for; where nothing is wrong its node is about to give it addresses. */
export const waitingText = ({ without, node = 'its node', cause }: WaitingPod): string =>
  `has no addresses yet on ${without.join(', ')}: ${cause ?? `${node} has not given them yet`}`;
