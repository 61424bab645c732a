/** Node ports by which the default network and others reach services of each other at their own node: members of sets, and the rules that ask for them. */
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import type { Findings } from '../findings.ts';
import type { VerifiedServices } from '../intent/services.ts';
import {
  asPlain,
  contains as mentions,
  elementsOf,
  OWN_TABLE,
  ruleText,
  type NftRule,
  type NftTable,
} from '../nft-table.ts';

const NODE_PORTS = 'udn-node-ports';
const DEFAULT_NODE_PORTS = 'default-node-ports';
const NODE_ADDRESSES = /^@local-node-ips-v[46]$/;

/** Pods of the default network reach services of others by node ports of this node: those of an object, and nothing else that is sent to the node. */
export function checkNodePorts(
  own: NftTable,
  services: VerifiedServices,
  findings: Findings,
): void {
  const reached = new Map<string, { readonly where: string; readonly object: string }>();
  for (const { key } of elementsOf(own.sets.get(NODE_PORTS))) {
    const where = `${key.join(' . ')} of ${NODE_PORTS}`;
    const user = services
      .usersOf(undefined, Number(key.at(-1)))
      .find(({ networks }) => !networks.has(DEFAULT_NETWORK));
    if (user === undefined)
      findings.wrong(
        'nftables',
        where,
        'is reached from the default network, and is of no service of a primary network',
        'no object',
        [DEFAULT_NETWORK],
      );
    else
      for (const network of user.networks)
        if (!reached.has(network)) reached.set(network, { where, object: user.object });
  }
  for (const [network, { where, object }] of reached)
    findings.edge({ from: DEFAULT_NETWORK, to: network, kind: 'service', where, object });
  for (const { key } of elementsOf(own.sets.get(DEFAULT_NODE_PORTS))) {
    const users = services.usersOf(undefined, Number(key.at(-1)));
    if (!users.some(({ networks }) => networks.has(DEFAULT_NETWORK)))
      findings.wrong(
        'nftables',
        `${key.join(' . ')} of ${DEFAULT_NODE_PORTS}`,
        'is reached from primary networks, and is of no service of the default network',
        users[0]?.object ?? 'no object',
        [DEFAULT_NETWORK, ...(users[0]?.networks ?? [])],
      );
  }
  for (const rule of own.rules) checkNodePortRule(rule, findings);
}

/** Between the default network and others nothing passes, and nothing gets the host's address, but what the host led from such a port of this node. */
function checkNodePortRule(rule: NftRule, findings: Findings): void {
  const asksFor = (set: string | RegExp): boolean =>
    mentions(rule.expressions, (value) =>
      typeof value === 'string' && typeof set !== 'string' ? set.test(value) : value === set,
    );
  const isForward =
    rule.chain === 'mgmtport-forward' &&
    rule.accepts &&
    (asksFor(NODE_ADDRESSES) || asksFor(`@${NODE_PORTS}`));
  // By its port on the default network the host sends with that one's address; to the bridge with the address of a network, by a map.
  const isSource =
    rule.chain === 'mgmtport-snat' &&
    rule.expressions.some((one) => typeof asPlain(asPlain(one)['snat'])['addr'] === 'string') &&
    mentions(rule.expressions, (value) => asPlain(asPlain(value)['meta'])['key'] === 'oifname');
  if (!isForward && !isSource) return;
  const ports = isForward ? NODE_PORTS : DEFAULT_NODE_PORTS;
  const isTranslated = mentions(
    rule.expressions,
    (value) => asPlain(asPlain(value)['ct'])['key'] === 'status',
  );
  if (!isTranslated || !asksFor(NODE_ADDRESSES) || !asksFor(`@${ports}`))
    findings.wrong(
      'nftables',
      ruleText(OWN_TABLE, rule),
      `${isForward ? 'lets pass' : "gives the host's address to"} what need not have been sent to a node port: it has to ask for ct status dnat, an address of the node and ${ports}`,
      'cluster',
      [DEFAULT_NETWORK],
    );
}
