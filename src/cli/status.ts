/** `heddle status` and `heddle show`: what became of networks, nodes and pods, from the objects and what the nodes report. */
import type { Command } from 'commander';
import { ovnPrefix } from '../api/nad/network-name.ts';
import { objectKey } from '../api/objects.ts';
import { podNetworks } from '../api/annotations/pod-annotations.ts';
import type { Configuration } from '../settings/configuration.ts';
import type { ConnectOverview } from '../views/connect-overview.ts';
import type { DaemonOverview } from '../views/daemon-overview.ts';
import { distinctProblems } from '../views/distinct-problems.ts';
import { objectSource, openStore } from '../settings/object-store.ts';
import { isHealthy, overviewOf, type NetworkOverview, type Overview } from '../views/overview.ts';
import { problemText, type PlaceOf } from '../views/problem-text.ts';
import { readOverviewObjects } from '../views/overview-objects.ts';
import { waitingText } from '../views/waiting-pods.ts';
import { statusReport, type StatusReport } from '../views/zone-reports.ts';
import type { NetworkName } from '../model/model.ts';
import { gatewayRouter, podSwitch } from '../model/rules/names.ts';
import { askDaemon, type AnswerSource } from './ask.ts';
import { addSettings, configurationOf } from './options.ts';
import {
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
import { addShowNode } from './show-node.ts';

export function register(program: Command): void {
  addSettings(
    program
      .command('status')
      .description(
        'each network on each node: allocated, committed, in the data plane, or what is wrong',
      )
      .option('--json', 'as JSON')
      .addHelpText('after', '\nExit code: 0 all is well, 1 something is wrong.'),
    ['where', 'control', 'cluster'],
  ).action(async (_options: unknown, command: Command) => status(command));
  const showCommand = program.command('show');
  addShowNode(showCommand);
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

/** The daemon of an earlier release says nothing of objects. */
type AnyStatus = Omit<StatusReport, 'objects'> & Partial<Pick<StatusReport, 'objects'>>;

async function status(command: Command): Promise<void> {
  const configuration = configurationOf(command);
  let ended: string | undefined;
  const answered = await askDaemon<AnyStatus>(
    configuration,
    'status',
    {},
    ['networks', 'connections', 'nodes', 'problems', 'notes', 'manifests', 'places'],
    () => {
      ended = configuration.node;
    },
  );
  const {
    places,
    manifests,
    objects = [],
    ...rest
  } = answered ?? (await statusDirectly(configuration, ended));
  const overview: Overview = { ...rest, objects };
  const source: AnswerSource = answered === undefined ? 'direct' : 'daemon';
  if (isJson(command)) printJson({ source, ...overview, manifests });
  else
    printOverview(overview, (object) =>
      Object.hasOwn(places, object) ? places[object] : undefined,
    );
  const isBroken = reportComplaints(manifests);
  process.exitCode = isHealthy(overview) && !isBroken ? EXIT.success : EXIT.problems;
}

async function statusDirectly(
  configuration: Configuration,
  ended: string | undefined,
): Promise<StatusReport> {
  await using store = await openStore(objectSource(configuration, process.env), { dryRun: true });
  return await statusReport(store, configuration.settings, ended === undefined ? {} : { ended });
}

const daemonText = ({ state, message }: DaemonOverview): string =>
  message === undefined
    ? tone(state, state === 'running' ? 'good' : 'quiet')
    : tone(`${state}: ${message}`, 'bad');

function printOverview(overview: Overview, placeOf: PlaceOf): void {
  printLines(
    table(
      ['NETWORK', 'ID', 'TOPOLOGY', 'ROLE', 'SUBNETS', 'PODS', 'NODES'],
      overview.networks.map((network) => [
        network.name,
        network.id === undefined ? '-' : String(network.id),
        network.topology ?? '-',
        network.role ?? '-',
        network.subnets.join(' ') || '-',
        String(network.pods.length),
        nodeSummary(network.nodes),
      ]),
    ),
  );
  printConnections(overview.connections);
  print('');
  printLines(
    table(
      ['NODE', 'ID', 'DAEMON', 'REPORTED'],
      overview.nodes.map((node) => [
        node.name,
        node.id === undefined ? '-' : String(node.id),
        daemonText(node.daemon),
        node.message === undefined ? (node.observedAt ?? 'never') : tone(node.message, 'bad'),
      ]),
    ),
  );
  const problems = distinctProblems([
    ...overview.networks.flatMap(({ object, name, conditions }) =>
      conditions
        .filter(
          ({ type, status }) => status === (type === 'PrimaryNetworkConflict' ? 'True' : 'False'),
        )
        .map(({ type, message }) => ({
          object: object ?? name,
          message: type === 'NetworkReady' ? `not ready: ${message}` : message,
        })),
    ),
    ...overview.problems,
  ]);
  const told = new Set(problems.map(({ object }) => object));
  const waiting = overview.waitingPods.filter(({ pod }) => !told.has(`Pod ${pod}`));
  if (waiting.length > 0) printLines(`\n${tone('Waiting', 'warning')}`);
  for (const pod of waiting) print(`  ${waitingText(pod)}`);
  const { objects } = overview;
  if (objects.length > 0) {
    print('');
    printLines(
      table(
        ['OBJECT', 'STATE', 'ON'],
        objects.map(({ object, state, nodes }) => [
          object,
          tone(state, state === 'Failed' ? 'bad' : 'warning'),
          nodes.length > 3 ? `${nodes.length} nodes` : nodes.join(' '),
        ]),
      ),
    );
  }
  if (problems.length > 0) printLines(`\n${tone('Problems', 'bad')}`);
  for (const problem of problems) print(`  ${problemText(problem, placeOf)}`);
  if (overview.notes.length > 0) printLines(`\n${tone('Notes', 'warning')}`);
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
    report(
      `heddle show: no network, connection or pod is called "${name}"; networks: ${names(overview.networks)}; connections: ${names(overview.connections)}`,
    );
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
    const waiting = overview.waitingPods.find((each) => each.pod === name);
    if (waiting !== undefined) print(tone(waitingText(waiting), 'warning'));
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
    print(`  ${tone(`${type} ${status}`, status === 'True' ? 'good' : 'bad')}: ${message}`);
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
      network.nodes.map(({ node, subnets, state, message }) => {
        const name = network.name as NetworkName;
        const { topology, role } = network;
        return [
          node,
          subnets.join(' ') || '-',
          tone(message === undefined ? state : `${state}: ${message}`, STATE_TONES[state]),
          topology === undefined ? '-' : podSwitch({ name, topology }, node),
          role === 'primary' ? gatewayRouter(ovnPrefix(name), node) : '-',
        ];
      }),
    ),
  );
  if (network.pods.length > 0) printLines(`\npods: ${network.pods.join(' ')}`);
}
