/**
 * Southbound: every binding is of the port and the switch or router that Northbound names, on the chassis that its object wants, and no tunnel
 * key, chassis or address of a tunnel is there twice.
 */
import { list, member, pairs, rowsOf, text, uuidOf, type Row, type Tables } from '../rows.ts';
import type { Findings } from '../findings.ts';
import {
  networkOf,
  ownerText,
  rowText,
  type Datapath,
  type Datapaths,
} from '../intent/datapaths.ts';
import type { Intent } from '../intent/intent.ts';
import { checkBoundPort, northboundPorts } from './bound-ports.ts';
import type { Crossings } from './cut.ts';

/** A datapath of Southbound, and the one of Northbound that it is of. */
export interface Binding {
  readonly key: number;
  readonly datapath: Datapath | undefined;
  readonly name: string;
}

/** A port of Southbound on its datapath. */
export interface BoundPort {
  readonly name: string;
  readonly type: string;
  readonly key: number;
  readonly binding: Binding;
  readonly peer: string | undefined;
}

/** What flows are compared with. */
export interface Bindings {
  readonly byKey: ReadonlyMap<number, Binding>;
  readonly ports: ReadonlyMap<string, BoundPort>;
}

const SB = 'Southbound';

export function checkSouthbound(
  southbound: Tables,
  intent: Intent,
  datapaths: Datapaths,
  crossings: Crossings,
  findings: Findings,
): Bindings {
  const chassis = checkChassis(southbound, intent, findings);
  const byUuid = datapathBindings(southbound, datapaths, intent, findings);
  const byKey = new Map<number, Binding>();
  for (const binding of byUuid.values()) byKey.set(binding.key, binding);
  const ports = new Map<string, BoundPort>();
  const wanted = northboundPorts(datapaths);
  const keys = new Map<string, string>();
  for (const row of rowsOf(southbound, 'Port_Binding')) {
    const name = text(row, 'logical_port');
    const where = rowText('Port_Binding', name, SB);
    const binding = byUuid.get(text(row, 'datapath'));
    if (binding === undefined) {
      findings.wrong('southbound', where, 'is of a datapath that is not there', 'no object');
      continue;
    }
    const network = binding.datapath === undefined ? undefined : networkOf(binding.datapath);
    const key = Number(text(row, 'tunnel_key'));
    const id = `${binding.key} ${key}`;
    const other = keys.get(id);
    if (other !== undefined)
      findings.wrong(
        'identities',
        where,
        `has tunnel key ${key} on ${binding.name}, as ${other} has`,
        intent.objectOf(network?.name),
        [network?.name],
      );
    keys.set(id, name);
    const options = pairs(row, 'options');
    const type = text(row, 'type');
    ports.set(name, { name, type, key, binding, peer: options['peer'] });
    checkPlace(row, name, type, binding, datapaths, intent, findings);
    checkHolder(row, name, type, chassis, intent, network?.name, findings);
    checkMoreHolders(row, name, chassis, intent, network?.name, findings);
    checkBoundPort(row, wanted.get(name), intent, network, findings);
  }
  for (const port of ports.values()) checkPeer(port, ports, intent, crossings, findings);
  return { byKey, ports };
}

function datapathBindings(
  southbound: Tables,
  datapaths: Datapaths,
  intent: Intent,
  findings: Findings,
): ReadonlyMap<string, Binding> {
  const byKey = new Map<number, Binding>();
  const byUuid = new Map<string, Binding>();
  const bound = new Map<string, number>();
  for (const row of rowsOf(southbound, 'Datapath_Binding')) {
    const ids = pairs(row, 'external_ids');
    const key = Number(text(row, 'tunnel_key'));
    const name = ids['name'] ?? uuidOf(row);
    const where = rowText('Datapath_Binding', name, SB);
    const uuid = ids['logical-switch'] ?? ids['logical-router'] ?? text(row, 'nb_uuid');
    const datapath = datapaths.byUuid.get(uuid);
    const network = datapath === undefined ? undefined : networkOf(datapath);
    const binding: Binding = { key, datapath, name };
    const object = intent.objectOf(network?.name);
    if (datapath === undefined)
      findings.wrong('southbound', where, 'is of no switch or router of Northbound', object);
    const other = byKey.get(key);
    if (other !== undefined)
      findings.wrong('identities', where, `has tunnel key ${key}, as ${other.name} has`, object, [
        network?.name,
        other.datapath === undefined ? undefined : networkOf(other.datapath)?.name,
      ]);
    if (datapath !== undefined) {
      const column = datapath.table === 'Logical_Switch' ? 'other_config' : 'options';
      const wanted = pairs(datapath.row, column)['requested-tnl-key'];
      if (wanted !== undefined && Number(wanted) !== key)
        findings.wrong(
          'identities',
          where,
          `has tunnel key ${key}, and Northbound asks for ${wanted}: other nodes send with that`,
          object,
          [network?.name],
        );
      const twin = bound.get(datapath.uuid);
      if (twin !== undefined)
        findings.wrong(
          'southbound',
          where,
          `is there twice, with keys ${twin} and ${key}`,
          object,
          [network?.name],
        );
      bound.set(datapath.uuid, key);
    }
    byKey.set(key, binding);
    byUuid.set(uuidOf(row), binding);
  }
  return byUuid;
}

/** A port is on the datapath on which Northbound has it. */
function checkPlace(
  row: Row,
  name: string,
  type: string,
  binding: Binding,
  datapaths: Datapaths,
  intent: Intent,
  findings: Findings,
): void {
  const { datapath } = binding;
  if (datapath === undefined) return;
  const distributed = member(row, 'options', 'distributed-port');
  const original = type === 'chassisredirect' ? (distributed ?? name.slice('cr-'.length)) : name;
  const home = datapaths.byPort.get(original);
  if (home === datapath) return;
  const network = networkOf(datapath);
  const where = rowText('Port_Binding', name, SB);
  const object =
    intent.ports.has(name) && home !== undefined
      ? `Pod ${intent.ports.get(name)?.pod}`
      : intent.objectOf(network?.name);
  findings.wrong(
    'southbound',
    where,
    home === undefined
      ? `is on ${ownerText(datapath)}, and Northbound has no such port`
      : `is on ${binding.name} of ${ownerText(datapath)}, and Northbound has it on ${home.name} of ${ownerText(home)}`,
    object,
    [network?.name, home === undefined ? undefined : networkOf(home)?.name],
  );
}

/** Pods, and ports to other nodes, are bound to the chassis of their node. */
function checkHolder(
  row: Row,
  name: string,
  type: string,
  chassis: ReadonlyMap<string, string>,
  intent: Intent,
  network: string | undefined,
  findings: Findings,
): void {
  const uuid = text(row, 'chassis');
  if (uuid === '') return;
  const holder = chassis.get(uuid);
  const pod = intent.ports.get(name);
  const wanted =
    pod === undefined
      ? type === '' || type === 'localport' || type === 'l3gateway'
        ? intent.here?.chassis
        : (member(row, 'options', 'requested-chassis') ?? undefined)
      : intent.nodes.get(pod.node)?.chassis;
  if (wanted === undefined || holder === wanted) return;
  findings.wrong(
    'southbound',
    rowText('Port_Binding', name, SB),
    `is bound to chassis ${holder ?? 'of nobody'}, and its object wants ${wanted}`,
    pod === undefined ? intent.objectOf(network) : `Pod ${pod.pod}`,
    [network],
  );
}

/** What is bound to more chassis than one is sent to each of them. */
function checkMoreHolders(
  row: Row,
  name: string,
  chassis: ReadonlyMap<string, string>,
  intent: Intent,
  network: string | undefined,
  findings: Findings,
): void {
  const pod = intent.ports.get(name);
  for (const uuid of list(row, 'additional_chassis'))
    findings.wrong(
      'southbound',
      rowText('Port_Binding', name, SB),
      `is bound to chassis ${chassis.get(uuid) ?? 'of nobody'}, too: what is sent to it goes there as well, and no object wants that`,
      pod === undefined ? intent.objectOf(network) : `Pod ${pod.pod}`,
      [network],
    );
}

/** Peers in Southbound are those of Northbound: a way between two parts that the cut has not seen is no object's. */
function checkPeer(
  port: BoundPort,
  ports: ReadonlyMap<string, BoundPort>,
  intent: Intent,
  crossings: Crossings,
  findings: Findings,
): void {
  if (port.peer === undefined || port.type === 'chassisredirect') return;
  const peer = ports.get(port.peer);
  const [from, to] = [port.binding.datapath, peer?.binding.datapath];
  if (peer === undefined || from === undefined || to === undefined) return;
  const [a, b] = [networkOf(from), networkOf(to)];
  if (a !== undefined && a === b) return;
  if (from === to) return;
  if (crossings.has(`${port.name}>${peer.name}`) || crossings.has(`${peer.name}>${port.name}`))
    return;
  if (a === undefined && b === undefined) return;
  findings.wrong(
    'southbound',
    rowText('Port_Binding', port.name, SB),
    `has peer ${peer.name}, which leads from ${ownerText(from)} to ${ownerText(to)}: Northbound has no such way`,
    intent.objectOf((a ?? b)?.name),
    [a?.name, b?.name],
  );
}

/** Chassis by the UUID of their row; each is one node's, with that node's addresses of tunnels. */
function checkChassis(
  southbound: Tables,
  intent: Intent,
  findings: Findings,
): ReadonlyMap<string, string> {
  const byUuid = new Map<string, string>();
  const nodes = new Map([...intent.nodes.values()].map((node) => [node.chassis ?? '', node]));
  const twins = new Map<string, string>();
  for (const node of intent.nodes.values()) {
    if (node.chassis === undefined) continue;
    const other = twins.get(node.chassis);
    if (other !== undefined)
      findings.wrong(
        'identities',
        `Node ${node.name}`,
        `has chassis ${node.chassis}, as Node ${other} has`,
        `Node ${node.name}`,
      );
    twins.set(node.chassis, node.name);
  }
  for (const row of rowsOf(southbound, 'Chassis')) {
    const name = text(row, 'name');
    byUuid.set(uuidOf(row), name);
    const node = nodes.get(name);
    const where = rowText('Chassis', name, SB);
    const isRemote = member(row, 'other_config', 'is-remote') === 'true';
    if (node === undefined)
      findings.wrong(
        'southbound',
        where,
        'is of no node: what is bound to it leaves by a tunnel to a stranger',
        'no object',
      );
    else if (isRemote === (node.name === intent.node))
      findings.wrong(
        'southbound',
        where,
        isRemote
          ? 'is this node, and is marked as another one'
          : `is Node ${node.name}, and is marked as this one`,
        `Node ${node.name}`,
      );
  }
  const ends = new Map<string, string>();
  for (const row of rowsOf(southbound, 'Encap')) {
    const [address, name] = [text(row, 'ip'), text(row, 'chassis_name')];
    const node = nodes.get(name);
    const where = rowText('Encap', address, SB);
    const other = ends.get(address);
    if (other !== undefined && other !== name)
      findings.wrong(
        'identities',
        where,
        `is of chassis ${name} and of ${other}`,
        `Node ${node?.name ?? name}`,
      );
    ends.set(address, name);
    if (
      node !== undefined &&
      node.tunnelAddresses.length > 0 &&
      !node.tunnelAddresses.includes(address)
    )
      findings.wrong(
        'southbound',
        where,
        `is where tunnels to Node ${node.name} end, and that node has ${node.tunnelAddresses.join(' ')}`,
        `Node ${node.name}`,
      );
  }
  return byUuid;
}
