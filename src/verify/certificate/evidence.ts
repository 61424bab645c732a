/** What the verdict rests on, taken from rows and objects; of what rules let pass, the edges say which. */
import type { Edge } from '../findings.ts';
import { list, member, pairs, rowsOf, text, uuidOf, type Row, type Tables } from '../rows.ts';
import { networkOf, rowText, type Datapath } from '../intent/datapaths.ts';
import type { Snapshot } from '../snapshot.ts';
import type { Proof } from '../verify.ts';
import type { CertifiedPod, Corner, Evidence, Exit, Identity, Way } from './certificate.ts';

export function evidenceOf(snapshot: Snapshot, proof: Proof, edges: readonly Edge[]): Evidence {
  const { all } = proof.datapaths;
  return {
    corners: all.map(cornerOf),
    ways: waysOf(proof),
    exits: all.flatMap((datapath) => exitsOf(datapath, snapshot.node)),
    openings: edges
      .filter(({ kind }) => kind === 'service' || kind === 'access' || kind === 'open port')
      .map(({ from, to, where }) => ({ from, to, where })),
    pods: all.flatMap((datapath) => podsOn(datapath, proof)),
    identities: [
      ...new Map(identitiesOf(snapshot, proof).map((one) => [keyOf(one), one])).values(),
    ],
  };
}

const keyOf = ({ kind, value, holder }: Identity): string => JSON.stringify([kind, value, holder]);

const cornerOf = ({ uuid, table, name, owner }: Datapath): Corner => ({
  id: uuid,
  kind: table === 'Logical_Switch' ? 'switch' : 'router',
  name,
  of:
    owner.kind === 'network'
      ? owner.network.name
      : owner.kind === 'connection'
        ? owner.connection.object
        : null,
});

/** The port that a port of a switch or router leads to. */
function peerOf(port: Row, { table }: Datapath): string {
  const type = text(port, 'type');
  if (table === 'Logical_Switch' && type !== 'router' && type !== 'switch') return '';
  const named = type === 'router' ? member(port, 'options', 'router-port') : undefined;
  return named ?? text(port, 'peer');
}

function waysOf({ datapaths }: Proof): readonly Way[] {
  const ways = new Map<string, { between: [string, string]; by: string[] }>();
  for (const datapath of datapaths.all)
    for (const port of datapath.ports) {
      const name = text(port, 'name');
      const peer = peerOf(port, datapath);
      const other = peer === '' ? undefined : datapaths.byPort.get(peer);
      if (other === undefined) continue;
      const key = JSON.stringify([name, peer].toSorted());
      const way = ways.get(key) ?? { between: [datapath.uuid, other.uuid], by: [] };
      way.by.push(rowText(`${datapath.table}_Port`, name));
      ways.set(key, way);
    }
  return [...ways.values()];
}

function exitsOf(datapath: Datapath, node: string): readonly Exit[] {
  const network = networkOf(datapath);
  if (network === undefined || datapath.table === 'Logical_Router') return [];
  return datapath.ports.flatMap((port): Exit[] => {
    const name = text(port, 'name');
    const exit = { corner: datapath.uuid, where: rowText('Logical_Switch_Port', name) };
    if (text(port, 'type') === 'localnet') {
      const tag = list(port, 'tag_request')[0] ?? list(port, 'tag')[0] ?? '0';
      const physical = member(port, 'options', 'network_name') ?? '';
      return [{ ...exit, to: `physical ${physical} VLAN ${Number(tag)}` }];
    }
    return name === `k8s-${network.prefix}${node}` ? [{ ...exit, to: 'host' }] : [];
  });
}

const podsOn = ({ uuid, ports }: Datapath, { intent }: Proof): readonly CertifiedPod[] =>
  ports.flatMap((row): CertifiedPod[] => {
    const port = intent.ports.get(text(row, 'name'));
    return port === undefined
      ? []
      : [{ port: port.name, corner: uuid, pod: `Pod ${port.pod}`, network: port.network }];
  });

/** Numbers and addresses that would join two who have one. */
function identitiesOf(snapshot: Snapshot, { intent, datapaths }: Proof): readonly Identity[] {
  const found: Identity[] = [];
  const add = (kind: string, value: string | number, holder: string): void => {
    found.push({ kind, value: String(value), holder });
  };
  for (const network of intent.networks) {
    const { name, connectionMark, packetMark, table, id } = network;
    add('network id', id, name);
    add('packet mark', packetMark, name);
    add('connection mark', connectionMark, name);
    add('routing table', table, name);
    for (const address of [...network.gatewayAddresses, ...network.hostAddresses])
      add('masquerade address', address, name);
  }
  for (const { uuid, table, name, row } of datapaths.all) {
    const column = table === 'Logical_Switch' ? 'other_config' : 'options';
    const key = member(row, column, 'requested-tnl-key');
    if (key !== undefined) add('tunnel key in Northbound', key, `${name} ${uuid}`);
  }
  for (const { name, chassis } of intent.nodes.values())
    if (chassis !== undefined) add('chassis', chassis, `Node ${name}`);
  if (snapshot.southbound !== undefined) southboundKeys(snapshot.southbound, add);
  for (const { name, table } of snapshot.host.links ?? [])
    if (table !== undefined) add('table of a VRF', table, name);
  for (const bridge of rowsOf(snapshot.openVswitch ?? new Map(), 'Bridge')) {
    if (text(bridge, 'name') !== 'br-int') continue;
    for (const [key, zone] of Object.entries(pairs(bridge, 'external_ids')))
      if (key.startsWith('ct-zone-') && zone !== '0') add('conntrack zone', zone, key);
  }
  return found;
}

type Add = (kind: string, value: string | number, holder: string) => void;

function southboundKeys(southbound: Tables, add: Add): void {
  for (const row of rowsOf(southbound, 'Datapath_Binding')) {
    const name = member(row, 'external_ids', 'name') ?? '';
    add('tunnel key in Southbound', text(row, 'tunnel_key'), `${name} ${uuidOf(row)}`);
  }
  for (const row of rowsOf(southbound, 'Encap'))
    add('end of tunnels', text(row, 'ip'), `chassis ${text(row, 'chassis_name')}`);
}
