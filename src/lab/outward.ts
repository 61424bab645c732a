/** Who reaches what is no pod: the host outside, and the host of its own node. Measured with packets. */
import { probe, type Endpoint, type Outward, type OutwardCell } from './connectivity.ts';
import { outputInside } from './exec.ts';
import { OUTSIDE } from './node-facts.ts';
import { nodeNames } from './paths.ts';
import { SERVER_PORT } from './pods.ts';
import type { LabRecord } from './state-file.ts';
import { nodeAddress } from './status.ts';

/** Name by which the outside host answers, and its network namespace. */
const OUTSIDE_NAME = 'outside';
const OUTSIDE_NAMESPACE = 'ext';

/** Has the outside host and every node answer as pods do. */
export async function serveOutward(lab: LabRecord): Promise<void> {
  const servers = [
    { namespace: OUTSIDE_NAMESPACE, name: OUTSIDE_NAME },
    ...nodeNames(lab.nodes).map((node) => ({ namespace: node, name: node })),
  ];
  const input = JSON.stringify({ servers, port: SERVER_PORT });
  await outputInside(lab, ['lab-serve'], { input });
}

const targets = ({ node, addresses }: Endpoint): readonly [Outward, string, string][] => {
  const isV6 = addresses.every((address) => address.includes(':'));
  return isV6
    ? [['outside', OUTSIDE.v6, OUTSIDE_NAME]]
    : [
        ['outside', OUTSIDE.v4, OUTSIDE_NAME],
        ['host', nodeAddress(node), node],
      ];
};

export async function outwardConnectivity(
  lab: LabRecord,
  ends: readonly Endpoint[],
  seconds = 4,
): Promise<OutwardCell[]> {
  await serveOutward(lab);
  const wanted = ends.flatMap((end) =>
    targets(end).map(([to, address, server]) => ({ end, to, address, server })),
  );
  const results = await probe(
    lab,
    wanted.map(({ end, address }) => ({ from: end.namespace, to: address, port: SERVER_PORT })),
    seconds,
  );
  return wanted.map(({ end, to, address, server }, index): OutwardCell => {
    const { answer = null, ping = null } = results[index] ?? {};
    return {
      from: end.pod,
      to,
      address,
      reach: answer?.server === server ? 'reached' : 'none',
      ...(answer === null ? {} : { seenAs: answer.peer }),
      ping,
    };
  });
}

/** Pods that do not reach the outside with their node's address, and nothing else. */
export const unexpectedOutward = (
  ends: readonly Endpoint[],
  cells: readonly OutwardCell[],
): string[] =>
  cells.flatMap(({ from, to, address, reach, seenAs, ping }) => {
    if (to !== 'outside') return [];
    const node = ends.find(({ pod }) => pod === from)?.node ?? '';
    if (reach !== 'reached') return [`${from} does not reach the outside host (${address})`];
    if (!address.includes(':') && seenAs !== nodeAddress(node))
      return [`${from} is seen outside as ${seenAs}, not as its node (${nodeAddress(node)})`];
    return ping === null ? [`${from} gets no ping reply from the outside host (${address})`] : [];
  });

export interface SharedSource {
  readonly pods: readonly string[];
  readonly address: string;
  readonly port: number;
  /** What the outside host saw, one for each pod; null where no connection came. */
  readonly seenAs: readonly (string | null)[];
}

const SOURCE_PORT = 40_000;

/** Pods of different networks with one address on one node open a connection from one port to the outside host, at the same time. */
export async function sharedSource(
  lab: LabRecord,
  ends: readonly Endpoint[],
  seconds = 5,
): Promise<SharedSource | undefined> {
  const groups = Map.groupBy(ends, ({ node, addresses }) => `${node} ${addresses[0] ?? ''}`);
  const twins = [...groups.values()].find((group) => group.length > 1);
  if (twins === undefined) return undefined;
  await serveOutward(lab);
  const results = await probe(
    lab,
    twins.map(({ namespace }) => ({
      from: namespace,
      to: OUTSIDE.v4,
      port: SERVER_PORT,
      sourcePort: SOURCE_PORT,
    })),
    seconds,
  );
  return {
    pods: twins.map(({ pod }) => pod),
    address: twins[0]?.addresses[0] ?? '',
    port: SOURCE_PORT,
    seenAs: results.map(({ answer }) =>
      answer?.server === OUTSIDE_NAME ? `${answer.peer} port ${answer.peerPort}` : null,
    ),
  };
}

export const sharedSourceText = ({ pods, address, port, seenAs }: SharedSource): string =>
  `${pods.join(' and ')} both have the address ${address}. From port ${port}, at the same time, the outside host sees them as ${seenAs
    .map((seen) => seen ?? 'nobody')
    .join(' and ')}.`;
