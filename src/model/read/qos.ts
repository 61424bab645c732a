/** What EgressQoS and NetworkQoS ask for, in one shape: which packets of which pods get a mark, and how many of them pass (reference/topology.md §18.4). */
import { canonicalCidr, parsePrefix } from '../../allocators/addresses.ts';
import { egressQoSes, networkQoSes } from '../../api/kinds.ts';
import type { EgressQoS, LabelSelector, NetworkQoS } from '../../api/types.ts';
import type { FieldError, FieldPath } from '../../api/validation/field-errors.ts';
import { blockErrors, selectorErrors } from '../../api/validation/network-policies.ts';
import type { PodSelection } from '../rules/selections.ts';
import type { ObjectKind } from './object-kind.ts';
import {
  readProtocol,
  refusal,
  selectionOf,
  type AddressBlock,
  type PolicyPort,
} from './policies.ts';
import type { ObjectReading } from './reading.ts';

type QosDestination =
  | { readonly kind: 'block'; readonly block: AddressBlock }
  | { readonly kind: 'pods'; readonly selection: PodSelection };

export interface QosRule {
  /** Pods of the object's namespace whose packets are meant. */
  readonly pods: PodSelection;
  readonly dscp: number;
  /** Kilobits per second that pass of all these packets of one node; no limit if undefined. */
  readonly rate?: number;
  /** Kilobits that may come at once. */
  readonly burst?: number;
  /** Everywhere, if it names nothing. */
  readonly to: readonly QosDestination[];
  /** All of them, if it names none. */
  readonly ports: readonly PolicyPort[];
}

/** Networks by labels: of ClusterUserDefinedNetworks, or of NADs and their namespaces. */
export type QosNetworks =
  | { readonly kind: 'cluster'; readonly selector: LabelSelector }
  | {
      readonly kind: 'nads';
      readonly namespaceSelector: LabelSelector;
      readonly selector: LabelSelector;
    };

export interface Qos {
  readonly kind: 'EgressQoS' | 'NetworkQoS';
  readonly namespace: string;
  readonly name: string;
  /** When the object was made: of two with one priority the older one decides. */
  readonly created: string;
  /** The primary ones of the namespace, if undefined. */
  readonly networks?: readonly QosNetworks[];
  /** Of a NetworkQoS: of two the one with the higher priority decides. */
  readonly priority: number;
  /** Of an EgressQoS the first that matches decides, of a NetworkQoS the last. */
  readonly rules: readonly QosRule[];
}

/** `EgressQoS blue/default`. */
export const qosObject = ({
  kind,
  namespace,
  name,
}: Pick<Qos, 'kind' | 'namespace' | 'name'>): string => `${kind} ${namespace}/${name}`;

/** Priorities of an EgressQoS's rules are 1000 and below (reference/topology.md §18.4). */
const MOST_EGRESS_RULES = 1000;

const UNTIL_THEN =
  'until then what was read of it before stays in force, and where that is nothing it marks and limits nothing';

const problem = (what: string): { readonly kind: 'problem'; readonly message: string } => ({
  kind: 'problem',
  message: `${what}; ${UNTIL_THEN}`,
});

const invalid = (path: FieldPath, value: unknown, detail: string): FieldError => ({
  type: 'Invalid',
  path,
  value,
  detail,
});

export function readEgressQos({ metadata, spec }: EgressQoS): ObjectReading<Qos> {
  const { name, namespace = '', creationTimestamp: created = '' } = metadata;
  const egress = spec?.egress ?? [];
  if (egress.length > MOST_EGRESS_RULES)
    return problem(`spec.egress has ${egress.length} rules: write at most ${MOST_EGRESS_RULES}`);
  const errors = egress.flatMap(({ dstCIDR, podSelector }, index) => {
    const path = ['spec', 'egress', index];
    return [
      ...(dstCIDR === undefined || parsePrefix(dstCIDR) !== undefined
        ? []
        : [invalid([...path, 'dstCIDR'], dstCIDR, 'must be addresses in CIDR notation')]),
      ...selectorErrors(podSelector, [...path, 'podSelector']),
    ];
  });
  if (errors.length > 0) return problem(refusal(errors));
  const rules = egress.map(({ dscp, dstCIDR, podSelector = {} }): QosRule => ({
    pods: selectionOf({ podSelector }, namespace),
    dscp,
    to:
      dstCIDR === undefined
        ? []
        : [{ kind: 'block', block: { cidr: canonicalCidr(dstCIDR), except: [] } }],
    ports: [],
  }));
  return {
    kind: 'value',
    value: { kind: 'EgressQoS', namespace, name, created, priority: 0, rules },
  };
}

type NetworkQosSpec = NonNullable<NetworkQoS['spec']>;
type NetworkQosRule = NetworkQosSpec['egress'][number];
type NetworkSelector = NonNullable<NetworkQosSpec['networkSelectors']>[number];

/** What an API server lets pass and nothing can be made of. */
function ruleErrors({ bandwidth, classifier }: NetworkQosRule, index: number): FieldError[] {
  const path = ['spec', 'egress', index];
  const errors: FieldError[] = [];
  if (bandwidth?.burst !== undefined && bandwidth.rate === undefined)
    errors.push(
      invalid([...path, 'bandwidth', 'burst'], bandwidth.burst, 'needs a rate: write rate, too'),
    );
  for (const [position, { protocol }] of (classifier?.ports ?? []).entries())
    if (!['TCP', 'UDP', 'SCTP'].includes(protocol ?? ''))
      errors.push(
        invalid(
          [...path, 'classifier', 'ports', position, 'protocol'],
          protocol ?? '',
          'must be TCP, UDP or SCTP',
        ),
      );
  for (const [position, to] of (classifier?.to ?? []).entries()) {
    const at = [...path, 'classifier', 'to', position];
    const { ipBlock, podSelector, namespaceSelector } = to;
    errors.push(
      ...(ipBlock === undefined ? [] : blockErrors(ipBlock, [...at, 'ipBlock'])),
      ...selectorErrors(podSelector, [...at, 'podSelector']),
      ...selectorErrors(namespaceSelector, [...at, 'namespaceSelector']),
    );
    if (ipBlock === undefined && podSelector === undefined && namespaceSelector === undefined)
      errors.push(invalid(at, to, 'must have ipBlock, podSelector or namespaceSelector'));
  }
  return errors;
}

function networksErrors(
  {
    networkSelectionType: type,
    clusterUserDefinedNetworkSelector: cluster,
    networkAttachmentDefinitionSelector: nads,
  }: NetworkSelector,
  index: number,
): FieldError[] {
  const path = ['spec', 'networkSelectors', index];
  if (cluster === undefined && nads === undefined)
    return [
      invalid(
        [...path, 'networkSelectionType'],
        type,
        'must be ClusterUserDefinedNetworks or NetworkAttachmentDefinitions',
      ),
    ];
  return [
    ...selectorErrors(cluster?.networkSelector, [
      ...path,
      'clusterUserDefinedNetworkSelector',
      'networkSelector',
    ]),
    ...selectorErrors(nads?.networkSelector, [
      ...path,
      'networkAttachmentDefinitionSelector',
      'networkSelector',
    ]),
    ...selectorErrors(nads?.namespaceSelector, [
      ...path,
      'networkAttachmentDefinitionSelector',
      'namespaceSelector',
    ]),
  ];
}

const readNetworks = ({
  clusterUserDefinedNetworkSelector: cluster,
  networkAttachmentDefinitionSelector: nads,
}: NetworkSelector): readonly QosNetworks[] => [
  ...(cluster === undefined
    ? []
    : [{ kind: 'cluster' as const, selector: cluster.networkSelector }]),
  ...(nads === undefined
    ? []
    : [
        {
          kind: 'nads' as const,
          namespaceSelector: nads.namespaceSelector,
          selector: nads.networkSelector,
        },
      ]),
];

function readRule(
  { dscp, bandwidth, classifier }: NetworkQosRule,
  pods: PodSelection,
  namespace: string,
): QosRule {
  return {
    pods,
    dscp,
    ...(bandwidth?.rate === undefined ? {} : { rate: bandwidth.rate }),
    ...(bandwidth?.burst === undefined ? {} : { burst: bandwidth.burst }),
    to: (classifier?.to ?? []).map(({ ipBlock, ...selectors }) =>
      ipBlock === undefined
        ? { kind: 'pods', selection: selectionOf(selectors, namespace) }
        : {
            kind: 'block',
            block: {
              cidr: canonicalCidr(ipBlock.cidr),
              except: (ipBlock.except ?? []).map(canonicalCidr),
            },
          },
    ),
    ports: (classifier?.ports ?? []).map(({ protocol, port }) => ({
      protocol: readProtocol(protocol),
      ...(port === undefined ? {} : { port }),
    })),
  };
}

export function readNetworkQos({ metadata, spec }: NetworkQoS): ObjectReading<Qos> {
  const { name, namespace = '', creationTimestamp: created = '' } = metadata;
  const { egress = [], priority = 0, podSelector = {}, networkSelectors } = spec ?? {};
  const errors = [
    ...selectorErrors(podSelector, ['spec', 'podSelector']),
    ...(networkSelectors ?? []).flatMap(networksErrors),
    ...egress.flatMap(ruleErrors),
  ];
  if (errors.length > 0) return problem(refusal(errors));
  const pods = selectionOf({ podSelector }, namespace);
  return {
    kind: 'value',
    value: {
      kind: 'NetworkQoS',
      namespace,
      name,
      created,
      ...(networkSelectors === undefined
        ? {}
        : { networks: networkSelectors.flatMap(readNetworks) }),
      priority,
      rules: egress.map((rule) => readRule(rule, pods, namespace)),
    },
  };
}

export const egressQosKind = {
  kind: egressQoSes,
  table: 'qoses',
  read: readEgressQos,
  onUnreadable: 'keep',
} as const satisfies ObjectKind<EgressQoS, Qos>;

export const networkQosKind = {
  kind: networkQoSes,
  table: 'qoses',
  read: readNetworkQos,
  onUnreadable: 'keep',
  needsOtherPods: ({ rules }) =>
    rules.some(({ to }) => to.some((destination) => destination.kind === 'pods')),
} as const satisfies ObjectKind<NetworkQoS, Qos>;
