/** No false alarm: rows that `heddle apply` writes for each folder of examples/, and what ovn-northd makes of them, are found apart. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkout } from '../../../src/lab/paths.ts';
import type { Verdict } from '../../../src/verify/verify.ts';
import { Installation } from '../../support/run/heddle.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';

const chassisOf = (node: number): string => `0000000${node}-0000-4000-8000-000000000000`;
const addressOf = (node: number): string => `172.18.0.1${node}`;

/** A node as its daemon announces it. */
const nodeManifest = (node: number, mode: 'shared' | 'local'): string => {
  const address = addressOf(node);
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: `n${node}`,
      annotations: {
        'k8s.ovn.org/node-chassis-id': chassisOf(node),
        'k8s.ovn.org/node-encap-ips': `["${address}"]`,
        'k8s.ovn.org/node-primary-ifaddr': `{"ipv4":"${address}/16"}`,
        'k8s.ovn.org/host-cidrs': `["${address}/16"]`,
        'k8s.ovn.org/l3-gateway-config': JSON.stringify({
          default: {
            mode,
            'bridge-id': 'br-ex',
            'interface-id': `br-ex_n${node}`,
            'mac-address': `02:00:00:00:00:0${node}`,
            'ip-addresses': [`${address}/16`],
            'next-hops': ['172.18.0.1'],
            'node-port-enable': 'true',
            'vlan-id': '0',
          },
        }),
      },
    },
  });
};

/** Features that are off unless asked for, which the README.md says it needs. */
const optionsOf = (folder: string): string[] => [
  ...new Set(
    [
      ...readFileSync(join(folder, 'README.md'), 'utf8').matchAll(
        /--(enable-[a-z-]+|network-names|secondary-gateways|default-network-access)\b(?:=(\w+))?/g,
      ),
    ].map(([, option, value = 'true']) => `--${option}=${value}`),
  ),
];

const folders = globSync(join(checkout, 'examples/*/README.md')).map((file) => join(file, '..'));

let ovn: OvnZone;
beforeAll(async () => {
  ovn = await OvnZone.start(chassisOf(1), addressOf(1));
});
afterAll(async () => {
  await ovn[Symbol.asyncDispose]();
});

/** What `heddle verify` says of rows that `heddle apply` wrote for an example, with its manifests changed or as they are. */
async function proofOf(
  folder: string,
  mode: 'shared' | 'local',
  change = (manifest: string): string => manifest,
): Promise<Verdict> {
  const flags = [...optionsOf(folder), '--render=everywhere', '--node', 'n1'];
  using installation = new Installation(flags);
  for (const file of globSync(join(folder, '*.yaml')))
    installation.write(basename(file), change(readFileSync(file, 'utf8')));
  installation.write('nodes.yaml', [1, 2].map((node) => nodeManifest(node, mode)).join('\n---\n'));
  const databases = ['--nb', ovn.northbound.remote, '--sb', ovn.southbound.remote];
  await installation.runHere('apply', ...databases, '--no-wait');
  await ovn.nbctl('--wait=sb', 'sync');
  const file = join(installation.folder, 'certificate.json');
  const { code, stdout, stderr } = await installation.runHere(
    'verify',
    ...databases,
    '--json',
    '--certify',
    file,
  );
  const verdict = JSON.parse(stdout) as Verdict;
  expect(verdict.violations, stderr).toEqual([]);
  // Without the node's own database and host it stays open.
  expect(code).toBe(2);
  const check = await installation.runHere('verify', '--check', file, '--json');
  expect(JSON.parse(check.stdout)).toMatchObject({ holds: true, verdict: 'undecided' });
  expect(check.code).toBe(2);
  return verdict;
}

// All have the same databases, as they would on a node that lives on: what an example leaves behind would be found with the next one.
describe.each(folders.map((folder) => [basename(folder), folder] as const))('%s', (_, folder) => {
  test.each(['shared', 'local'] as const)('is apart in %s gateway mode', async (mode) => {
    const { networks } = await proofOf(folder, mode);
    expect(networks.length).toBeGreaterThan(0);
  });
});

test('where a connection opens services alone, nothing begins between pods', async () => {
  const { edges } = await proofOf(join(checkout, 'examples/connect'), 'shared', (manifest) =>
    manifest.replace('[PodNetwork, ServiceNetwork]', '[ServiceNetwork]'),
  );
  const passing = edges.filter(({ kind }) => kind === 'connection').map(({ passes }) => passes);
  expect(passing).toHaveLength(2);
  for (const passes of passing) {
    expect(passes?.length).toBeGreaterThan(0);
    expect(passes?.every(({ established }) => established === true)).toBe(true);
  }
});
