/** nftables of the host: marks, maps and sets lead to the network that their number or object says, and what keeps networks apart is there, before what accepts. */
import {
  asPlain,
  contains as mentions,
  elementsOf,
  type NftRule,
  type NftTable,
} from '../nft-table.ts';
import { openDefaultPorts } from '../../api/annotations/pod-annotations.ts';
import { objectKey } from '../../api/objects.ts';
import type { Findings } from '../findings.ts';
import { checkDefaultAccess } from './default-access.ts';
import { checkTunnelRules } from './tunnel-rules.ts';
import type { Intent } from '../intent/intent.ts';
import { FIRST_PACKET_MARK, type VerifiedNetwork } from '../intent/networks.ts';
import type { VerifiedServices } from '../intent/services.ts';
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
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
const OWN_TABLE = 'inet ovn-kubernetes';

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
  checkIsolation(snapshot, own, context);
  checkMaps(own, context);
  checkNodePorts(own, context);
  checkDefaultAccess(snapshot, own, intent, services, findings);
}

const ruleText = (table: string, { chain, comment, handle }: NftRule): string =>
  `nft rule ${handle} of chain ${chain}, table ${table}${comment === undefined ? '' : ` (${comment})`}`;

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

/** Processes of the host reach pods of primary networks by opened ports alone. */
function checkIsolation(snapshot: Snapshot, own: NftTable, { intent, findings }: Context): void {
  const chain = own.rules.filter(({ chain: name }) => name === 'udn-isolation');
  const opened = new Map<string, Set<string>>();
  for (const pod of snapshot.objects.pods) {
    const ports = openDefaultPorts(pod).value ?? [];
    opened.set(
      objectKey(pod.metadata),
      new Set(ports.map(({ protocol, port }) => `${protocol} ${port ?? ''}`)),
    );
  }
  for (const family of ['v4', 'v6'] as const) {
    const set = own.sets.get(`udn-pod-default-ips-${family}`);
    const locked = [...intent.ports.values()].filter(
      ({ role, node }) => role === 'infrastructure-locked' && node === intent.node,
    );
    const addresses = locked.flatMap((port) =>
      port.addresses
        .filter((address) => address.includes(':') === (family === 'v6'))
        .map((address) => ({ address, port })),
    );
    if (addresses.length === 0) continue;
    const members = new Set(elementsOf(set).map(({ key }) => key.join(' ')));
    for (const { address, port } of addresses)
      if (!members.has(address))
        findings.wrong(
          'nftables',
          `set udn-pod-default-ips-${family}`,
          `lacks ${address} of Pod ${port.pod}: processes of the host reach it`,
          `Pod ${port.pod}`,
          ['default', ...networksOfPod(port.pod, intent)],
        );
    const isDropped = chain.some(
      ({ drops, expressions }) =>
        drops && mentions(expressions, (value) => value === `@udn-pod-default-ips-${family}`),
    );
    if (!isDropped)
      findings.wrong(
        'nftables',
        'chain udn-isolation',
        `does not drop what the host sends to pods of primary networks (${family})`,
        'cluster',
        ['default'],
      );
    checkOpened(own, family, opened, intent, findings);
  }
}

const networksOfPod = (pod: string, intent: Intent): string[] =>
  intent
    .portsOfPod(pod)
    .filter(({ role }) => role === 'primary')
    .map(({ network }) => network);

function checkOpened(
  own: NftTable,
  family: string,
  opened: ReadonlyMap<string, ReadonlySet<string>>,
  intent: Intent,
  findings: Findings,
): void {
  const byAddress = new Map(
    [...intent.ports.values()]
      .filter(({ network }) => network === 'default')
      .flatMap(({ addresses, pod }) => addresses.map((address) => [address, pod] as const)),
  );
  for (const name of [`udn-open-ports-${family}`, `udn-open-ports-icmp-${family}`])
    for (const { key } of elementsOf(own.sets.get(name))) {
      const [address = '', protocol = 'icmp', port = ''] = key;
      const pod = byAddress.get(address);
      const wanted = `${protocol} ${port}`;
      if (pod !== undefined && opened.get(pod)?.has(wanted) === true) continue;
      findings.wrong(
        'nftables',
        `set ${name}`,
        `opens ${key.join(' ')}, which ${pod === undefined ? 'no pod has' : `Pod ${pod} does not open`}`,
        `Pod ${pod ?? address}`,
        ['default', ...(pod === undefined ? [] : networksOfPod(pod, intent))],
      );
    }
}

const NODE_PORTS = 'udn-node-ports';
const DEFAULT_NODE_PORTS = 'default-node-ports';
const NODE_ADDRESSES = /^@local-node-ips-v[46]$/;

/** Pods of the default network reach services of others by node ports of this node: those of an object, and nothing else that is sent to the node. */
function checkNodePorts(own: NftTable, { services, findings }: Context): void {
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
