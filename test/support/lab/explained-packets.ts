/** What `heddle explain POD DEST` says of packets in a lab, beside what packets show. */
import { probe, type Endpoint, type ProbeResult } from '../../../src/lab/connectivity.ts';
import { daemonSocket } from '../../../src/lab/daemons.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { connectControl } from '../../../src/control/control-client.ts';
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
  readonly report: PacketReport;
}

const SECONDS = 3;
const WITHIN = 120_000;

const bracketed = (text: string): string => (/:.*:/.test(text) ? `[${text}]` : text);

async function explain(
  lab: LabRecord,
  node: string,
  { from, destination, port, protocol }: Asking,
): Promise<PacketReport> {
  const client = await connectControl(daemonSocket(lab.name, node));
  if (!('call' in client)) throw new Error(client.reason);
  using connected = client;
  const asked = { pod: from.pod, destination: `${bracketed(destination)}:${port}/${protocol}` };
  return (await connected.call('packet', asked, AbortSignal.timeout(WITHIN))) as PacketReport;
}

/** The node of the pod that sends says the first part of the way, and where it goes on another node, that one the second. */
export async function said(lab: LabRecord, asking: Asking): Promise<Said> {
  const report = await explain(lab, asking.from.node, asking);
  const common = { asking, report };
  if (report.verdict !== "can't be decided here") return { ...common, verdict: report.verdict };
  const [end] = report.legs.map((leg) => leg.end);
  const { endpoints = [], node = end?.kind === 'node' ? end.node : undefined } = report.destination;
  if (report.part !== 'sends' || report.passesHere !== true || node === undefined)
    return { ...common, verdict: 'undecided' };
  const [endpoint, ...others] = endpoints;
  if (others.length > 0) return { ...common, verdict: 'undecided' };
  const [, address, port] = /^(.+):(\d+)$/.exec(endpoint ?? '') ?? [];
  const there = await explain(
    lab,
    node,
    address === undefined ? asking : { ...asking, destination: address, port: Number(port) },
  );
  if (there.verdict === 'does not reach') return { ...common, verdict: there.verdict };
  return { ...common, verdict: there.passesHere === true ? 'reaches' : 'undecided' };
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
