/** What a NetworkPolicy, or a MultiNetworkPolicy on a secondary network, lets through (reference/topology.md §16.1, §16.3). */

import {
  asHost,
  FAMILIES,
  familyOf,
  formatPrefix,
  parsePrefix,
  type Family,
} from '../../allocators/addresses.ts';
import { withoutPrefixes } from '../../allocators/prefix-subtraction.ts';
import { feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { NetworkName } from '../../model/model.ts';
import { controllerOf } from '../../model/rules/names.ts';
import {
  policyObject,
  portQueries,
  type AddressBlock,
  type Policy,
  type PolicyRule,
} from '../../model/read/policies.ts';
import { FLOWS_PER_TERM, termsOfPorts } from '../../model/rules/policy-cost.ts';
import { anyOf, ACL_CLAIM, addAcl, ofGroup } from '../rows/acls.ts';
import {
  ADDRESS_SET_CLAIM,
  addAddressSet,
  blocksOfRule,
  selectedPods,
  type AddressSet,
} from '../rows/address-sets.ts';
import { networkOf, networkRank } from '../networks/network-feature.ts';
import { ACL_DEFAULT_ALLOW, TIER_POLICY } from '../numbers.ts';
import { objectIds } from '../rows/object-ids.ts';
import { addPortGroup, policyPortGroup, PORT_GROUP_CLAIM } from '../rows/port-groups.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import {
  allOf,
  byProtocol,
  eachWith,
  inBlocks,
  inSets,
  peerEnd,
  type ByFamily,
} from './matches.ts';
import { namedPortMatches } from './named-ports.ts';
import { familiesOf } from './placed.ts';

/** `ip-block-index`: what selectors or nothing at all select, and all blocks of a rule together. */
const SELECTORS = -1;
const BLOCKS = -2;

/** What a rule is about, with the sets that it names. */
interface Match {
  readonly match: ByFamily;
  /** A term of each family at most: OVN makes no more of them together. */
  readonly isShort: boolean;
  readonly sets: readonly string[];
  /** How many terms it has for OVN; what pods are in a set is not the policy's doing, and not counted. */
  readonly terms: number;
}

/** An ACL to be. */
interface Allow extends Pick<Match, 'sets' | 'terms'> {
  readonly alternatives: readonly string[];
  readonly named: boolean;
  readonly rule: PolicyRule;
  readonly protocol: string;
  readonly block: number;
}

/** Addresses that are to be in a set. */
interface BlockSet {
  readonly set: AddressSet;
  readonly addresses: readonly string[];
}

/** The group alone: pods join it, and are closed, also while what is let through can't be worked out. */
export const policyGroup = feature({
  name: 'policy/group',
  over: (facts: ZoneFacts) => facts.placements.distinct('unit'),
  rank: networkRank,
  subject: networkOf,
  objects: (_facts, [, namespace, name, kind]) => [`${kind} ${namespace}/${name}`],
  rules: {
    group: {
      text: 'A policy has a group of the pods that it selects.',
      source: 'reference/topology.md §16.1',
    },
  },
  claims: [PORT_GROUP_CLAIM],
  build(_facts, [network, namespace, name, kind], out) {
    const group = policyPortGroup(controllerOf(network), namespace, name);
    addPortGroup(Rows.northbound(out, `${kind} ${namespace}/${name}`).by('group'), group);
  },
});

export const policyRules = feature({
  name: 'policy/rules',
  over: (facts: ZoneFacts) => facts.placements.distinct('unit'),
  rank: networkRank,
  subject: networkOf,
  objects: (_facts, [, namespace, name, kind]) => [`${kind} ${namespace}/${name}`],
  rules: {
    allow: {
      text: 'What a rule of a policy lets through: a row per protocol, for peers by selectors and for peers by address.',
      source: 'reference/topology.md §16.1',
    },
    blocks: {
      text: 'What exceptions leave of the blocks of a rule is in a set, as prefixes.',
      source: 'reference/topology.md §16.1',
    },
    'allow-named': {
      text: 'Ports that a rule means by a name are those of the pods that call them so, each at its number.',
      source: 'reference/topology.md §16.1',
    },
  },
  claims: [ADDRESS_SET_CLAIM, ACL_CLAIM],
  build(facts, [network, ...key], out) {
    const policy = facts.policies.get(...key);
    if (policy === undefined) return;
    const rows = Rows.northbound(out, policyObject(policy));
    const onNetwork = { facts, network, controller: controllerOf(network), policy };
    const families = familiesOf(facts, network);
    if (families.length === 0 && policy.rules.some(({ peers }) => peers.length > 0))
      out.problem(
        policyObject(policy),
        `network ${network} gives its pods no addresses: peers by selectors are nobody there; write address blocks`,
      );
    const { mostFlows } = facts.settings.policies;
    const found: (Allow | BlockSet)[] = [];
    let flows = 0;
    for (const one of contentsOf(onNetwork, families, mostFlows)) {
      found.push(one);
      flows += 'terms' in one ? FLOWS_PER_TERM * one.terms : 0;
      if (flows <= mostFlows) continue;
      out.problem(
        policyObject(policy),
        `what it lets through would cost each node more than ${mostFlows} flows (max-flows-per-policy): it lets nothing through; write fewer address blocks, exceptions and ports, or several policies`,
      );
      return;
    }
    for (const one of found) {
      if ('addresses' in one) addAddressSet(rows.by('blocks'), one.set, one.addresses);
      else addAllow(rows.by(one.named ? 'allow-named' : 'allow'), onNetwork, one);
    }
  },
});

interface PolicyOnNetwork {
  readonly facts: ZoneFacts;
  readonly network: NetworkName;
  readonly controller: string;
  readonly policy: Policy;
}

/** What the rules come to, one after the other: who counts can stop. More than `most` prefixes of one rule are not worked out. */
function* contentsOf(
  onNetwork: PolicyOnNetwork,
  families: readonly Family[],
  most: number,
): Generator<Allow | BlockSet, void> {
  for (const rule of onNetwork.policy.rules) {
    const peers = new Map<number, Match>();
    if (rule.blocks.length > 0) {
      const { match, sets } = blocksOf(onNetwork, rule, most);
      peers.set(BLOCKS, match);
      yield* sets;
    }
    const selectors = selectorsOf(onNetwork, rule, families);
    if (selectors !== undefined) peers.set(SELECTORS, selectors);
    yield* allowsOf(onNetwork, rule, peers, families);
  }
}

/**
 * Addresses of the rule's blocks. What exceptions leave of a block is written as such, in a set: OVN multiplies out a set that is negated,
 * so that a few exceptions would cost every node minutes.
 */
function blocksOf(
  { facts, network, controller, policy }: PolicyOnNetwork,
  rule: PolicyRule,
  most: number,
): { readonly match: Match; readonly sets: readonly BlockSet[] } {
  const forwarders = rule.direction === 'Egress' ? facts.dnsForwardersIn(network, rule.blocks) : [];
  const whole = [
    ...rule.blocks.filter(({ except }) => except.length === 0).map(({ cidr }) => cidr),
    ...forwarders.map(asHost),
  ];
  const cut = rule.blocks.filter(({ except }) => except.length > 0);
  const left = [
    ...cut
      .values()
      .flatMap(whatIsLeft)
      .take(most + 1),
  ];
  const sets = FAMILIES.filter((family) => cut.some(({ cidr }) => familyOf(cidr) === family)).map(
    (family) => ({
      family,
      set: blocksOfRule(controller, policy, rule, family),
      addresses: [...new Set(left.filter((address) => familyOf(address) === family))].sort(),
    }),
  );
  const names = new Map(sets.map(({ family, set }) => [family, set.name]));
  return {
    match: {
      match: inBlocks(peerEnd(rule.direction), whole, names),
      isShort: names.size === 0 && new Set(whole.map(familyOf)).size === whole.length,
      sets: [...names.values()],
      terms: whole.length + left.length,
    },
    sets,
  };
}

function* whatIsLeft({ cidr, except }: AddressBlock): Generator<string, void> {
  const block = parsePrefix(cidr);
  if (block === undefined) return;
  const exceptions = except.map(parsePrefix).filter((one) => one !== undefined);
  for (const prefix of withoutPrefixes(block, exceptions)) yield formatPrefix(prefix);
}

/** Whom selectors mean, or everybody; nobody where the rule names blocks alone, or selects pods on a network without addresses. */
function selectorsOf(
  { controller }: PolicyOnNetwork,
  rule: PolicyRule,
  families: readonly Family[],
): Match | undefined {
  if (rule.peers.length === 0) {
    if (rule.blocks.length > 0) return undefined;
    const all = families.length === 0 ? FAMILIES : families;
    return { match: allOf(all), isShort: true, sets: [], terms: all.length };
  }
  if (families.length === 0) return undefined;
  const sets = new Map(
    families.map((family) => [
      family,
      rule.peers.map(({ id }) => selectedPods(controller, id, family).name),
    ]),
  );
  const names = [...sets.values()].flat();
  return {
    match: inSets(peerEnd(rule.direction), sets),
    isShort: false,
    sets: names,
    terms: names.length,
  };
}

function* allowsOf(
  { facts, network, controller, policy }: PolicyOnNetwork,
  rule: PolicyRule,
  peers: ReadonlyMap<number, Match>,
  families: readonly Family[],
): Generator<Allow, void> {
  const ports = byProtocol(rule.ports);
  for (const [block, peer] of peers) {
    const found = [...peer.match.values()];
    const alternatives = peer.isShort ? [anyOf(found)] : found;
    if (rule.ports.length === 0)
      yield { ...peer, alternatives, named: false, rule, protocol: 'None', block };
    for (const [protocol, port] of ports)
      yield {
        alternatives: alternatives.map((one) => `${one} && ${port}`),
        sets: peer.sets,
        // Of two lists OVN makes a conjunction: their sum, not their product.
        terms: peer.terms + alternatives.length * termsOfPorts(rule.ports, protocol),
        named: false,
        rule,
        protocol,
        block,
      };
  }
  const queries = portQueries(policy, rule);
  if (queries.length > 0) facts.requireOtherPods();
  const named = namedPortMatches(facts, network, controller, families, queries);
  for (const [protocol, { match, sets, numbers }] of named) {
    const key = { named: true, rule, protocol: `${protocol}-namedPort` };
    // Who sends says nothing about the port; who is reached is in the sets of the port already.
    if (rule.direction === 'Egress')
      yield { ...key, alternatives: [...match.values()], sets, terms: numbers, block: SELECTORS };
    else
      for (const [block, peer] of peers)
        yield {
          ...key,
          alternatives: [...match].flatMap(([family, port]) => {
            const from = peer.match.get(family);
            return from === undefined ? [] : `${from} && ${port}`;
          }),
          sets: [...peer.sets, ...sets],
          // Each number is with other pods: nothing can be shared.
          terms: numbers * (peer.terms + 1),
          block,
        };
  }
}

function addAllow(
  rows: Rows,
  { facts, controller, policy: { namespace, name, isStateless } }: PolicyOnNetwork,
  { rule: { direction, index }, protocol, block, alternatives, sets }: Allow,
): void {
  if (alternatives.length === 0) return;
  const group = policyPortGroup(controller, namespace, name);
  addAcl(
    rows,
    {
      ids: objectIds(controller, 'NetworkPolicy', {
        name: `${namespace}:${name}`,
        direction,
        'gress-index': String(index),
        'port-policy-protocol': protocol,
        'ip-block-index': String(block),
      }),
      name: `NP:${namespace}:${name}:${direction}:${index}`,
      direction,
      priority: ACL_DEFAULT_ALLOW,
      tier: TIER_POLICY,
      action:
        isStateless && facts.settings.policies.allowsStateless
          ? 'allow-stateless'
          : 'allow-related',
      match: eachWith(alternatives, ofGroup(direction, group.name)),
      sets,
      severity: facts.namespaces.part(namespace, 'logging')?.allow,
      afterLoadBalancing: true,
    },
    holds('Port_Group', group.name, 'acls'),
  );
}
