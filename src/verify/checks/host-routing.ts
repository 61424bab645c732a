/**
 * Links, rules and routes of the host: a network's routing table is reached by its own mark, its own address and its own VRF alone, and leads to its own
 * port and out of the host, never to another network's.
 */
import { asHost } from '../../allocators/addresses.ts';
import type { Findings } from '../findings.ts';
import type { Intent } from '../intent/intent.ts';
import { FIRST_PACKET_MARK, type VerifiedNetwork } from '../intent/networks.ts';
import type { HostLink, HostRoute, HostRule, HostState } from '../snapshot.ts';

const LOCAL_TABLE = 255;
const PORT = /^ovn-k8s-mp(\d+)$/;
const DEFAULTS: ReadonlySet<string> = new Set(['0.0.0.0/0', '::/0']);

interface Context {
  readonly byTable: ReadonlyMap<number, VerifiedNetwork>;
  /** Networks by the devices that lead into them: their ports and VRFs. */
  readonly byDevice: ReadonlyMap<string, VerifiedNetwork>;
  readonly intent: Intent;
  readonly findings: Findings;
}

export function checkHostRouting(host: HostState, intent: Intent, findings: Findings): void {
  const { links, rules, routes } = host;
  if (links === undefined) return;
  const networks = intent.networks.filter(({ id }) => id > 0);
  const byTable = new Map(networks.map((network) => [network.table, network]));
  const byDevice = new Map<string, VerifiedNetwork>();
  for (const network of networks) byDevice.set(network.hostPort, network);
  for (const { name, table } of links) {
    const network = table === undefined ? undefined : byTable.get(table);
    if (network !== undefined) byDevice.set(name, network);
  }
  const context = { byTable, byDevice, intent, findings };
  checkLinks(links, context);
  for (const rule of rules ?? []) checkRule(rule, context);
  if (rules !== undefined) checkVrfRules(links, rules, context);
  for (const route of routes ?? []) checkRoute(route, context);
  if (routes !== undefined) checkEnds(links, routes, context);
}

function checkLinks(
  links: readonly HostLink[],
  { byTable, byDevice, findings, intent }: Context,
): void {
  const vrfs = new Map<string, HostLink>();
  const tables = new Map<number, string>();
  for (const link of links) {
    if (link.table === undefined) continue;
    vrfs.set(link.name, link);
    const other = tables.get(link.table);
    const network = byTable.get(link.table);
    if (other !== undefined)
      findings.wrong(
        'identities',
        `link ${link.name}`,
        `is a VRF with routing table ${link.table}, as ${other} is`,
        intent.objectOf(network?.name),
        [network?.name],
      );
    tables.set(link.table, link.name);
  }
  for (const link of links) {
    const vrf = link.master === undefined ? undefined : vrfs.get(link.master);
    const inVrf = vrf?.table === undefined ? undefined : byTable.get(vrf.table);
    const below = link.below === undefined ? undefined : byDevice.get(link.below);
    if (below !== undefined)
      findings.wrong(
        'host routing',
        `link ${link.name}`,
        `sends by ${link.below} of network ${below.name}: no object wants that`,
        below.object,
        [below.name],
      );
    const id = PORT.exec(link.name)?.[1];
    const own = id === undefined || id === '0' ? undefined : byDevice.get(link.name);
    if (inVrf !== undefined && own !== inVrf)
      findings.wrong(
        'host routing',
        `link ${link.name}`,
        `is in VRF ${link.master} of network ${inVrf.name}${own === undefined ? ', and is not its port' : `, and is the port of network ${own.name}`}`,
        inVrf.object,
        [inVrf.name, own?.name],
      );
    if (own !== undefined && inVrf === undefined)
      findings.wrong(
        'host routing',
        `link ${link.name}`,
        `of network ${own.name} is in no VRF of its own: what it sends is routed as the host's`,
        own.object,
        [own.name, 'default'],
      );
  }
}

const ruleText = ({ priority, source, destination, mark, isL3mdev, table }: HostRule): string =>
  [
    `ip rule ${priority}:`,
    ...(source === undefined ? [] : [`from ${source}`]),
    ...(destination === undefined ? [] : [`to ${destination}`]),
    ...(mark === undefined ? [] : [`fwmark 0x${mark.toString(16)}`]),
    ...(isL3mdev ? ['l3mdev'] : [`lookup ${table}`]),
  ].join(' ');

function checkRule(rule: HostRule, { byTable, intent, findings }: Context): void {
  if (rule.isL3mdev) return;
  const network = byTable.get(rule.table);
  const meant =
    rule.mark === undefined ? undefined : intent.byId.get(rule.mark - FIRST_PACKET_MARK);
  const marked = meant === undefined || meant.id === 0 ? undefined : meant;
  if (marked !== undefined && marked !== network) {
    findings.wrong(
      'host routing',
      ruleText(rule),
      `leads what is marked for network ${marked.name} to the table of ${network === undefined ? 'no network' : `network ${network.name}`}`,
      marked.object,
      [marked.name, network?.name],
    );
    return;
  }
  if (network === undefined) return;
  const isOwn =
    rule.source === undefined &&
    !rule.isWider &&
    ((marked === network && rule.destination === undefined) ||
      (rule.mark === undefined &&
        rule.destination !== undefined &&
        network.hostAddresses.some((address) => asHost(address) === rule.destination)));
  if (isOwn) return;
  const other = intent.networks.find(
    ({ hostAddresses, gatewayAddresses }) =>
      rule.destination !== undefined &&
      [...hostAddresses, ...gatewayAddresses].some(
        (address) => asHost(address) === rule.destination,
      ),
  );
  findings.wrong(
    'host routing',
    ruleText(rule),
    `leads into the table of network ${network.name}: no object wants that`,
    network.object,
    [network.name, other === network ? undefined : other?.name],
  );
}

/** What comes by the port of a network is routed by its VRF before all else: the kernel's rule for that is there, and none before it takes everything. */
function checkVrfRules(
  links: readonly HostLink[],
  rules: readonly HostRule[],
  { byTable, findings }: Context,
): void {
  const inUse = links
    .map(({ table }) => (table === undefined ? undefined : byTable.get(table)))
    .filter((network) => network !== undefined);
  if (inUse.length === 0) return;
  const names = inUse.map(({ name }) => name);
  for (const family of new Set(
    inUse.flatMap(({ subnets }) => subnets.map((subnet) => subnet.family)),
  )) {
    const ours = rules.filter((rule) => rule.family === family);
    const first = ours.find(({ isL3mdev }) => isL3mdev)?.priority;
    if (first === undefined) {
      findings.wrong(
        'host routing',
        `ip rules (${family})`,
        'lack "l3mdev": what comes from networks is routed by tables of the host',
        'cluster',
        ['default', ...names],
      );
      continue;
    }
    for (const rule of ours)
      if (
        rule.priority < first &&
        !rule.isL3mdev &&
        rule.table !== LOCAL_TABLE &&
        rule.isForAll === true
      )
        findings.wrong(
          'host routing',
          ruleText(rule),
          'comes before "l3mdev", and takes what comes from networks, too: no object wants that',
          'cluster',
          ['default', ...names],
        );
  }
}

const routeText = ({ table, destination, hops }: HostRoute): string =>
  [
    `route ${destination}`,
    ...hops.map(
      ({ via, device }) => `${via === undefined ? '' : `via ${via} `}dev ${device ?? '?'}`,
    ),
    `table ${table}`,
  ].join(' ');

function checkRoute(route: HostRoute, { byTable, byDevice, findings }: Context): void {
  if (!route.isUnicast || route.table === LOCAL_TABLE) return;
  const own = byTable.get(route.table);
  for (const { device } of route.hops) {
    const other = device === undefined ? undefined : byDevice.get(device);
    if (other === undefined || other === own) continue;
    findings.wrong(
      'host routing',
      routeText(route),
      own === undefined
        ? `leads from a table of the host into network ${other.name}: no object wants that`
        : `leads from network ${own.name} into network ${other.name}: no object wants that`,
      (own ?? other).object,
      [own?.name, other.name],
    );
  }
}

/** A table that ends with nothing goes on to the host's own tables: the last route of a network's says unreachable. */
function checkEnds(
  links: readonly HostLink[],
  routes: readonly HostRoute[],
  { byTable, findings }: Context,
): void {
  const ended = new Set(
    routes
      .filter(({ isUnicast, destination }) => !isUnicast && DEFAULTS.has(destination))
      .map(({ table, family }) => `${table} ${family}`),
  );
  for (const { name, table } of links) {
    const network = table === undefined ? undefined : byTable.get(table);
    if (network === undefined) continue;
    for (const family of new Set(network.subnets.map((subnet) => subnet.family)))
      if (!ended.has(`${table} ${family}`))
        findings.wrong(
          'host routing',
          `table ${table} of VRF ${name}`,
          `has no last route "unreachable default" (${family}): what it has no route for goes on to tables of the host`,
          network.object,
          [network.name, 'default'],
        );
  }
}
