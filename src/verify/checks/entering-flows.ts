/** What flows of the external bridge let into a network: what is known by its marks, or is for one of its services. */
import { parseAddress } from '../../allocators/addresses.ts';
import { connectionOverBridge } from '../intent/connections.ts';
import { FIRST_PACKET_MARK, type VerifiedNetwork } from '../intent/networks.ts';
import type { VerifiedServices } from '../intent/services.ts';
import type { Flow } from '../snapshot.ts';
import {
  flowText,
  markedBy,
  outputsOf,
  withoutLearning,
  type BridgeContext,
  type Match,
} from './bridge-flow.ts';

/** Of questions that a network asked (reference/node.md §4.7): this in the upper half of the cookie. */
const LEARNED = 0x0deff105;

/** What is let into a network. */
export function checkEntering(
  flow: Flow,
  match: Match,
  from: VerifiedNetwork | undefined,
  context: BridgeContext,
): void {
  const { patches, findings, services } = context;
  for (const number of outputsOf(withoutLearning(flow.actions))) {
    const patch = patches.get(number);
    if (patch === undefined) continue;
    const { network } = patch;
    const wrong = (what: string, ...others: (VerifiedNetwork | undefined)[]): void => {
      findings.wrong('external bridge', flowText(flow), what, network?.object ?? 'no object', [
        network?.name,
        ...others.map((one) => one?.name),
      ]);
    };
    if (network === undefined) {
      wrong(`leads to ${patch.name}, which is of no network`);
      continue;
    }
    if (from !== undefined) continue; // `checkLeaving` judges that
    const mark = match.get('ct_mark');
    if (mark !== undefined && Number(mark) !== network.connectionMark) {
      const other = markedBy(Number(mark), context);
      wrong(
        `leads connections of ${other?.name ?? `mark ${mark}`} to network ${network.name}`,
        other,
      );
      continue;
    }
    const packet = match.get('pkt_mark');
    const marked =
      packet === undefined
        ? undefined
        : context.intent.byId.get(Number(packet) - FIRST_PACKET_MARK);
    if (marked !== undefined && marked.id > 0 && marked !== network) {
      wrong(`leads what is marked for network ${marked.name} to network ${network.name}`, marked);
      continue;
    }
    if (network.id === 0 || mark !== undefined || marked === network || isLearned(flow, network))
      continue;
    const port = match.get('tp_dst');
    const address = match.get('nw_dst') ?? match.get('ipv6_dst');
    const users = port === undefined ? [] : services.usersOf(address, Number(port));
    const user = users.find(({ networks }) => networks.has(network.name));
    if (user !== undefined) {
      findings.edge({
        from: 'outside',
        to: network.name,
        kind: 'service',
        where: `${address ?? 'the node'} port ${port}`,
        object: user.object,
      });
      continue;
    }
    if (isRefusal(match, services, network) || isConnected(flow, match, network, context)) continue;
    const [other] = users;
    wrong(
      other === undefined
        ? `lets what comes from elsewhere into network ${network.name}: no object wants that`
        : `leads what is for ${other.object} to network ${network.name}`,
      ...(other === undefined
        ? []
        : [...other.networks].map((name) => context.intent.byName.get(name))),
    );
  }
}

/** That a packet to an external address was too big. */
const isRefusal = (
  match: Match,
  { byKey }: VerifiedServices,
  { name }: VerifiedNetwork,
): boolean => {
  const address = match.get('nw_dst') ?? match.get('ipv6_dst');
  return (
    address !== undefined &&
    parseAddress(address) !== undefined &&
    match.has('icmp_type') &&
    [...byKey.values()].some(
      ({ externalAddresses, networks }) =>
        externalAddresses.includes(address) && networks.has(name),
    )
  );
};

/** What the host passes on to a service that a connection opens over this bridge, by cluster IP and port, or what a service answers to a network that may ask. */
function isConnected(
  flow: Flow,
  match: Match,
  network: VerifiedNetwork,
  { intent, services, findings }: BridgeContext,
): boolean {
  const from = match.get('nw_src') ?? match.get('ipv6_src') ?? '';
  const to = match.get('nw_dst') ?? match.get('ipv6_dst') ?? '';
  const client = intent.networks.find(({ gatewayAddresses }) => gatewayAddresses.includes(from));
  if (client !== undefined) {
    const service = services.byClusterAddress.get(to);
    const connection = connectionOverBridge(intent.connections, client.name, network.name);
    if (connection === undefined || service?.networks.has(network.name) !== true) return false;
    if (!service.ports.has(Number(match.get('tp_dst') ?? Number.NaN))) return false;
    findings.edge({
      from: client.name,
      to: network.name,
      kind: 'service',
      where: flowText(flow),
      object: connection.object,
    });
    return true;
  }
  const answering = services.byClusterAddress.get(from)?.networks ?? [];
  return (
    network.gatewayAddresses.includes(to) &&
    [...answering].some(
      (server) => connectionOverBridge(intent.connections, network.name, server) !== undefined,
    )
  );
}

/** An answer to what the network asked. */
function isLearned({ cookie, table }: Flow, { id }: VerifiedNetwork): boolean {
  const number = BigInt(cookie === '' ? 0 : cookie);
  return table === 20 && number >> 32n === BigInt(LEARNED) && Number(number & 0xffffffffn) === id;
}
