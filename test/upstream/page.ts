/** docs/conformance.md, of the results that are kept beside this file. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from '../../src/lab/paths.ts';
import { NETWORKS, type Network, type Results } from './report.ts';

const FOLDER = join(import.meta.dirname, 'results');
export const PAGE = join(checkout, 'docs/conformance.md');

const TITLES: Readonly<Record<Network, string>> = {
  default: 'default network',
  layer3: 'primary Layer3',
  layer2: 'primary Layer2',
};

const fileOf = (network: Network): string => join(FOLDER, `${network}.json`);

export function writeResults(results: Results): void {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(fileOf(results.network), `${JSON.stringify(results, null, 2)}\n`);
}

/** Of the networks that were run, in the order of NETWORKS. */
export const keptResults = (): readonly Results[] =>
  NETWORKS.map(fileOf)
    .filter((file) => existsSync(file))
    .map((file) => JSON.parse(readFileSync(file, 'utf8')) as Results);

export const writePage = (): void => writeFileSync(PAGE, page(keptResults()));

const HEAD = `# Kubernetes' own specs

<!-- Made by \`npm run conformance -- --write\` from test/upstream/results; edits here are lost. -->
`;

/** Every spec of the runs, and what it ended with on each network. */
export function page(runs: readonly Results[]): string {
  const [first] = runs;
  const reasons = new Map<string, number>();
  const number = (why: string): number => {
    const known = reasons.get(why) ?? reasons.size + 1;
    reasons.set(why, known);
    return known;
  };
  const cells = new Map<string, string[]>();
  runs.forEach(({ passed, failed, notApplicable, notRun }, column) => {
    const put = (name: string, cell: string): void => {
      const row = cells.get(name) ?? runs.map(() => '');
      row[column] = cell;
      cells.set(name, row);
    };
    for (const name of passed) put(name, 'passed');
    for (const { name } of failed) put(name, '**failed**');
    for (const { name, why } of notApplicable) put(name, `(${number(why)})`);
    for (const name of notRun) put(name, 'not run');
  });
  const row = (...columns: readonly (string | number)[]): string => `| ${columns.join(' | ')} |`;
  const text = (name: string): string => name.replaceAll('|', '\\|');
  const names = [...cells.keys()].toSorted();
  return [
    HEAD,
    `What the specs of [sig-network] of Kubernetes ${first?.kubernetes ?? ''} (those of SCTP left out) say of Heddle, installed on a cluster of three nodes as [install.md](install.md) says,`,
    'with both families and without kube-proxy. They are unchanged. For primary networks an admission policy gives the namespaces that they make the label for one, and a',
    'ClusterUserDefinedNetwork selects these namespaces; another one opens the ports that their containers declare to the default network (`k8s.ovn.org/open-default-ports`), by which the',
    'API server reads what pods found (`test/upstream/specs-cluster.ts`). `HEDDLE_KUBERNETES=… npm run conformance` runs them again, `npm run conformance -- --network layer3 --focus HostPort` some of them, `npm run conformance -- --left` those that failed or did not run.',
    '',
    row('', 'passed', 'failed', 'not applicable', 'not run', 'specs'),
    row('---', '---:', '---:', '---:', '---:', '---:'),
    ...runs.map(({ network, passed, failed, notApplicable, notRun }) => {
      const counts = [passed, failed, notApplicable, notRun].map((specs) => specs.length);
      return row(
        TITLES[network],
        ...counts,
        counts.reduce((sum, count) => sum + count, 0),
      );
    }),
    '',
    ...failures(runs),
    '## Why some are not applicable',
    '',
    ...[...reasons].map(([why, index]) => `${index}. ${why}`),
    '',
    '## Spec by spec',
    '',
    'A number is that of the reason above.',
    '',
    row('', ...runs.map(({ network }) => TITLES[network])),
    row('---', ...runs.map(() => '---')),
    ...names.map((name) => row(text(name), ...(cells.get(name) ?? []))),
    '',
  ].join('\n');
}

function failures(runs: readonly Results[]): readonly string[] {
  const lines = runs.flatMap(({ network, failed }) =>
    failed.map(({ name, why }) => `- ${TITLES[network]}: ${name}: ${why}`),
  );
  return lines.length === 0 ? [] : ['## Failed', '', ...lines, ''];
}
