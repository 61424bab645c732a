/** Egress firewalls as values: where pods of a namespace may send outside of their network, rule by rule (reference/topology.md §18.2). */
import { canonicalCidr, parsePrefix } from '../../allocators/addresses.ts';
import { egressFirewalls } from '../../api/kinds.ts';
import { labelSelectorProblem } from '../../api/label-selector.ts';
import type { EgressFirewall, LabelSelector } from '../../api/types.ts';
import {
  formatFieldError,
  unknownFieldError,
  type FieldError,
  type FieldWarning,
} from '../../api/validation/field-errors.ts';
import { LABEL_SELECTOR } from '../../api/validation/network-policies.ts';
import { shape, type Schema } from '../../api/validation/schema.ts';
import type { ObjectKind } from './object-kind.ts';
import { readProtocol, type PolicyPort } from './policies.ts';
import { found, type ObjectReading } from './reading.ts';

type FirewallDestination =
  /** Addresses, in canonical form; those of the network itself are not meant. */
  | { readonly kind: 'cidr'; readonly cidr: string }
  /** Every address of the nodes with such labels. */
  | { readonly kind: 'nodes'; readonly selector: LabelSelector }
  /** Addresses that DNS knows a name by: in lower case, without the dot at its end; `*.` at its start stands for one label. */
  | { readonly kind: 'name'; readonly name: string };

/** Of the rules the first whose destination and port a packet has decides; what none is about passes. */
export interface FirewallRule {
  readonly isAllowed: boolean;
  readonly destination: FirewallDestination;
  /** All of them, if it names none. */
  readonly ports: readonly PolicyPort[];
}

export interface Firewall {
  readonly namespace: string;
  readonly name: string;
  readonly rules: readonly FirewallRule[];
}

/** The lowest priority of an ACL is 0, the first rule has 10000 (reference/topology.md §18.2). */
const MOST_RULES = 10_000;

const denied = (cidr: string): FirewallRule => ({
  isAllowed: false,
  destination: { kind: 'cidr', cidr },
  ports: [],
});

/** Denies everything outside of the network. */
export const CLOSED: readonly FirewallRule[] = ['0.0.0.0/0', '::/0'].map(denied);

const UNTIL_THEN =
  'until then what was read of it before stays in force, and where that is nothing the pods of its namespace send nothing out of their network';

type Rule = EgressFirewall['spec']['egress'][number];

const ANY: Schema = {};
const fieldsOf = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  properties,
});
/** The fields that are known. */
const SPEC = fieldsOf({
  egress: {
    type: 'array',
    items: fieldsOf({
      type: ANY,
      to: fieldsOf({ cidrSelector: ANY, dnsName: ANY, nodeSelector: LABEL_SELECTOR }),
      ports: { type: 'array', items: fieldsOf({ protocol: ANY, port: ANY }) },
    }),
  },
});

/** What an API server lets pass and nothing can be made of. */
function ruleErrors({ type, to, ports = [] }: Rule, index: number): readonly FieldError[] {
  const path = ['spec', 'egress', index];
  const errors: FieldError[] = [];
  const invalid = (field: readonly (string | number)[], value: unknown, detail: string): void => {
    errors.push({ type: 'Invalid', path: [...path, ...field], value, detail });
  };
  if (type !== 'Allow' && type !== 'Deny') invalid(['type'], type, 'must be Allow or Deny');
  const { cidrSelector, dnsName, nodeSelector } = to;
  if (cidrSelector !== undefined && parsePrefix(cidrSelector) === undefined)
    invalid(['to', 'cidrSelector'], cidrSelector, 'must be addresses in CIDR notation');
  const nameProblem = dnsName && dnsNameProblem(dnsName);
  if (nameProblem !== undefined) invalid(['to', 'dnsName'], dnsName, nameProblem);
  const problem = nodeSelector && labelSelectorProblem(nodeSelector);
  if (problem !== undefined) invalid(['to', 'nodeSelector'], nodeSelector, problem);
  if ([cidrSelector, dnsName, nodeSelector].every((one) => one === undefined))
    invalid(['to'], to, 'must have cidrSelector, dnsName or nodeSelector');
  for (const [position, { protocol, port }] of ports.entries()) {
    const at = ['ports', position];
    if (!['TCP', 'UDP', 'SCTP'].includes(protocol))
      invalid([...at, 'protocol'], protocol, 'must be TCP, UDP or SCTP');
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      invalid([...at, 'port'], port, 'must be a number from 1 to 65535');
  }
  return errors;
}

const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
export const canonicalName = (name: string): string => name.toLowerCase().replace(/\.$/, '');

/** RFC 1035 §2.3.1, and `_`, which names have (RFC 2782). */
function dnsNameProblem(name: string): string | undefined {
  const canonical = canonicalName(name);
  const labels = canonical.split('.');
  // As in the reference: one label, the first one, whatever it is; `*` alone is no name.
  const named = labels[0] === '*' && labels.length > 2 ? labels.slice(1) : labels;
  return canonical.length <= 253 && named.every((label) => LABEL.test(label))
    ? undefined
    : 'must be a DNS name of at most 253 letters, in labels of at most 63, of which the first may be *';
}

function destinationOf({
  cidrSelector,
  dnsName,
  nodeSelector = {},
}: Rule['to']): FirewallDestination {
  if (cidrSelector !== undefined) return { kind: 'cidr', cidr: canonicalCidr(cidrSelector) };
  if (dnsName !== undefined) return { kind: 'name', name: canonicalName(dnsName) };
  return { kind: 'nodes', selector: nodeSelector };
}

function readRule({ type, to, ports = [] }: Rule): FirewallRule {
  return {
    isAllowed: type === 'Allow',
    destination: destinationOf(to),
    ports: ports.map(({ protocol, port }) => ({ protocol: readProtocol(protocol), port })),
  };
}

export function readFirewall({ metadata, spec }: EgressFirewall): ObjectReading<Firewall> {
  const { name, namespace = '' } = metadata;
  const rules = spec.egress;
  const problem = (what: string): ObjectReading<Firewall> => ({
    kind: 'problem',
    message: `${what}; ${UNTIL_THEN}`,
  });
  if (rules.length > MOST_RULES)
    return problem(`spec.egress has ${rules.length} rules: write at most ${MOST_RULES}`);
  const unknown: FieldWarning[] = [];
  shape(SPEC, spec, ['spec'], unknown);
  const [error, ...more] = [...rules.flatMap(ruleErrors), ...unknown.map(unknownFieldError)];
  if (error !== undefined)
    return problem(
      `${formatFieldError(error)}${more.length === 0 ? '' : ` (and ${more.length} more)`}`,
    );
  return { kind: 'value', value: { namespace, name, rules: rules.map(readRule) } };
}

const OFF =
  'EgressFirewalls are off (enable-egress-firewall): this object allows and denies nothing';

export const egressFirewallKind = {
  kind: egressFirewalls,
  table: 'firewalls',
  read(firewall, { settings }) {
    const reading = readFirewall(firewall);
    return settings.features.egressFirewall || reading.kind !== 'value'
      ? reading
      : { ...reading, warning: OFF };
  },
  onUnreadable: 'closed',
  closed: ({ metadata: { name, namespace = '' } }) => found({ namespace, name, rules: CLOSED }),
} as const satisfies ObjectKind<EgressFirewall, Firewall>;
