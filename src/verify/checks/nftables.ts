/** nftables of the host: marks, maps and sets lead to the network that their number or object says, and what keeps networks apart is there, before what accepts. */
import {
  asPlain,
  contains as mentions,
  elementsOf,
  OWN_TABLE,
  ruleText,
  type NftRule,
  type NftTable,
} from '../nft-table.ts';
import type { Findings } from '../findings.ts';
import { checkDefaultAccess } from './default-access.ts';
import { checkNodePorts } from './node-port-rules.ts';
import { checkIsolation } from './pod-isolation.ts';
import { checkTunnelRules } from './tunnel-rules.ts';
import type { Intent } from '../intent/intent.ts';
import { FIRST_PACKET_MARK, type VerifiedNetwork } from '../intent/networks.ts';
import type { VerifiedServices } from '../intent/services.ts';
import type { Snapshot } from '../snapshot.ts';

/** Chains in which an accept lets something past what keeps networks apart. */
const KEEPERS =
  /^(udn-isolation|udn-host-devices|udn-host-services(-0x[0-9a-f]+)?|udn-host-pods|mgmtport-forward)$/;
/** Marks of what egress and the forwarder of DNS let pass (reference/node.md §1.2). */
const PASSING_MARKS = [1008, 1012];
const HOOKED: ReadonlySet<string> = new Set([
  'udn-isolation',
  'udn-host-devices',
  'udn-host-services',
  'mgmtport-forward',
]);
const isOfHook = (chain: string): boolean => HOOKED.has(chain);

interface Context {
  readonly intent: Intent;
  readonly services: VerifiedServices;
  readonly findings: Findings;
}

export function checkNftables(
  snapshot: Snapshot,
  tables: ReadonlyMap<string, NftTable>,
  intent: Intent,
  services: VerifiedServices,
  findings: Findings,
): void {
  const context = { intent, services, findings };
  for (const [name, table] of tables)
    for (const rule of table.rules) {
      checkMarks(name, rule, context);
      checkDevices(name, rule, context);
      if (name !== OWN_TABLE) checkSource(name, rule, context);
    }
  for (const [name, table] of tables) checkMarkMaps(name, table, context);
  const own = tables.get(OWN_TABLE);
  if (own === undefined) {
    findings.wrong('nftables', `table ${OWN_TABLE}`, 'is not there', 'cluster', ['default']);
    return;
  }
  const keepers = keepersOf(own);
  for (const rule of own.rules) if (keepers.has(rule.chain)) checkAccept(rule, findings);
  checkForwarding(own, context);
  checkTunnelRules(own, snapshot.settings, intent, findings);
  checkIsolation(snapshot, own, intent, findings);
  checkMaps(own, context);
  checkNodePorts(own, services, findings);
  checkDefaultAccess(snapshot, own, intent, services, findings);
}

/** A rule that sets the mark of a network stands in the chain of that network. */
function checkMarks(table: string, rule: NftRule, { intent, findings }: Context): void {
  for (const mark of rule.marks) {
    const network = intent.byId.get(mark - FIRST_PACKET_MARK);
    if (network === undefined || network.id === 0) continue;
    const chain = `udn-mark-0x${mark.toString(16)}`;
    if (table === OWN_TABLE && rule.chain === chain) continue;
    findings.wrong(
      'nftables',
      ruleText(table, rule),
      `sets the mark of network ${network.name}: what it matches is routed as that network's`,
      network.object,
      [network.name, networkOfChain(rule.chain, intent)?.name],
    );
  }
  const own = networkOfChain(rule.chain, intent);
  if (
    table === OWN_TABLE &&
    own !== undefined &&
    rule.chain.startsWith('udn-mark-') &&
    rule.marks.length === 0
  )
    findings.wrong('nftables', ruleText(table, rule), 'is not the mark of the chain', own.object, [
      own.name,
    ]);
}

function networkOfChain(chain: string, intent: Intent): VerifiedNetwork | undefined {
  const mark = /^udn-(?:mark|host-services)-0x([0-9a-f]+)$/.exec(chain)?.[1];
  return mark === undefined
    ? undefined
    : intent.byId.get(Number.parseInt(mark, 16) - FIRST_PACKET_MARK);
}

/** Chains that keep networks apart, and those that they go on in. */
function keepersOf(own: NftTable): ReadonlySet<string> {
  const keepers = new Set(own.rules.map(({ chain }) => chain).filter((one) => KEEPERS.test(one)));
  const jumps = own.rules.map(({ chain, expressions }) => ({
    chain,
    targets: expressions.flatMap((one) => {
      const { jump, goto } = asPlain(one);
      const { target } = asPlain(jump ?? goto);
      return typeof target === 'string' ? [target] : [];
    }),
  }));
  for (let size = -1; size !== keepers.size;) {
    size = keepers.size;
    for (const { chain, targets } of jumps)
      if (keepers.has(chain)) for (const target of targets) keepers.add(target);
  }
  return keepers;
}

/** Packets that a rule hands to a device go past all routing and all chains. */
function checkDevices(table: string, rule: NftRule, { intent, findings }: Context): void {
  for (const one of rule.expressions) {
    const plain = asPlain(one);
    const { dev } = asPlain(plain['fwd'] ?? plain['dup']);
    const network = intent.networks.find(({ hostPort }) => hostPort === dev);
    if (network !== undefined)
      findings.wrong(
        'nftables',
        ruleText(table, rule),
        `hands packets to ${network.hostPort} of network ${network.name}: no object wants that`,
        network.object,
        [network.name],
      );
  }
}

/** The address of a network on this node is given to its packets by this daemon's table alone. */
function checkSource(table: string, rule: NftRule, { intent, findings }: Context): void {
  for (const one of rule.expressions) {
    const { addr } = asPlain(asPlain(one)['snat']);
    if (typeof addr !== 'string') continue;
    const network = intent.networks.find(
      ({ gatewayAddresses, hostAddresses }) =>
        gatewayAddresses.includes(addr) || hostAddresses.includes(addr),
    );
    if (network !== undefined)
      findings.wrong(
        'nftables',
        ruleText(table, rule),
        `gives packets address ${addr} of network ${network.name}: what answers is led there`,
        network.object,
        [network.name],
      );
  }
}

/** A map whose members are marks of networks gives them as a rule does. */
function checkMarkMaps(name: string, table: NftTable, { intent, findings }: Context): void {
  for (const [map, elements] of table.sets) {
    if (!table.markMaps.has(map)) continue;
    for (const { key, value } of elementsOf(elements)) {
      const network = intent.byId.get(Number(value) - FIRST_PACKET_MARK);
      if (network === undefined || network.id === 0) continue;
      findings.wrong(
        'nftables',
        `${key.join(' . ')} of ${map}, table ${name}`,
        `gives the mark of network ${network.name}: what it matches is routed as that network's`,
        network.object,
        [network.name],
      );
    }
  }
}

/** What accepts says whom: a set, a connection, a cgroup, or a mark of egress. */
function checkAccept(rule: NftRule, findings: Findings): void {
  // To return from a chain of a hook is to accept.
  if (!rule.accepts && !(rule.returns && isOfHook(rule.chain))) return;
  const isNarrow =
    mentions(rule.expressions, (value) => typeof value === 'string' && value.startsWith('@')) ||
    mentions(rule.expressions, (value) => {
      const plain = asPlain(value);
      return plain['socket'] !== undefined || (asPlain(plain['ct'])['key'] ?? '') === 'status';
    }) ||
    mentions(
      rule.expressions,
      (value) => typeof value === 'number' && PASSING_MARKS.includes(value),
    );
  if (!isNarrow)
    findings.wrong(
      'nftables',
      ruleText(OWN_TABLE, rule),
      'accepts without asking for an address that an object opened, a connection, or a mark: it comes before what keeps networks apart',
      'cluster',
      ['default'],
    );
}

const isDropBetweenPorts = ({ expressions, drops }: NftRule, from: string): boolean =>
  drops &&
  mentions(expressions, (value) => asPlain(asPlain(value)['meta'])['key'] === from) &&
  mentions(expressions, (value) => asPlain(asPlain(value)['meta'])['key'] === 'oifname');

/** From a port on a network the host forwards to no other one, and lets nothing of a network pass but what has that one's address. */
function checkForwarding(own: NftTable, { findings, intent }: Context): void {
  const rules = own.rules.filter(({ chain }) => chain === 'mgmtport-forward');
  const first = rules.findIndex(({ accepts }) => accepts);
  const before = first < 0 ? rules : rules.slice(0, first);
  for (const from of ['iifname', 'sdifname'])
    if (!before.some((rule) => isDropBetweenPorts(rule, from)))
      findings.wrong(
        'nftables',
        'chain mgmtport-forward',
        `drops nothing from one host's port to another one (${from}) before it accepts`,
        'cluster',
        ['default', ...intent.networks.map(({ name }) => name)].slice(0, 3),
      );
  const last = rules.some(
    ({ drops, expressions }) =>
      drops &&
      expressions.length === 2 &&
      mentions(expressions, (value) => asPlain(asPlain(value)['meta'])['key'] === 'sdifname'),
  );
  if (!last)
    findings.wrong(
      'nftables',
      'chain mgmtport-forward',
      'does not drop what else comes by the port of a primary network',
      'cluster',
      ['default'],
    );
}

/** Maps and sets that choose a network: each member leads where the network of its key is. */
function checkMaps(own: NftTable, { intent, services, findings }: Context): void {
  const wrong = (
    where: string,
    what: string,
    object: string,
    ...networks: (string | undefined)[]
  ): void => {
    findings.wrong('nftables', where, what, object, networks);
  };
  for (const [name, set] of own.sets) {
    const base = name.replace(/-v[46]$/, '');
    for (const { key, value } of elementsOf(set)) {
      const where = `${key.join(' . ')} of ${name}`;
      const target = networkOfChain(value, intent);
      if (base === 'udn-forwarded') {
        const [device, address = ''] = key;
        const network = intent.networks.find(({ hostPort, id }) => id > 0 && hostPort === device);
        const owner = intent.networks.find(({ hostAddresses }) => hostAddresses.includes(address));
        if (network === undefined || owner !== network)
          wrong(
            where,
            `lets ${device} forward with ${address} of ${owner?.name ?? 'nobody'}`,
            intent.objectOf(network?.name),
            network?.name,
            owner?.name,
          );
      } else if (base === 'udn-host-sources') {
        const network = intent.byId.get(Number(key[0]) - FIRST_PACKET_MARK);
        const owner = intent.networks.find(({ gatewayAddresses }) =>
          gatewayAddresses.includes(value),
        );
        if (network === undefined || owner !== network)
          wrong(
            where,
            `gives what is marked for ${network?.name ?? 'nobody'} address ${value} of ${owner?.name ?? 'nobody'}`,
            intent.objectOf(network?.name),
            network?.name,
            owner?.name,
          );
      } else if (base === 'udn-host-ports') {
        const network = intent.networks.find(({ hostPort }) => hostPort === key[0]);
        if (target === undefined || network !== target)
          wrong(
            where,
            `lets what leaves by it be judged as network ${target?.name ?? 'of nobody'}'s`,
            intent.objectOf(network?.name),
            network?.name,
            target?.name,
          );
      } else if (base === 'udn-mark-cluster-ips' || base === 'udn-service-ips') {
        const service = services.byClusterAddress.get(key[0] ?? '');
        if (target === undefined || service?.networks.has(target.name) !== true)
          wrong(
            where,
            `leads to network ${target?.name ?? 'of nobody'}, and is of ${service === undefined ? 'no service' : `Service ${service.key}`}`,
            service === undefined ? intent.objectOf(target?.name) : `Service ${service.key}`,
            target?.name,
            ...(service?.networks ?? []),
          );
      } else if (base === 'udn-mark-nodeports' || base === 'udn-mark-external-ips') {
        const port = Number(key.at(-1));
        const users = services.usersOf(base === 'udn-mark-nodeports' ? undefined : key[0], port);
        if (target === undefined || !users.some(({ networks }) => networks.has(target.name)))
          wrong(
            where,
            `leads to network ${target?.name ?? 'of nobody'}, and is of ${users.map(({ object }) => object).join(', ') || 'nobody'}`,
            users[0]?.object ?? intent.objectOf(target?.name),
            target?.name,
            ...(users[0]?.networks ?? []),
          );
      }
    }
  }
}
