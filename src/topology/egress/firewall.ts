/** What an EgressFirewall lets its pods send out of their network (reference/topology.md §18.2). */

import {
  FAMILIES,
  familyOf,
  formatPrefix,
  ipOf,
  overlaps,
  parsePrefix,
  type Prefix,
} from '../../allocators/addresses.ts';
import { withoutPrefixes } from '../../allocators/prefix-subtraction.ts';
import { isSame } from '../../facts/same.ts';
import { feature, type Sink } from '../../desired/features.ts';
import { CLOSED, type Firewall, type FirewallRule } from '../../model/read/egress-firewalls.ts';
import type { PolicyPort } from '../../model/read/policies.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import type { NetworkName } from '../../model/model.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import { controllerOf, DEFAULT_CONTROLLER } from '../../model/rules/names.ts';
import {
  DNS_PORT,
  dnsForwarderAddress,
  forwardsDnsOn,
  isWildcard,
} from '../../model/rules/dns-forwarding.ts';
import { MOST_ADDRESSES } from '../../model/zone/egress-firewalls.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { networkOf, networkRank } from '../networks/network-feature.ts';
import { selectedNodes } from '../policy/selected-nodes.ts';
import { eachWith } from '../policy/matches.ts';
import { ACL_FIREWALL, TIER_POLICY } from '../numbers.ts';
import { ACL_CLAIM, addAcl, ofGroup } from '../rows/acls.ts';
import {
  addAddressSet,
  ADDRESS_SET_CLAIM,
  dnsServiceSet,
  egressFirewallBlocks,
  egressFirewallName,
  type AddressSet,
} from '../rows/address-sets.ts';
import { objectIds } from '../rows/object-ids.ts';
import { namespacePortGroup } from '../rows/port-groups.ts';
import { addTierPasses } from '../rows/tier-passes.ts';
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
    passes: {
      text: 'Its rules end connections of its pods that were there before them, whatever earlier tiers have no row for.',
      source: 'reference/topology.md §18.2',
    },
    blocks: {
      text: 'Of many rules one after the other that differ in nothing but their blocks these are one set: a rule more is an address more, whatever pods there are.',
      source: 'reference/topology.md §18.2',
    },
    dns: {
      text: 'Whatever its rules are, pods ask the forwarder of DNS what they could ask the service: it is not in their network, as endpoints of DNS are. On primary networks they ask DNS where rules have names.',
      source: 'reference/topology.md §18.2',
    },
  },
  claims: [ACL_CLAIM, ADDRESS_SET_CLAIM],
  build(facts, [network, namespace, name], out) {
    const firewall = facts.firewalls.get(namespace, name);
    if (firewall === undefined) return;
    const all = Rows.northbound(out, firewallObject(firewall));
    const rows = all.by('rule');
    const networks = facts.firewallPlacements.part([namespace, name], 'networks') ?? [];
    const group = namespacePortGroup(controllerOf(network), namespace).name;
    const logging = facts.namespaces.part(namespace, 'logging');
    const isSecondary = (one: NetworkName): boolean =>
      facts.rendered.part(one, 'role') === 'secondary';
    // Who is on a secondary network reaches nobody of the others by it, nor the other way round: addresses like those of its pods are outside.
    const near = networks.filter(
      (one) => one === network || !(isSecondary(one) || isSecondary(network)),
    );
    const subnets = near.flatMap((one) =>
      (facts.rendered.part(one, 'subnets') ?? []).map(({ cidr }) => cidr),
    );
    const spared = [...new Set(subnets)].map(parsePrefix).filter((prefix) => prefix !== undefined);
    const rules = [...matchesOf(facts, network, firewall, spared, out)];
    addDns(facts, network, firewall, group, all.by('dns'));
    // As in ovn-kubernetes, which knows one network of a namespace: whatever that is. Of several each has its own rows.
    const controller =
      network === networks[0] && !isSecondary(network) ? DEFAULT_CONTROLLER : controllerOf(network);
    const idsOf = (index: string) =>
      objectIds(controller, 'EgressFirewall', { name: namespace, 'rule-index': index });
    const container = holds('Port_Group', group, 'acls');
    if (rules.length > 0)
      addTierPasses(all.by('passes'), TIER_POLICY, ofGroup('Egress', group), idsOf, container);
    for (const [index, { isAllowed, match, sets, blocks = [] }] of rules) {
      for (const { set, members } of blocks) addAddressSet(all.by('blocks'), set, members);
      addAcl(
        rows,
        {
          ids: idsOf(String(index)),
          name: `EF:${namespace}:${index}`,
          // After load balancing, on the way out of the pod's switch: `to-lport` with the port that it came in by.
          direction: 'Ingress',
          priority: ACL_FIREWALL - index,
          tier: TIER_POLICY,
          action: isAllowed ? 'allow' : 'drop',
          match: match(ofGroup('Egress', group)),
          sets,
          severity: isAllowed ? logging?.allow : logging?.deny,
        },
        container,
      );
    }
  },
});

/** Of an endpoint that is a host, and of the service on primary networks, the rules decide, but where they have names, which are nobody without DNS. */
function addDns(
  facts: ZoneFacts,
  network: NetworkName,
  { namespace, name }: Firewall,
  group: string,
  rows: Rows,
): void {
  const { settings, firewallPlacements } = facts;
  if (!forwardsDnsOn(network, settings) || !facts.hasRuleNames()) return;
  const hasNames = firewallPlacements.part([namespace, name], 'hasNames') === true;
  const isOnDefault = network === DEFAULT_NETWORK;
  if (!hasNames && (!isOnDefault || facts.forwardedDns()?.isInside === false)) return;
  const families = clusterFamilies(settings);
  const onHost = families.flatMap((family) => dnsForwarderAddress(settings, family) ?? []);
  if (isOnDefault && onHost.length === 0) return;
  // Pods of primary networks ask the service itself, on their way to the host.
  const sets = isOnDefault ? [] : families.map((family) => ({ family, ...dnsServiceSet(family) }));
  const destinations = isOnDefault
    ? [`(${onHost.map((address) => `${ipOf(address)}.dst == ${address}`).join(' || ')})`]
    : sets.map(({ family, name: set }) => `${family === 'v4' ? 'ip4' : 'ip6'}.dst == $${set}`);
  const by = isOnDefault ? [] : [`(udp.dst == ${DNS_PORT} || tcp.dst == ${DNS_PORT})`];
  addAcl(
    rows,
    {
      ids: objectIds(controllerOf(network), 'EgressFirewall', {
        name: namespace,
        'rule-index': 'dns',
      }),
      name: `EF:${namespace}:dns`,
      direction: 'Ingress',
      priority: ACL_FIREWALL + 1,
      tier: TIER_POLICY,
      action: 'allow',
      match: eachWith(destinations, ofGroup('Egress', group), ...by),
      sets: sets.map(({ name: set }) => set),
      severity: undefined,
    },
    holds('Port_Group', group, 'acls'),
  );
}

interface RuleMatch {
  readonly isAllowed: boolean;
  readonly match: (ofPods: string) => string;
  /** Names of the address sets that it speaks of. */
  readonly sets: readonly string[];
  /** Those of them that are the rules' own. */
  readonly blocks?: readonly BlockSet[];
}

interface BlockSet {
  readonly set: AddressSet;
  readonly members: readonly string[];
}

const closed = (
  facts: ZoneFacts,
  network: string,
  firewall: Firewall,
  spared: readonly Prefix[],
  out: Sink,
): ReadonlyMap<number, RuleMatch> =>
  new Map(
    CLOSED.map((rule, index) => [
      index,
      matchOf(rule, destinationsOf(facts, network, firewall, rule, spared, out)),
    ]),
  );

/** By the place of the rule; those that mean nobody have none. Where they can't be in force everything outside is denied, and that is told. */
function matchesOf(
  facts: ZoneFacts,
  network: NetworkName,
  firewall: Firewall,
  spared: readonly Prefix[],
  out: Sink,
): ReadonlyMap<number, RuleMatch> {
  const { mostFirewallFlows: most } = facts.settings.policies;
  const { namespace, name, rules } = firewall;
  const wildcard = rules
    .flatMap(({ destination }) => (destination.kind === 'name' ? destination.name : []))
    .find(isWildcard);
  if (wildcard !== undefined && !forwardsDnsOn(network, facts.settings)) {
    out.problem(
      firewallObject(firewall),
      `rule about ${wildcard}: which names a wildcard stands for is known where nodes forward what pods ask DNS alone (dns-forwarder, a service as dns-servers, and for primary networks also among udn-allowed-default-services and host-vrfs): pods send nothing out of network ${network}; write the names, or cidrSelector`,
    );
    return closed(facts, network, firewall, spared, out);
  }
  const pods = facts.firewallPlacements.part([namespace, name], 'mostPods') ?? 0;
  const matches = new Map<number, RuleMatch>();
  let flows = 0;
  for (const run of runsOf(rules)) {
    const { index, rule } = run;
    const destinations =
      run.cidrs === undefined
        ? destinationsOf(facts, network, firewall, rule, spared, out)
        : blocksOf(controllerOf(network), namespace, run, spared);
    if (destinations.alternatives.length === 0) continue;
    flows += flowsOf(pods, destinations, rule.ports);
    if (flows > most) break;
    matches.set(index, matchOf(rule, destinations));
  }
  if (flows <= most) return matches;
  out.problem(
    firewallObject(firewall),
    `its rules would cost this node, with up to ${pods} pods of the namespace, more than ${most} flows (max-flows-per-firewall): until they cost less its pods here send nothing out of their network; write fewer rules, blocks and ports`,
  );
  return closed(facts, network, firewall, spared, out);
}

/**
 * OpenFlow flows of a rule on a node, which has them twice: for the first packet of a connection, and for the others. Pods, prefixes and ports
 * add up (conjunctions), for each family and protocol; with one prefix and no ports it is a flow for each pod.
 */
function flowsOf(
  pods: number,
  { alternatives, prefixes }: Destinations,
  ports: readonly PolicyPort[],
): number {
  const protocols = new Set(ports.map(({ protocol }) => protocol)).size;
  const lists = alternatives.length * Math.max(1, protocols);
  return (
    2 * (lists * Math.max(1, pods) + Math.max(0, prefixes - 1) + Math.max(0, ports.length - 1))
  );
}

function matchOf(
  { isAllowed, ports }: FirewallRule,
  { alternatives, sets = [], blocks = [] }: Destinations,
): RuleMatch {
  const by = portsOf(ports);
  return {
    isAllowed,
    sets,
    blocks,
    match: (ofPods) =>
      eachWith(
        alternatives.map((terms) => `(${terms.join(' || ')})`),
        ofPods,
        ...(by === undefined ? [] : [by]),
      ),
  };
}

interface Destinations {
  /** Terms of which any has to be so; none if it means nobody. */
  readonly alternatives: readonly (readonly string[])[];
  /** What OVN makes of them. */
  readonly prefixes: number;
  readonly sets?: readonly string[];
  readonly blocks?: readonly BlockSet[];
}

/** So many rules that differ in nothing but their blocks are one row; fewer are a row each, as in ovn-kubernetes. */
const MANY = 32;

/** A rule, or many in a row with the blocks of all. */
interface Run {
  /** Place of the first. */
  readonly index: number;
  readonly rule: FirewallRule;
  readonly cidrs?: readonly string[];
}

/** In which order such rules are makes no difference: whichever has a packet first does the same with it. */
function runsOf(rules: readonly FirewallRule[]): readonly Run[] {
  const runs: Run[] = [];
  let from = 0;
  const end = (to: number): void => {
    const same = rules.slice(from, to);
    const [rule] = same;
    const cidrs = same.flatMap(({ destination }) =>
      destination.kind === 'cidr' ? destination.cidr : [],
    );
    if (rule !== undefined && cidrs.length >= MANY) runs.push({ index: from, rule, cidrs });
    else runs.push(...same.map((one, place) => ({ index: from + place, rule: one })));
    from = to;
  };
  for (const [index, rule] of rules.entries())
    if (index > 0 && !differInBlocks(rules[index - 1] ?? rule, rule)) end(index);
  end(rules.length);
  return runs;
}

const differInBlocks = (one: FirewallRule, other: FirewallRule): boolean =>
  one.destination.kind === 'cidr' &&
  other.destination.kind === 'cidr' &&
  one.isAllowed === other.isAllowed &&
  isSame(one.ports, other.ports);

function blocksOf(
  controller: string,
  namespace: string,
  { index, cidrs = [] }: Run,
  spared: readonly Prefix[],
): Destinations {
  const left = cidrs.flatMap((cidr) => {
    const block = parsePrefix(cidr);
    if (block === undefined) return [];
    return spared.some((prefix) => overlaps(block, prefix))
      ? [...withoutPrefixes(block, spared)].map(formatPrefix)
      : [cidr];
  });
  const blocks = FAMILIES.flatMap((family) => {
    const members = [...new Set(left.filter((cidr) => familyOf(cidr) === family))].sort();
    const set = egressFirewallBlocks(controller, namespace, index, family);
    return members.length === 0 ? [] : [{ family, set, members }];
  });
  return {
    alternatives: blocks.map(({ family, set }) => [
      `${family === 'v4' ? 'ip4' : 'ip6'}.dst == $${set.name}`,
    ]),
    prefixes: blocks.reduce((sum, { members }) => sum + members.length, 0),
    sets: blocks.map(({ set }) => set.name),
    blocks,
  };
}

function destinationsOf(
  facts: ZoneFacts,
  network: string,
  firewall: Firewall,
  rule: FirewallRule,
  spared: readonly Prefix[],
  out: Sink,
): Destinations {
  const { destination, isAllowed } = rule;
  if (destination.kind === 'cidr') return termsOf(destination.cidr, spared);
  if (destination.kind === 'name') {
    const named = clusterFamilies(facts.settings).map((family) => ({
      set: egressFirewallName(destination.name, family).name,
      ip: family === 'v4' ? 'ip4' : 'ip6',
    }));
    return {
      alternatives: named.map(({ set, ip }) => [`${ip}.dst == $${set}`]),
      // As many as there may be: what a name stands for changes without the rule.
      prefixes: named.length * MOST_ADDRESSES,
      sets: named.map(({ set }) => set),
    };
  }
  const addresses = selectedNodes(facts, network, [destination.selector]).flatMap((node) => {
    // Of whom it allows the pods get less until then.
    if (node.addresses.length === 0 && !isAllowed)
      out.problem(
        firewallObject(firewall),
        `node ${node.name}, which a rule denies, has no addresses yet (annotation k8s.ovn.org/host-cidrs): pods reach it until it has`,
      );
    return [...node.addresses, ...node.inside];
  });
  const found = [...new Set(addresses)].sort();
  const byFamily = Map.groupBy(found, ipOf);
  // One of each family costs no more together.
  const lists = found.length > 2 ? [...byFamily.values()] : [found];
  return {
    alternatives: lists
      .filter((list) => list.length > 0)
      .map((list) => list.map((address) => `${ipOf(address)}.dst == ${address}`)),
    prefixes: found.length,
  };
}

/** A block without the subnets of the networks: what pods send there is for policies to decide. */
function termsOf(cidr: string, spared: readonly Prefix[]): Destinations {
  const block = parsePrefix(cidr);
  if (block === undefined) return { alternatives: [], prefixes: 0 };
  const ip = `${ipOf(cidr)}.dst`;
  const [one, ...others] = spared.filter((prefix) => overlaps(block, prefix));
  if (one === undefined) return { alternatives: [[`${ip} == ${cidr}`]], prefixes: 1 };
  const left = [...withoutPrefixes(block, spared)].map(formatPrefix);
  // OVN multiplies out what is negated: of several what is left is listed.
  const terms =
    others.length === 0 && left.length > 0
      ? [`${ip} == ${cidr} && ${ip} != ${formatPrefix(one)}`]
      : left.map((prefix) => `${ip} == ${prefix}`);
  return { alternatives: terms.length === 0 ? [] : [terms], prefixes: left.length };
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
