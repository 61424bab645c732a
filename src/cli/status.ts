/** `heddle status` and `heddle show`: what became of networks, nodes and pods, from the objects and what the nodes report. */
import { setTimeout } from 'node:timers/promises';
import type { Command } from 'commander';
import { ovnPrefix } from '../api/nad/network-name.ts';
import { objectKey } from '../api/objects.ts';
import { podNetworks } from '../api/annotations/pod-annotations.ts';
import type { Configuration } from '../settings/configuration.ts';
import type { ConnectOverview } from '../views/connect-overview.ts';
import { nearestName } from '../api/validation/nearest-name.ts';
import { inOneLine } from '../api/visible-text.ts';
import { objectSource, openStore } from '../settings/object-store.ts';
import { isHealthy, overviewOf, type NetworkOverview, type Overview } from '../views/overview.ts';
import { problemText, type PlaceOf } from '../views/problem-text.ts';
import { readOverviewObjects } from '../views/overview-objects.ts';
import { filtered, knownNamespaces, networkState, statusView } from '../views/status-view.ts';
import { waitingText } from '../views/waiting-pods.ts';
import { statusReport, type StatusReport } from '../views/zone-reports.ts';
import type { NetworkName } from '../model/model.ts';
import { gatewayRouter, podSwitch } from '../model/rules/names.ts';
import { askDaemon, type AnswerSource } from './ask.ts';
import { addSettings, configurationOf, stopSignal } from './options.ts';
import {
  clearScreen,
  didYouMean,
  EXIT,
  print,
  printJson,
  printLines,
  report,
  reportComplaints,
  table,
  tone,
} from './output.ts';
import { nodeSummary, STATE_TONES } from './states.ts';
import { connectivityText, printConnection, printConnections } from './show-connect.ts';
import { addShowEgressIp } from './show-egress-ip.ts';
import { addShowNode } from './show-node.ts';

export function register(program: Command): void {
  addSettings(
    program
      .command('status')
      .description(
        'each network on each node: allocated, committed, in the data plane, or what is wrong',
      )
      .option('-n, --namespace <NAMESPACE>', 'what concerns this namespace alone')
      .option(
        '--network <NETWORK>',
        'what concerns this network alone, by its name or its object (blue/net)',
      )
      .option('--watch', 'again whenever it is another, until Ctrl-C')
      .option('--json', 'as JSON')
      .addHelpText(
        'after',
        `
--node as a flag shows that node alone.
States of a network: Programmed (in the data plane), Committed (in the databases; ovn-northd and ovn-controller have not confirmed it yet),
Pending (something that it needs is missing), Failed, Refused (its object says why), Deleting (its last pods still use it), Unused (no
pod or service here uses it), Stale and no daemon (nobody keeps it on a node), Unknown (no node has reported it).
Exit code: 0 all is well, 1 something is wrong.`,
      ),
    ['where', 'control', 'cluster'],
  ).action(async (options: StatusOptions, command: Command) => status(command, options));
  const showCommand = program.command('show');
  addShowNode(showCommand);
  addShowEgressIp(showCommand);
  addSettings(
    showCommand
      .description(
        'one network (blue_blue, blue/blue or the name of a CUDN), one connection of networks (the name of a ClusterNetworkConnect) or one pod (namespace/pod)',
      )
      .argument('<name>', 'network, connection, or namespace/name of a UserDefinedNetwork or pod')
      .option('--json', 'as JSON'),
    ['where', 'cluster'],
  ).action(async (name: string, _options: unknown, command: Command) => show(name, command));
}

const isJson = (command: Command): boolean => command.opts<{ json?: boolean }>().json === true;

/** What daemons of earlier releases say nothing of. */
type Later = 'objects' | 'notInForce';
type AnyStatus = Omit<StatusReport, Later> & Partial<Pick<StatusReport, Later>>;

interface StatusOptions {
  readonly namespace?: string;
  readonly network?: string;
  readonly watch?: boolean;
}

/** Milliseconds between two looks of `--watch`. */
const WATCH = 2000;

async function status(command: Command, options: StatusOptions): Promise<void> {
  const configuration = configurationOf(command);
  if (options.watch !== true) {
    (await look(command, options, configuration, true)).show();
    return;
  }
  const signal = stopSignal();
  let shown: string | undefined;
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const { content, show } = await look(command, options, configuration, isFirst);
    if (content !== shown) {
      if (process.stdout.isTTY) clearScreen();
      show();
      shown = content;
    }
    await setTimeout(WATCH, undefined, { signal }).catch(() => undefined);
  }
}

/** Looks once. `show` prints what was found, and sets the exit code; `content` is the same while that is, whenever it was reported. */
async function look(
  command: Command,
  { namespace, network }: StatusOptions,
  configuration: Configuration,
  tells: boolean,
): Promise<{ readonly content: string; readonly show: () => void }> {
  let ended: string | undefined;
  const answered = await askDaemon<AnyStatus>(
    configuration,
    'status',
    {},
    ['networks', 'connections', 'nodes', 'problems', 'notes', 'manifests', 'places'],
    { tells, onEnded: () => (ended = configuration.node) },
  );
  const {
    places,
    manifests,
    objects = [],
    notInForce = [],
    ...rest
  } = answered ?? (await statusDirectly(configuration, ended));
  const node = command.getOptionValueSource('node') === 'cli' ? configuration.node : undefined;
  const overview = filtered({ ...rest, objects, notInForce }, { namespace, network, node });
  const source: AnswerSource = answered === undefined ? 'direct' : 'daemon';
  const show = (): void => {
    if (network !== undefined && overview.networks.length === 0) {
      report(
        `heddle status: no network is called "${network}"${didYouMean(
          network,
          rest.networks.map(({ name }) => name),
          'networks',
        )}`,
      );
      process.exitCode = EXIT.problems;
      return;
    }
    const namespaces = knownNamespaces({ ...rest, objects, notInForce });
    if (namespace !== undefined && !namespaces.includes(namespace)) {
      report(
        `heddle status: nothing is known of a namespace "${namespace}", no network and no pod${didYouMean(namespace, namespaces, 'namespaces')}`,
      );
      process.exitCode = EXIT.problems;
      return;
    }
    if (node !== undefined && overview.nodes.length === 0) {
      report(
        `heddle status: no node is called "${node}"${didYouMean(
          node,
          rest.nodes.map(({ name }) => name),
          'nodes',
        )}`,
      );
      process.exitCode = EXIT.problems;
      return;
    }
    const networks = overview.networks.map((one) => ({ ...one, state: networkState(one) }));
    if (isJson(command)) printJson({ source, ...overview, networks, manifests });
    else
      printOverview(
        overview,
        (object) => (Object.hasOwn(places, object) ? places[object] : undefined),
        manifests.filter(({ severity }) => severity === 'error').length,
      );
    const isBroken = reportComplaints(manifests);
    process.exitCode = isHealthy(overview) && !isBroken ? EXIT.success : EXIT.problems;
  };
  const content = JSON.stringify([overview, manifests], (key, value: unknown) =>
    ['observedAt', 'heartbeat'].includes(key) ? undefined : value,
  );
  return { content, show };
}

async function statusDirectly(
  configuration: Configuration,
  ended: string | undefined,
): Promise<StatusReport> {
  await using store = await openStore(objectSource(configuration, process.env), { dryRun: true });
  return await statusReport(store, configuration.settings, ended === undefined ? {} : { ended });
}

const heading = (text: string, kind: 'bad' | 'warning'): void => {
  print('');
  print(tone(text, kind));
};

/** The verdict, what is wrong, what waits, and how far everything is: worst first, each thing once. */
function printOverview(overview: Overview, placeOf: PlaceOf, broken: number): void {
  const { verdict, isWell, problems, waiting } = statusView(overview, broken);
  print(tone(verdict, isWell ? 'good' : 'bad'));
  if (problems.length > 0) heading('Problems', 'bad');
  for (const problem of problems) print(`  ${problemText(problem, placeOf)}`);
  if (waiting.length > 0) heading('Waiting', 'warning');
  for (const problem of waiting) print(`  ${problemText(problem, placeOf)}`);
  print('');
  printLines(
    table(
      ['NETWORK', 'ID', 'TOPOLOGY', 'ROLE', 'SUBNETS', 'PODS', 'STATE', 'NODES'],
      overview.networks.map((network) => {
        const state = networkState(network);
        return [
          network.name,
          network.id === undefined ? '-' : String(network.id),
          network.topology ?? '-',
          network.role ?? '-',
          network.subnets.join(' ') || '-',
          String(network.pods.length),
          tone(state, STATE_TONES[state]),
          nodeSummary(network.nodes),
        ];
      }),
    ),
  );
  printConnections(overview.connections);
  print('');
  printLines(
    table(
      ['NODE', 'ID', 'DAEMON', 'REPORTED'],
      overview.nodes.map(({ name, id, daemon, observedAt = 'never' }) => {
        const kind =
          daemon.message !== undefined ? 'bad' : daemon.state === 'running' ? 'good' : 'quiet';
        return [name, id === undefined ? '-' : String(id), tone(daemon.state, kind), observedAt];
      }),
    ),
  );
  if (overview.notes.length > 0) heading('Notes', 'warning');
  for (const note of overview.notes) print(`  ${problemText(note, placeOf)}`);
}

async function show(name: string, command: Command): Promise<void> {
  const configuration = configurationOf(command);
  await using store = await openStore(objectSource(configuration, process.env), { dryRun: true });
  const objects = await readOverviewObjects(store.objects);
  const overview = overviewOf(objects, configuration.settings, { now: Date.now() });
  const network = overview.networks.find((candidate) =>
    [candidate.name, candidate.object?.split(' ')[1], ...candidate.nads].includes(name),
  );
  if (network !== undefined) {
    const connections = overview.connections.filter(({ networks }) =>
      networks.some((member) => member.name === network.name),
    );
    if (isJson(command))
      printJson({ ...network, connections: connections.map((connection) => connection.name) });
    else printNetwork(network, connections);
    return;
  }
  const connection = overview.connections.find((candidate) => candidate.name === name);
  if (connection !== undefined) {
    if (isJson(command)) printJson(connection);
    else printConnection(connection);
    return;
  }
  const pod = objects.pods.find(({ metadata }) => objectKey(metadata) === name);
  if (pod === undefined) {
    const names = (named: readonly { readonly name: string }[]): string =>
      named.map((candidate) => candidate.name).join(', ') || 'none';
    const nearest = nearestName(name, [
      ...overview.networks.flatMap((one) => [one.name, one.object?.split(' ')[1] ?? '']),
      ...overview.connections.map((one) => one.name),
      ...objects.pods.map(({ metadata }) => objectKey(metadata)),
    ]);
    const others =
      nearest === undefined
        ? `; networks: ${names(overview.networks)}; connections: ${names(overview.connections)}`
        : `; did you mean "${nearest}"?`;
    report(`heddle show: no network, connection or pod is called "${name}"${others}`);
    process.exitCode = EXIT.problems;
    return;
  }
  const networks = podNetworks(pod);
  const shown = {
    pod: name,
    node: pod.spec.nodeName,
    uid: pod.metadata.uid,
    interfaces: [...(networks.value ?? [])].map(([nad, content]) => ({ nad, ...content })),
    problems: networks.errors.map(({ message }) => message),
  };
  if (isJson(command)) printJson(shown);
  else {
    print(`Pod ${name} on node ${shown.node ?? '-'} (uid ${shown.uid ?? '-'})`);
    printLines(
      table(
        ['NETWORK', 'ROLE', 'MAC', 'ADDRESSES', 'GATEWAYS'],
        shown.interfaces.map(({ nad, role, macAddress, addresses, gateways }) => [
          nad,
          role ?? '-',
          macAddress,
          addresses.join(' ') || '-',
          gateways.join(' ') || '-',
        ]),
      ),
    );
    if (shown.interfaces.some(({ role }) => role === 'infrastructure-locked'))
      print(
        'infrastructure-locked: its traffic goes by its primary network; here only the kubelet of its node reaches it, and what k8s.ovn.org/open-default-ports opens',
      );
    const waiting = overview.waitingPods.find((each) => each.pod === name);
    if (waiting !== undefined) print(tone(`Pod ${name} ${waitingText(waiting)}`, 'warning'));
    for (const problem of shown.problems) print(tone(problem, 'bad'));
  }
  if (shown.problems.length > 0 || shown.interfaces.length === 0) process.exitCode = EXIT.problems;
}

function printNetwork(network: NetworkOverview, connections: readonly ConnectOverview[]): void {
  print(`Network ${network.name}${network.object === undefined ? '' : ` (${network.object})`}`);
  print(`  id        ${network.id ?? 'not allocated'}`);
  print(`  topology  ${network.topology ?? '-'} ${network.role ?? ''}`);
  print(`  subnets   ${network.subnets.join(' ') || '-'}`);
  if (network.nads.length > 0) print(`  NADs      ${network.nads.join(' ')}`);
  for (const { type, status, message } of network.conditions)
    print(
      `  ${tone(`${type} ${status}`, status === 'True' ? 'good' : 'bad')}: ${inOneLine(message)}`,
    );
  if (network.siblings.length > 0)
    print(`  reaches   ${network.siblings.join(' ')} (primary networks of the same namespace)`);
  for (const { name, pods, services, networks } of connections)
    print(
      `  connected by ${name} (${connectivityText({ pods, services })}) with ${
        networks
          .filter((member) => member.name !== network.name)
          .map((member) => member.name ?? `network ${member.id}`)
          .join(' ') || '-'
      }`,
    );
  print('');
  printLines(
    table(
      ['NODE', 'SUBNETS', 'STATE', 'SWITCH', 'GATEWAY ROUTER'],
      network.nodes.map(({ node, subnets, state }) => {
        const name = network.name as NetworkName;
        const { topology, role, isOptedIn } = network;
        return [
          node,
          subnets.join(' ') || '-',
          tone(state, STATE_TONES[state]),
          topology === undefined ? '-' : podSwitch({ name, topology }, node),
          role === 'primary' || isOptedIn === true ? gatewayRouter(ovnPrefix(name), node) : '-',
        ];
      }),
    ),
  );
  for (const { node, message } of network.nodes)
    if (message !== undefined) print(`  ${node}: ${message}`);
  if (network.pods.length > 0) printLines(`\npods: ${network.pods.join(' ')}`);
}
