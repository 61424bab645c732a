/** A table of connections that packets fill: a real ovs-vswitchd with its userspace datapath, asked on its control socket. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase, type OpenDatabase } from '../../../../src/databases/open-database.ts';
import { ConnectionTables } from '../../../../src/node/conntrack/connection-tables.ts';
import { PORT_COLUMNS } from '../../../../src/node/openflow/bridge-ports.ts';
import { Unixctl } from '../../../../src/node/programs/unixctl.ts';
import { createLogger } from '../../../../src/process/logger.ts';
import { Vswitchd } from '../../../support/host/vswitchd.ts';

const MOST = 20;
const MOST_OF_POD = 5;
const POD_ZONE = 7;

let vswitchd: Vswitchd;
let database: OpenDatabase;
let tables: ConnectionTables;
let now = 0;

beforeEach(async () => {
  vswitchd = await Vswitchd.start();
  const words = 'add-br br-int -- set Bridge br-int datapath_type=netdev fail_mode=secure';
  await vswitchd.vsctl(...words.split(' '), `external_ids:ct-zone-blue_web=${POD_ZONE}`);
  for (const [name, number] of [
    ['from', 1],
    ['to', 2],
  ] as const)
    await vswitchd.vsctl(
      ...`add-port br-int ${name} -- set Interface ${name} type=dummy ofport_request=${number}`.split(
        ' ',
      ),
    );
  // Datagrams to port 7 are a pod's, all others nobody's in particular.
  for (const [match, zone] of [
    ['udp,tp_dst=7', POD_ZONE],
    ['udp,tp_dst=9', 9],
  ] as const)
    await vswitchd.ofctlOn(
      'br-int',
      'add-flow',
      `in_port=1,${match},actions=ct(commit,zone=${zone}),output:2`,
    );
  database = openDatabase({
    name: 'Open_vSwitch',
    flag: '--ovs',
    remotes: vswitchd.database.remote,
    tls: {},
    tables: () =>
      Object.fromEntries(
        Object.entries(PORT_COLUMNS).map(([table, columns]) => [table, { columns }]),
      ),
    log: createLogger('silent'),
    onAvailable: () => undefined,
  });
  await database.ready(AbortSignal.timeout(30_000));
  tables = new ConnectionTables({
    node: 'n1',
    sysctls: { read: () => undefined },
    vswitchd: new Unixctl({ folder: vswitchd.database.folder, daemon: 'ovs-vswitchd' }),
    openVswitch: () => database.replica,
    hasPodLimits: true,
    podOf: (port) => (port === 'blue_web' ? 'Pod blue/web' : undefined),
    onChange: () => undefined,
    now: () => now,
  });
});

afterEach(async () => {
  await database[Symbol.asyncDispose]();
  await vswitchd[Symbol.asyncDispose]();
});

const look = async (): Promise<readonly string[]> => {
  now += 10_000;
  await tables.look(AbortSignal.timeout(30_000));
  return tables.problems().map(({ object, message }) => `${object}: ${message}`);
};

const send = async (to: 7 | 9, from: number, count: number): Promise<void> => {
  for (let port = from; port < from + count; port += 1)
    await vswitchd.appctl(
      'netdev-dummy/receive',
      'from',
      `in_port(1),eth(src=00:00:00:00:00:01,dst=00:00:00:00:00:02),eth_type(0x0800),ipv4(src=10.0.0.1,dst=8.8.8.8,proto=17,tos=0,ttl=64,frag=no),udp(src=${port},dst=${to})`,
    );
};

test('the table of a node and the zone of a pod, until they are full', async () => {
  await vswitchd.appctl('dpctl/ct-set-maxconns', String(MOST));
  await vswitchd.appctl('dpctl/ct-set-limits', `zone=${POD_ZONE},limit=${MOST_OF_POD}`);
  expect(await look()).toEqual([]);
  expect(tables.usages).toEqual([{ table: 'userspace', entries: 0, limit: MOST }]);

  await send(7, 20_000, MOST_OF_POD + 3);
  expect(await look()).toEqual([
    expect.stringMatching(/^Pod blue\/web: its port blue_web .*\(5\)/),
  ]);
  expect(tables.usages).toEqual([{ table: 'userspace', entries: MOST_OF_POD, limit: MOST }]);

  await send(9, 30_000, MOST - MOST_OF_POD + 3);
  expect(await look()).toEqual([
    expect.stringMatching(/^Node n1: .*userspace datapath is full \(20\)/),
    expect.stringMatching(/^Pod blue\/web: /),
  ]);
  expect(tables.usages).toEqual([{ table: 'userspace', entries: MOST, limit: MOST }]);

  await vswitchd.appctl('dpctl/flush-conntrack');
  expect(await look()).toEqual([]);
});

test('an ovs-vswitchd that has ended', async () => {
  await vswitchd.kill();
  expect(await look()).toEqual([
    expect.stringMatching(
      /^Node n1: .*can't be seen: ovs-vswitchd dpctl\/ct-get-nconns: .*nobody listens there/,
    ),
  ]);
  expect(tables.usages).toEqual([]);
});
