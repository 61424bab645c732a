import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ChassisWatch } from '../../../../src/node/chassis/chassis-watch.ts';
import { openDatabase, type OpenDatabase } from '../../../../src/databases/open-database.ts';
import { hostTables } from '../../../../src/zone/host.ts';
import { createLogger } from '../../../../src/process/logger.ts';
import { southboundTables } from '../../../../src/zone/monitored-columns.ts';
import type { JsonValue, Operation } from 'ovsdb-client-ts';
import { HOST_SETTINGS } from '../../../support/host/host-units.ts';
import { OvsdbServer, SCHEMAS } from '../../../support/ovsdb/ovsdb-server.ts';
import { exampleZone, factsOf, worker, worker2 } from '../../../support/zone/zones.ts';

const LATE = 15_000;
const map = (entries: Readonly<Record<string, string>>): JsonValue => [
  'map',
  Object.entries(entries),
];

let servers: readonly OvsdbServer[];
let openVswitch: OpenDatabase;
let southbound: OpenDatabase;
let now: number;
let watch: ChassisWatch;

const change = async (
  { transactor }: OpenDatabase,
  ...operations: readonly Operation[]
): Promise<void> => {
  expect(await transactor.transact(operations)).toMatchObject({ kind: 'success' });
};
const insert = (table: string, row: Readonly<Record<string, JsonValue>>): Operation => ({
  op: 'insert',
  table,
  row,
});
/** As ovn-controller and ovs-vswitchd make one. */
const addTunnel = (more: Readonly<Record<string, JsonValue>> = {}): Promise<void> =>
  change(
    openVswitch,
    {
      op: 'insert',
      table: 'Interface',
      'uuid-name': 'interface',
      row: {
        name: 'ovn-tunnel-0',
        type: 'geneve',
        options: map({ remote_ip: worker2.encapIps[0] ?? '' }),
        ofport: 3,
        status: map({ tunnel_egress_iface: 'breth0', tunnel_egress_iface_carrier: 'up' }),
        ...more,
      },
    },
    {
      op: 'insert',
      table: 'Port',
      'uuid-name': 'port',
      row: { name: 'ovn-tunnel-0', interfaces: ['named-uuid', 'interface'] },
    },
    {
      op: 'insert',
      table: 'Bridge',
      'uuid-name': 'bridge',
      row: { name: 'br-int', ports: ['named-uuid', 'port'] },
    },
    {
      op: 'mutate',
      table: 'Open_vSwitch',
      where: [],
      mutations: [['bridges', 'insert', ['named-uuid', 'bridge']]],
    },
  );
const updateTunnel = (row: Readonly<Record<string, JsonValue>>): Promise<void> =>
  change(openVswitch, { op: 'update', table: 'Interface', where: [], row });
const register = (): Promise<void> =>
  change(
    southbound,
    {
      op: 'insert',
      table: 'Encap',
      'uuid-name': 'encap',
      row: { type: 'geneve', ip: '172.18.0.3', chassis_name: worker.chassisId },
    },
    insert('Chassis', { name: worker.chassisId, encaps: ['named-uuid', 'encap'] }),
  );

beforeEach(async () => {
  now = 0;
  servers = await Promise.all(
    ['vswitch', 'ovn-sb'].map((name) =>
      OvsdbServer.start({ schema: join(SCHEMAS, `${name}.ovsschema`) }),
    ),
  );
  const [first, second] = servers.map(({ remote }) => remote);
  const common = { tls: {}, log: createLogger('silent') };
  openVswitch = openDatabase({
    ...common,
    name: 'Open_vSwitch',
    flag: '--ovs',
    remotes: first ?? '',
    tables: hostTables(HOST_SETTINGS),
  });
  southbound = openDatabase({
    ...common,
    name: 'OVN_Southbound',
    flag: '--sb',
    remotes: second ?? '',
    tables: southboundTables,
  });
  const limit = AbortSignal.timeout(10_000);
  await Promise.all([openVswitch.ready(limit), southbound.ready(limit)]);
  await change(
    openVswitch,
    insert('Open_vSwitch', { external_ids: map({ 'ovn-remote': 'unix:/elsewhere' }) }),
  );
  const facts = factsOf(exampleZone);
  facts.refresh(0);
  watch = new ChassisWatch({
    facts,
    openVswitch: () => openVswitch.replica,
    southbound: () => southbound.replica,
    now: () => now,
  });
});
afterEach(async () => {
  for (const one of [openVswitch, southbound, ...servers]) await one[Symbol.asyncDispose]();
});

test('a node with its chassis and a tunnel to each other node is reached', async () => {
  await register();
  await addTunnel();
  expect(watch.look()).toEqual({
    unreached: [],
    problems: [],
    message: undefined,
    nextLook: undefined,
  });
});

test('a tunnel that is missing is missed after a while, and not any more when it is there', async () => {
  await register();
  expect(watch.look()).toMatchObject({ unreached: [], message: undefined, nextLook: LATE });
  now = LATE - 1;
  expect(watch.look()).toMatchObject({ unreached: [], nextLook: 1 });
  now = LATE;
  expect(watch.look()).toEqual({
    unreached: [worker2.name],
    problems: [
      {
        object: `Node ${worker2.name}`,
        message: expect.stringMatching(/^no tunnel to it .*has made none.*\(seen from /) as unknown,
      },
    ],
    message: expect.stringContaining(`Node ${worker2.name}: no tunnel to it`) as unknown,
    nextLook: undefined,
  });
  await addTunnel();
  expect(watch.look()).toMatchObject({ unreached: [], problems: [] });
});

test.each<[string, Readonly<Record<string, JsonValue>>]>([
  ['could not open network device', { ofport: -1, error: 'could not open network device' }],
  ['this host has no route there', { status: map({ tx_tcp_csum_offload: 'false' }) }],
  [
    'has no carrier',
    { status: map({ tunnel_egress_iface: 'b', tunnel_egress_iface_carrier: 'down' }) },
  ],
])('so is one of which Open vSwitch says: %s', async (text, row) => {
  await register();
  await addTunnel();
  await updateTunnel(row);
  watch.look();
  now = LATE;
  expect(watch.look().message).toContain(text);
});

test('without a chassis of its own a node reaches nobody, and says who is asked for it', async () => {
  watch.look();
  now = LATE;
  expect(watch.look()).toMatchObject({
    unreached: [],
    problems: [
      {
        object: `Node ${worker.name}`,
        message: expect.stringContaining('external_ids:ovn-remote (unix:/elsewhere)') as unknown,
      },
    ],
    message: expect.stringContaining(`has not registered chassis ${worker.chassisId}`) as unknown,
  });
});
