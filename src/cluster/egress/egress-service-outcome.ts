/** What of an EgressService keeps it from having a node, in words of its events. Pure. */
import {
  isOfNetworkPool,
  NETWORK_LOAD_BALANCER,
} from '../../api/annotations/service-annotations.ts';
import { objectKey } from '../../api/objects.ts';
import { formatSelector } from '../../api/selectors.ts';
import { labelSelectorProblem } from '../../api/label-selector.ts';
import type { EgressService, LabelSelector, Node, Service } from '../../api/types.ts';
import { formatFieldError } from '../../api/validation/field-errors.ts';
import type { EgressProblem } from './egress-ip-outcome.ts';

/** Begins the label of the node that an EgressService leaves by (reference/egress.md §4.1). */
export const HOST_LABEL_PREFIX = 'egress-service.k8s.ovn.org/';
/** Characters that the name of a label has at most. */
const LONGEST_LABEL = 63;

/** The label of its node: `a-b/c` and `a/b-c` have the same. */
export const hostLabel = (key: string): string => `${HOST_LABEL_PREFIX}${key.replace('/', '-')}`;

/** A node that some EgressService leaves by. */
export const hostsEgressServices = ({ metadata: { labels = {} } }: Node): boolean =>
  Object.keys(labels).some((label) => label.startsWith(HOST_LABEL_PREFIX));

export const isByNetwork = ({ spec }: EgressService): boolean => spec?.sourceIPBy === 'Network';

export const nodeSelectorOf = ({ spec }: EgressService): LabelSelector => spec?.nodeSelector ?? {};

const NOTHING_LEAVES = 'its pods send nothing out';

export const EGRESS_SERVICES_OFF: EgressProblem = {
  reason: 'NotSupported',
  message:
    "EgressServices are off (enable-egress-service): this object is not in force, pods of its service keep their node's address as source",
};

/** Why no node is looked for; undefined where one is. `older`: another one with the same label. */
export function whyNoHost(
  egressService: EgressService,
  service: Service | undefined,
  older: string | undefined,
): EgressProblem | undefined {
  const { namespace, name } = egressService.metadata;
  const key = objectKey({ namespace, name });
  if (service === undefined)
    return {
      reason: 'NoService',
      message: `there is no Service ${key}: an EgressService is for the service of its name`,
    };
  if (service.spec.type !== 'LoadBalancer')
    return {
      reason: 'NoLoadBalancer',
      message: `Service ${key} has no load balancer (spec.type is not LoadBalancer): ${NOTHING_LEAVES}`,
    };
  if (isByNetwork(egressService)) return undefined;
  if (isOfNetworkPool(service))
    return {
      reason: 'NoLoadBalancer',
      message: `the address of Service ${key} is of its network's pool (spec.loadBalancerClass ${NETWORK_LOAD_BALANCER}), where nobody outside answers it: ${NOTHING_LEAVES}; take the object out, or give the service another class`,
    };
  const ingress = service.status?.loadBalancer?.ingress ?? [];
  if (!ingress.some(({ ip }) => ip !== undefined))
    return {
      reason: 'NoAddress',
      message: `the load balancer of Service ${key} has no address yet: until it has one ${NOTHING_LEAVES}`,
    };
  const selector = nodeSelectorOf(egressService);
  const detail = labelSelectorProblem(selector);
  if (detail !== undefined) {
    const path = ['spec', 'nodeSelector'];
    const error = { type: 'Invalid', path, value: selector, detail } as const;
    return { reason: 'InvalidSelector', message: `${formatFieldError(error)}; ${NOTHING_LEAVES}` };
  }
  const label = hostLabel(key);
  if (label.length - HOST_LABEL_PREFIX.length > LONGEST_LABEL)
    return {
      reason: 'NoLabel',
      message: `its node can't have the label ${label}, whose name is longer than ${LONGEST_LABEL} characters: ${NOTHING_LEAVES}; give the service, or its namespace, a shorter name`,
    };
  return older === undefined
    ? undefined
    : {
        reason: 'NoLabel',
        message: `the label ${label} of its node would also be that of EgressService ${older}, which is older: ${NOTHING_LEAVES}; give the service another name`,
      };
}

/** No node fits. */
export const noSuitableNode = (egressService: EgressService, isLocal: boolean): EgressProblem => ({
  reason: 'NoSuitableNode',
  message: `no suitable node for selector: ${formatSelector(nodeSelectorOf(egressService)) || 'all nodes'}${isLocal ? ' that has endpoints of the service (externalTrafficPolicy: Local)' : ''}: ${NOTHING_LEAVES}`,
});

/** Its node is one that nothing leaves, as no other fits. */
export const hostDown = (
  { metadata }: EgressService,
  host: string,
  why: string,
): EgressProblem => ({
  reason: 'EgressNetworkDown',
  message: `EgressService ${objectKey(metadata)}: nothing leaves its node ${host}: ${why}; no other node can have it: mend that, or let it select another node`,
});
