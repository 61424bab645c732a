/** What a NetworkPolicy, or a MultiNetworkPolicy on a secondary network, lets through (topology.md §16.1, §16.3). */

import { FAMILIES, type Family } from '../../allocators/addresses.ts';
import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/facts.ts';
import type { NetworkName } from '../../model/model.ts';
import { controllerOf } from '../../model/names.ts';
import { policyObject, portQueries, type Policy, type PolicyRule } from '../../model/policies.ts';
import { ACL_CLAIM, addAcl, ofGroup } from '../acls.ts';
import { selectedPods } from '../address-sets.ts';
import { networkOf, networkRank } from '../network/network-feature.ts';
import { ACL_DEFAULT_ALLOW, TIER_POLICY } from '../numbers.ts';
import { objectIds } from '../object-ids.ts';
import { addPortGroup, policyPortGroup, PORT_GROUP_CLAIM } from '../port-groups.ts';
import { holds, Rows } from '../rows.ts';
import { allAddresses, byProtocol, inBlocks, inSets, peerEnd } from './matches.ts';
import { namedPortMatches } from './named-ports.ts';
import { familiesOf } from './placed.ts';

/** `ip-block-index`: what selectors or nothing at all select, and all blocks of a rule together. */
const SELECTORS = -1;
const BLOCKS = -2;

/** What the rule is about, with the sets that it names. */
interface Match {
  readonly match: string;
  readonly sets: readonly string[];
}

/** The group alone: pods join it, and are closed, also while what is let through can't be worked out. */
export const policyGroup: Feature<ZoneFacts> = {
  name: 'policy/group',
  over: (facts) => facts.policing.placements.distinct('unit', 4),
  rank: networkRank,
  subject: networkOf,
  rules: {
    group: {
      text: 'A policy has a group of the pods that it selects.',
      source: 'topology.md §16.1',
    },
  },
  claims: [PORT_GROUP_CLAIM],
  build(facts, [network = '', ...key], out) {
    const policy = facts.policing.policies.get(...key);
    if (policy === undefined) return;
    const { namespace, name } = policy;
    const group = policyPortGroup(controllerOf(network as NetworkName), namespace, name);
    addPortGroup(Rows.northbound(out, policyObject(policy)).by('group'), group);
  },
};

export const policyRules: Feature<ZoneFacts> = {
  name: 'policy/rules',
  over: (facts) => facts.policing.placements.distinct('unit', 4),
  rank: networkRank,
  subject: networkOf,
  rules: {
    allow: {
      text: 'What a rule of a policy lets through: a row per protocol, for peers by selectors and for peers by address.',
      source: 'topology.md §16.1',
    },
    'allow-named': {
      text: 'Ports that a rule means by a name are those of the pods that call them so, each at its number.',
      source: 'topology.md §16.1',
    },
  },
  claims: [ACL_CLAIM],
  build(facts, [network = '', ...key], out) {
    const policy = facts.policing.policies.get(...key);
    if (policy === undefined) return;
    const rows = Rows.northbound(out, policyObject(policy));
    const on = { facts, network, controller: controllerOf(network as NetworkName), policy };
    const families = familiesOf(facts, network);
    if (families.length === 0 && policy.rules.some(({ peers }) => peers.length > 0))
      out.problem(
        policyObject(policy),
        `network ${network} gives its pods no addresses: peers by selectors are nobody there; write address blocks`,
      );
    for (const rule of policy.rules) addRule(rows, on, rule, families);
  },
};

interface PolicyOnNetwork {
  readonly facts: ZoneFacts;
  readonly network: string;
  readonly controller: string;
  readonly policy: Policy;
}

function addRule(
  rows: Rows,
  on: PolicyOnNetwork,
  rule: PolicyRule,
  families: readonly Family[],
): void {
  const { facts, network, controller, policy } = on;
  const end = peerEnd(rule.direction);
  const peers = new Map<number, Match>();
  if (rule.blocks.length > 0) peers.set(BLOCKS, { match: inBlocks(end, rule.blocks), sets: [] });
  if (rule.peers.length > 0) {
    const sets = new Map(
      families.map((family) => [
        family,
        rule.peers.map(({ id }) => selectedPods(controller, id, family).name),
      ]),
    );
    // Without addresses there is nobody whom a selector could mean.
    if (sets.size > 0)
      peers.set(SELECTORS, { match: inSets(end, sets), sets: [...sets.values()].flat() });
  } else if (rule.blocks.length === 0)
    peers.set(SELECTORS, {
      match: allAddresses(families.length === 0 ? FAMILIES : families),
      sets: [],
    });

  const ports = byProtocol(rule.ports);
  for (const [block, { match, sets }] of peers) {
    if (rule.ports.length === 0) addAllow(rows.by('allow'), on, rule, 'None', block, match, sets);
    for (const [protocol, port] of ports)
      addAllow(rows.by('allow'), on, rule, protocol, block, `${match} && ${port}`, sets);
  }
  const queries = portQueries(policy, rule);
  if (queries.length > 0) facts.requireOtherPods();
  const named = namedPortMatches(facts, network, controller, families, queries);
  for (const [protocol, { match, sets }] of named) {
    const key = `${protocol}-namedPort`;
    // Who sends says nothing about the port; who is reached is in the sets of the port already.
    if (rule.direction === 'Egress')
      addAllow(rows.by('allow-named'), on, rule, key, SELECTORS, match, sets);
    else
      for (const [block, peer] of peers)
        addAllow(rows.by('allow-named'), on, rule, key, block, `${peer.match} && ${match}`, [
          ...peer.sets,
          ...sets,
        ]);
  }
}

function addAllow(
  rows: Rows,
  { facts, controller, policy: { namespace, name, isStateless } }: PolicyOnNetwork,
  { direction, index }: PolicyRule,
  protocol: string,
  block: number,
  match: string,
  sets: readonly string[],
): void {
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
      match: `${match} && ${ofGroup(direction, group.name)}`,
      sets,
      severity: facts.namespaces.part(namespace, 'logging')?.allow,
      afterLoadBalancing: true,
    },
    holds('Port_Group', group.name, 'acls'),
  );
}
