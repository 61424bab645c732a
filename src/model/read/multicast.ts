/** Which namespaces ask for multicast between their pods, and whose addresses that needs (reference/topology.md §16.4). */
import { annotationOf } from '../../api/annotations/annotations.ts';
import type { Namespace } from '../../api/types.ts';
import type { ObjectReading } from './reading.ts';
import { selectionId, type PodSelection } from '../rules/selections.ts';

/** reference/api.md §7.3 */
export const MULTICAST_ENABLED = 'k8s.ovn.org/multicast-enabled';

/** What is no answer is none: multicast stays denied. */
export function multicastEnabled(
  namespace: Namespace,
): ObjectReading<{ readonly isEnabled: boolean }> {
  const text = annotationOf(namespace, MULTICAST_ENABLED);
  if (text === undefined || text === 'true' || text === 'false')
    return { kind: 'value', value: { isEnabled: text === 'true' } };
  return {
    kind: 'problem',
    message: `annotation ${MULTICAST_ENABLED}: ${JSON.stringify(text)} is neither true nor false; multicast of its pods stays denied`,
  };
}

/** All pods of a namespace: who may send to them. */
export function multicastSenders(namespace: string): PodSelection {
  const selection = { namespace, podSelector: {}, isLegacy: true };
  return { id: selectionId(selection), ...selection };
}
