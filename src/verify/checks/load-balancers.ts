/** Load balancers: each hangs where its service is, and leads to endpoints of that service on that network. */
import {
  asHost,
  contains,
  containsAddress,
  parseAddress,
  parsePrefix,
} from '../../allocators/addresses.ts';
import { familyCidrs } from '../../api/nad/network-config.ts';
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import type { NorthboundRows } from '../northbound-rows.ts';
import { list, member, pairs, text, type Row } from '../rows.ts';
import type { Findings } from '../findings.ts';
import { rowText, type Datapath, type DatapathLookup } from '../intent/datapaths.ts';
import type { Intent } from '../intent/intent.ts';
import type { VerifiedNetwork } from '../intent/networks.ts';
import type { VerifiedService, VerifiedServices } from '../intent/services.ts';
import type { Settings } from '../snapshot.ts';
import { headersOf, isEndpoint, strangePorts } from './service-ports.ts';

/** Addresses of the node in the masquerade subnet (reference/node.md §1.1). */
const NODE_ADDRESSES = 8;

interface Context {
  readonly settings: Settings;
  readonly intent: Intent;
  readonly services: VerifiedServices;
  readonly findings: Findings;
  /** Variables of templates, by name. */
  readonly variables: Readonly<Record<string, string>>;
  readonly isOfNode: (address: string) => boolean;
}

const hangingOn = ({ row }: Datapath, northbound: NorthboundRows): ReadonlySet<string> =>
  new Set([
    ...list(row, 'load_balancer'),
    ...list(row, 'load_balancer_group').flatMap((uuid) => {
      const group = northbound.find('Load_Balancer_Group', uuid);
      return group === undefined ? [] : list(group, 'load_balancer');
    }),
  ]);

/** Load balancers of a network by their UUIDs, each with the first of its switches and routers on which it hangs: its backends do not depend on where that is. */
export function hangingAt(
  network: string,
  northbound: NorthboundRows,
  datapaths: DatapathLookup,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const datapath of datapaths.ofNetwork(network).toSorted(byName))
    for (const uuid of hangingOn(datapath, northbound))
      if (!found.has(uuid)) found.set(uuid, datapath.name);
  return found;
}

/** One load balancer, which hangs on `at` of a network. */
export function checkLoadBalancer(
  uuid: string,
  at: string,
  network: VerifiedNetwork,
  northbound: NorthboundRows,
  settings: Settings,
  intent: Intent,
  services: VerifiedServices,
  findings: Findings,
): void {
  const row = northbound.find('Load_Balancer', uuid);
  if (row === undefined) return;
  const isOfNode = (address: string): boolean => {
    const parsed = parseAddress(address);
    if (parsed === undefined) return false;
    const isMasqueraded = familyCidrs(settings.masqueradeSubnets)
      .map(parsePrefix)
      .some(
        (subnet) =>
          subnet !== undefined &&
          containsAddress(subnet, parsed) &&
          parsed.value - subnet.base < BigInt(NODE_ADDRESSES),
      );
    return isMasqueraded || intent.here?.addresses.includes(address) === true;
  };
  const variables = variablesOf(northbound, intent);
  checkOne(row, network, at, { settings, intent, services, findings, variables, isOfNode });
}

const byName = (a: Datapath, b: Datapath): number => (a.name < b.name ? -1 : 1);

/** A connection's router leads packets; what hung there would lead those of one network to an address of its own choice. */
export function noLoadBalancers(
  datapath: Datapath,
  northbound: NorthboundRows,
  findings: Findings,
): void {
  const { owner, name } = datapath;
  if (owner.kind !== 'connection') return;
  const { connection } = owner;
  for (const uuid of hangingOn(datapath, northbound)) {
    const row = northbound.find('Load_Balancer', uuid);
    if (row !== undefined)
      findings.wrong(
        'load balancers',
        rowText('Load_Balancer', text(row, 'name')),
        `hangs on ${name} of ${connection.object}: no object wants that`,
        connection.object,
        [...connection.networks],
      );
  }
}

/** Variables of this node's chassis, by which load balancers of the default network name addresses. */
function variablesOf(northbound: NorthboundRows, intent: Intent): Readonly<Record<string, string>> {
  const row = northbound
    .all('Chassis_Template_Var')
    .find((one) => text(one, 'chassis') === intent.here?.chassis);
  return row === undefined ? {} : pairs(row, 'variables');
}

/** Of `address:port`, `[address]:port`, or a variable that stands for such. */
function endsOf(value: string, { variables }: Context): readonly string[] {
  const filled = value.replaceAll(/\^(\w+)/g, (_, name: string) => variables[name] ?? '');
  return filled
    .split(',')
    .map((end) => end.trim())
    .filter((end) => end !== '' && !end.startsWith(':'));
}

const addressOf = (end: string): string => {
  const bracketed = /^\[(.+)\]:\d+$/.exec(end)?.[1];
  return bracketed ?? end.replace(/:\d+$/, '');
};

function checkOne(row: Row, network: VerifiedNetwork, at: string, context: Context): void {
  const { findings, intent, services } = context;
  const name = text(row, 'name');
  const where = rowText('Load_Balancer', name);
  const kind = member(row, 'external_ids', 'k8s.ovn.org/kind');
  const owner = member(row, 'external_ids', 'k8s.ovn.org/owner') ?? '';
  const pod = /^Pod_([^/]+\/[^_]+)_/.exec(name.slice(network.prefix.length))?.[1];
  const user = pod === undefined ? undefined : services.hostPorts.get(pod);
  const object = pod === undefined ? `Service ${owner}` : `Pod ${pod}`;
  const wrong = (what: string, ...others: (string | undefined)[]): void => {
    findings.wrong('load balancers', where, what, object, [network.name, ...others]);
  };
  if (pod !== undefined && kind !== 'Service') {
    if (user?.networks.has(network.name) !== true)
      return wrong(
        `hangs on ${at} of network ${network.name}, where Pod ${pod} has no port of the node`,
        ...(user?.networks ?? []),
      );
    const own = intent.portsOfPod(pod).filter((port) => port.network === network.name);
    backends(row, new Set(own.flatMap(({ addresses }) => addresses)), network, context, wrong);
    return;
  }
  const service = services.byKey.get(owner);
  if (kind !== 'Service' || service === undefined)
    return findings.wrong(
      'load balancers',
      where,
      `hangs on ${at} of network ${network.name}: no service wants it`,
      intent.objectOf(network.name),
      [network.name, ...foreignTo(row, network, context)],
    );
  const home = member(row, 'external_ids', 'k8s.ovn.org/network') ?? DEFAULT_NETWORK;
  if (!service.networks.has(home))
    return wrong(
      `says that Service ${owner} is on network ${home}, and it is on ${[...service.networks].join(', ')}`,
      home,
    );
  if (home !== network.name) {
    const opened = intent.connections.find(
      ({ networks, opensServices }) =>
        opensServices && networks.has(home) && networks.has(network.name),
    );
    if (opened === undefined)
      return wrong(
        `hangs on ${at} of network ${network.name}, and the service is on ${home}: no object wants that`,
        home,
      );
    findings.edge({
      from: network.name,
      to: home,
      kind: 'service',
      where,
      object: opened.object,
      passes: headersOf(
        row,
        network.subnets.map((subnet) => intent.textOf(subnet)),
      ),
    });
  }
  for (const what of strangePorts(row, service)) wrong(what, home);
  checkAddresses(row, owner, context, wrong);
  checkPoolAddresses(row, service, { home, at: network.name }, context, wrong);
  backends(
    row,
    services.endpoints(home, owner),
    intent.byName.get(home) ?? network,
    context,
    wrong,
  );
  checkTargetPorts(row, { home, owner }, context, wrong);
}

/** A port of a backend that is no endpoint's is open to clients of the service, though nobody asked for that. */
function checkTargetPorts(
  row: Row,
  { home, owner }: { readonly home: string; readonly owner: string },
  context: Context,
  wrong: (what: string, ...others: (string | undefined)[]) => void,
): void {
  const [addresses, ends] = [
    context.services.endpoints(home, owner),
    context.services.endpointPorts(home, owner),
  ];
  for (const [vip, value] of Object.entries(pairs(row, 'vips')))
    for (const target of endsOf(value, context)) {
      const address = addressOf(target);
      if (!addresses.has(address) || context.isOfNode(address)) continue;
      if (!isEndpoint(row, target, ends))
        wrong(`leads ${vip} to ${target}, which is no port of an endpoint of it`, home);
    }
}

/** Networks that have an address of a backend and are not this one. */
function foreignTo(row: Row, network: VerifiedNetwork, context: Context): readonly string[] {
  const addresses = Object.values(pairs(row, 'vips')).flatMap((value) =>
    endsOf(value, context).map(addressOf),
  );
  return context.intent.networks
    .filter(
      (other) =>
        other !== network &&
        addresses.some((one) => {
          const address = parseAddress(one);
          return (
            address !== undefined &&
            other.subnets.some((subnet) => containsAddress(subnet, address))
          );
        }),
    )
    .map(({ name }) => name);
}

function backends(
  row: Row,
  wanted: ReadonlySet<string>,
  network: VerifiedNetwork,
  context: Context,
  wrong: (what: string, ...others: (string | undefined)[]) => void,
): void {
  for (const [vip, value] of Object.entries(pairs(row, 'vips')))
    for (const end of endsOf(value, context)) {
      const address = addressOf(end);
      if (wanted.has(address) || context.isOfNode(address)) continue;
      wrong(
        `leads ${vip} to ${end}, which is no endpoint of it on network ${network.name}`,
        ...foreignTo(row, network, context),
      );
    }
}

/**
 * An address of a pool is the service's own on its network; where another network of a connection has a pool or pods with it, what is sent there is not
 * for this service.
 */
function checkPoolAddresses(
  row: Row,
  service: VerifiedService,
  { home, at }: { readonly home: string; readonly at: string },
  { services, intent }: Context,
  wrong: (what: string, ...others: (string | undefined)[]) => void,
): void {
  for (const vip of Object.keys(pairs(row, 'vips'))) {
    const text = addressOf(vip);
    const owners = services.byPoolAddress(at, text);
    if (owners.length > 0 && !owners.some(({ key }) => key === service.key))
      wrong(
        `answers for ${text}, which is of Service ${owners[0]?.key ?? ''} on network ${at}`,
        at,
      );
    const address = parseAddress(text);
    if (at === home || address === undefined || !service.poolAddresses.includes(text)) continue;
    if (intent.byName.get(at)?.subnets.some((subnet) => containsAddress(subnet, address)) === true)
      wrong(`answers for ${text} on network ${at}, which has it in a subnet of its own`, at);
  }
}

/** A cluster address is the service's own: clients of another one's would get to it. */
function checkAddresses(
  row: Row,
  owner: string,
  { services, settings }: Context,
  wrong: (what: string, ...others: (string | undefined)[]) => void,
): void {
  const ranges = settings.serviceSubnets;
  for (const vip of Object.keys(pairs(row, 'vips'))) {
    if (vip.includes('^')) continue;
    const address = addressOf(vip);
    if (
      parseAddress(address) === undefined ||
      !ranges.some(
        (cidr) =>
          parsePrefix(cidr)?.family === parsePrefix(asHost(address))?.family &&
          contains(cidr, address),
      )
    )
      continue;
    const service = services.byClusterAddress.get(address);
    if (service === undefined || service.key === owner) continue;
    wrong(`answers for ${address}, which is of Service ${service.key}`, ...service.networks);
  }
}
