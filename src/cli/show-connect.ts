/** Connections of networks in `heddle status` and `heddle show`. */
import type { Connectivity } from '../api/connectivity.ts';
import type { ConnectedNetwork, ConnectOverview } from '../views/connect-overview.ts';
import { print, printLines, table, tone } from './output.ts';
import { nodeSummary, STATE_TONES } from './states.ts';

export const connectivityText = ({ pods, services }: Connectivity): string =>
  [...(pods ? ['pods'] : []), ...(services ? ['services'] : [])].join(', ') || '-';

const titleOf = ({ name, id }: ConnectedNetwork): string => name ?? `network ${id}`;

/** A connection that is refused says why among the problems. */
const statusText = ({ status, refusal }: ConnectOverview): string =>
  refusal === undefined
    ? tone(status ?? 'not decided', status === 'Success' ? 'good' : 'warning')
    : tone(refusal.reason, 'bad');

/** Nothing where there are none. */
export function printConnections(connections: readonly ConnectOverview[]): void {
  if (connections.length === 0) return;
  print('');
  printLines(
    table(
      ['CONNECTION', 'CONNECTS', 'NETWORKS', 'STATUS', 'NODES'],
      connections.map((connection) => [
        connection.name,
        connectivityText(connection),
        connection.networks.map(titleOf).join(' ') || '-',
        statusText(connection),
        nodeSummary(connection.nodes),
      ]),
    ),
  );
}

export function printConnection(connection: ConnectOverview): void {
  const { name, connectSubnets, networks, nodes, refusal } = connection;
  print(`Connection ${name} (ClusterNetworkConnect ${name})`);
  print(`  connects  ${connectivityText(connection)}`);
  print(`  subnets   ${connectSubnets.join(' ') || '-'}`);
  print(`  status    ${statusText(connection)}`);
  if (refusal !== undefined) print(`  ${tone('not accepted', 'bad')}: ${refusal.message}`);
  print('');
  printLines(
    table(
      ['NETWORK', 'ID', 'TOPOLOGY', 'LINKS'],
      networks.map((network) => [
        titleOf(network),
        String(network.id),
        network.topology ?? '-',
        network.isBridged === true
          ? 'services over the external bridge'
          : network.linkSubnets.join(' ') || '-',
      ]),
    ),
  );
  print('');
  printLines(
    table(
      ['NODE', 'STATE'],
      nodes.map(({ node, state }) => [node, tone(state, STATE_TONES[state])]),
    ),
  );
  for (const { node, message } of nodes) if (message !== undefined) print(`  ${node}: ${message}`);
}
