/** What flows of the external bridge do with what comes from a network: it carries that network's marks and addresses, and leads to no other one. */
import { FIRST_PACKET_MARK, type VerifiedNetwork } from '../intent/networks.ts';
import type { Flow } from '../snapshot.ts';
import {
  connectionMarks,
  flowText,
  HOST_MARK,
  markedBy,
  outputsOf,
  packetMarks,
  tablesOf,
  withoutLearning,
  type BridgeContext,
  type Match,
} from './bridge-flow.ts';

/** Tables that what a network sends may go on in: connection zones, the host, after translation, whom it tells of sizes. */
const ONWARD: ReadonlySet<number> = new Set([0, 3, 4, 8, 13]);

/** What comes from a network. */
export function checkLeaving(
  flow: Flow,
  match: Match,
  port: string,
  network: VerifiedNetwork | undefined,
  context: BridgeContext,
): void {
  const { findings, intent, patches } = context;
  const wrong = (what: string, ...others: (VerifiedNetwork | undefined)[]): void => {
    findings.wrong('external bridge', flowText(flow), what, network?.object ?? 'no object', [
      network?.name,
      ...others.map((one) => one?.name),
    ]);
  };
  if (network === undefined) {
    wrong(`lets something pass that comes by ${port}, which is of no network`);
    return;
  }
  const actions = withoutLearning(flow.actions);
  for (const mark of connectionMarks(actions))
    if (mark !== network.connectionMark) {
      const other = markedBy(mark, context);
      wrong(
        `gives connections of network ${network.name} mark ${mark}, which is of ${other?.name ?? (mark === HOST_MARK ? 'the host' : 'nobody')}: answers go there`,
        other,
      );
    }
  for (const mark of packetMarks(actions)) {
    const other = intent.byId.get(mark - FIRST_PACKET_MARK);
    if (other !== undefined && other.id > 0 && other !== network)
      wrong(`gives packets of network ${network.name} the mark of network ${other.name}`, other);
  }
  for (const number of outputsOf(actions)) {
    const other = patches.get(number)?.network;
    if (other !== undefined && other !== network)
      wrong(
        `leads from network ${network.name} to network ${other.name}: no object wants that`,
        other,
      );
  }
  for (const address of numbersOfSources(actions)) {
    const other = intent.networks.find(
      (one) =>
        one !== network &&
        (one.gatewayAddresses.includes(address) || one.hostAddresses.includes(address)),
    );
    if (other !== undefined)
      wrong(`gives network ${network.name} address ${address} of network ${other.name}`, other);
    const egress = intent.egressAddresses.get(address);
    const asked = intent.egressMarks.get(Number(match.get('pkt_mark') ?? Number.NaN));
    if (egress !== undefined && egress !== asked)
      wrong(`gives network ${network.name} address ${address} of ${egress} without its mark`);
  }
  if (network.id === 0 || flow.table !== 0) return;
  const learns = flow.actions !== actions;
  const isQuestion = learns && isNeighbourDiscovery(match);
  if (/\b(NORMAL|FLOOD|ALL)\b/.test(actions) && !isQuestion)
    wrong(`switches what comes from network ${network.name} as any bridge would`);
  for (const table of tablesOf(actions))
    if (!ONWARD.has(table))
      wrong(
        `leads what comes from network ${network.name} to table ${table}, where answers are told apart`,
      );
  const leaves = outputsOf(actions).length > 0 || actions.includes('table=8');
  if (leaves && !isKnownSender(match, network))
    wrong(`lets network ${network.name} send with any address: no object wants that`);
}

const numbersOfSources = (actions: string): string[] =>
  [...actions.matchAll(/nat\(src=([0-9a-fA-F.:]+)/g)].map(([, address]) => address ?? '');

const isNeighbourDiscovery = (match: Match): boolean =>
  match.has('arp') || (match.has('icmp6') && /^13[3-6]$/.test(match.get('icmp_type') ?? ''));

/** By what a sender of a network may be known: its own address, a mark of egress, a service's port, that nobody is behind one, BFD. */
function isKnownSender(match: Match, { gatewayAddresses }: VerifiedNetwork): boolean {
  const source = match.get('nw_src') ?? match.get('ipv6_src');
  if (source !== undefined && gatewayAddresses.includes(source)) return true;
  if (match.has('pkt_mark')) return true;
  if (source !== undefined && match.has('tp_src')) return true;
  if (source !== undefined && match.has('icmp_type')) return true;
  return match.get('tp_dst') === '3784';
}
