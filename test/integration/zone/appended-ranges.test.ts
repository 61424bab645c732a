import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Installation } from '../../support/run/heddle.ts';
import { NORTHBOUND_SCHEMA, OvsdbServer, runOvs } from '../../support/ovsdb/ovsdb-server.ts';

/** Every row of the Northbound database but the counter of writes, as text. */
async function rowsOf(server: OvsdbServer): Promise<Readonly<Record<string, string>>> {
  const schema = JSON.parse(readFileSync(NORTHBOUND_SCHEMA, 'utf8')) as { tables: object };
  const tables = Object.keys(schema.tables).filter((table) => table !== 'NB_Global');
  const texts = tables.map(async (table): Promise<[string, string]> => {
    const list = await runOvs('ovsdb-client', ['dump', '-f', 'list', server.remote, table]);
    return [table, list.split('\n\n').toSorted().join('\n\n')];
  });
  return Object.fromEntries(await Promise.all(texts));
}

const network = (name: string, ...subnets: readonly string[]): string => `---
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: { name: ${name}, namespace: blue }
spec:
  topology: Layer3
  layer3: { role: Primary, subnets: [${subnets.map((cidr) => `{ cidr: ${cidr}, hostSubnet: 24 }`).join(', ')}] }
`;

const pod = (name: string, primary: string): string => `---
apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: blue, annotations: { k8s.ovn.org/requested-primary-udn: ${primary} } }
spec: { nodeName: ovn-worker, containers: [{ name: web, image: web }] }
`;

test('a range that overlaps the network beside it changes no row, of neither network', async () => {
  await using server = await OvsdbServer.start();
  using heddle = new Installation([
    '--node=ovn-worker',
    `--nb=${server.remote}`,
    '--cluster-subnets=10.244.0.0/16/24',
    '--k8s-service-cidrs=10.96.0.0/16',
  ]);
  const apply = async (): Promise<string> => {
    const { code, stdout, stderr } = await heddle.run('apply', '--no-wait');
    return `${code}\n${stdout}\n${stderr}`;
  };
  // Nodes, and network blue/blue of 103.103.0.0/16 with pods.
  heddle.copy(join(import.meta.dirname, '../cli/fixtures/worked-example'));
  heddle.write('two.yaml', network('two', '10.30.0.0/16') + pod('web', 'two'));
  await apply();
  const before = await rowsOf(server);
  for (const port of ['blue.blue_blue_pod1', 'blue.two_blue_web'])
    expect(before['Logical_Switch_Port']).toContain(port);
  heddle.write('two.yaml', network('two', '10.30.0.0/16', '103.103.64.0/18') + pod('web', 'two'));
  expect(await apply()).toContain(
    "subnet 103.103.64.0/18 can't be appended to network blue_two: it overlaps subnet 103.103.0.0/16 of network blue_blue",
  );
  expect(await rowsOf(server)).toEqual(before);
  // One that fits does change rows: the comparison sees what is there.
  heddle.write('two.yaml', network('two', '10.30.0.0/16', '10.40.0.0/16') + pod('web', 'two'));
  await apply();
  expect(await rowsOf(server)).not.toEqual(before);
});
