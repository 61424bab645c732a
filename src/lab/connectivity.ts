/** Who reaches whom, measured with packets. */
import type { LabPod } from './lab-pods.ts';
import { outputInside } from './exec.ts';
import { SERVER_PORT } from './pods.ts';
import type { LabRecord } from './state-file.ts';

/** One measurement from a network namespace of the lab to an address. */
export interface Probe {
  readonly from: string;
  readonly to: string;
  /** Port of a lab server there; without it, the probe is a ping alone. */
  readonly port?: number;
  /** TCP if left out. */
  readonly protocol?: 'tcp' | 'udp';
  /** Address of its own that the connection comes from; the kernel's choice if left out. */
  readonly source?: string;
  /** Port that it comes from. */
  readonly sourcePort?: number;
  /** Whether to send echoes, too; yes if left out. Service addresses answer none. */
  readonly ping?: boolean;
}

export interface ProbeResult {
  /** Milliseconds to the echo reply; null without one. */
  readonly ping: number | null;
  /** Which server answered, and the peer that it saw. */
  readonly answer: {
    readonly server: string;
    readonly peer: string;
    readonly peerPort: number;
  } | null;
  readonly error: string | null;
}

/** Sends ICMP echoes and asks the server of every probe, all at once, for at most `seconds`. */
export async function probe(
  lab: LabRecord,
  probes: readonly Probe[],
  seconds: number,
): Promise<ProbeResult[]> {
  const input = JSON.stringify({ probes, seconds });
  return JSON.parse(await outputInside(lab, ['lab-probe'], { input })) as ProbeResult[];
}

/** A pod's end of one network. */
export type Outward = 'outside' | 'host';

export interface OutwardCell {
  readonly from: string;
  readonly to: Outward;
  readonly address: string;
  readonly reach: Exclude<Reach, 'other'>;
  /** Address that the server saw. */
  readonly seenAs?: string;
  readonly ping: number | null;
}

export interface Endpoint {
  /** `<namespace>/<pod>`. */
  readonly pod: string;
  readonly node: string;
  /** Network namespace inside the lab. */
  readonly namespace: string;
  /** `default` or a NAD key. */
  readonly nadKey: string;
  /** Without prefix length. */
  readonly addresses: readonly string[];
}

/**
 * The pods' ends on the network that they talk on: a primary network of their own if they have one, else the cluster's.
 * With `which` = 'default', those on the cluster's network.
 */
export function endpoints(
  pods: readonly LabPod[],
  which: 'primary' | 'default' = 'primary',
): Endpoint[] {
  return pods.flatMap(({ name, node, namespace, interfaces }) => {
    const own = which === 'primary' ? interfaces.find((i) => i.device === 'ovn-udn1') : undefined;
    const chosen = own ?? interfaces.find((i) => i.device === 'eth0');
    if (chosen === undefined || chosen.addresses.length === 0) return [];
    const addresses = chosen.addresses.map((address) => address.split('/')[0] ?? '');
    return [{ pod: name, node, namespace, nadKey: chosen.nadKey, addresses }];
  });
}

/** `reached`: that pod answered; `other`: another one with the same address did; `none`: nobody did. */
type Reach = 'reached' | 'other' | 'none';

export interface Cell {
  readonly from: string;
  readonly to: string;
  readonly address: string;
  readonly reach: Reach;
  /** Pod that answered, when one did. */
  readonly answeredBy?: string;
  readonly ping: number | null;
}

/** Measures every ordered pair of endpoints, every address of the target; of some `senders` alone if they are given. Identity is the name that the server answers with. */
export async function connectivity(
  lab: LabRecord,
  ends: readonly Endpoint[],
  seconds = 4,
  senders = ends,
): Promise<Cell[]> {
  const addresses = [...new Set(ends.flatMap((end) => end.addresses))];
  const probes = senders.flatMap(({ namespace }) =>
    addresses.map((to): Probe => ({ from: namespace, to, port: SERVER_PORT })),
  );
  const results = await probe(lab, probes, seconds);
  const found = new Map(probes.map(({ from, to }, index) => [`${from} ${to}`, results[index]]));
  return senders.flatMap((from) =>
    ends.flatMap((to) =>
      to.addresses.map((address): Cell => {
        const result = found.get(`${from.namespace} ${address}`);
        const answeredBy = result?.answer?.server;
        return {
          from: from.pod,
          to: to.pod,
          address,
          reach: answeredBy === undefined ? 'none' : answeredBy === to.pod ? 'reached' : 'other',
          ...(answeredBy === undefined ? {} : { answeredBy }),
          ping: result?.ping ?? null,
        };
      }),
    ),
  );
}

/**
 * Pairs that are not as they should be: same network and not reached (by TCP and ping), or different networks and reached.
 * `expected` says whether a packet from one end should arrive at the other.
 */
export function unexpected(
  cells: readonly Cell[],
  expected: (from: string, to: string) => boolean,
): string[] {
  return cells.flatMap(({ from, to, address, reach, ping }) => {
    const should = expected(from, to);
    if (should && reach !== 'reached') return [`${from} does not reach ${to} (${address})`];
    if (should && ping === null) return [`${from} gets no ping reply from ${to} (${address})`];
    if (!should && reach === 'reached')
      return [`${from} reaches ${to} (${address}), which is in another network`];
    return [];
  });
}

/** The matrix as people read it: a row for each sender, a column for each target. */
export function matrixText(
  ends: readonly Endpoint[],
  cells: readonly Cell[],
  outward: readonly OutwardCell[] = [],
): string {
  const mark = (from: Endpoint, to: Endpoint): string => {
    const all = cells.filter((cell) => cell.from === from.pod && cell.to === to.pod);
    if (all.every((cell) => cell.reach === 'reached'))
      return all.every((c) => c.ping !== null) ? 'yes' : 'tcp';
    if (all.some((cell) => cell.reach === 'reached')) return 'some';
    return all.some((cell) => cell.reach === 'other') ? '-' : '.';
  };
  const columns = [...new Set(outward.map(({ to }) => to))];
  const outwardMark = (from: Endpoint, to: OutwardCell['to']): string => {
    const found = outward.find((cell) => cell.from === from.pod && cell.to === to);
    if (found === undefined) return '';
    if (found.reach === 'reached') return found.ping === null ? 'tcp' : 'yes';
    return found.ping === null ? '.' : 'ping';
  };
  const header = ['from \\ to', ...ends.map((end) => end.pod), ...columns];
  const addresses = [
    '',
    ...ends.map((end) => `${end.node} ${end.addresses.join(' ')}`),
    ...columns.map((to) =>
      to === 'host' ? 'its node' : (outward.find((cell) => cell.to === to)?.address ?? ''),
    ),
  ];
  const rows = ends.map((from) => [
    `${from.pod} (${from.node})`,
    ...ends.map((to) => mark(from, to)),
    ...columns.map((to) => outwardMark(from, to)),
  ]);
  const table = [header, addresses, ...rows];
  const widths = header.map((_, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  );
  const lines = table.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [
    ...lines,
    'yes: ping and TCP, and that pod answered   -: its own network has a pod with that address, which answered   .: no answer',
  ].join('\n');
}
