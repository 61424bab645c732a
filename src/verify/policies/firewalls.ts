/** EgressFirewalls as their objects say them: where pods of a namespace may send outside of their network. A reading of the proof's own. */
import { parsePrefix } from '../../allocators/addresses.ts';
import { labelSelectorProblem } from '../../api/label-selector.ts';
import { objectKey } from '../../api/objects.ts';
import type { EgressFirewall, LabelSelector } from '../../api/types.ts';
import { isPlainObject } from '../../api/plain-object.ts';
import { ofPrefix, type Ranges } from '../headers/ranges.ts';
import { portOf, UnreadableError, type PolicyPort } from './read.ts';

/** Whom a rule is about. */
type Destination =
  /** Addresses, but for those of the pods' network. */
  | { readonly kind: 'block'; readonly addresses: Ranges }
  /** Nodes with such labels, by every address that they have. */
  | { readonly kind: 'nodes'; readonly selector: LabelSelector }
  /** In lower case, without the dot at its end. */
  | { readonly kind: 'name'; readonly name: string };

export interface FirewallRule {
  readonly isAllowed: boolean;
  readonly destination: Destination;
  /** None: everything. */
  readonly ports: readonly PolicyPort[];
}

/** Of the rules the first that is about a packet decides; what none is about passes. */
export interface Firewall {
  readonly object: string;
  readonly namespace: string;
  readonly rules: readonly FirewallRule[];
}

/** Names of fields that are known, those of a selector apart. */
const FIELDS = {
  spec: ['egress'],
  rule: ['type', 'to', 'ports'],
  to: ['cidrSelector', 'dnsName', 'nodeSelector'],
  selector: ['matchLabels', 'matchExpressions'],
  port: ['protocol', 'port'],
} as const;

/** Throws UnreadableError: a field that is not known may narrow what stands beside it. */
export function readFirewall({ metadata, spec }: EgressFirewall): Firewall {
  const { namespace = '' } = metadata;
  known(spec, FIELDS.spec, 'spec');
  const egress: unknown = spec.egress;
  if (!Array.isArray(egress)) throw new UnreadableError('spec.egress is no list');
  return {
    object: `EgressFirewall ${objectKey(metadata)}`,
    namespace,
    rules: spec.egress.map((rule, index) => readRule(rule, `spec.egress[${index}]`)),
  };
}

type WrittenRule = EgressFirewall['spec']['egress'][number];

function readRule(rule: WrittenRule, at: string): FirewallRule {
  known(rule, FIELDS.rule, at);
  const { type, to, ports = [] } = rule;
  if (type !== 'Allow' && type !== 'Deny') throw new UnreadableError(`${at}.type is ${type}`);
  return {
    isAllowed: type === 'Allow',
    destination: readDestination(to, `${at}.to`),
    ports: ports.map((port, index) => readPort(port, `${at}.ports[${index}]`)),
  };
}

function readDestination(to: WrittenRule['to'], at: string): Destination {
  known(to, FIELDS.to, at);
  if (Object.keys(to).length !== 1)
    throw new UnreadableError(`${at} has not one of ${FIELDS.to.join(', ')}`);
  const { cidrSelector, dnsName, nodeSelector } = to;
  if (cidrSelector !== undefined) {
    const block = parsePrefix(cidrSelector);
    if (block === undefined) throw new UnreadableError(`${at}.cidrSelector is no block`);
    return { kind: 'block', addresses: ofPrefix(block) };
  }
  if (dnsName !== undefined)
    return { kind: 'name', name: dnsName.toLowerCase().replace(/\.$/, '') };
  const selector = nodeSelector ?? {};
  known(selector, FIELDS.selector, `${at}.nodeSelector`);
  const problem = labelSelectorProblem(selector);
  if (problem !== undefined) throw new UnreadableError(`${at}.nodeSelector: ${problem}`);
  return { kind: 'nodes', selector };
}

function readPort(
  port: { readonly protocol: string; readonly port: number },
  at: string,
): PolicyPort {
  known(port, FIELDS.port, at);
  const read = portOf(port.protocol, port.port);
  if (read === undefined || !Number.isInteger(port.port) || port.port < 1 || port.port > 65_535)
    throw new UnreadableError(`${at} is no port of TCP, UDP or SCTP`);
  return read;
}

function known(value: unknown, fields: readonly string[], at: string): void {
  if (!isPlainObject(value)) throw new UnreadableError(`${at} is no object`);
  const unknown = Object.keys(value).find((field) => !fields.includes(field));
  if (unknown !== undefined) throw new UnreadableError(`field ${at}.${unknown} is not known`);
}
