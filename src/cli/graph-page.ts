/** The networks of a cluster, as a node has them, as one page: of `heddle graph --html` and `heddle ui`. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import {
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  clusterNetworkConnects,
  clusterNetworkPolicies,
  clusterUserDefinedNetworks,
  egressFirewalls,
  egressIPs,
  egressQoSes,
  egressServices,
  externalRoutes,
  multiNetworkPolicies,
  namespaces,
  networkAttachmentDefinitions,
  networkConnects,
  networkPolicies,
  networkQoSes,
  ovnSecondaryNetworks,
  pods,
  services,
  userDefinedNetworks,
} from '../api/kinds.ts';
import { errorText } from '../api/error-text.ts';
import { ControlError } from '../control/control-client.ts';
import type { Configuration } from '../settings/configuration.ts';
import type { NodeChanges } from '../views/node-changes.ts';
import type { KubeObject, ResourceKind } from '../api/objects.ts';
import { dotText } from '../graph/dot.ts';
import { svgText } from '../graph/svg.ts';
import { partOf, topologyGraph } from '../graph/topology-graph.ts';
import { pageHtml, type PageAssets } from '../page/page-html.ts';
import type { PageData } from '../page/page-data.ts';
import { pageOf, type PagedZone } from '../page/page-of-zone.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { VERSION } from '../process/version.ts';
import type { Store } from '../store/store.ts';
import type { Certificate } from '../verify/certificate/certificate.ts';
import { recheck } from '../verify/recheck/recheck.ts';
import { listed } from '../views/overview-objects.ts';
import { problemText } from '../views/problem-text.ts';
import { statusReport, type PlanReport, type StatusReport } from '../views/zone-reports.ts';
import type { RenderedZone } from '../zone/rendered-zone.ts';
import { askDaemon } from './ask.ts';
import { zoneOf } from './invented-zone.ts';
import { atPath } from './named-path.ts';
import { configurationOf } from './options.ts';
import { EXIT, report, reportComplaints, reportProblems } from './output.ts';

/** Objects that say what pods send and receive. */
const POLICIES: readonly ResourceKind[] = [
  networkPolicies,
  multiNetworkPolicies,
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  clusterNetworkPolicies,
  egressFirewalls,
  egressQoSes,
  networkQoSes,
  externalRoutes,
];

/** Others that a page names. */
const OTHERS: readonly ResourceKind[] = [
  userDefinedNetworks,
  clusterUserDefinedNetworks,
  ovnSecondaryNetworks,
  networkAttachmentDefinitions,
  clusterNetworkConnects,
  networkConnects,
  namespaces,
  services,
  egressIPs,
  egressServices,
];

/** Writes the page, as a whole or not at all. Throws ConfigurationError for flags that don't go together and for a certificate that does not hold. */
export async function writePage(
  file: string,
  proof: string | undefined,
  network: string | undefined,
  command: Command,
): Promise<void> {
  const { namespace, detail, output } = command.opts<Readonly<Record<string, unknown>>>();
  const isFormatGiven = command.getOptionValueSource('format') === 'cli';
  const others = { namespace, detail, output, json: command.opts<{ json?: boolean }>().json };
  const [other] = Object.entries(others).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`],
  );
  const wrong =
    other ?? (isFormatGiven ? '--format' : network === undefined ? undefined : 'NETWORK');
  if (wrong !== undefined)
    throw new ConfigurationError(
      '--html',
      `does not go with ${wrong}: a page has all networks, and shows any of them`,
    );
  const { page, found } = await pageData(command, proof);
  const html = pageHtml(page, await pageAssets());
  const unfinished = `${file}.new`;
  try {
    await atPath('--html', file, async () => {
      await writeFile(unfinished, html);
      await rename(unfinished, file);
    });
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  report(`${page.networks.length} networks, ${page.pods.length} pods: ${file}`);
  reportWrong(found);
}

export interface FoundPage {
  readonly page: PageData;
  /** What is wrong with objects. */
  readonly found: PlanReport;
}

/** What a page shows now; `tells`: says on standard error whether a daemon answered. Throws ConfigurationError for a certificate that does not hold, or is of another node. */
export async function pageData(
  command: Command,
  proof: string | undefined,
  { tells = true } = {},
): Promise<FoundPage> {
  const certificate = proof === undefined ? undefined : await certificateIn(proof);
  const configuration = configurationOf(command);
  await using zone = await zoneOf(command);
  if (certificate !== undefined && certificate.node !== zone.node)
    throw new ConfigurationError(
      '--proof',
      `${proof} is of node ${certificate.node}, and the page of ${zone.node}: give --node ${certificate.node}, or a certificate of ${zone.node}`,
    );
  const { objects } = zone.store;
  const found = await zone.report();
  const status = await askDaemon<StatusReport>(
    configuration,
    'status',
    {},
    ['networks', 'connections', 'nodes', 'problems', 'notes'],
    { tells },
  );
  const page = pageOf({
    heddle: VERSION,
    node: zone.node,
    time: new Date(),
    settings: configuration.settings,
    facts: zone.facts,
    overview: await statusReport(zone.store, configuration.settings),
    pods: await listed(objects, pods),
    policies: await allOf(objects, POLICIES),
    others: await allOf(objects, OTHERS),
    pictures: await picturesOf(zone),
    problems: found.problems,
    status:
      status === undefined
        ? undefined
        : { ...status, objects: status.objects ?? [], notInForce: status.notInForce ?? [] },
    certificate,
    ...(status === undefined ? {} : await changesOf(configuration)),
  });
  return { page, found };
}

/** What the daemon that answered did, and is about to do. One of an earlier release does not know what it did, and one that has just begun has no plan. */
async function changesOf(
  configuration: Configuration,
): Promise<Pick<PagedZone, 'changes' | 'plan'>> {
  const asked = async <T>(
    method: string,
    params: object,
    fields: readonly (keyof T & string)[],
  ): Promise<T | undefined> => {
    try {
      return await askDaemon<T>(configuration, method, params, fields, { tells: false });
    } catch (error) {
      if (!(error instanceof ControlError)) throw error;
      return undefined;
    }
  };
  const changes = await asked<NodeChanges>('changes', {}, ['node', 'since', 'count', 'changes']);
  const plan = await asked<PlanReport>('plan', { details: false }, ['networks']);
  return { changes, plan: plan?.networks };
}

/** Says what is wrong with manifests and objects, and sets the exit code. */
export function reportWrong({
  problems,
  manifests,
}: Pick<PlanReport, 'problems' | 'manifests'>): void {
  const isWrong = [
    reportComplaints(manifests),
    reportProblems(problems.map((problem) => problemText(problem, () => problem.place))),
  ].some(Boolean);
  if (isWrong) process.exitCode = EXIT.problems;
}

const allOf = async (
  store: Store,
  kinds: readonly ResourceKind[],
): Promise<readonly KubeObject[]> =>
  (await Promise.all(kinds.map((kind) => listed(store, kind)))).flat();

/** Only of networks that the node has rows of. */
async function picturesOf(zone: RenderedZone): Promise<ReadonlyMap<string, string>> {
  const whole = topologyGraph(zone.rows(), zone.egressExits());
  const pictures = new Map<string, string>();
  for (const { network } of whole.networks)
    pictures.set(network, await svgText(dotText(partOf(whole, (name) => name === network))));
  return pictures;
}

async function certificateIn(file: string): Promise<Certificate> {
  const text = await atPath('--proof', file, () => readFile(file, 'utf8'));
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ConfigurationError('--proof', `${file} is no JSON: ${errorText(error)}`);
  }
  const [wrong] = recheck(value);
  if (wrong !== undefined)
    throw new ConfigurationError(
      '--proof',
      `the certificate ${file} does not hold: ${wrong}; heddle verify --check says all of it`,
    );
  return value as Certificate;
}

/** The build puts them beside the compiled command. */
export async function pageAssets(): Promise<PageAssets> {
  const read = (name: string): Promise<string> =>
    readFile(join(import.meta.dirname, '../../dist/cli', name), 'utf8');
  return { script: await read('page.js'), style: await read('page.css') };
}
