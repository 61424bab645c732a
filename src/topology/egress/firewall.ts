/** What an EgressFirewall lets its pods send out of their network (reference/topology.md §18.2). */

import {
  containsPrefix,
  formatPrefix,
  ipOf,
  overlaps,
  parsePrefix,
  type Prefix,
} from '../../allocators/addresses.ts';
import { withoutPrefixes } from '../../allocators/prefix-subtraction.ts';
import { feature, type Sink } from '../../desired/features.ts';
import { CLOSED, type Firewall, type FirewallRule } from '../../model/read/egress-firewalls.ts';
import type { PolicyPort } from '../../model/read/policies.ts';
import { controllerOf, DEFAULT_CONTROLLER } from '../../model/rules/names.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { networkOf, networkRank } from '../networks/network-feature.ts';
import { selectedNodes } from '../policy/selected-nodes.ts';
import { ACL_FIREWALL, TIER_POLICY } from '../numbers.ts';
import { ACL_CLAIM, addAcl, ofGroup } from '../rows/acls.ts';
import { objectIds } from '../rows/object-ids.ts';
import { namespacePortGroup } from '../rows/port-groups.ts';
import { holds, Rows } from '../rows/unit-rows.ts';

const firewallObject = ({ namespace, name }: Firewall): string =>
  `EgressFirewall ${namespace}/${name}`;

export const egressFirewall = feature({
  name: 'egress/firewall',
  over: (facts: ZoneFacts) => facts.firewallPlacements.distinct('unit'),
  rank: networkRank,
  subject: networkOf,
  objects: (_facts, [, namespace, name]) => [`EgressFirewall ${namespace}/${name}`],
  rules: {
    rule: {
      text: 'Of the rules of an EgressFirewall the first that is about a packet of a pod to outside of its network lets it pass or drops it.',
      source: 'reference/topology.md §18.2',
    },
  },
  claims: [ACL_CLAIM],
  build(facts, [network, namespace, name], out) {
    const firewall = facts.firewalls.get(namespace, name);
    if (firewall === undefined) return;
    const rows = Rows.northbound(out, firewallObject(firewall)).by('rule');
    const networks = facts.firewallPlacements.part([namespace, name], 'networks') ?? [];
    const group = namespacePortGroup(controllerOf(network), namespace).name;
    const logging = facts.namespaces.part(namespace, 'logging');
    const subnets = networks.flatMap((one) =>
      (facts.rendered.part(one, 'subnets') ?? []).map(({ cidr }) => cidr),
    );
    const spared = [...new Set(subnets)].map(parsePrefix).filter((prefix) => prefix !== undefined);
    const rules = matchesOf(facts, firewall, spared, out);
    for (const [index, { isAllowed, match }] of rules)
      addAcl(
        rows,
        {
          // As in ovn-kubernetes, which knows one network of a namespace: whatever that is. Of several each has its own rows.
          ids: objectIds(
            network === networks[0] ? DEFAULT_CONTROLLER : controllerOf(network),
            'EgressFirewall',
            { name: namespace, 'rule-index': String(index) },
          ),
          name: `EF:${namespace}:${index}`,
          // After load balancing, on the way out of the pod's switch: `to-lport` with the port that it came in by.
          direction: 'Ingress',
          priority: ACL_FIREWALL - index,
          tier: TIER_POLICY,
          action: isAllowed ? 'allow' : 'drop',
          match: match(ofGroup('Egress', group)),
          severity: isAllowed ? logging?.allow : logging?.deny,
        },
        holds('Port_Group', group, 'acls'),
      );
  },
});

interface RuleMatch {
  readonly isAllowed: boolean;
  readonly match: (ofPods: string) => string;
}

/** By the place of the rule; those that mean nobody have none. What costs too much is closed, and told. */
function matchesOf(
  facts: ZoneFacts,
  firewall: Firewall,
  spared: readonly Prefix[],
  out: Sink,
): ReadonlyMap<number, RuleMatch> {
  const { mostFlows } = facts.settings.policies;
  let more = 0;
  for (const { destination, ports } of firewall.rules) {
    const prefixes = destination.kind === 'cidr' ? cut(destination.cidr, spared, mostFlows) : [];
    more += Math.max(0, prefixes.length - 1) + Math.max(0, ports.length - 1);
  }
  if (more > mostFlows)
    out.problem(
      firewallObject(firewall),
      `beyond one flow a rule its ports and address blocks would cost each node more than ${mostFlows} flows (max-flows-per-policy): until it costs less its pods send nothing out of their network; write fewer ports and blocks`,
    );
  const rules = more > mostFlows ? CLOSED : firewall.rules;
  const matches = new Map<number, RuleMatch>();
  for (const [index, rule] of rules.entries()) {
    const destinations = destinationsOf(facts, firewall, rule, spared, out);
    if (destinations.length === 0) continue;
    const to = `(${destinations.join(' || ')})`;
    const ports = portsOf(rule.ports);
    matches.set(index, {
      isAllowed: rule.isAllowed,
      match: (ofPods) => [to, ofPods, ...(ports === undefined ? [] : [ports])].join(' && '),
    });
  }
  return matches;
}

function destinationsOf(
  facts: ZoneFacts,
  firewall: Firewall,
  { destination, isAllowed }: FirewallRule,
  spared: readonly Prefix[],
  out: Sink,
): readonly string[] {
  if (destination.kind === 'cidr') return termsOf(destination.cidr, spared);
  const addresses = selectedNodes(facts, [destination.selector]).flatMap((node) => {
    // Of whom it allows the pods get less until then.
    if (node.addresses.length === 0 && !isAllowed)
      out.problem(
        firewallObject(firewall),
        `node ${node.name}, which a rule denies, has no addresses yet (annotation k8s.ovn.org/host-cidrs): pods reach it until it has`,
      );
    return node.addresses;
  });
  return [...new Set(addresses)].sort().map((address) => `${ipOf(address)}.dst == ${address}`);
}

/** A block without the subnets of the networks: what pods send there is for policies to decide. */
function termsOf(cidr: string, spared: readonly Prefix[]): readonly string[] {
  const block = parsePrefix(cidr);
  if (block === undefined) return [];
  const ip = `${ipOf(cidr)}.dst`;
  const [one, ...others] = spared.filter((prefix) => overlaps(block, prefix));
  if (one === undefined) return [`${ip} == ${cidr}`];
  // OVN multiplies out what is negated: of several what is left is listed.
  if (others.length === 0 && !containsPrefix(one, block))
    return [`${ip} == ${cidr} && ${ip} != ${formatPrefix(one)}`];
  return cut(cidr, spared, Infinity).map((left) => `${ip} == ${left}`);
}

/** What is left of a block, as prefixes; not more than `most` and one more are worked out. */
function cut(cidr: string, spared: readonly Prefix[], most: number): readonly string[] {
  const block = parsePrefix(cidr);
  return block === undefined
    ? []
    : [...withoutPrefixes(block, spared).take(most + 1)].map(formatPrefix);
}

const PROTOCOLS = ['udp', 'tcp', 'sctp'] as const;

/** As ovn-kubernetes writes them; undefined for all. */
function portsOf(ports: readonly PolicyPort[]): string | undefined {
  const terms = PROTOCOLS.flatMap((protocol) => {
    const own = ports.filter((port) => port.protocol === protocol);
    if (own.length === 0) return [];
    const numbers = [...new Set(own.map(({ port }) => port))];
    return [
      `(${protocol} && ( ${numbers.map((port) => `${protocol}.dst == ${port}`).join(' || ')} ))`,
    ];
  });
  return terms.length === 0 ? undefined : `(${terms.join(' || ')})`;
}
