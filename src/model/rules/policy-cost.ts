/** What policies cost a node in flows of OpenFlow, counted before anything is written. Pure. */
import type { AdminPolicy, AdminRule } from '../read/admin-policies.ts';
import type { PolicyPort, Protocol } from '../read/policies.ts';

/** OVN has a flow for the first packet of a connection, and one for those that come after it. */
export const FLOWS_PER_TERM = 2;

/** How many terms OVN makes of the ports of one protocol: one of each, and of a range one per block of a power of two. */
export function termsOfPorts(ports: readonly PolicyPort[], protocol: Protocol): number {
  const own = ports.filter((port) => port.protocol === protocol && port.name === undefined);
  if (own.some(({ port }) => port === undefined)) return 1;
  return own.reduce((sum, { port = 0, endPort = port }) => sum + blocksOfRange(port, endPort), 0);
}

function blocksOfRange(first: number, last: number): number {
  let count = 0;
  for (let next = first; next <= last; count += 1) {
    let size = 1;
    while (next % (2 * size) === 0 && next + 2 * size - 1 <= last) size *= 2;
    next += size;
  }
  return count;
}

/** Of which addresses are listed apart, each with all that is asked for besides: a set of pods and nodes for each, whoever is in it. */
const FAMILY_COUNT = 2;

/**
 * Flows that a policy of administrators costs a node by what it says itself. Whom selectors find, what DNS knows names by, and how many numbers a port's name stands
 * for, is other people's doing: nobody gets a policy refused by the pods that he makes.
 */
export const adminPolicyFlows = ({ rules }: Pick<AdminPolicy, 'rules'>): number =>
  FLOWS_PER_TERM * rules.reduce((sum, rule) => sum + termsOfRule(rule), 0);

function termsOfRule({ networks, names, ports }: AdminRule): number {
  const peers = FAMILY_COUNT * (1 + names.length) + networks.length;
  if (ports.length === 0) return peers;
  const numbered = ports.filter(({ name }) => name === undefined);
  const protocols = new Set(numbered.map(({ protocol }) => protocol));
  const named = ports.length - numbered.length;
  // Of two lists OVN makes a conjunction: their sum, not their product. A port by its name is with other pods each.
  return [...protocols].reduce(
    (sum, protocol) => sum + peers + FAMILY_COUNT * termsOfPorts(ports, protocol),
    named * (peers + 1),
  );
}
