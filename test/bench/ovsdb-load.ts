import { OvsdbClient } from 'ovsdb-client-ts';
import { peakMemory, processorTime, timed, type Benchmark, type Figure } from './benchmark.ts';
import { filledServer, forgotten, receiveOnly, schemaOf } from './filled-server.ts';
import { worstStall } from './stall.ts';

/** Loading a large Northbound database, and loading it again after a lost connection. */

/** Tells when the reply begins to arrive, which the server needs many seconds to compose. */
const arrives = (client: OvsdbClient) => (): boolean =>
  client.status !== 'ready' && (client.traffic?.bytesReceived ?? 0) > 100_000;

function usedMemory(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function load(
  networks: number,
  nodes: number,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  progress(`filling ${networks} networks × ${nodes} nodes`);
  await using server = await filledServer(networks, nodes);
  const schema = await schemaOf(server);
  // The first request grows the server's memory to what it needs; it is not measured.
  await receiveOnly(server, schema);
  progress('receiving only');
  await forgotten(server);
  const floor = await receiveOnly(server, schema);
  await forgotten(server);
  progress('loading');
  const before = usedMemory();
  await using client = new OvsdbClient({ remotes: server.remote, database: 'OVN_Northbound' });
  let wall = 0;
  let cpu = 0;
  const stall = await worstStall(async () => {
    const start = processorTime();
    [, wall] = await timed(() => client.start().ready());
    cpu = processorTime() - start;
  }, arrives(client));
  const peak = peakMemory();
  const { rows } = client.replica.statistics;
  const perRow = (usedMemory() - before) / rows;
  let events = 0;
  client.replica.subscribe((changes) => {
    for (const table of changes.tables.values()) events += table.rows.length;
  });
  progress('loading again');
  let again = 0;
  let cpuAgain = 0;
  const stallAgain = await worstStall(async () => {
    const start = processorTime();
    client.reconnect();
    [, again] = await timed(() => client.ready());
    cpuAgain = processorTime() - start;
  }, arrives(client));
  return [
    { name: 'rows', value: rows, unit: 'rows' },
    { name: 'reply', value: floor.bytes / 1e6, unit: 'MB' },
    { name: 'load, wall', value: wall, unit: 'ms', floor: floor.wall, goal: 1.15 * floor.wall },
    { name: 'load, processor', value: cpu, unit: 'ms', ...(rows > 500_000 ? { goal: 1500 } : {}) },
    { name: 'memory kept', value: perRow, unit: 'B/row', goal: 300 },
    { name: 'peak memory', value: peak, unit: 'MB', goal: 600 },
    { name: 'longest stall', value: stall.wall, unit: 'ms', goal: 50 },
    { name: 'longest stall, processor', value: stall.processor, unit: 'ms', goal: 50 },
    { name: 'full resync, wall', value: again, unit: 'ms', floor: wall, goal: 1.3 * wall },
    { name: 'full resync, processor', value: cpuAgain, unit: 'ms', floor: cpu, goal: 1.3 * cpu },
    { name: 'full resync, longest stall', value: stallAgain.wall, unit: 'ms', goal: 50 },
    {
      name: 'full resync, longest stall, processor',
      value: stallAgain.processor,
      unit: 'ms',
      goal: 50,
    },
    { name: 'full resync, events', value: events, unit: 'operations', goal: 0 },
  ];
}

const sizes = [
  [100, 100],
  [200, 200],
  [500, 500],
] as const;

export const benchmarks: readonly Benchmark[] = sizes.map(([networks, nodes]) => ({
  name: `ovsdb-load-${networks}x${nodes}`,
  title: `the client loads ${networks} networks × ${nodes} nodes, then again after a lost connection`,
  run: (progress) => load(networks, nodes, progress),
}));
