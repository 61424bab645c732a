import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OvsdbClient, type ClientEvent, type Operation } from 'ovsdb-client-ts';
import { OvsdbCluster } from '../../support/ovsdb/ovsdb-cluster.ts';
import type { OvsdbServer } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';

const soon = (): AbortSignal => AbortSignal.timeout(40_000);

const client = (
  servers: readonly OvsdbServer[],
  onEvent: (event: ClientEvent) => void = () => undefined,
): OvsdbClient =>
  new OvsdbClient({
    remotes: servers.map(({ remote }) => remote).join(','),
    database: 'OVN_Northbound',
    // In the order in which they are given.
    random: () => 0.999,
    leaderOnly: false,
    timing: { minBackoff: 20, maxBackoff: 200 },
    onEvent,
  }).start();

/** Inserts a switch unless there is one of the name. */
const insertOnce = (name: string): readonly Operation[] => [
  {
    op: 'wait',
    table: 'Logical_Switch',
    timeout: 0,
    where: [['name', '==', name]],
    columns: ['name'],
    until: '!=',
    rows: [{ name }],
  },
  { op: 'insert', table: 'Logical_Switch', row: { name } },
];

let cluster: OvsdbCluster;

beforeAll(async () => {
  cluster = await OvsdbCluster.start();
});

afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
});

/** The leader, then the others. */
async function members(): Promise<readonly [OvsdbServer, OvsdbServer, OvsdbServer]> {
  const leader = await cluster.leader();
  const others = cluster.servers.filter((server) => server !== leader);
  return [leader, ...others] as unknown as readonly [OvsdbServer, OvsdbServer, OvsdbServer];
}

/** Members that are not there any more come back. */
async function restore(): Promise<void> {
  for (const server of cluster.servers) {
    await server.stop('SIGKILL');
    await server.launch();
  }
  await until(
    'all members to know one leader',
    async () => {
      const states = await Promise.all(cluster.servers.map((server) => cluster.state(server)));
      return (
        states.filter((state) => state.includes('Role: leader')).length === 1 &&
        states.filter((state) => state.includes('Role: follower')).length === 2 &&
        states.every((state) => !state.includes('Leader: unknown'))
      );
    },
    40_000,
  );
}

describe('a member that crashes in the midst of a commit: the row is there once, whoever had it', () => {
  // Through whom it is written, who crashes (0: the leader), and when.
  test.each<readonly [number, number, string]>([
    [0, 0, 'crash-before-sending-append-request'],
    [0, 0, 'crash-after-sending-append-request'],
    [1, 0, 'crash-before-sending-execute-command-reply'],
    [1, 0, 'crash-after-sending-execute-command-reply'],
    [1, 1, 'crash-before-sending-execute-command-request'],
    [1, 1, 'crash-after-sending-execute-command-request'],
    [0, 1, 'crash-after-receiving-append-request-update'],
  ])(
    'written through member %i, member %i: %s',
    async (through, victim, when) => {
      const all = await members();
      const name = `${through} ${victim} ${when}`;
      const rest = all.filter((_, n) => n !== through);
      await using writer = client([all[through] as OvsdbServer, ...rest]);
      await writer.ready(soon());
      const crashing = all[victim] as OvsdbServer;
      await crashing.control('cluster/failure-test', when);
      const kinds: string[] = [];
      for (let isThere = false; !isThere;) {
        await writer.ready(soon());
        isThere = writer.replica.find('Logical_Switch', ['name'], [name]).length > 0;
        if (!isThere) kinds.push((await writer.transact(insertOnce(name))).kind);
      }
      // Whoever was cut off must not guess.
      for (const kind of kinds) expect(['success', 'unknown', 'try-again']).toContain(kind);
      await until('the member to be gone', async () => (await cluster.state(crashing)) === '');
      await restore();
      await using reader = client(await members());
      await reader.ready(soon());
      expect(reader.replica.find('Logical_Switch', ['name'], [name]).length).toBe(1);
      await until(
        'the writer to see it',
        () => writer.replica.find('Logical_Switch', ['name'], [name]).length === 1,
      );
    },
    120_000,
  );
});

test('a member that is cut off from its cluster is left, also when it is the only remote; it is used again when it is back', async () => {
  const [leader, ...others] = await members();
  const events: ClientEvent[] = [];
  await using reader = client([leader], (event) => events.push(event));
  await reader.ready(soon());
  await reader.transact([{ op: 'insert', table: 'Logical_Switch', row: { name: 'kept' } }]);
  for (const server of others) await server.stop('SIGKILL');
  await until('the client to leave', () => reader.status !== 'ready', 40_000);
  const left = events.find((event) => event.kind === 'disconnected');
  expect(left?.error.message).toContain('disconnected from its cluster');
  // What was seen can still be read, and nothing is sent.
  expect(reader.replica.find('Logical_Switch', ['name'], ['kept']).length).toBe(1);
  expect((await reader.transact(insertOnce('lost'))).kind).toBe('try-again');
  for (const server of others) await server.launch();
  await reader.ready(soon());
  expect((await reader.transact(insertOnce('after'))).kind).toBe('success');
}, 120_000);
