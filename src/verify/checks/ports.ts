/** Ports of pods and hosts: each hangs on the switch of the network that its object names, with the addresses that it gives. */
import {
  containsAddress,
  containsPrefix,
  parseAddress,
  parsePrefix,
} from '../../allocators/addresses.ts';
import { list, member, pairs, text, type Row } from '../rows.ts';
import type { NorthboundRows } from '../northbound-rows.ts';
import type { Findings } from '../findings.ts';
import { networkOf, partOf, rowText, type Datapath, type Datapaths } from '../intent/datapaths.ts';
import { secondOf, type Intent } from '../intent/intent.ts';
import { sharedSwitchKey, type VerifiedNetwork } from '../intent/networks.ts';
import type { VerifiedPort } from '../intent/pods.ts';

const TABLE = 'Logical_Switch_Port';

/** Words of `addresses` and `port_security`: MAC and addresses, without the length of prefixes. */
const wordsOf = (row: Row, column: string): readonly string[] =>
  list(row, column).flatMap((one) => one.split(/\s+/).filter((word) => word !== ''));

export function isPortOfNetwork(
  port: Row,
  self: Datapath,
  network: VerifiedNetwork,
  intent: Intent,
  findings: Findings,
): void {
  const name = text(port, 'name');
  if (partOf(self) === 'pods' && name === `k8s-${network.prefix}${intent.node}`) {
    hostPort(port, self, network, intent, findings);
    return;
  }
  if (partOf(self) === 'transit') {
    transitPort(port, network, intent, findings);
    return;
  }
  const pod = intent.ports.get(name);
  const where = rowText(TABLE, name);
  if (pod === undefined) {
    findings.wrong(
      'ports',
      where,
      `is on switch ${self.name} of network ${network.name}, and there is no such interface of a pod`,
      network.object,
      [network.name],
    );
    return;
  }
  if (pod.network !== network.name) {
    findings.wrong(
      'ports',
      where,
      `is of Pod ${pod.pod} on network ${pod.network}, and hangs on switch ${self.name} of network ${network.name}`,
      `Pod ${pod.pod}`,
      [pod.network, network.name],
    );
    return;
  }
  if (partOf(self) !== 'pods')
    findings.wrong(
      'ports',
      where,
      `of Pod ${pod.pod} hangs on switch ${self.name}, where no pods are`,
      `Pod ${pod.pod}`,
      [network.name],
    );
  podAddresses(port, pod, network, findings);
  podOptions(port, pod, network, intent, findings);
  podWays(port, pod, network, findings);
}

/** What gives a port's packets to somebody else, or keeps them. */
function podWays(port: Row, pod: VerifiedPort, network: VerifiedNetwork, findings: Findings): void {
  const wrong = (what: string): void => {
    findings.wrong('ports', rowText(TABLE, pod.name), what, `Pod ${pod.pod}`, [network.name]);
  };
  const parent = text(port, 'parent_name');
  if (parent !== '')
    wrong(`is nested in port ${parent}, by which it sends and receives: no object wants that`);
  if (list(port, 'mirror_rules').length > 0)
    wrong(
      'is mirrored: what Pod and network exchange goes elsewhere, too, and no object wants that',
    );
  if (text(port, 'enabled') === 'false' && list(port, 'addresses').length > 0)
    wrong(`is disabled: nothing of Pod ${pod.pod} passes, and no object wants that`);
}

/** What DHCP answers a port: a router of another subnet would lead what it sends there, or nowhere. */
export function checkDhcp(
  port: Row,
  { table, owner }: Datapath,
  northbound: NorthboundRows,
  intent: Intent,
  findings: Findings,
): void {
  if (table !== 'Logical_Switch' || owner.kind !== 'network') return;
  for (const column of ['dhcpv4_options', 'dhcpv6_options']) {
    const uuid = text(port, column);
    const answer = uuid === '' ? undefined : northbound.find('DHCP_Options', uuid);
    if (answer !== undefined) dhcpAnswer(answer, port, owner.network, intent, findings);
  }
}

function dhcpAnswer(
  answer: Row,
  port: Row,
  network: VerifiedNetwork,
  intent: Intent,
  findings: Findings,
): void {
  const name = text(port, 'name');
  const cidr = text(answer, 'cidr');
  const prefix = parsePrefix(cidr);
  const pod = intent.ports.get(name);
  const wrong = (what: string): void => {
    findings.wrong(
      'ports',
      `${rowText(TABLE, name)}, DHCP_Options ${cidr}`,
      what,
      pod === undefined ? network.object : `Pod ${pod.pod}`,
      [network.name],
    );
  };
  if (prefix === undefined || !network.subnets.some((subnet) => containsPrefix(subnet, prefix)))
    wrong(`is answered for ${cidr}, which network ${network.name} does not have`);
  const router = member(answer, 'options', 'router');
  const address = router === undefined ? undefined : parseAddress(router);
  if (
    router !== undefined &&
    (address === undefined || !network.subnets.some((subnet) => containsAddress(subnet, address)))
  )
    wrong(`is told router ${router}, which is not on network ${network.name}`);
}

function podAddresses(
  port: Row,
  pod: VerifiedPort,
  network: VerifiedNetwork,
  findings: Findings,
): void {
  const wanted = new Set([pod.mac, ...pod.addresses]);
  const where = rowText(TABLE, pod.name);
  // A port that is closed has none.
  for (const column of ['addresses', 'port_security'] as const) {
    const words = wordsOf(port, column);
    // Who has no addresses of the network's may use any.
    const foreign = words.filter(
      (word) =>
        !wanted.has(word.split('/')[0] ?? '') &&
        !(word === 'unknown' && pod.addresses.length === 0),
    );
    if (foreign.length > 0)
      findings.wrong(
        'ports',
        where,
        `${column} has ${foreign.join(' ')}, and Pod ${pod.pod} has ${[...wanted].join(' ')} on network ${network.name}`,
        `Pod ${pod.pod}`,
        [network.name],
      );
  }
  const isOpen = wordsOf(port, 'addresses').length > 0;
  if (isOpen && list(port, 'port_security').length === 0)
    findings.wrong(
      'ports',
      where,
      `port_security is empty: Pod ${pod.pod} may send with any address`,
      `Pod ${pod.pod}`,
      [network.name],
    );
}

function podOptions(
  port: Row,
  pod: VerifiedPort,
  network: VerifiedNetwork,
  intent: Intent,
  findings: Findings,
): void {
  const options = pairs(port, 'options');
  const chassis = intent.nodes.get(pod.node)?.chassis;
  const requested = options['requested-chassis'];
  const wrong = (what: string): void => {
    findings.wrong('ports', rowText(TABLE, pod.name), what, `Pod ${pod.pod}`, [network.name]);
  };
  if (requested !== undefined && chassis !== undefined && requested !== chassis)
    wrong(
      `is asked for on chassis ${requested}, and node ${pod.node} of Pod ${pod.pod} is ${chassis}`,
    );
  const type = text(port, 'type');
  if (type === 'remote' && pod.node === intent.node)
    wrong('is remote, and the pod is on this node');
  const key = options['requested-tnl-key'];
  if (network.topology === 'layer2' && key !== undefined && Number(key) !== pod.tunnelId)
    wrong(`asks for tunnel key ${key}, and the pod's is ${pod.tunnelId ?? 'none'}`);
  const uid = options['iface-id-ver'];
  if (uid !== undefined && pod.uid !== '' && uid !== pod.uid)
    wrong(`waits for an interface of pod ${uid}, and Pod ${pod.pod} is ${pod.uid}`);
}

const MAC = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i;

/** Of the host of this node on a network: the second address of each subnet (reference/topology.md §2). */
const hostAddressesOn = ({ name, topology, subnets }: VerifiedNetwork, intent: Intent) =>
  topology === 'layer3'
    ? intent.hostAddresses.get(name)
    : subnets.flatMap((subnet) => secondOf(intent.textOf(subnet)));

/** The host's port is a way out of the network, to the host of this node. */
function hostPort(
  port: Row,
  self: Datapath,
  network: VerifiedNetwork,
  intent: Intent,
  findings: Findings,
): void {
  const where = rowText(TABLE, text(port, 'name'));
  findings.edge({
    from: network.name,
    to: 'host',
    kind: 'host',
    where,
    object: network.object,
  });
  const own = hostAddressesOn(network, intent);
  const isOfHosts = (word: string): boolean => {
    const address = parseAddress(word);
    return (
      address !== undefined && network.hostSubnets.some((one) => containsAddress(one, address))
    );
  };
  const foreign = wordsOf(port, 'addresses').filter(
    (word) => !MAC.test(word) && own?.includes(word) === false && !isOfHosts(word),
  );
  if (foreign.length > 0)
    findings.wrong(
      'ports',
      where,
      `has addresses ${foreign.join(' ')}, and the host has ${own?.join(' ')} on network ${network.name}`,
      network.object,
      [network.name],
    );
  if (text(port, 'type') !== '')
    findings.wrong('ports', where, `is of type ${text(port, 'type')}`, network.object, [
      network.name,
    ]);
  if (!network.hasGateway)
    findings.wrong(
      'cut',
      where,
      `leads from network ${network.name}, which is to have no gateway, switch ${self.name}, to the host: no object wants that`,
      network.object,
      [network.name],
    );
}

function transitPort(
  port: Row,
  network: VerifiedNetwork,
  intent: Intent,
  findings: Findings,
): void {
  const name = text(port, 'name');
  const start = `${network.prefix}tstor-`;
  const node = name.startsWith(start) ? intent.nodes.get(name.slice(start.length)) : undefined;
  const where = rowText(TABLE, name);
  const wrong = (what: string): void => {
    findings.wrong('ports', where, what, network.object, [network.name]);
  };
  if (node === undefined) {
    wrong(`is on the transit switch of network ${network.name}, and there is no node of that name`);
    return;
  }
  const options = pairs(port, 'options');
  if (node.chassis !== undefined && options['requested-chassis'] !== node.chassis)
    wrong(
      `is asked for on chassis ${options['requested-chassis'] ?? 'none'}, and node ${node.name} is ${node.chassis}`,
    );
  const key = Number(options['requested-tnl-key']);
  if (node.id !== undefined && key !== node.id)
    wrong(`asks for tunnel key ${key}, and node ${node.name} has id ${node.id}`);
}

/** The tunnel key that a switch or router asks for. */
export const requestedKey = ({ table, row }: Datapath): string | undefined =>
  member(row, table === 'Logical_Switch' ? 'other_config' : 'options', 'requested-tnl-key');

/** Keys that switches and routers ask for: those that all zones share are the network's own. */
export function checkKeys(intent: Intent, datapaths: Datapaths, findings: Findings): void {
  const byKey = new Map<string, Datapath[]>();
  for (const datapath of datapaths.all) {
    const key = requestedKey(datapath);
    if (key === undefined) continue;
    const known = byKey.get(key);
    if (known === undefined) byKey.set(key, [datapath]);
    else known.push(datapath);
  }
  for (const [key, those] of byKey) checkKey(key, those, intent, findings);
}

const byName = (a: Datapath, b: Datapath): number =>
  `${a.name} ${a.uuid}` < `${b.name} ${b.uuid}` ? -1 : 1;

/** One key, and all that ask for it. */
export function checkKey(
  key: string,
  those: readonly Datapath[],
  intent: Intent,
  findings: Findings,
): void {
  let other: Datapath | undefined;
  for (const datapath of those.toSorted(byName)) {
    const where = rowText(datapath.table, datapath.name);
    const network = networkOf(datapath);
    const involved = [network?.name, other === undefined ? undefined : networkOf(other)?.name];
    const object =
      datapath.owner.kind === 'connection'
        ? datapath.owner.connection.object
        : intent.objectOf(network?.name);
    if (other !== undefined)
      findings.wrong(
        'identities',
        where,
        `asks for tunnel key ${key}, as ${other.name} does: each sends into the other's tunnels`,
        object,
        involved,
      );
    other = datapath;
    const wanted = wantedKey(datapath);
    if (wanted !== undefined && Number(key) !== wanted)
      findings.wrong(
        'identities',
        where,
        `asks for tunnel key ${key}, and its own is ${wanted}`,
        object,
        involved,
      );
  }
}

function wantedKey({ owner, table }: Datapath): number | undefined {
  if (owner.kind === 'connection') return owner.connection.tunnelKey;
  if (owner.kind === 'nobody') return undefined;
  const { network, part } = owner;
  if (table === 'Logical_Switch')
    return part === 'transit' || part === 'pods' ? sharedSwitchKey(network) : undefined;
  return part === 'cluster router' ? network.tunnelKeys[1] : undefined;
}
