/**
 * The cut: switches and routers are the corners of a graph, pairs of ports its edges. An edge that leaves the part of a network has to be one that
 * an object wants. What a packet does inside of a part is of no matter here: without an edge there is no way, whatever routes, policies and
 * ACLs say.
 */
import { list, member, pairs, text, type Row } from '../rows.ts';
import type { Findings } from '../findings.ts';
import {
  claimedNetwork,
  networkOf,
  ownerText,
  partOf,
  rowText,
  type Datapath,
  type DatapathLookup,
  type Datapaths,
} from '../intent/datapaths.ts';
import type { Intent } from '../intent/intent.ts';
import { isPortOfNetwork } from './ports.ts';

/** Ways between two parts that were found, as `port>peer`: what other checks compare with. */
export type Crossings = ReadonlySet<string>;

const namesOf = (...datapaths: readonly Datapath[]): (string | undefined)[] =>
  datapaths.map((one) => networkOf(one)?.name);

const isSameOwner = (a: Datapath, b: Datapath): boolean =>
  a.owner.kind === 'network' && b.owner.kind === 'network'
    ? a.owner.network === b.owner.network
    : a.owner.kind === 'connection' && b.owner.kind === 'connection'
      ? a.owner.connection === b.owner.connection
      : a === b;

export function checkCut(intent: Intent, datapaths: Datapaths, findings: Findings): Crossings {
  const crossings = new Set<string>();
  for (const datapath of datapaths.all) {
    checkClaim(datapath, intent, findings);
    for (const port of datapath.ports)
      cutAtPort(port, datapath, intent, datapaths, findings, crossings);
  }
  return crossings;
}

/** Where one port leads; ways out that were found go into `crossings`. */
export function cutAtPort(
  port: Row,
  datapath: Datapath,
  intent: Intent,
  datapaths: DatapathLookup,
  findings: Findings,
  crossings: Set<string>,
): void {
  if (datapath.table === 'Logical_Router')
    routerPort(port, datapath, intent, datapaths, findings, crossings);
  else switchPort(port, datapath, intent, datapaths, findings, crossings);
}

/** A switch or router that says it is of another network than its name says. */
export function checkClaim(datapath: Datapath, intent: Intent, findings: Findings): void {
  const claimed = claimedNetwork(datapath.row);
  const network = networkOf(datapath)?.name;
  const where = rowText(datapath.table, datapath.name);
  if (network === undefined) {
    if (datapath.owner.kind === 'nobody')
      findings.notes.push(`${where} is of no network that an object declares`);
    return;
  }
  if (claimed !== undefined && claimed !== network)
    findings.wrong(
      'cut',
      where,
      `says that it is of network ${claimed}`,
      intent.objectOf(network),
      [network, claimed],
    );
}

/** An edge from one datapath to another: within a part, wanted by an object, or a violation. */
function edge(
  from: Datapath,
  to: Datapath,
  where: string,
  way: string,
  intent: Intent,
  findings: Findings,
  crossings: Set<string>,
): void {
  if (isSameOwner(from, to)) return;
  crossings.add(way);
  const [a, b] = [networkOf(from), networkOf(to)];
  const [x, y] = [from.owner, to.owner];
  for (const [network, owner] of [
    [a, y],
    [b, x],
  ] as const) {
    if (network === undefined || owner.kind !== 'connection') continue;
    const { connection } = owner;
    if (connection.networks.has(network.name)) {
      if (network === a)
        findings.edge({
          from: network.name,
          to: connection.object,
          kind: 'connection',
          where,
          object: connection.object,
        });
      return;
    }
    findings.wrong(
      'cut',
      where,
      `leads from network ${network.name} to the router of ${connection.object}, which does not connect it`,
      network.object,
      [network.name, ...connection.networks],
    );
    return;
  }
  const object = a === undefined || b === undefined ? undefined : intent.joinedBy(a.name, b.name);
  if (a !== undefined && b !== undefined && object?.startsWith('Namespace ') === true) {
    findings.edge({ from: a.name, to: b.name, kind: 'namespace', where, object });
    return;
  }
  const more = object === undefined ? 'no object wants that' : `${object} wants another way`;
  findings.wrong(
    'cut',
    where,
    `leads from ${ownerText(from)} to ${ownerText(to)}: ${more}`,
    intent.objectOf((a ?? b)?.name),
    namesOf(from, to),
  );
}

function routerPort(
  port: Row,
  router: Datapath,
  intent: Intent,
  datapaths: DatapathLookup,
  findings: Findings,
  crossings: Set<string>,
): void {
  const name = text(port, 'name');
  const peer = text(port, 'peer');
  if (peer === '') return;
  const other = datapaths.byPort.get(peer);
  if (other === undefined) return; // to nowhere
  edge(
    router,
    other,
    rowText('Logical_Router_Port', name),
    `${name}>${peer}`,
    intent,
    findings,
    crossings,
  );
}

function switchPort(
  port: Row,
  self: Datapath,
  intent: Intent,
  datapaths: DatapathLookup,
  findings: Findings,
  crossings: Set<string>,
): void {
  const name = text(port, 'name');
  const where = rowText('Logical_Switch_Port', name);
  const type = text(port, 'type');
  const network = networkOf(self);
  if (type === 'router' || type === 'switch') {
    const options = pairs(port, 'options');
    const peer = (type === 'router' ? options['router-port'] : undefined) ?? text(port, 'peer');
    const other = peer === '' ? undefined : datapaths.byPort.get(peer);
    if (other !== undefined)
      edge(self, other, where, `${name}>${peer}`, intent, findings, crossings);
    return;
  }
  if (type === 'localnet') {
    localnet(port, self, intent, findings);
    return;
  }
  if (network === undefined) return;
  if (type === '' || type === 'remote') {
    isPortOfNetwork(port, self, network, intent, findings);
    return;
  }
  findings.wrong(
    'cut',
    where,
    `is of type ${type}: no object wants such a way out of network ${network.name}`,
    network.object,
    [network.name],
  );
}

/** A way to a physical network: that of the external bridge, or the one that a localnet network names. */
function localnet(port: Row, self: Datapath, intent: Intent, findings: Findings): void {
  const network = networkOf(self);
  const name = text(port, 'name');
  const where = rowText('Logical_Switch_Port', name);
  if (network === undefined) {
    findings.notes.push(`${where} leads to a physical network from ${ownerText(self)}`);
    return;
  }
  const physical = member(port, 'options', 'network_name') ?? '';
  const tag = list(port, 'tag_request')[0] ?? list(port, 'tag')[0];
  const vlan = tag === undefined ? 0 : Number(tag);
  const isExternal = partOf(self) === 'external' && network.hasGateway;
  const isLocalnet = network.topology === 'localnet' && partOf(self) === 'pods';
  if (!isExternal && !isLocalnet) {
    findings.wrong(
      'cut',
      where,
      `leads from switch ${self.name} to physical network ${physical}: no object wants that`,
      network.object,
      [network.name],
    );
    return;
  }
  const wanted = isExternal
    ? { physical: 'physnet', vlan: intent.here?.vlan ?? 0 }
    : { physical: network.physical ?? '', vlan: network.vlan ?? 0 };
  if (wanted.physical !== physical || wanted.vlan !== vlan)
    findings.wrong(
      'cut',
      where,
      `leads to physical network ${physical}, VLAN ${vlan}, and ${network.object} wants ${wanted.physical}, VLAN ${wanted.vlan}`,
      network.object,
      [network.name],
    );
  findings.edge({
    from: network.name,
    to: isExternal ? 'outside' : `physical ${physical} VLAN ${vlan}`,
    kind: isExternal ? 'outside' : 'physical',
    where,
    object: network.object,
  });
}
