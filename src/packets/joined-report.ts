/** What several nodes say of one packet, as one answer: that of the pod that sends, and those to which it goes through the tunnel. Pure. */
import type { PacketReport } from './packet-report.ts';

export interface NextQuestion {
  /** Who is asked, too. */
  readonly node: string;
  /** Of a service: its endpoint, which is what goes through the tunnel; absent where it is whom the pod sends to. */
  readonly destination?: string;
}

const OPEN = "can't be decided here";

/** Who knows the rest of the way, of a service for each endpoint elsewhere; nobody where this answer has all of it, or nobody can say where it goes. */
export function nextQuestions(report: PacketReport): readonly NextQuestion[] {
  const { node: here, verdict, part, passesHere, legs, destination } = report;
  const { endpoints = [], endpointNodes = {}, isUnmet = false, protocol } = destination;
  if (verdict !== OPEN) return [];
  // Asked is for what the pod sends: on another network it would be something else.
  if (legs.some(({ end }) => end.kind === 'node' && end.isByHost === true)) return [];
  const asked = (endpoint: string): string =>
    `${endpoint}${protocol === undefined ? '' : `/${protocol}`}`;
  const [endpoint, ...others] = endpoints;
  if (others.length === 0) {
    const end = legs.find(({ direction }) => direction === 'there')?.end;
    const next = end?.kind === 'node' ? end.node : undefined;
    const node = destination.node ?? next ?? endpointNodes[endpoint ?? ''];
    if (part !== 'sends' || passesHere !== true || node === undefined || node === here) return [];
    // By that node it leaves the cluster: what nobody balanced, and what is for a pod elsewhere.
    const isService = destination.object?.startsWith('Service ') === true;
    if ((isService && endpoint === undefined) || (next !== undefined && next !== node)) return [];
    return [{ node, ...(endpoint === undefined ? {} : { destination: asked(endpoint) }) }];
  }
  // What went to endpoints of this node has arrived, and what did not went through the tunnel.
  const isOpen = legs.every(
    ({ end }) => end.kind === 'node' || (end.kind === 'pod' && end.isMeant),
  );
  const questions = endpoints.flatMap((one) => {
    const node = endpointNodes[one];
    return node === undefined || node === here ? [] : [{ node, destination: asked(one) }];
  });
  const isKnown = endpoints.every((one) => endpointNodes[one] !== undefined);
  return isOpen && isKnown && !isUnmet && part !== 'receives' ? questions : [];
}

const verdictOf = ({ verdict, passesHere }: PacketReport): PacketReport['verdict'] =>
  verdict === OPEN && passesHere === true ? 'reaches' : verdict;

/** `others` are the answers to the next questions of `first`, of which there are some. */
export function joined(first: PacketReport, others: readonly PacketReport[]): PacketReport {
  const open = others.filter((one) => verdictOf(one) !== 'reaches');
  const lost = open.filter((one) => verdictOf(one) === 'does not reach');
  const { endpoints = [] } = first.destination;
  const isAll = lost.length === Math.max(1, endpoints.length);
  const [only, ...more] = others;
  const isService = endpoints.length > 1 || only === undefined || more.length > 0;
  const onNode = ({ node, legs }: PacketReport): PacketReport['legs'] =>
    legs.map((leg) => ({ ...leg, node }));
  return {
    ...first,
    verdict: open.length === 0 ? 'reaches' : isAll ? 'does not reach' : OPEN,
    part: 'whole',
    why: isService
      ? ofEndpoints(endpoints.length, open, isAll)
      : open.length === 0
        ? `Node ${first.node} sends it through the tunnel, and node ${only.node} brings it to the pod, and the answer back.`
        : `It goes through the tunnel to node ${only.node}. ${only.why}`,
    destination: {
      ...first.destination,
      ...(isService ? {} : { node: only.node }),
    },
    stoppedBy: distinct(open.flatMap(({ stoppedBy }) => stoppedBy)),
    remedies: [...new Set(open.flatMap(({ remedies }) => remedies))],
    legs: [first, ...others].flatMap(onNode),
    notes: [...new Set([first, ...others].flatMap(({ notes }) => notes))],
  };
}

/** Nodes have rows of one UUID for what they all want. */
const distinct = <T>(all: readonly T[]): readonly T[] => [
  ...new Map(all.map((one) => [JSON.stringify(one), one])).values(),
];

function ofEndpoints(count: number, open: readonly PacketReport[], isAll: boolean): string {
  if (open.length === 0)
    return `It arrives, whichever of ${count} endpoints it gets, and the answer comes back.`;
  const what = isAll ? 'No endpoint is reached' : 'Some endpoints are reached and others are not';
  const why = [...new Set(open.map((one) => `On node ${one.node}: ${one.why}`))];
  return `${what}. ${why.join(' ')}`;
}
