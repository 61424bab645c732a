/**
 * npm run conformance -- [--network default|layer3|layer2]… [--focus REGEX] [--left] [--processes N] [--all] [--json] [--write] [--reports FILE,…]
 *
 * Upstream's [sig-network] specs on a Kubernetes of three nodes, on which Heddle is installed as docs/install.md says: progress on standard error, what passed
 * and what did not on standard output. `--all` also runs what can't pass. `--write` keeps what the specs that ran ended with, and makes docs/conformance.md of
 * that; what did not run stays as it was kept. `--left` runs what was kept as failed or not run, some at a time, so that an end before its time costs little. `--reports` takes what ginkgo reported before, of one network, instead of running.
 * Exit codes: 0 everything that applies passed, 1 a spec failed, 64 usage, 69 there is no Kubernetes here.
 */
import { parseArgs } from 'node:util';
import { readFileSync } from 'node:fs';
import { whyNoRealKubernetes } from '../support/lab/real-kubernetes.ts';
import { NOT_APPLICABLE } from './not-applicable.ts';
import { keptResults, writePage, writeResults } from './page.ts';
import {
  keptOutcomes,
  networkResults,
  NETWORKS,
  outcomes,
  type Network,
  type Outcome,
  type Results,
} from './report.ts';
import { kubeconfigOf, specsCluster } from './specs-cluster.ts';
import type { RealKubernetes } from '../support/lab/real-kubernetes.ts';

/** Of the programs in HEDDLE_KUBERNETES. */
const KUBERNETES = '1.36.2';
const ALL = String.raw`\[sig-network\]`;
const LONGEST_SECONDS = 4 * 3600;
const NOT_HERE = 69;

const progress = (line: string): void => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
};

class UsageError extends Error {}

interface Options {
  readonly networks: readonly Network[];
  readonly focus: string;
  readonly isLeft: boolean;
  readonly processes: number;
  readonly isAll: boolean;
  readonly isJson: boolean;
  readonly isWritten: boolean;
  readonly name: string;
  readonly reports: readonly string[];
}

function options(): Options {
  const { values } = parseArgs({
    options: {
      network: { type: 'string', multiple: true },
      focus: { type: 'string' },
      left: { type: 'boolean', default: false },
      processes: { type: 'string', default: '3' },
      all: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      name: { type: 'string', default: 'conformance' },
      reports: { type: 'string' },
    },
  });
  const networks = values.network ?? NETWORKS;
  for (const network of networks)
    if (!(NETWORKS as readonly string[]).includes(network))
      throw new UsageError(`--network ${network}: there are ${NETWORKS.join(', ')}`);
  const processes = Number(values.processes);
  if (!Number.isInteger(processes) || processes < 1)
    throw new UsageError(`--processes ${values.processes}: give a number from 1 on`);
  const reports = values.reports?.split(',') ?? [];
  if (reports.length > 0 && networks.length !== 1)
    throw new UsageError('--reports are of one network: name it with --network');
  return {
    networks: networks as readonly Network[],
    focus: `${ALL}.*${values.focus ?? ''}`,
    isLeft: values.left,
    processes,
    isAll: values.all,
    isJson: values.json,
    isWritten: values.write,
    name: values.name,
    reports,
  };
}

/** Tells now and then how far it is. */
function counter(network: Network): (text: string) => void {
  let [all, ended, failed, told] = ['?', 0, 0, performance.now()];
  return (text) => {
    all = /Will run (\d+) of/.exec(text)?.[1] ?? all;
    ended += text.split('•').length - 1;
    failed += text.split('• [FAILED]').length - 1;
    if (performance.now() - told < 30_000) return;
    told = performance.now();
    progress(`${network}: ${ended} of ${all} specs ended, ${failed} failed`);
  };
}

interface Run {
  readonly network: Network;
  readonly outcomes: readonly Outcome[];
}

/** Of each network one after the other; `keep` is told of each that ended. */
async function run(given: Options, keep: (found: Run) => void): Promise<readonly Run[]> {
  const found: Run[] = [];
  let isOver = false;
  const cluster = await specsCluster(given.name, progress);
  const end = (): void => {
    isOver = true;
    progress('ends when the specs that run have ended');
  };
  process.on('SIGINT', end);
  try {
    for (const network of given.networks)
      for (const focus of given.isLeft ? leftOf(network) : [given.focus]) {
        if (isOver) break;
        const one = { network, outcomes: await ended(cluster, given, network, focus) };
        found.push(one);
        keep(one);
      }
  } finally {
    process.off('SIGINT', end);
    progress('the end of the cluster');
    await cluster[Symbol.asyncDispose]();
  }
  return found;
}

/** Of specs that failed what they ended with when they ran alone, too. */
async function ended(
  cluster: RealKubernetes,
  given: Options,
  network: Network,
  focus: string,
): Promise<readonly Outcome[]> {
  const kubeconfig = await kubeconfigOf(cluster, network);
  const skip = ['SCTP'];
  if (!given.isAll)
    for (const { specs, networks } of NOT_APPLICABLE)
      if (networks?.includes(network) ?? true) skip.push(specs.source);
  const more = { kubeconfig, seconds: LONGEST_SECONDS, onOutput: counter(network) };
  const { processes } = given;
  progress(`${network}: specs`);
  const first = await cluster.specs(network, { ...more, focus, skip: skip.join('|'), processes });
  progress(`${network}: log is ${first.log}`);
  const all = outcomes(first.report);
  const failed = all.filter(({ state }) => state === 'failed');
  if (failed.length === 0) return all;
  // A busy machine can be too slow for one.
  progress(`${network}: ${failed.length} specs failed, which run again, one at a time`);
  const alone = { ...more, focus: anyOf(failed), skip: '', processes: 1 };
  const again = await cluster.specs(`${network}-again`, alone);
  progress(`${network}: log is ${again.log}`);
  return [...all, ...outcomes(again.report)];
}

const escaped = (name: string): string => name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** Finds these specs. */
const anyOf = (specs: readonly { readonly name: string }[]): string =>
  specs.map(({ name }) => `${escaped(name)}$`).join('|');

/** At most so many run between two times that results are kept. */
const AT_A_TIME = 30;

/** Finds what was kept as failed or not run, some each. */
const leftOf = (network: Network): readonly string[] =>
  keptResults()
    .filter((kept) => kept.network === network)
    .flatMap(({ failed, notRun }) => {
      const left = [...failed, ...notRun.map((name) => ({ name }))];
      const starts = Array.from(
        { length: Math.ceil(left.length / AT_A_TIME) },
        (_, n) => n * AT_A_TIME,
      );
      return starts.map((start) => anyOf(left.slice(start, start + AT_A_TIME)));
    });

const resultsOf = ({ network, outcomes: all }: Run): Results =>
  networkResults({ kubernetes: KUBERNETES, network, outcomes: all, list: NOT_APPLICABLE });

/** With what runs before ended with, as far as it was kept of the same Kubernetes. */
function withKept({ network, outcomes: all }: Run): Run {
  const before = keptResults().filter(
    (kept) => kept.network === network && kept.kubernetes === KUBERNETES,
  );
  return { network, outcomes: [...before.flatMap(keptOutcomes), ...all] };
}

try {
  const given = options();
  if (given.reports.length === 0 && whyNoRealKubernetes !== undefined) {
    process.stderr.write(`conformance: ${whyNoRealKubernetes}\n`);
    process.exit(NOT_HERE);
  }
  const [network = 'default'] = given.networks;
  const keep = (found: Run): void => {
    if (!given.isWritten) return;
    writeResults(resultsOf(withKept(found)));
    writePage();
  };
  const runs =
    given.reports.length > 0
      ? [
          {
            network,
            outcomes: given.reports.flatMap((file) => outcomes(readFileSync(file, 'utf8'))),
          },
        ]
      : await run(given, keep);
  if (given.reports.length > 0) runs.forEach(keep);
  const all = given.networks.map((on) => {
    const ran = runs.filter(({ network: where }) => where === on);
    return resultsOf({ network: on, outcomes: ran.flatMap(({ outcomes: some }) => some) });
  });
  if (given.isJson) process.stdout.write(`${JSON.stringify(all, null, 2)}\n`);
  else
    for (const { network: on, passed, failed, notApplicable, notRun } of all) {
      const counts = `${passed.length} passed, ${failed.length} failed, ${notApplicable.length} not applicable, ${notRun.length} not run`;
      process.stdout.write(`${on}: ${counts}\n`);
      for (const { name, why } of failed) process.stdout.write(`  failed: ${name}\n    ${why}\n`);
    }
  process.exitCode = all.every(({ failed }) => failed.length === 0) ? 0 : 1;
} catch (error) {
  const isUsage =
    error instanceof UsageError ||
    String((error as { code?: unknown }).code).startsWith('ERR_PARSE_ARGS');
  process.stderr.write(`conformance: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = isUsage ? 64 : 1;
}
