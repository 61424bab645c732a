/** What an API server checks of AdminNetworkPolicies, of the BaselineAdminNetworkPolicy and of ClusterNetworkPolicies. */
import { parsePrefix } from '../../allocators/addresses.ts';
import type { PlainObject } from '../plain-object.ts';
import type {
  AdminPolicyPeer,
  AdminPolicyPort,
  AdminPolicyRule,
  AdminPolicySpec,
  ClusterPolicyPort,
  ClusterPolicyProtocol,
} from '../types.ts';
import type { FieldError, FieldPath, FieldWarning } from './field-errors.ts';
import {
  isPortName,
  LABEL_SELECTOR,
  selectorErrors,
  type CheckedPolicy,
} from './network-policies.ts';
import { shape, type Schema } from './schema.ts';
import { checkStructure } from './structure.ts';

/** Rules of a direction, peers and ports of a rule; in a ClusterNetworkPolicy also networks and names of a peer. */
const MOST = 100;
const MOST_CLUSTER = 25;
const MOST_NAME = 100;
const MOST_CIDR = 43;
const MOST_PRIORITY = 1000;

const TEXT: Schema = { type: 'string' };
const objectOf = (properties: Readonly<Record<string, Schema>>, ...required: string[]): Schema => ({
  type: 'object',
  properties,
  required,
});
const listOf = (items: Schema): Schema => ({ type: 'array', items });

const PROTOCOL: Schema = { type: 'string', enum: ['TCP', 'UDP', 'SCTP'] };
const PORT: Schema = { type: 'integer', format: 'int32' };
const podsWith = (...required: string[]): Schema =>
  objectOf({ namespaceSelector: LABEL_SELECTOR, podSelector: LABEL_SELECTOR }, ...required);
const PORTS = listOf(
  objectOf({
    portNumber: objectOf({ protocol: PROTOCOL, port: PORT }, 'port'),
    namedPort: TEXT,
    portRange: objectOf({ protocol: PROTOCOL, start: PORT, end: PORT }, 'start', 'end'),
  }),
);
const PORT_OR_RANGE = objectOf({
  destinationPort: objectOf({
    number: PORT,
    range: objectOf({ start: PORT, end: PORT }, 'start', 'end'),
  }),
});
const PROTOCOLS = listOf(
  objectOf({
    tcp: PORT_OR_RANGE,
    udp: PORT_OR_RANGE,
    sctp: PORT_OR_RANGE,
    destinationNamedPort: TEXT,
  }),
);

const schemaWith = (
  actions: readonly string[],
  more: Readonly<Record<string, Schema>>,
  matches: Readonly<Record<string, Schema>> = { ports: PORTS },
  pods: Schema = podsWith('namespaceSelector', 'podSelector'),
): Schema => {
  const selected = { namespaces: LABEL_SELECTOR, pods };
  const rule = (peers: string, schema: Schema): Schema =>
    objectOf(
      { name: TEXT, action: { type: 'string', enum: actions }, [peers]: schema, ...matches },
      'action',
      peers,
    );
  return objectOf(
    {
      apiVersion: TEXT,
      kind: TEXT,
      spec: objectOf(
        {
          ...more,
          subject: objectOf(selected),
          ingress: listOf(rule('from', listOf(objectOf(selected)))),
          egress: listOf(
            rule(
              'to',
              listOf(
                objectOf({
                  ...selected,
                  nodes: LABEL_SELECTOR,
                  networks: listOf(TEXT),
                  domainNames: listOf(TEXT),
                }),
              ),
            ),
          ),
        },
        'subject',
        ...Object.keys(more),
      ),
    },
    'spec',
  );
};

const SCHEMAS = {
  AdminNetworkPolicy: schemaWith(['Allow', 'Deny', 'Pass'], {
    priority: { type: 'integer', format: 'int32' },
  }),
  BaselineAdminNetworkPolicy: schemaWith(['Allow', 'Deny'], {}),
  ClusterNetworkPolicy: schemaWith(
    ['Accept', 'Deny', 'Pass'],
    {
      tier: { type: 'string', enum: ['Admin', 'Baseline'] },
      priority: { type: 'integer', format: 'int32' },
    },
    { protocols: PROTOCOLS },
    podsWith('podSelector'),
  ),
};
export type AdminKind = keyof typeof SCHEMAS;
export const isAdminKind = (kind: string): kind is AdminKind => Object.hasOwn(SCHEMAS, kind);

/** There is one, of this name. */
const BASELINE_NAME = 'default';

const invalid = (path: FieldPath, value: unknown, detail: string): FieldError => ({
  type: 'Invalid',
  path,
  value,
  detail,
});

/** Exactly one of the members of a union is set. */
const oneOf = (value: object, path: FieldPath): FieldError[] =>
  Object.keys(value).length === 1
    ? []
    : [invalid(path, Object.keys(value), 'exactly one of its fields must be set')];

const bounded = (
  list: readonly unknown[] | undefined,
  least: number,
  most: number,
  path: FieldPath,
): FieldError[] =>
  list === undefined || (list.length >= least && list.length <= most)
    ? []
    : [invalid(path, list.length, `must have ${least} to ${most} items`)];

const within = (value: number, least: number, most: number, path: FieldPath): FieldError[] =>
  value >= least && value <= most
    ? []
    : [invalid(path, value, `must be between ${least} and ${most}, inclusive`)];

function portErrors(port: AdminPolicyPort, path: FieldPath): FieldError[] {
  const { portNumber, namedPort, portRange } = port;
  const of = (value: number, ...at: string[]): FieldError[] =>
    within(value, 1, 65535, [...path, ...at]);
  return [
    ...oneOf(port, path),
    ...(portNumber === undefined ? [] : of(portNumber.port, 'portNumber', 'port')),
    ...(namedPort === undefined || isPortName(namedPort)
      ? []
      : [invalid([...path, 'namedPort'], namedPort, 'is no name of a port')]),
    ...(portRange === undefined
      ? []
      : [
          ...of(portRange.start, 'portRange', 'start'),
          ...of(portRange.end, 'portRange', 'end'),
          ...(portRange.end > portRange.start
            ? []
            : [invalid([...path, 'portRange'], portRange, 'must end behind its start')]),
        ]),
  ];
}

function protocolErrors(protocol: ClusterPolicyProtocol, path: FieldPath): FieldError[] {
  const { destinationNamedPort: name, ...numbered } = protocol;
  return [
    ...oneOf(protocol, path),
    ...(name === undefined || isPortName(name)
      ? []
      : [invalid([...path, 'destinationNamedPort'], name, 'is no name of a port')]),
    ...Object.entries(numbered).flatMap(([field, { destinationPort }]) =>
      destinationPort === undefined
        ? oneOf({}, [...path, field])
        : clusterPortErrors(destinationPort, [...path, field, 'destinationPort']),
    ),
  ];
}

function clusterPortErrors(port: ClusterPolicyPort, path: FieldPath): FieldError[] {
  const { number, range } = port;
  const at: FieldPath = [...path, 'range'];
  return [
    ...oneOf(port, path),
    ...(number === undefined ? [] : within(number, 1, 65535, [...path, 'number'])),
    ...(range === undefined
      ? []
      : [
          ...within(range.start, 1, 65535, [...at, 'start']),
          ...within(range.end, 1, 65535, [...at, 'end']),
          ...(range.start < range.end
            ? []
            : [
                invalid(
                  at,
                  range,
                  'Start port must be less than End port; of one port write its number',
                ),
              ]),
        ]),
  ];
}

const DOMAIN_NAME =
  /^(\*\.)?([a-zA-Z0-9]([-a-zA-Z0-9_]*[a-zA-Z0-9])?\.)+[a-zA-Z0-9]([-a-zA-Z0-9_]*[a-zA-Z0-9])?\.?$/;

const duplicates = (list: readonly string[], path: FieldPath): FieldError[] =>
  list.flatMap((value, index) =>
    list.indexOf(value) === index
      ? []
      : [{ type: 'Duplicate', path: [...path, index], value, detail: 'write it once' }],
  );

/** What holds of a ClusterNetworkPolicy alone. */
function clusterPeerErrors(
  { networks, domainNames }: AdminPolicyPeer,
  path: FieldPath,
): FieldError[] {
  const at: FieldPath = [...path, 'networks'];
  const names: FieldPath = [...path, 'domainNames'];
  return [
    ...bounded(networks, 1, MOST_CLUSTER, at),
    ...bounded(domainNames, 1, MOST_CLUSTER, names),
    ...duplicates(networks ?? [], at),
    ...duplicates(domainNames ?? [], names),
    ...(networks ?? []).flatMap((cidr, index) =>
      cidr.length > MOST_CIDR
        ? [invalid([...at, index], cidr, `may not be more than ${MOST_CIDR} letters`)]
        : [],
    ),
  ];
}

const HAS_NO_PORT_NAMES = ['networks', 'nodes', 'domainNames'] as const;

/** What holds of a rule of a ClusterNetworkPolicy alone. */
function clusterRuleErrors(
  peers: readonly AdminPolicyPeer[],
  { protocols = [] }: AdminPolicyRule,
  path: FieldPath,
): FieldError[] {
  const isNamed = protocols.some(({ destinationNamedPort }) => destinationNamedPort !== undefined);
  const nameless = peers.some((peer) => HAS_NO_PORT_NAMES.some((field) => field in peer));
  return isNamed && nameless
    ? [
        invalid(
          path,
          'object',
          'networks/nodes/domainNames peer cannot be set with namedPorts since there are no namedPorts for networks/nodes/domainNames; write them in a rule of their own, with ports by number',
        ),
      ]
    : [];
}

function peerErrors(peer: AdminPolicyPeer, path: FieldPath): FieldError[] {
  const { namespaces, pods, nodes, networks = [], domainNames = [] } = peer;
  return [
    ...oneOf(peer, path),
    ...selectorErrors(namespaces, [...path, 'namespaces']),
    ...selectorErrors(pods?.namespaceSelector, [...path, 'pods', 'namespaceSelector']),
    ...selectorErrors(pods?.podSelector, [...path, 'pods', 'podSelector']),
    ...selectorErrors(nodes, [...path, 'nodes']),
    ...networks.flatMap((cidr, index) =>
      parsePrefix(cidr) === undefined
        ? [invalid([...path, 'networks', index], cidr, 'must be a valid CIDR value')]
        : [],
    ),
    ...domainNames.flatMap((name, index) =>
      DOMAIN_NAME.test(name)
        ? []
        : [
            invalid(
              [...path, 'domainNames', index],
              name,
              'must be a DNS name of two labels or more, of which the first may be *',
            ),
          ],
    ),
  ];
}

/** Checks the spec of such a policy. Never throws, whatever the value is. */
export function checkAdminPolicy(
  kind: AdminKind,
  value: PlainObject,
): CheckedPolicy<AdminPolicySpec> {
  const { metadata, status: _observed, ...body } = value as Record<string, unknown>;
  const warnings: FieldWarning[] = [];
  const schema = SCHEMAS[kind];
  const shaped = shape(schema, body, [], warnings) as PlainObject;
  const spec = (shaped['spec'] ?? {}) as AdminPolicySpec;
  const structure = checkStructure(schema, shaped);
  if (structure.length > 0) return { spec, errors: structure, warnings, skipsRules: true };
  const { name } = (metadata ?? {}) as { name?: unknown };
  const { subject, ingress = [], egress = [], priority } = spec;
  const at: FieldPath = ['spec', 'subject'];
  const isCluster = kind === 'ClusterNetworkPolicy';
  const most = isCluster ? MOST_CLUSTER : MOST;
  const rules = [
    ...ingress.map((rule, index) => ({
      rule,
      at: ['ingress', index],
      field: 'from',
      peers: rule.from,
    })),
    ...egress.map((rule, index) => ({ rule, at: ['egress', index], field: 'to', peers: rule.to })),
  ];
  return {
    spec,
    warnings,
    errors: [
      ...(kind === 'BaselineAdminNetworkPolicy' && name !== BASELINE_NAME
        ? [
            invalid(
              ['metadata', 'name'],
              name,
              `must be "${BASELINE_NAME}": there is one in a cluster`,
            ),
          ]
        : []),
      ...(priority === undefined ? [] : within(priority, 0, MOST_PRIORITY, ['spec', 'priority'])),
      ...oneOf(subject, at),
      ...selectorErrors(subject.namespaces, [...at, 'namespaces']),
      ...selectorErrors(subject.pods?.namespaceSelector, [...at, 'pods', 'namespaceSelector']),
      ...selectorErrors(subject.pods?.podSelector, [...at, 'pods', 'podSelector']),
      ...bounded(ingress, 0, most, ['spec', 'ingress']),
      ...bounded(egress, 0, most, ['spec', 'egress']),
      ...rules.flatMap(({ rule, at: place, field, peers }) => {
        const path: FieldPath = ['spec', ...place];
        const { name: text = '', ports, protocols } = rule;
        return [
          ...(text.length > MOST_NAME
            ? [invalid([...path, 'name'], text, `may not be more than ${MOST_NAME} letters`)]
            : []),
          ...bounded(peers, 1, most, [...path, field]),
          ...bounded(ports, 0, most, [...path, 'ports']),
          ...bounded(protocols, 1, most, [...path, 'protocols']),
          ...peers.flatMap((peer, i) => peerErrors(peer, [...path, field, i])),
          ...(isCluster
            ? peers.flatMap((peer, i) => clusterPeerErrors(peer, [...path, field, i]))
            : []),
          ...(ports ?? []).flatMap((port, i) => portErrors(port, [...path, 'ports', i])),
          ...(protocols ?? []).flatMap((one, i) => protocolErrors(one, [...path, 'protocols', i])),
          ...(isCluster ? clusterRuleErrors(peers, rule, path) : []),
        ];
      }),
    ],
  };
}
