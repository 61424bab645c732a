/** A machine whose Node gets another name: the same databases, chassis and tunnel address, and another Node, beside the old one for a while. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OvsdbServer, runOvs, SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import { Installation } from '../../support/run/heddle.ts';

const WORKED_EXAMPLE = join(import.meta.dirname, '../cli/fixtures/worked-example');
const CHASSIS = 'b1f96182-2bdd-42b6-88f9-9a1fc1c85ece';
const OTHER = '2d1e7f5c-3f0b-4a3a-9a0e-6c6f8f0e2c11';
const OLD = /ovn-worker(?!2)/;
const NEW = /ovn-renamed/;

/** Both databases of a node whose ovn-controller has registered its chassis. */
async function zoneOf(node: string, chassis: string, address: string) {
  const nb = await OvsdbServer.start({ name: 'northbound' });
  const schema = join(SCHEMAS, 'ovn-sb.ovsschema');
  const sb = await OvsdbServer.start({ name: 'southbound', schema });
  await runOvs('ovn-sbctl', [`--db=${sb.remote}`, 'chassis-add', chassis, 'geneve', address]);
  return {
    node,
    sb,
    flags: [`--nb=${nb.remote}`, `--sb=${sb.remote}`],
    /** Rows that say something of a node, as lines. */
    async about(name: RegExp): Promise<string[]> {
      const dumps = await Promise.all(
        [nb, sb].map(({ remote }) => runOvs('ovsdb-client', ['dump', remote])),
      );
      return dumps
        .join('\n')
        .split('\n')
        .filter((line) => name.test(line));
    },
    async [Symbol.asyncDispose]() {
      await sb[Symbol.asyncDispose]();
      await nb[Symbol.asyncDispose]();
    },
  };
}
type TestZone = Awaited<ReturnType<typeof zoneOf>>;

const pod = (name: string, nodeName: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'blue' },
    spec: { nodeName, containers: [{ name: 'a', image: 'a' }] },
  });

/** As the daemon of the machine announces itself under its new name; id and subnets come from the manager. */
const renamedNode = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'ovn-renamed',
    annotations: {
      'k8s.ovn.org/node-chassis-id': CHASSIS,
      'k8s.ovn.org/node-encap-ips': '["172.18.0.3"]',
      'k8s.ovn.org/node-primary-ifaddr': '{"ipv4":"172.18.0.3/16"}',
      'k8s.ovn.org/host-cidrs': '["172.18.0.3/16"]',
      'k8s.ovn.org/l3-gateway-config': JSON.stringify({
        default: {
          mode: 'shared',
          'bridge-id': 'breth0',
          'interface-id': 'breth0_ovn-renamed',
          'mac-address': '0a:58:ac:12:00:03',
          'ip-addresses': ['172.18.0.3/16'],
          'ip-address': '172.18.0.3/16',
          'next-hops': ['172.18.0.1'],
          'next-hop': '172.18.0.1',
          'node-port-enable': 'true',
          'vlan-id': '0',
        },
      }),
    },
  },
});

test('a node that is renamed is not there twice: until the old Node is deleted others know that one, then the new one, with the same tunnel; nothing of the old one stays', async () => {
  using heddle = new Installation([
    '--cluster-subnets=10.244.0.0/16/24',
    '--k8s-service-cidrs=10.96.0.0/16',
  ]);
  heddle.copy(WORKED_EXAMPLE);
  heddle.write('there.json', pod('there', 'ovn-worker2'));
  await using own = await zoneOf('ovn-worker', CHASSIS, '172.18.0.3');
  await using other = await zoneOf('ovn-worker2', OTHER, '172.18.0.4');
  const apply = async ({ node, flags }: TestZone, ...more: string[]): Promise<string> => {
    const told = await heddle
      .runHere('apply', '--no-wait', `--node=${node}`, ...flags, ...more)
      .then(
        ({ stdout, stderr }) => stdout + stderr,
        (error: unknown) => String(error),
      );
    return told;
  };
  const chassisRow = async (): Promise<string> =>
    runOvs('ovn-sbctl', [
      `--db=${other.sb.remote}`,
      '--format=csv',
      '--no-headings',
      '--columns=_uuid,hostname',
      'find',
      'Chassis',
      `name="${CHASSIS}"`,
    ]);
  await apply(own);
  await apply(other);
  const [uuid, hostname] = (await chassisRow()).trim().split(',');
  expect(hostname).toBe('ovn-worker');
  const before = await other.about(OLD);

  heddle.write('renamed.json', renamedNode);
  heddle.write('new.json', pod('new', 'ovn-renamed'));
  expect(await apply(other)).toContain(
    `node "ovn-renamed": chassis id ${CHASSIS} is that of node "ovn-worker" too; if one of them is the name that the machine had before, delete that Node`,
  );
  expect(await other.about(OLD)).toEqual(before);
  expect(await other.about(NEW)).toEqual([]);

  const renamed = { ...own, node: 'ovn-renamed' };
  expect(await apply(renamed)).toContain(
    'this Northbound database is the zone of node "ovn-worker" (NB_Global.name), not of ovn-renamed',
  );
  expect(await own.about(NEW)).toEqual([]);
  expect(await apply(renamed, '--take-zone')).toContain(
    `node "ovn-worker": chassis id ${CHASSIS} is that of node "ovn-renamed" too; if one of them is the name`,
  );
  expect(await own.about(OLD)).toEqual([]);
  expect(await own.about(NEW)).not.toEqual([]);

  // The old Node, and its pod with it.
  for (const file of ['nodes.yaml', 'blue.yaml']) {
    const path = join(heddle.manifests, file);
    const kept = readFileSync(path, 'utf8')
      .split(/^---$/m)
      .filter((one) => !/name: ovn-worker$/m.test(one) && !/nodeName: ovn-worker$/m.test(one));
    writeFileSync(path, kept.join('---'));
  }
  await apply(other);
  expect(await apply(renamed)).not.toContain('chassis id');
  expect(await other.about(OLD)).toEqual([]);
  expect(await other.about(NEW)).not.toEqual([]);
  // One row and the same: its tunnel was not taken down.
  expect((await chassisRow()).trim()).toBe(`${uuid},ovn-renamed`);
  for (const zone of [other, renamed])
    expect((await heddle.runHere('plan', `--node=${zone.node}`, ...zone.flags)).stdout).toContain(
      'Nothing to do',
    );
}, 180_000);
