/** What pods of examples/network-names are told by DNS: the table of its README.md, beside what a node makes of the objects. */
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshDatabase } from '../../../src/databases/fresh-database.ts';
import { checkout } from '../../../src/lab/paths.ts';
import { NetworkAnswers } from '../../../src/node/dns/network-answers.ts';
import { resolveConfiguration } from '../../../src/settings/configuration.ts';
import { ZoneRuntime } from '../../../src/zone/zone-runtime.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { nameAt, queryOf, readRecords } from '../../support/run/dns-messages.ts';
import { ownFolder } from '../../support/run/left-behind.ts';

const folder = join(checkout, 'examples/network-names');
const table = [
  ...readFileSync(join(folder, 'README.md'), 'utf8').matchAll(
    /^\| `(\w+)\/[\w-]+` \| `([\w.-]+)` \| ([^|`]+) \|$/gm,
  ),
].map(([, namespace = '', name = '', answer = '']) => ({ namespace, name, answer: answer.trim() }));

const NODE = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'n1',
    annotations: {
      'k8s.ovn.org/node-chassis-id': '00000001-0000-4000-8000-000000000000',
      'k8s.ovn.org/node-encap-ips': '["172.18.0.11"]',
      'k8s.ovn.org/node-primary-ifaddr': '{"ipv4":"172.18.0.11/16"}',
      'k8s.ovn.org/host-cidrs': '["172.18.0.11/16"]',
    },
  },
};

let runtime: ZoneRuntime;
beforeAll(async () => {
  const manifests = ownFolder('heddle-names');
  for (const file of globSync(join(folder, '*.yaml')))
    cpSync(file, join(manifests, basename(file)));
  writeFileSync(join(manifests, 'node.json'), JSON.stringify(NODE));
  const configuration = resolveConfiguration({
    flags: { manifests, node: 'n1', render: 'everywhere', 'network-names': 'true' },
    environment: {},
  });
  runtime = await ZoneRuntime.open({
    configuration: {
      ...configuration,
      node: 'n1',
      state: ownFolder('heddle-names-state'),
      nb: 'a fresh database',
      sb: 'a fresh database',
    },
    log: createLogger('silent'),
    mode: 'dry-run',
    openDatabase: freshDatabase,
  });
  await runtime.allocated(AbortSignal.timeout(60_000));
});
afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
});

/** What a pod of the namespace is told, where the cluster's DNS knows nothing. */
async function told(namespace: string, name: string): Promise<string> {
  const id = runtime.facts.networks.peek(`${namespace}_net`)?.id ?? expect.unreachable(namespace);
  const view = runtime.facts.namesFrom(id) ?? expect.unreachable(`no network of ${namespace}`);
  const type = name.endsWith('.arpa') ? 'PTR' : 'A';
  const answers = new NetworkAnswers();
  const { message = Buffer.alloc(12) } =
    (await answers.answer(queryOf(name, type), 'UDP', view, () => Promise.resolve(undefined))) ??
    {};
  if ((message.readUInt16BE(2) & 15) === 3) return 'no such name';
  return readRecords(message)
    .map(({ data }) =>
      type === 'A' ? [...data].join('.') : nameAt(message, message.indexOf(data, 12)).name,
    )
    .sort()
    .join(', ');
}

test('its table says what pods are told', async () => {
  expect(table.length).toBeGreaterThan(5);
  const found = async (): Promise<object[]> =>
    Promise.all(
      table.map(async (line) => ({ ...line, answer: await told(line.namespace, line.name) })),
    );
  // Slices of the networks come one by one.
  await expect
    .poll(
      async () => {
        runtime.update();
        return found();
      },
      { timeout: 30_000 },
    )
    .toEqual(table);
});
