/** Namespaces → what holds for their pods. */
import { aclLogging } from '../../api/annotations/acl-logging.ts';
import { complaint } from '../../api/annotations/annotations.ts';
import { PRIMARY_NETWORK_LABEL } from '../../api/annotations/network-annotations.ts';
import { namespaces } from '../../api/kinds.ts';
import type { Namespace } from '../../api/types.ts';
import type { ClusterSettings, NamespaceFacts } from '../model.ts';
import { multicastEnabled } from './multicast.ts';
import type { ObjectKind } from './object-kind.ts';
import { found } from './reading.ts';
import { unheeded } from './unheeded.ts';

function readNamespace(
  namespace: Namespace,
  { features }: ClusterSettings,
  before: NamespaceFacts | undefined,
): NamespaceFacts {
  const { name, labels = {}, deletionTimestamp } = namespace.metadata;
  const isSeen = before !== undefined && before.ending !== 'unseen';
  const multicast = multicastEnabled(namespace);
  return {
    name,
    isLabelled: Object.hasOwn(labels, PRIMARY_NETWORK_LABEL),
    labels,
    logging: aclLogging(namespace).value ?? {},
    hasMulticast: features.multicast && multicast.kind === 'value' && multicast.value.isEnabled,
    ...(deletionTimestamp === undefined ? {} : { ending: isSeen ? 'seen' : 'unseen' }),
  };
}

function multicastProblem(namespace: Namespace): string | undefined {
  const multicast = multicastEnabled(namespace);
  return multicast.kind === 'problem' ? multicast.message : undefined;
}

export const namespaceKind = {
  kind: namespaces,
  table: 'namespaces',
  read: (namespace, { settings, before }) => found(readNamespace(namespace, settings, before)),
  onUnreadable: 'keep',
  needsOtherPods: ({ hasMulticast }) => hasMulticast,
  checks: [
    unheeded({
      'k8s.ovn.org/routing-external-gws':
        'has no gateways by annotations: write an AdminPolicyBasedExternalRoute that selects this namespace',
    }),
    (namespace) => complaint(aclLogging(namespace)),
    multicastProblem,
  ],
} as const satisfies ObjectKind<Namespace, NamespaceFacts>;
