/** What `heddle explain POD DEST` says of packets in a lab, beside what packets show. */
import { probe, type Endpoint, type ProbeResult } from '../../../src/lab/connectivity.ts';
import { daemonSocket } from '../../../src/lab/daemons.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { connectControl } from '../../../src/control/control-client.ts';
import { joined, nextQuestions } from '../../../src/packets/joined-report.ts';
import type { PacketReport } from '../../../src/packets/packet-report.ts';

export interface Asking {
  readonly from: Endpoint;
  /** `red/db`, `svc/red/db`, an address. */
  readonly destination: string;
  readonly port: number;
  readonly protocol: 'tcp' | 'udp';
  /** Who is to answer; absent: whoever does. */
  readonly server?: string;
}

export interface Said {
  readonly asking: Asking;
  /** Of both nodes together. */
  readonly verdict: 'reaches' | 'does not reach' | 'undecided';
  /** Of both nodes together. */
  readonly report: PacketReport;
}

const SECONDS = 3;
const WITHIN = 120_000;

const bracketed = (text: string): string => (/:.*:/.test(text) ? `[${text}]` : text);

const destinationOf = ({ destination, port, protocol }: Asking): string =>
  `${bracketed(destination)}:${port}/${protocol}`;

async function explain(
  lab: LabRecord,
  node: string,
  pod: string,
  destination: string,
): Promise<PacketReport> {
  const client = await connectControl(daemonSocket(lab.name, node));
  if (!('call' in client)) throw new Error(client.reason);
  using connected = client;
  const asked = { pod, destination };
  return (await connected.call('packet', asked, AbortSignal.timeout(WITHIN))) as PacketReport;
}

/** The node of the pod that sends says the first part of the way, and where it goes on another node, that one the second. */
export async function said(lab: LabRecord, asking: Asking): Promise<Said> {
  const report = await explain(lab, asking.from.node, asking.from.pod, destinationOf(asking));
  const others: PacketReport[] = [];
  for (const { node, destination = destinationOf(asking) } of nextQuestions(report))
    others.push(await explain(lab, node, asking.from.pod, destination));
  const both = others.length === 0 ? report : joined(report, others);
  const verdict = both.verdict === "can't be decided here" ? 'undecided' : both.verdict;
  return { asking, report: both, verdict };
}

/** Whether packets get an answer, of whom is to answer where that is said. */
export async function shown(
  lab: LabRecord,
  all: readonly Said[],
): Promise<readonly (boolean | undefined)[]> {
  const results = await probe(
    lab,
    all.map(({ asking: { from, port, protocol }, report }) => ({
      from: from.namespace,
      to: report.destination.address ?? '',
      port,
      protocol,
      ping: false,
    })),
    SECONDS,
  );
  return results.map((result: ProbeResult, index) => {
    const server = result.answer?.server;
    const wanted = all[index]?.asking.server;
    return server !== undefined && (wanted === undefined || server === wanted);
  });
}
