/** What an API server checks of AdminNetworkPolicies and of the BaselineAdminNetworkPolicy. */
import { parsePrefix } from '../../allocators/addresses.ts';
import type { PlainObject } from '../plain-object.ts';
import type { AdminPolicyPeer, AdminPolicyPort, AdminPolicySpec } from '../types.ts';
import type { FieldError, FieldPath, FieldWarning } from './field-errors.ts';
import {
  isPortName,
  LABEL_SELECTOR,
  selectorErrors,
  type CheckedPolicy,
} from './network-policies.ts';
import { shape, type Schema } from './schema.ts';
import { checkStructure } from './structure.ts';

/** Rules of a direction, peers and ports of a rule. */
const MOST = 100;
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
const PODS = objectOf(
  { namespaceSelector: LABEL_SELECTOR, podSelector: LABEL_SELECTOR },
  'namespaceSelector',
  'podSelector',
);
const PORTS = listOf(
  objectOf({
    portNumber: objectOf({ protocol: PROTOCOL, port: PORT }, 'port'),
    namedPort: TEXT,
    portRange: objectOf({ protocol: PROTOCOL, start: PORT, end: PORT }, 'start', 'end'),
  }),
);
const peersOf = (more: Readonly<Record<string, Schema>>): Schema =>
  listOf(objectOf({ namespaces: LABEL_SELECTOR, pods: PODS, ...more }));

const schemaWith = (actions: readonly string[], more: Readonly<Record<string, Schema>>): Schema => {
  const rule = (peers: string, schema: Schema): Schema =>
    objectOf(
      { name: TEXT, action: { type: 'string', enum: actions }, [peers]: schema, ports: PORTS },
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
          subject: objectOf({ namespaces: LABEL_SELECTOR, pods: PODS }),
          ingress: listOf(rule('from', peersOf({}))),
          egress: listOf(
            rule(
              'to',
              peersOf({
                nodes: LABEL_SELECTOR,
                networks: listOf(TEXT),
                domainNames: listOf(TEXT),
              }),
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

const bounded = (list: readonly unknown[], least: number, path: FieldPath): FieldError[] =>
  list.length >= least && list.length <= MOST
    ? []
    : [invalid(path, list.length, `must have ${least} to ${MOST} items`)];

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

function peerErrors(peer: AdminPolicyPeer, path: FieldPath): FieldError[] {
  const { namespaces, pods, nodes, networks = [] } = peer;
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
  if (structure.length > 0) return { spec, errors: structure, warnings };
  const { name } = (metadata ?? {}) as { name?: unknown };
  const { subject, ingress = [], egress = [], priority } = spec;
  const at: FieldPath = ['spec', 'subject'];
  const rules = [
    ...ingress.map(({ from, ports }, index) => ({
      direction: 'ingress',
      field: 'from',
      index,
      peers: from,
      ports,
    })),
    ...egress.map(({ to, ports }, index) => ({
      direction: 'egress',
      field: 'to',
      index,
      peers: to,
      ports,
    })),
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
      ...bounded(ingress, 0, ['spec', 'ingress']),
      ...bounded(egress, 0, ['spec', 'egress']),
      ...rules.flatMap(({ direction, field, index, peers, ports = [] }) => {
        const path: FieldPath = ['spec', direction, index];
        return [
          ...bounded(peers, 1, [...path, field]),
          ...bounded(ports, 0, [...path, 'ports']),
          ...peers.flatMap((peer, i) => peerErrors(peer, [...path, field, i])),
          ...ports.flatMap((port, i) => portErrors(port, [...path, 'ports', i])),
        ];
      }),
    ],
  };
}
