/** `heddle verify`: a proof that the networks of a node are apart, but for what objects want. It changes nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import {
  clusterNetworkConnects,
  clusterUserDefinedNetworks,
  egressIPs,
  endpointSlices,
  isOptionalKind,
  namespaces,
  networkAttachmentDefinitions,
  nodes,
  pods,
  services,
  userDefinedNetworks,
} from '../api/kinds.ts';
import { errorText } from '../api/error-text.ts';
import { gatewayConfig } from '../api/annotations/node-annotations.ts';
import type { KubeObject, ResourceKind } from '../api/objects.ts';
import { openDatabase } from '../databases/open-database.ts';
import { createLogger } from '../process/logger.ts';
import { within } from '../process/waiting.ts';
import type { Configuration } from '../settings/configuration.ts';
import { objectSource, openStore } from '../settings/object-store.ts';
import { StoreError, type Store } from '../store/store.ts';
import { readTables, type DatabaseName, type ServerSchema } from '../verify/read/databases.ts';
import { readHost } from '../verify/read/host.ts';
import type { Tables } from '../verify/rows.ts';
import type { Objects, Snapshot } from '../verify/snapshot.ts';
import { verify, type Verdict } from '../verify/verify.ts';
import type { Violation } from '../verify/findings.ts';
import { addSettings, configurationOf, needed } from './options.ts';
import { EXIT, print, printJson, printLines, report, table, tone } from './output.ts';

/** What changes while it is read looks wrong once, and not again. */
const AGAIN_AFTER_MS = 1000;
const MOST_READINGS = 3;

export function register(program: Command): void {
  addSettings(
    program
      .command('verify')
      .description(
        'prove that the networks of --node are apart, but for what objects want, from the databases and the host as they are; changes nothing',
      )
      .option('--json', 'the verdict as JSON, with every edge and finding')
      .option('--network <NAME>', 'show what concerns this network alone (OVN name, or default)')
      .addHelpText(
        'after',
        '\nRun it on the node, in its network namespace, with --nb, --sb and --ovs. No daemon is asked: the proof shares nothing with what builds rows.' +
          '\nExit code: 0 apart, 1 something leads from one network to another and no object wants it, 2 could not be decided.',
      ),
    ['where', 'tls', 'cluster', 'behaviour'],
  ).action(async (options: VerifyOptions, command: Command) => {
    await prove(needed(configurationOf(command), 'node', 'nb'), options);
  });
}

interface VerifyOptions {
  readonly json?: boolean;
  readonly network?: string;
}

type Placed = Configuration & { readonly node: string; readonly nb: string };

async function prove(configuration: Placed, options: VerifyOptions): Promise<void> {
  let verdict = await within(configuration.timeout, (signal) => reading(configuration, signal));
  for (let count = 1; verdict.violations.length > 0 && count < MOST_READINGS; count += 1) {
    await sleep(AGAIN_AFTER_MS);
    const before = new Set(verdict.violations.map(identityOf));
    const next = await within(configuration.timeout, (signal) => reading(configuration, signal));
    verdict = { ...next, violations: next.violations.filter((one) => before.has(identityOf(one))) };
  }
  const shown = options.network === undefined ? verdict : ofNetwork(verdict, options.network);
  if (options.json === true) printJson(shown);
  else printVerdict(shown);
  process.exitCode =
    shown.violations.length > 0
      ? EXIT.problems
      : shown.undecided.length > 0
        ? EXIT.changes
        : EXIT.success;
}

const identityOf = ({ check, where, what }: Violation): string => `${check} ${where} ${what}`;

const ofNetwork = (verdict: Verdict, name: string): Verdict => ({
  ...verdict,
  networks: verdict.networks.filter((network) => network.name === name),
  violations: verdict.violations.filter(
    ({ networks }) => networks.length === 0 || networks.includes(name),
  ),
  edges: verdict.edges.filter(({ from, to }) => from === name || to === name),
});

async function reading(configuration: Placed, signal: AbortSignal): Promise<Verdict> {
  return verify(await snapshotOf(configuration, signal));
}

async function snapshotOf(configuration: Placed, signal: AbortSignal): Promise<Snapshot> {
  const { node, settings, host } = configuration;
  const unread: string[] = [];
  const objects = await readObjects(configuration, unread, signal);
  const [northbound, southbound, openVswitch] = await Promise.all([
    readDatabase('OVN_Northbound', '--nb', configuration.nb, configuration, signal),
    ifGiven('OVN_Southbound', '--sb', configuration.sb, configuration, unread, signal),
    ifGiven('Open_vSwitch', '--ovs', configuration.ovs, configuration, unread, signal),
  ]);
  const here = objects.nodes.find(({ metadata }) => metadata.name === node);
  const gateway = here === undefined ? undefined : gatewayConfig(here).value;
  if (here === undefined) unread.push(`Node ${node}: there is no such object`);
  const bridge = gateway === undefined || gateway.mode === 'disabled' ? undefined : gateway.bridge;
  const found =
    configuration.ovs === undefined
      ? { host: {}, unread: ['the host: it needs --ovs'] }
      : await readHost(bridge, signal);
  return {
    node,
    settings: {
      ...settings,
      routingTables: host.routingTables,
    },
    objects,
    northbound,
    ...(southbound === undefined ? {} : { southbound }),
    ...(openVswitch === undefined ? {} : { openVswitch }),
    host: found.host,
    unread: [...unread, ...found.unread],
  };
}

async function readObjects(
  configuration: Configuration,
  unread: string[],
  signal: AbortSignal,
): Promise<Objects> {
  await using opened = await openStore(objectSource(configuration, process.env), { dryRun: true });
  const { objects: store } = opened;
  const all = <T extends KubeObject>(kind: ResourceKind<T>): Promise<readonly T[]> =>
    listed(store, kind, unread, signal);
  const [
    attachmentDefinitions,
    clusterNetworks,
    networks,
    connects,
    allNamespaces,
    allNodes,
    allPods,
    allServices,
    slices,
    egressIps,
  ] = await Promise.all([
    all(networkAttachmentDefinitions),
    all(clusterUserDefinedNetworks),
    all(userDefinedNetworks),
    all(clusterNetworkConnects),
    all(namespaces),
    all(nodes),
    all(pods),
    all(services),
    all(endpointSlices),
    all(egressIPs),
  ]);
  return {
    attachmentDefinitions,
    clusterNetworks,
    networks,
    connects,
    namespaces: allNamespaces,
    nodes: allNodes,
    pods: allPods,
    services: allServices,
    slices,
    egressIps,
  };
}

/** Objects of a kind; none of one that the API server does not serve. */
async function listed<T extends KubeObject>(
  store: Store,
  kind: ResourceKind<T>,
  unread: string[],
  signal: AbortSignal,
): Promise<readonly T[]> {
  try {
    return await store.list(kind, signal);
  } catch (error) {
    const isMissing = error instanceof StoreError && error.code === 'not-installed';
    if (!isMissing || !isOptionalKind(kind)) unread.push(`${kind.kind}: ${errorText(error)}`);
    return [];
  }
}

async function ifGiven(
  name: DatabaseName,
  flag: string,
  remotes: string | undefined,
  configuration: Configuration,
  unread: string[],
  signal: AbortSignal,
): Promise<Tables | undefined> {
  if (remotes === undefined) {
    unread.push(`${name}: it needs ${flag}`);
    return undefined;
  }
  try {
    return await readDatabase(name, flag, remotes, configuration, signal);
  } catch (error) {
    unread.push(`${name}: ${errorText(error)}`);
    return undefined;
  }
}

async function readDatabase(
  name: DatabaseName,
  flag: string,
  remotes: string,
  { tls, logLevel }: Configuration,
  signal: AbortSignal,
): Promise<Tables> {
  let schema: ServerSchema | undefined;
  await using database = openDatabase({
    name,
    flag,
    remotes,
    tls,
    log: createLogger(logLevel === 'info' ? 'error' : logLevel),
    tables(found) {
      schema = found;
      return {};
    },
  });
  await database.ready(signal, { isImpatient: true });
  const has = (of: string, column?: string): boolean => {
    const columns = schema?.tables.get(of)?.columns;
    return columns !== undefined && (column === undefined || columns.has(column));
  };
  return await readTables(name, database.transactor, has, signal);
}

function printVerdict(verdict: Verdict): void {
  const { node, networks, pairs, violations, edges, counts, notes, notProved, undecided } = verdict;
  const isOpen = undecided.length > 0;
  const result =
    violations.length > 0
      ? tone(`${violations.length} ways or numbers that no object wants`, 'bad')
      : isOpen
        ? tone('not decided', 'warning')
        : tone('apart', 'good');
  print(`Node ${node}: ${networks.length} networks, ${pairs.all} pairs: ${result}`);
  print(`  ${pairs.apart} apart, ${pairs.connected} may reach each other by an object`);
  print(
    `  looked at: ${Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ')}`,
  );
  if (edges.length > 0) {
    print('');
    printLines(table(['FROM', 'TO', 'WANTED BY', 'WAYS'], edgeRows(edges)));
  }
  if (violations.length > 0) printLines(`\n${tone('Violations', 'bad')}`);
  for (const { check, where, what, object, networks: concerned } of violations) {
    print(`  ${tone(check, 'strong')}: ${where}`);
    print(`    ${what}`);
    print(
      `    concerns ${object}${concerned.length === 0 ? '' : `; networks ${concerned.join(', ')}`}`,
    );
  }
  if (notes.length > 0) printLines('\nNotes');
  for (const note of notes) print(`  ${note}`);
  print('');
  for (const text of notProved) print(tone(`not proved: ${text}`, 'quiet'));
  for (const text of undecided) report(`${tone('not read:', 'warning', process.stderr)} ${text}`);
}

/** Ways of one kind between the same two, by how many rows. */
function edgeRows(edges: Verdict['edges']): string[][] {
  const rows = Map.groupBy(
    edges,
    ({ from, to, object, kind }) => `${from} ${to} ${object} ${kind}`,
  );
  return [...rows.values()].map((all) => {
    const [{ from, to, object, where } = { from: '', to: '', object: '', where: '' }] = all;
    return [from, to, object, all.length === 1 ? where : `${all.length}, as ${where}`];
  });
}
