import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Installation, type CommandResult } from '../../support/run/heddle.ts';
import {
  NORTHBOUND_SCHEMA,
  OvsdbServer,
  runOvs,
  SCHEMAS,
} from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';

/** Whose databases are written: those of the node alone, by their name and their chassis, and only with what isolation needs. */

const WORKED_EXAMPLE = join(import.meta.dirname, '../cli/fixtures/worked-example');
const CHASSIS = {
  'ovn-worker': 'b1f96182-2bdd-42b6-88f9-9a1fc1c85ece',
  'ovn-worker2': '2d1e7f5c-3f0b-4a3a-9a0e-6c6f8f0e2c11',
} as const;
const TUNNEL = { 'ovn-worker': '172.18.0.3', 'ovn-worker2': '172.18.0.4' } as const;

const installation = (): Installation => {
  const made = new Installation([
    '--cluster-subnets=10.244.0.0/16/24',
    '--k8s-service-cidrs=10.96.0.0/16',
  ]);
  made.copy(WORKED_EXAMPLE);
  return made;
};

const contents = (server: OvsdbServer): Promise<string> =>
  runOvs('ovsdb-client', ['dump', server.remote]);

const nbctl = (server: OvsdbServer, ...args: readonly string[]): Promise<string> =>
  runOvs('ovn-nbctl', [`--db=${server.remote}`, ...args]);

/** Both databases of a node whose ovn-controller has registered; the own chassis is there, as in life, before any row. */
async function zoneOf(
  node: keyof typeof CHASSIS,
): Promise<AsyncDisposable & { nb: OvsdbServer; sb: OvsdbServer; flags: readonly string[] }> {
  const nb = await OvsdbServer.start({ name: 'northbound' });
  const sb = await OvsdbServer.start({
    name: 'southbound',
    schema: join(SCHEMAS, 'ovn-sb.ovsschema'),
  });
  const chassis = ['chassis-add', CHASSIS[node], 'geneve', TUNNEL[node]];
  await runOvs('ovn-sbctl', [`--db=${sb.remote}`, ...chassis]);
  return {
    nb,
    sb,
    flags: [`--nb=${nb.remote}`, `--sb=${sb.remote}`],
    async [Symbol.asyncDispose]() {
      await sb[Symbol.asyncDispose]();
      await nb[Symbol.asyncDispose]();
    },
  };
}

const ended = ({ code, stderr }: CommandResult, expected: number): void => {
  expect(code, stderr).toBe(expected);
};

test('the zone of another node is refused by its name: nothing of it changes, whatever the command', async () => {
  using heddle = installation();
  await using zone = await zoneOf('ovn-worker2');
  ended(await heddle.run('apply', '--no-wait', '--node=ovn-worker2', ...zone.flags), 0);
  const before = [await contents(zone.nb), await contents(zone.sb)];
  const mistaken = ['--node=ovn-worker', ...zone.flags];
  for (const command of [['apply', '--no-wait'], ['plan'], ['diff']] as const) {
    const result = await heddle.run(command[0], ...command.slice(1), ...mistaken);
    ended(result, 64);
    expect(result.stderr).toContain(
      'heddle: --nb: this Northbound database is the zone of node "ovn-worker2" (NB_Global.name), not of ovn-worker: correct the remote or --node; with --take-zone it becomes the zone of ovn-worker',
    );
    expect(result.stdout).toBe('');
  }
  {
    await using daemon = heddle.daemon(...mistaken);
    await until('the daemon to refuse it', () => daemon.log.includes('not of ovn-worker'));
    const asked = await heddle.run('plan', ...mistaken);
    ended(asked, 69);
    expect(asked.stderr).toContain('not of ovn-worker');
    const shown = await heddle.run('status', ...mistaken.slice(0, 1));
    ended(shown, 1);
    expect(shown.stdout).toContain('is the zone of node "ovn-worker2"');
  }
  expect([await contents(zone.nb), await contents(zone.sb)]).toEqual(before);
  const renamed = ['--node=ovn-worker', `--nb=${zone.nb.remote}`];
  ended(await heddle.run('plan', '--take-zone', ...renamed), 2);
  ended(await heddle.run('apply', '--no-wait', '--take-zone', ...renamed), 0);
  expect(await nbctl(zone.nb, 'get', 'NB_Global', '.', 'name')).toBe('ovn-worker\n');
  ended(await heddle.run('apply', '--no-wait', ...renamed), 0);
}, 180_000);

test('a Southbound whose own chassis is another one is refused by it, before the new Northbound is touched', async () => {
  using heddle = installation();
  await using zone = await zoneOf('ovn-worker2');
  const before = await contents(zone.nb);
  const result = await heddle.run('apply', '--no-wait', '--node=ovn-worker', ...zone.flags);
  ended(result, 64);
  expect(result.stderr).toContain(
    `heddle: --sb: the chassis of this Southbound database is ${CHASSIS['ovn-worker2']}, and that of node ovn-worker is ${CHASSIS['ovn-worker']}: `,
  );
  expect(await contents(zone.nb)).toBe(before);
});

test('a database that has the name of the node already, as those that an ovn-kubernetes left, is taken', async () => {
  using heddle = installation();
  await using zone = await zoneOf('ovn-worker');
  await nbctl(zone.nb, 'set', 'NB_Global', '.', 'name=ovn-worker');
  ended(await heddle.run('apply', '--no-wait', '--node=ovn-worker', ...zone.flags), 0);
});

test('at the very first start Northbound is written while Southbound is away, and Southbound when it comes', async () => {
  using heddle = installation();
  await using zone = await zoneOf('ovn-worker');
  await zone.sb.stop();
  await using daemon = heddle.daemon('--node=ovn-worker', ...zone.flags);
  await until(
    'the switch of the default network',
    async () => (await nbctl(zone.nb, 'ls-list')).includes('(ovn-worker)'),
    30_000,
  );
  const shown = await heddle.run('status');
  expect(shown.stdout + shown.stderr).toContain('OVN_Southbound');
  await zone.sb.launch();
  await until(
    'the chassis of the other node',
    async () => (await contents(zone.sb)).includes(TUNNEL['ovn-worker2']),
    30_000,
  );
  expect(daemon.log).not.toContain('"level":50');
}, 120_000);

test('a Northbound without a name that has rows waits for Southbound: that tells whose it is', async () => {
  using heddle = installation();
  await using zone = await zoneOf('ovn-worker2');
  await nbctl(zone.nb, 'ls-add', 'theirs');
  const before = await contents(zone.nb);
  await zone.sb.stop();
  await using daemon = heddle.daemon('--node=ovn-worker', ...zone.flags);
  await until('it to wait', () => daemon.log.includes('OVN_Southbound (--sb'));
  await zone.sb.launch();
  await until('the daemon to refuse it', () =>
    daemon.log.includes('the chassis of this Southbound'),
  );
  expect(await contents(zone.nb)).toBe(before);
}, 120_000);

test('a schema without the columns that keep networks apart is refused: they are named, nothing is written', async () => {
  using heddle = installation();
  interface Schema {
    version: string;
    cksum?: string;
    tables: Record<string, { columns: Record<string, unknown> }>;
  }
  const old = JSON.parse(readFileSync(NORTHBOUND_SCHEMA, 'utf8')) as Schema;
  old.version = '6.3.0';
  delete old.cksum;
  delete old.tables['ACL']?.columns['tier'];
  delete old.tables['NAT']?.columns['match'];
  const schema = join(heddle.folder, 'old.ovsschema');
  writeFileSync(schema, JSON.stringify(old));
  await using nb = await OvsdbServer.start({ schema });
  const before = await contents(nb);
  for (const command of ['apply', 'plan', 'diff']) {
    const result = await heddle.run(command, '--node=ovn-worker', `--nb=${nb.remote}`);
    ended(result, 64);
    expect(result.stderr).toContain(
      "heddle: --nb: schema OVN_Northbound 6.3.0 lacks column tier of ACL, column match of NAT, without which networks can't be kept apart: use OVN 25.03 or newer",
    );
  }
  expect(await contents(nb)).toBe(before);
});
