/**
 * Names in EgressFirewalls that change every 5 s for ten minutes, with packets: whether pods get to what DNS told them, with the first one, and never
 * to what a rule denies. On the default network and on primary ones of both layers, in the virtual machine, whose kernel has VRFs; where none can run, on
 * the default network alone.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { startDaemon } from '../../src/lab/daemons.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import type { LabRecord } from '../../src/lab/state-file.ts';
import { connectedByName, connectedByNameFor } from '../support/lab/asked-names.ts';
import { sayNames, startClusterDns } from '../support/lab/cluster-dns.ts';
import {
  LIMIT,
  namespace,
  network,
  NODE,
  pod,
  startHostTenants,
  type HostTenants,
} from '../support/lab/host-tenants.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab, whyNoVirtualMachine } from '../support/lab/lab.ts';
import { DNS } from '../support/lab/matrix-tenants.ts';
import { until } from '../support/run/until.ts';
import type { Benchmark, Figure } from './benchmark.ts';

/** HEDDLE_BENCH_SECONDS is for a first look. */
const SECONDS = Number(process.env['HEDDLE_BENCH_SECONDS'] ?? 600);
const CHANGE_MS = 5000;
const TTL = CHANGE_MS / 1000;
/** All are the host's outside: each name has one that nobody had before at each change. */
const RANGE = '172.18.8.0/21';
const addressOf = (index: number): string => `172.18.${8 + (index >> 8)}.${index & 255}`;

const EXACT = 'www.example.org';
const OF_WILDCARD = 'a.apps.example.org';
const OTHER = 'example.net';
/** Ways on which names are learned, with the names that each is asked for. */
const WAYS = {
  forwarder: {
    names: [EXACT, OF_WILDCARD],
    rules: [EXACT, '*.apps.example.org'],
    more: [],
    seconds: SECONDS,
  },
  // It knows no name that a wildcard stands for.
  resolver: {
    names: [EXACT],
    rules: [EXACT],
    more: ['--dns-forwarder=false'],
    seconds: SECONDS / 5,
  },
} as const satisfies Record<
  string,
  {
    names: readonly string[];
    rules: readonly string[];
    more: readonly string[];
    seconds: number;
  }
>;
type Way = keyof typeof WAYS;

const ARGUMENTS = ['--render=everywhere'];
const NETWORKS = {
  default: undefined,
  layer3: { topology: 'Layer3', number: 63 },
  layer2: { topology: 'Layer2', number: 65 },
} as const;
type Network = keyof typeof NETWORKS;
const KIND = whyNoVirtualMachine === undefined ? 'vm' : 'host';
const networks = (Object.keys(NETWORKS) as readonly Network[]).filter(
  (one) => KIND === 'vm' || one === 'default',
);
/** Pods of `lets` get to what the names stand for alone, those of `keeps` to everything else. */
const KINDS = ['lets', 'keeps'] as const;
type Kind = (typeof KINDS)[number];
const places = networks.flatMap((one) => KINDS.map((kind) => [one, kind] as const));
const spaceOf = (one: Network, kind: Kind): string => `${one}-${kind}`;

const objects = places.flatMap(([one, kind], index): readonly object[] => {
  const name = spaceOf(one, kind);
  const on = NETWORKS[one];
  if (on === undefined)
    return [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
      pod(name, 'asks', undefined),
    ];
  const cidr = `10.${on.number + (index % KINDS.length)}.0.0/16`;
  return [namespace(name), network(name, 'net', on.topology, [cidr]), pod(name, 'asks', 'net')];
});

function firewallOf(way: Way, name: string, kind: Kind): object {
  const type = kind === 'lets' ? 'Allow' : 'Deny';
  const egress = [
    // Pods of primary networks ask DNS outside of these.
    { type: 'Allow', to: { cidrSelector: `${DNS.ips[0]}/32` } },
    ...WAYS[way].rules.map((dnsName) => ({ type, to: { dnsName } })),
    { type: kind === 'lets' ? 'Deny' : 'Allow', to: { cidrSelector: '0.0.0.0/0' } },
  ];
  return {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressFirewall',
    metadata: { namespace: name, name: 'default' },
    spec: { egress },
  };
}

interface Counts {
  /** Connections to what rules let pods to, and those that were denied. */
  allowed: number;
  denied: number;
  /** Connections to what rules keep pods from, and those that were let pass. */
  forbidden: number;
  passed: number;
  unanswered: number;
}

class ChangingNames {
  readonly #lab: LabRecord;
  readonly #tenants: HostTenants;
  #addresses = 0;

  constructor(lab: LabRecord, tenants: HostTenants) {
    this.#lab = lab;
    this.#tenants = tenants;
  }

  async #change(): Promise<void> {
    const known = [EXACT, OF_WILDCARD, OTHER].map((name) => {
      this.#addresses += 1;
      return [name, { addresses: [addressOf(this.#addresses)], ttl: TTL }] as const;
    });
    await sayNames(this.#lab, Object.fromEntries(known));
  }

  #endOf(one: Network, kind: Kind) {
    const key = `${spaceOf(one, kind)}/asks`;
    const end = this.#tenants.ends.get(key);
    if (end === undefined) throw new Error(`${key} has no address`);
    return end;
  }

  /** By network, of pods that learn names on this way. */
  async run(way: Way): Promise<ReadonlyMap<Network, Counts>> {
    const { names, seconds } = WAYS[way];
    await this.#change();
    this.#tenants.write(
      'firewalls.yaml',
      places.map(([one, kind]) => firewallOf(way, spaceOf(one, kind), kind)),
    );
    const [server] = DNS.ips;
    for (const [one, kind] of places)
      await until(
        `the firewall of ${spaceOf(one, kind)}`,
        async () => {
          const asked = [EXACT, OTHER];
          const end = this.#endOf(one, kind);
          const found = await connectedByName(this.#lab, end, server, asked, SERVER_PORT);
          const [named, other] = asked.map((name) => Object.values(found[name] ?? {})[0]);
          return named === (kind === 'lets') && other === (kind === 'keeps');
        },
        { limit: LIMIT, pause: 500 },
      );
    const over = new AbortController();
    const changing = (async () => {
      while (!over.signal.aborted) {
        await this.#change();
        await pause(CHANGE_MS, undefined, { signal: over.signal }).catch(() => undefined);
      }
    })();
    const counts = new Map(
      networks.map((one): [Network, Counts] => [
        one,
        { allowed: 0, denied: 0, forbidden: 0, passed: 0, unanswered: 0 },
      ]),
    );
    const asked = [...names, OTHER];
    const ask = async ([one, kind]: readonly [Network, Kind]): Promise<void> => {
      const end = this.#endOf(one, kind);
      const of = counts.get(one);
      const rounds = await connectedByNameFor(seconds, this.#lab, end, server, asked, SERVER_PORT);
      for (const round of rounds)
        for (const [name, reached] of Object.entries(round)) {
          if (of === undefined) continue;
          const isAllowed = (name === OTHER) === (kind === 'keeps');
          const tried = Object.values(reached);
          const answered = tried.filter((isReached) => isReached).length;
          if (tried.length === 0) of.unanswered += 1;
          of[isAllowed ? 'allowed' : 'forbidden'] += tried.length;
          if (isAllowed) of.denied += tried.length - answered;
          else of.passed += answered;
        }
    };
    await Promise.all(places.map(ask));
    over.abort();
    await changing;
    return counts;
  }
}

const figuresOf = (way: Way, counts: ReadonlyMap<Network, Counts>): readonly Figure[] =>
  [...counts].flatMap(([one, { allowed, denied, forbidden, passed, unanswered }]) => {
    // Of what it is measured for alone: the resolver learns of a change after the pod.
    const goal = way === 'forwarder' ? { goal: 0 } : {};
    const unit = 'connections';
    const of = `${way}, ${one}:`;
    return [
      { name: `${of} to what rules let pods to`, value: allowed, unit },
      { name: `${of} of these denied`, value: denied, unit, ...goal },
      { name: `${of} to what rules keep pods from`, value: forbidden, unit },
      { name: `${of} of these let pass`, value: passed, unit, ...goal },
      { name: `${of} questions without an answer`, value: unanswered, unit: 'questions' },
    ];
  });

async function names(progress: (text: string) => void): Promise<readonly Figure[]> {
  progress(
    KIND === 'vm' ? 'a lab in the virtual machine' : `${whyNoVirtualMachine}: default network`,
  );
  await using lab = await testLab('bench-names', { kind: KIND, nodes: 2 });
  const { record } = lab;
  const tenants = await startHostTenants(record, objects, ARGUMENTS);
  await outputInside(record, `ip -n ext route add local ${RANGE} dev eth0`.split(' '));
  startClusterDns(record, tenants);
  const changing = new ChangingNames(record, tenants);
  const figures: Figure[] = [];
  for (const [way, { more, seconds }] of Object.entries(WAYS) as [Way, (typeof WAYS)[Way]][]) {
    if (more.length > 0) {
      await stopDaemon(record, NODE);
      await startDaemon(record, NODE, [...ARGUMENTS, ...more]);
    }
    progress(`${way}: ${seconds} s`);
    figures.push(...figuresOf(way, await changing.run(way)));
  }
  return figures;
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'changing-names',
    title: `names of EgressFirewalls that change every ${CHANGE_MS / 1000} s for ${SECONDS} s, on each way to learn them`,
    onlyAs: 'changing-names',
    run: names,
  },
];
