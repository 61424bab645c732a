/**
 * ClusterNetworkPolicies and AdminNetworkPolicies, and the BaselineAdminNetworkPolicy behind all others (reference/topology.md §16.2). ovn-kubernetes has them on the default
 * network alone; here they hold on primary networks too, under each network's controller.
 */

import { familyOf, nthAddress, type Family } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import { isAdminKind } from '../../api/validation/admin-policies.ts';
import { feature, type Sink } from '../../desired/features.ts';
import {
  adminPortQueries,
  type AdminPolicy,
  type AdminRule,
} from '../../model/read/admin-policies.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { NetworkName } from '../../model/model.ts';
import { forwardsDnsOn, isWildcard } from '../../model/rules/dns-forwarding.ts';
import { controllerOf } from '../../model/rules/names.ts';
import { ACL_CLAIM, addAcl, ofGroup, type Acl } from '../rows/acls.ts';
import {
  ADDRESS_SET_CLAIM,
  addAddressSet,
  adminPeers,
  egressFirewallName,
} from '../rows/address-sets.ts';
import { networkOf, networkRank } from '../networks/network-feature.ts';
import {
  ACL_ADMIN_POLICY,
  ADMIN_RULES,
  TIER_ADMIN_POLICY,
  TIER_BASELINE_POLICY,
} from '../numbers.ts';
import { objectIds } from '../rows/object-ids.ts';
import { addPortGroup, adminPortGroup, PORT_GROUP_CLAIM } from '../rows/port-groups.ts';
import { addTierPasses } from '../rows/tier-passes.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import { byProtocol, eachWith, peerEnd } from './matches.ts';
import { namedPortMatches } from './named-ports.ts';
import { familiesOf } from './placed.ts';
import { selectedNodes } from './selected-nodes.ts';

const ACTIONS = { Allow: 'allow-related', Deny: 'drop', Pass: 'pass' } as const;

/**
 * What tier Baseline passes on goes through, there being no later tier. It is allowed: of what only passes OVN remembers nothing, and drops the answers where
 * it had cut the connection before.
 */
const actionOf = (action: AdminRule['action'], tier: AdminPolicy['tier']) =>
  ACTIONS[tier === 'Baseline' && action === 'Pass' ? 'Allow' : action];

const tierOf = (tier: AdminPolicy['tier']): number =>
  tier === 'Baseline' ? TIER_BASELINE_POLICY : TIER_ADMIN_POLICY;

const SHORT = {
  AdminNetworkPolicy: 'ANP',
  BaselineAdminNetworkPolicy: 'BANP',
  ClusterNetworkPolicy: 'CNP',
} as const;

const objectOf = ({ kind, name }: AdminPolicy): string => `${kind} ${name}`;

/** Peers of each rule: pods by selectors, nodes by their labels, and ranges. */
export const adminAddresses = feature({
  name: 'policy/admin-addresses',
  over: (facts: ZoneFacts) => facts.adminPlacements.distinct('rule'),
  rank: networkRank,
  subject: networkOf,
  objects: (_facts, [, kind, name]) => [`${kind} ${name}`],
  rules: {
    addresses: {
      text: 'Peers of a rule of a policy of administrators are in one set: pods of all nodes on this network, nodes and ranges.',
      source: 'reference/topology.md §16.2',
    },
  },
  claims: [ADDRESS_SET_CLAIM],
  build(facts, [network, kind, name, direction, index], out) {
    const policy = facts.admins.get(kind, name);
    const rule = policy?.rules.find(
      (one) => one.direction === direction && String(one.index) === index,
    );
    if (policy === undefined || rule === undefined) return;
    if (rule.peers.length > 0) facts.requireOtherPods();
    const nodes = selectedNodes(facts, network, rule.nodes).flatMap(({ addresses, inside }) => [
      ...addresses,
      ...inside,
    ]);
    const blocks = rule.networks.map((cidr) => ({ cidr, except: [] }));
    const forwarders = direction === 'Egress' ? facts.dnsForwardersIn(network, blocks) : [];
    const others = [...nodes, ...rule.networks, ...forwarders];
    const rows = Rows.northbound(out, objectOf(policy)).by('addresses');
    const controller = controllerOf(network);
    for (const family of familiesOf(facts, network)) {
      const set = adminPeers(controller, kind, name, rule, family);
      const pods = rule.peers.map(({ id }) => facts.addressesOf(network, id, family));
      const besides = others.filter((address) => familyOf(address) === family);
      const [only] = pods;
      if (only !== undefined && pods.length === 1 && besides.length === 0)
        addAddressSet(rows, set, only);
      else {
        const all = [...pods.flatMap((one) => [...one]), ...besides];
        addAddressSet(rows, set, [...new Set(all)].sort());
      }
    }
  },
});

export const adminPolicy = feature({
  name: 'policy/admin-policy',
  over: (facts: ZoneFacts) => facts.adminPlacements.distinct('unit'),
  rank: networkRank,
  subject: networkOf,
  objects: (_facts, [, kind, name]) => [`${kind} ${name}`],
  rules: {
    group: {
      text: 'A policy of administrators has a group of the pods that it is about.',
      source: 'reference/topology.md §16.2',
    },
    rule: {
      text: 'Of the rules of such a policy the first that matches decides, or passes the packet on to the policies of namespaces.',
      source: 'reference/topology.md §16.2',
    },
    passes: {
      text: 'Such a policy ends connections of its pods that were there before it, whatever earlier tiers have no row for.',
      source: 'reference/topology.md §16.2',
    },
  },
  claims: [PORT_GROUP_CLAIM, ACL_CLAIM],
  build(facts, [network, kind, name], out) {
    const policy = facts.admins.get(kind, name);
    if (policy === undefined || !isAdminKind(kind)) return;
    const controller = controllerOf(network);
    const rows = Rows.northbound(out, objectOf(policy));
    addPortGroup(rows.by('group'), adminPortGroup(controller, kind, name));
    const families = familiesOf(facts, network);
    for (const rule of policy.rules)
      addRule(rows.by('rule'), { facts, network, controller, policy, families, out }, rule);
    if (policy.rules.some(({ direction }) => direction === 'Ingress'))
      addPasses(rows.by('passes'), controller, policy);
  },
});

interface AdminOnNetwork {
  readonly facts: ZoneFacts;
  readonly network: NetworkName;
  readonly controller: string;
  readonly policy: AdminPolicy;
  readonly families: readonly Family[];
  readonly out: Sink;
}

function addRule(rows: Rows, onNetwork: AdminOnNetwork, rule: AdminRule): void {
  const { facts, network, controller, policy, families } = onNetwork;
  const { kind, name } = policy;
  if (families.length === 0) return;
  const port = ofGroup(rule.direction, adminPortGroup(controller, kind, name).name);
  const end = peerEnd(rule.direction);
  const names = lookedUp(onNetwork, rule);
  const byFamily = families.map((family) => [
    adminPeers(controller, kind, name, rule, family).name,
    ...names.map((one) => egressFirewallName(one, family).name),
  ]);
  const sets = byFamily.flat();
  const terms = families.map((family, i) => {
    const own = (byFamily[i] ?? []).map((set) => `$${set}`);
    return `${family === 'v4' ? 'ip4' : 'ip6'}.${end} == ${own.length === 1 ? own.join('') : `{${own.join(', ')}}`}`;
  });
  const others = families.length === 1 ? [`((${terms.join('')}))`] : terms;
  const themselves = families.map((family, i) => selfTerm(onNetwork, rule, family, sets[i]));
  const peers = [...others, ...themselves.flat()];
  const add = (protocol: string, named: readonly string[], matches: readonly string[]): void => {
    addRow(rows, onNetwork, rule, protocol, { match: eachWith(matches), sets: named });
  };
  if (rule.ports.length === 0)
    add(
      'None',
      sets,
      peers.map((from) => `${port} && ${from}`),
    );
  for (const [protocol, match] of byProtocol(rule.ports))
    add(
      protocol,
      sets,
      peers.map((from) => `${port} && ${from} && ${match}`),
    );
  const queries = adminPortQueries(policy, rule);
  if (queries.length > 0) facts.requireOtherPods();
  const named = namedPortMatches(facts, network, controller, families, queries);
  for (const [protocol, { match, sets: more }] of named)
    add(
      `${protocol}-namedPort`,
      rule.direction === 'Egress' ? more : [...sets, ...more],
      [...match.values()].flatMap((to, i) =>
        rule.direction === 'Egress'
          ? `${port} && ${to}`
          : [...others.slice(i, i + 1), ...(themselves[i] ?? [])].map(
              (from) => `${port} && ${from} && ${to}`,
            ),
      ),
    );
}

/**
 * A pod that reaches itself by a service, which ClusterNetworkPolicies are about, has an address of nobody's as its source: it is among the peers if
 * the destination is. OVN sends it back before ACLs of egress, so only rules of ingress can be about it.
 */
function selfTerm(
  { facts, policy }: AdminOnNetwork,
  { direction }: AdminRule,
  family: Family,
  peers = '',
): readonly string[] {
  const subnet = facts.settings.masqueradeSubnets[family];
  if (policy.kind !== 'ClusterNetworkPolicy' || direction !== 'Ingress' || subnet === undefined)
    return [];
  const ip = family === 'v4' ? 'ip4' : 'ip6';
  const source = nthAddress(subnet, MASQUERADE_OFFSETS.serviceHairpin);
  return [`${ip}.src == ${source} && ${ip}.dst == $${peers}`];
}

/** Names of a rule, without wildcards where nobody sees which names these stand for. */
function lookedUp(
  { facts, network, policy, out }: AdminOnNetwork,
  { names }: AdminRule,
): readonly string[] {
  if (forwardsDnsOn(network, facts.settings)) return names;
  const [wildcard] = names.filter(isWildcard);
  if (wildcard !== undefined)
    out.problem(
      objectOf(policy),
      `rule about ${wildcard.slice(1)}: which names a wildcard stands for is known where nodes forward what pods ask DNS alone (dns-forwarder, a service as dns-servers, and for primary networks also among udn-allowed-default-services and host-vrfs): it lets pods to nobody on network ${network}; write the names, or networks`,
    );
  return names.filter((name) => !isWildcard(name));
}

function addPasses(rows: Rows, controller: string, { kind, name, tier }: AdminPolicy): void {
  const group = adminPortGroup(controller, kind, name).name;
  addTierPasses(
    rows,
    tierOf(tier),
    ofGroup('Ingress', group),
    (below) =>
      objectIds(controller, kind, {
        name,
        direction: 'Ingress',
        'gress-index': below,
        'port-policy-protocol': 'None',
      }),
    holds('Port_Group', group, 'acls'),
  );
}

function addRow(
  rows: Rows,
  { controller, policy }: AdminOnNetwork,
  { direction, index, action }: AdminRule,
  protocol: string,
  { match, sets }: { readonly match: string; readonly sets: readonly string[] },
): void {
  const { kind, name, tier, priority, logging } = policy;
  const severity = { Allow: logging.allow, Deny: logging.deny, Pass: logging.pass }[action];
  const acl: Acl = {
    ids: objectIds(controller, kind, {
      name,
      direction,
      'gress-index': String(index),
      'port-policy-protocol': protocol,
    }),
    name: `${SHORT[kind]}:${name}:${direction}:${index}`,
    direction,
    priority: ACL_ADMIN_POLICY - priority * ADMIN_RULES - index,
    tier: tierOf(tier),
    action: actionOf(action, tier),
    match,
    sets,
    severity,
    afterLoadBalancing: true,
  };
  addAcl(rows, acl, holds('Port_Group', adminPortGroup(controller, kind, name).name, 'acls'));
}
