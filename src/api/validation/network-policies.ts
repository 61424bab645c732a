/** What an API server checks of network policies: shape, selectors, ports and address blocks. */
import { containsPrefix, parsePrefix, samePrefix } from '../../allocators/addresses.ts';
import { labelSelectorProblem } from '../label-selector.ts';
import type { PlainObject } from '../plain-object.ts';
import type {
  IPBlock,
  LabelSelector,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from '../types.ts';
import type { FieldError, FieldPath, FieldWarning } from './field-errors.ts';
import { shape, type Schema } from './schema.ts';
import { checkStructure } from './structure.ts';

const TEXT: Schema = { type: 'string' };
const listOf = (items: Schema): Schema => ({ type: 'array', items });
const objectOf = (properties: Readonly<Record<string, Schema>>, ...required: string[]): Schema => ({
  type: 'object',
  properties,
  required,
});

export const LABEL_SELECTOR = objectOf({
  matchLabels: { type: 'object', additionalProperties: TEXT },
  matchExpressions: listOf(
    objectOf({ key: TEXT, operator: TEXT, values: listOf(TEXT) }, 'key', 'operator'),
  ),
});

const PORTS = listOf(
  // A port is a number or a name: the type is checked below.
  objectOf({
    protocol: { type: 'string', enum: ['TCP', 'UDP', 'SCTP'] },
    port: {},
    endPort: { type: 'integer', format: 'int32' },
  }),
);

const PEERS = listOf(
  objectOf({
    podSelector: LABEL_SELECTOR,
    namespaceSelector: LABEL_SELECTOR,
    ipBlock: objectOf({ cidr: TEXT, except: listOf(TEXT) }, 'cidr'),
  }),
);

const NETWORK_POLICY = objectOf(
  {
    apiVersion: TEXT,
    kind: TEXT,
    spec: objectOf({
      podSelector: LABEL_SELECTOR,
      policyTypes: listOf({ type: 'string', enum: ['Ingress', 'Egress'] }),
      ingress: listOf(objectOf({ ports: PORTS, from: PEERS })),
      egress: listOf(objectOf({ ports: PORTS, to: PEERS })),
    }),
  },
  'spec',
);

export interface CheckedPolicy<Spec> {
  /** Unknown fields and nulls left out; of use only without errors. */
  readonly spec: Spec;
  readonly errors: readonly FieldError[];
  readonly warnings: readonly FieldWarning[];
  /** True where its errors kept rules from being checked. */
  readonly skipsRules?: boolean;
}

const invalid = (path: FieldPath, value: unknown, detail: string): FieldError => ({
  type: 'Invalid',
  path,
  value,
  detail,
});
const required = (path: FieldPath, detail: string): FieldError => ({
  type: 'Required',
  path,
  detail,
});
const forbidden = (path: FieldPath, detail: string): FieldError => ({
  type: 'Forbidden',
  path,
  detail,
});

export function selectorErrors(selector: LabelSelector | undefined, path: FieldPath): FieldError[] {
  const problem = selector && labelSelectorProblem(selector);
  return problem === undefined ? [] : [invalid(path, selector, problem)];
}

const MAX_PORT = 65535;
const PORT_RANGE = `must be between 1 and ${MAX_PORT}, inclusive`;
const isPort = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_PORT;

/** Names of ports as IANA has them: the longest ones have 15 characters. */
export const isPortName = (text: string): boolean =>
  /^(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*$/.test(text);

function portErrors({ port, endPort }: NetworkPolicyPort, path: FieldPath): FieldError[] {
  const at = [...path, 'port'];
  const errors: FieldError[] = [];
  if (typeof port === 'string' && !isPortName(port))
    errors.push(
      invalid(at, port, 'must have at most 15 characters a-z, 0-9 and single "-", and a letter'),
    );
  else if (port !== undefined && typeof port !== 'string' && !isPort(port))
    errors.push(invalid(at, port, PORT_RANGE));
  if (endPort === undefined) return errors;
  const end = [...path, 'endPort'];
  if (typeof port !== 'number')
    errors.push(invalid(end, endPort, 'may be given only beside a port that is a number'));
  else if (endPort < port)
    errors.push(invalid(end, endPort, 'must be greater than or equal to `port`'));
  else if (!isPort(endPort)) errors.push(invalid(end, endPort, PORT_RANGE));
  return errors;
}

export function blockErrors({ cidr, except = [] }: IPBlock, path: FieldPath): FieldError[] {
  const outer = parsePrefix(cidr);
  if (outer === undefined)
    return [invalid([...path, 'cidr'], cidr, 'must be a valid CIDR value, (e.g. 10.9.8.0/24)')];
  return except.flatMap((text, index) => {
    const at = [...path, 'except', index];
    const inner = parsePrefix(text);
    if (inner === undefined)
      return [invalid(at, text, 'must be a valid CIDR value, (e.g. 10.9.8.0/24)')];
    return containsPrefix(outer, inner) && !samePrefix(outer, inner)
      ? []
      : [invalid(at, text, 'must be a strict subset of `cidr`')];
  });
}

function peerErrors(peer: NetworkPolicyPeer, path: FieldPath): FieldError[] {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  const errors = [
    ...selectorErrors(podSelector, [...path, 'podSelector']),
    ...selectorErrors(namespaceSelector, [...path, 'namespaceSelector']),
  ];
  if (ipBlock === undefined)
    return podSelector === undefined && namespaceSelector === undefined
      ? [required(path, 'must specify a peer')]
      : errors;
  if (podSelector !== undefined || namespaceSelector !== undefined)
    errors.push(forbidden(path, 'may not specify both ipBlock and another peer'));
  return [...errors, ...blockErrors(ipBlock, [...path, 'ipBlock'])];
}

function ruleErrors(
  ports: readonly NetworkPolicyPort[] | undefined,
  peers: readonly NetworkPolicyPeer[] | undefined,
  path: FieldPath,
  peersField: string,
): FieldError[] {
  return [
    ...(ports ?? []).flatMap((port, index) => portErrors(port, [...path, 'ports', index])),
    ...(peers ?? []).flatMap((peer, index) => peerErrors(peer, [...path, peersField, index])),
  ];
}

/** Checks the spec of a NetworkPolicy, or of a MultiNetworkPolicy, which has the same. Never throws, whatever the value is. */
export function checkNetworkPolicy(value: PlainObject): CheckedPolicy<NetworkPolicySpec> {
  const { metadata: _checkedApart, status: _observed, ...body } = value as Record<string, unknown>;
  const warnings: FieldWarning[] = [];
  const shaped = shape(NETWORK_POLICY, body, [], warnings) as PlainObject;
  const spec = (shaped['spec'] ?? {}) as NetworkPolicySpec;
  const structure = checkStructure(NETWORK_POLICY, shaped);
  if (structure.length > 0) return { spec, errors: structure, warnings, skipsRules: true };
  const { podSelector, policyTypes = [], ingress = [], egress = [] } = spec;
  const types: FieldPath = ['spec', 'policyTypes'];
  return {
    spec,
    warnings,
    errors: [
      ...selectorErrors(podSelector, ['spec', 'podSelector']),
      ...(policyTypes.length > 2
        ? [invalid(types, policyTypes, 'may not specify more than two policyTypes')]
        : []),
      ...ingress.flatMap(({ ports, from }, index) =>
        ruleErrors(ports, from, ['spec', 'ingress', index], 'from'),
      ),
      ...egress.flatMap(({ ports, to }, index) =>
        ruleErrors(ports, to, ['spec', 'egress', index], 'to'),
      ),
    ],
  };
}
