/** Names of networks that a node answers, over real sockets: a pod that asks 1,000 questions a second, on a node with one network and with 500. */
import { NamesBed } from '../support/host/names-bed.ts';
import { queryOf } from '../support/run/dns-messages.ts';
import { median, type Benchmark, type Figure } from './benchmark.ts';

/** HEDDLE_BENCH_NETWORKS is for a first look. */
const NETWORKS = (process.env['HEDDLE_BENCH_NETWORKS'] ?? '1,500').split(',').map(Number);
const RATE = 1000;
const SECONDS = 5;
const OUTSIDE = 'www.example.org';
/** Names that the node knows, and one of another tenant. */
const OWN = [
  'web.t1.svc.cluster.local',
  'web-1.web.t1.svc.cluster.local',
  '_http._tcp.web.t1.svc.cluster.local',
  'web.t2.svc.cluster.local',
];
const CASES = { own: OWN, cluster: [OUTSIDE] } as const;

const percentile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? Infinity;

async function names(progress: (text: string) => void): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const networks of NETWORKS) {
    await using bed = await NamesBed.start(networks, 1);
    bed.say({ [OUTSIDE]: ['192.0.2.80'] });
    bed.startCluster();
    await bed.startForwarder();
    for (const [what, asked] of Object.entries(CASES)) {
      progress(`${networks} networks, names of ${what}`);
      const queries = asked.map((name) => queryOf(name, name.startsWith('_') ? 'SRV' : 'A'));
      // All sockets are there, and code is compiled.
      bed.ask(1, 'udp', queries, RATE);
      const before = bed.processorTime;
      const { milliseconds } = bed.ask(1, 'udp', queries, RATE);
      const used = bed.processorTime - before;
      const of = `${networks} networks, ${what}`;
      figures.push(
        {
          name: `${of}: 99 of 100 answers`,
          value: percentile(milliseconds, 0.99),
          unit: 'ms',
          goal: 2,
        },
        { name: `${of}: median`, value: median(milliseconds), unit: 'ms' },
        {
          name: `${of}: lost`,
          value: RATE * SECONDS - milliseconds.length,
          unit: 'questions',
          goal: 0,
        },
        {
          name: `${of}: processor time a question`,
          value: (used * 1000) / (RATE * SECONDS),
          unit: 'us',
        },
      );
    }
  }
  return figures;
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'network-names',
    title: `names of networks: ${RATE} questions a second of one pod, on a node with one network and with 500`,
    run: names,
  },
];
