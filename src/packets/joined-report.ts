/** What two nodes say of one packet, as one answer: that of the pod that sends, and that to which it goes through the tunnel. Pure. */
import type { PacketReport } from './packet-report.ts';

export interface NextQuestion {
  /** Who is asked, too. */
  readonly node: string;
  /** Of a service: its endpoint, which is what goes through the tunnel; absent where it is whom the pod sends to. */
  readonly destination?: string;
}

/** Who knows the rest of the way; undefined where this answer has all of it, or nobody can say which endpoint of several it goes to. */
export function nextQuestion(report: PacketReport): NextQuestion | undefined {
  const { verdict, part, passesHere, legs, destination } = report;
  if (verdict !== "can't be decided here" || part !== 'sends' || passesHere !== true)
    return undefined;
  const end = legs.find(({ direction }) => direction === 'there')?.end;
  const node = destination.node ?? (end?.kind === 'node' ? end.node : undefined);
  const [endpoint, ...others] = destination.endpoints ?? [];
  if (node === undefined || others.length > 0) return undefined;
  if (endpoint === undefined) return { node };
  const { protocol } = destination;
  return { node, destination: `${endpoint}${protocol === undefined ? '' : `/${protocol}`}` };
}

/** `second` is the answer to the next question of `first`. */
export function joined(first: PacketReport, second: PacketReport): PacketReport {
  const verdict =
    second.verdict === "can't be decided here" && second.passesHere === true
      ? 'reaches'
      : second.verdict;
  const why =
    verdict === 'reaches'
      ? `Node ${first.node} sends it through the tunnel, and node ${second.node} brings it to the pod, and the answer back.`
      : `It goes through the tunnel to node ${second.node}. ${second.why}`;
  const onNode = ({ node, legs }: PacketReport): PacketReport['legs'] =>
    legs.map((leg) => ({ ...leg, node }));
  return {
    ...first,
    verdict,
    part: 'whole',
    why,
    destination: { ...first.destination, node: second.node },
    stoppedBy: second.stoppedBy,
    remedies: second.remedies,
    legs: [...onNode(first), ...onNode(second)],
    notes: [...new Set([...first.notes, ...second.notes])],
  };
}
