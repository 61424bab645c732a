/** The databases of a node are converted under its daemon, as an update of OVN does, to a newer schema and back, and to one that is too old. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Installation, type RunningCommand } from '../../support/run/heddle.ts';
import {
  NORTHBOUND_SCHEMA,
  OTHER_SCHEMAS,
  OvsdbServer,
  runOvs,
  SCHEMAS,
} from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';

const WORKED_EXAMPLE = join(import.meta.dirname, '../cli/fixtures/worked-example');
const SOUTHBOUND_SCHEMA = join(SCHEMAS, 'ovn-sb.ovsschema');
const CHASSIS = ['b1f96182-2bdd-42b6-88f9-9a1fc1c85ece', 'geneve', '172.18.0.3'];
const NODE = '--node=ovn-worker';

interface Table {
  readonly columns: Record<string, object>;
  readonly isRoot?: boolean;
}
interface Schema {
  version: string;
  readonly tables: Record<string, Table>;
}

const TEXTS = { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } };
const OPTIONAL_TEXT = { type: { key: 'string', min: 0, max: 1 } };

/** A schema of this repository, and what `change` makes of it. */
function changed(file: string, change: (schema: Schema) => void): string {
  const schema = JSON.parse(readFileSync(file, 'utf8')) as Schema & { cksum?: string };
  delete schema.cksum;
  change(schema);
  return JSON.stringify(schema);
}

const GROUP = { key: { type: 'uuid', refTable: 'Network_Function_Group' }, min: 0, max: 1 };

/**
 * What OVN 26.03 (7.18.0, 21.8.0) has beside 25.03 where rows of ours are: columns that refer to tables of its own, and which datapath is whose. Its
 * own schemas, from the folder that HEDDLE_TEST_OVN_SCHEMAS names, are taken in their place.
 */
const NEWER = {
  'ovn-nb.ovsschema': changed(NORTHBOUND_SCHEMA, (schema) => {
    schema.version = '7.18.0';
    const { Logical_Router_Policy: policies, ACL: acls } = schema.tables;
    schema.tables['Network_Function_Group'] = {
      columns: { name: { type: 'string' }, external_ids: TEXTS },
      isRoot: true,
    };
    if (policies !== undefined) policies.columns['output_port'] = OPTIONAL_TEXT;
    if (acls !== undefined) acls.columns['network_function_group'] = { type: GROUP };
  }),
  'ovn-sb.ovsschema': changed(SOUTHBOUND_SCHEMA, (schema) => {
    schema.version = '21.8.0';
    const { Datapath_Binding: datapaths } = schema.tables;
    if (datapaths !== undefined)
      datapaths.columns['nb_uuid'] = { type: { key: 'uuid', min: 0, max: 1 } };
  }),
};
const newer = (file: keyof typeof NEWER): string =>
  OTHER_SCHEMAS === undefined ? NEWER[file] : readFileSync(join(OTHER_SCHEMAS, file), 'utf8');
/** Without the column that orders ACLs. */
const olderNorthbound = changed(NORTHBOUND_SCHEMA, (schema) => {
  schema.version = '6.0.0';
  const { ACL: acls } = schema.tables;
  delete acls?.columns['tier'];
});

async function convert(server: OvsdbServer, schema: string): Promise<void> {
  const file = join(server.folder, 'to.ovsschema');
  writeFileSync(file, schema);
  await runOvs('ovsdb-client', ['convert', server.remote, file]);
}

/** All rows, without how many passes there were (nb_cfg). */
const contents = async (server: OvsdbServer): Promise<string> =>
  (await runOvs('ovsdb-client', ['dump', server.remote])).replace(/(?<= ovn-worker) +\d+/, '');

const red = (name: string): string => `
apiVersion: v1
kind: Namespace
metadata: {name: ${name}, labels: {k8s.ovn.org/primary-user-defined-network: ''}}
---
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: {namespace: ${name}, name: net}
spec: {topology: Layer3, layer3: {role: Primary, subnets: [{cidr: 10.90.0.0/16, hostSubnet: 24}]}}
---
apiVersion: v1
kind: Pod
metadata: {namespace: ${name}, name: one}
spec: {nodeName: ovn-worker, containers: [{name: one, image: none}]}
`;

test('a daemon goes on in the same process when its databases are converted to a newer schema and back, and says what an older one lacks', async () => {
  using heddle = new Installation([
    '--cluster-subnets=10.244.0.0/16/24',
    '--k8s-service-cidrs=10.96.0.0/16',
  ]);
  heddle.copy(WORKED_EXAMPLE);
  await using nb = await OvsdbServer.start({ name: 'northbound' });
  await using sb = await OvsdbServer.start({ name: 'southbound', schema: SOUTHBOUND_SCHEMA });
  await runOvs('ovn-sbctl', [`--db=${sb.remote}`, 'chassis-add', ...CHASSIS]);
  await using daemon: RunningCommand = heddle.daemon(
    NODE,
    `--nb=${nb.remote}`,
    `--sb=${sb.remote}`,
  );
  const switches = (): Promise<string> =>
    runOvs('ovn-nbctl', [
      `--db=${nb.remote}`,
      '--bare',
      '--columns=name',
      'list',
      'Logical_Switch',
    ]);
  /** What its daemon would change: it has seen the databases as they are. */
  const settled = async (): Promise<void> => {
    await until(
      'nothing to do',
      async () => (await heddle.run('plan', NODE, `--socket=${heddle.socket}`)).code === 0,
      { limit: 60_000, pause: 200, output: () => daemon.log.slice(-2000) },
    );
  };
  await until('rows', async () => (await switches()).includes('blue'), {
    limit: 60_000,
    pause: 100,
  });
  await settled();
  const before = await contents(nb);
  const { pid } = daemon;

  await convert(nb, newer('ovn-nb.ovsschema'));
  await convert(sb, newer('ovn-sb.ovsschema'));
  await settled();
  // What comes then is written into the newer one.
  heddle.write('red.yaml', red('red'));
  await until('a network that comes later', async () => (await switches()).includes('red_net'), {
    limit: 60_000,
    pause: 100,
    output: () => daemon.log.slice(-2000),
  });
  heddle.remove('red.yaml');
  await until('its end', async () => !(await switches()).includes('red_net'), {
    limit: 60_000,
    pause: 100,
  });
  await settled();

  await convert(nb, readFileSync(NORTHBOUND_SCHEMA, 'utf8'));
  await convert(sb, readFileSync(SOUTHBOUND_SCHEMA, 'utf8'));
  await settled();
  // The same rows with the same ids: nothing was made anew.
  expect(await contents(nb)).toBe(before);

  await convert(nb, olderNorthbound);
  await until('what it lacks', () => daemon.log.includes('lacks column tier of ACL'), {
    limit: 30_000,
    pause: 100,
    output: () => daemon.log.slice(-2000),
  });
  const kept = await switches();
  const created = (): number => daemon.log.split('"msg":"network created"').length;
  const known = created();
  heddle.write('red.yaml', red('red'));
  await until('its allocation', () => created() > known, { limit: 60_000, pause: 100 });
  const { stdout } = await heddle.run('plan', NODE, `--socket=${heddle.socket}`);
  expect(stdout).toContain('has no column tier in table ACL');
  expect(await switches()).toBe(kept);
  await convert(nb, readFileSync(NORTHBOUND_SCHEMA, 'utf8'));
  await until('the network that waited', async () => (await switches()).includes('red_net'), {
    limit: 60_000,
    pause: 100,
    output: () => daemon.log.slice(-2000),
  });
  await settled();
  expect([daemon.pid, await daemon.end('SIGTERM')]).toEqual([pid, 0]);
}, 300_000);
