/** `heddle graph --html`: what goes into the page, and what is refused before anything is written. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../../src/lab/paths.ts';
import type { PageData } from '../../../src/page/page-data.ts';
import { ConfigurationError } from '../../../src/process/configuration-error.ts';
import { certificateOf } from '../../../src/verify/certificate/certify.ts';
import { prove } from '../../../src/verify/verify.ts';
import { Installation } from '../../support/run/heddle.ts';
import { connectedSnapshot } from '../../support/verify/connected-zone.ts';

const snapshot = connectedSnapshot();
const CERTIFICATE = JSON.stringify(
  certificateOf(snapshot, prove(snapshot), { time: '2026-01-02T03:04:05.000Z', heddle: '0.0.0' }),
);
const MANIFESTS = ['--manifests', join(checkout, 'examples/connect'), '--invent-nodes'];

/** With the message of the error that the command would end with. */
const installed = async (installation: Installation, ...flags: readonly string[]) =>
  await installation.runHere('graph', ...flags).catch((error: unknown) => {
    if (error instanceof ConfigurationError) return { code: 64, stderr: error.message };
    throw error;
  });

const graph = async (flags: readonly string[], certificate?: string) => {
  using installation = new Installation();
  const file = join(installation.folder, 'page.html');
  const proof = join(installation.folder, 'certificate.json');
  if (certificate !== undefined) writeFileSync(proof, certificate);
  const { code, stderr } = await installed(
    installation,
    ...MANIFESTS,
    '--html',
    file,
    ...(certificate === undefined ? [] : ['--proof', proof]),
    ...flags,
  );
  expect(existsSync(`${file}.new`)).toBe(false);
  const html = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  return { code, stderr, html };
};

const dataIn = (html = ''): PageData =>
  JSON.parse(/id="data">(.*?)<\/script>/s.exec(html)?.[1] ?? 'null') as PageData;

test('a page has networks, connections, pods, pictures and objects, and a certificate where one is given', async () => {
  const { code, stderr, html } = await graph([], CERTIFICATE);
  expect([code, stderr]).toEqual([0, expect.stringContaining('4 networks')]);
  const { networks, joins, objects, proof, status } = dataIn(html);
  expect(networks.map(({ name }) => name)).toEqual(['default', 'blue_net', 'green_net', 'red_net']);
  for (const { picture } of networks) expect(picture).toContain('<svg');
  expect(joins).toEqual([
    {
      kind: 'connection',
      object: 'ClusterNetworkConnect blue-green',
      networks: ['blue_net', 'green_net'],
      what: 'pods and services',
    },
  ]);
  const names = objects.map(([object]) => object);
  expect(names).toEqual(
    expect.arrayContaining(['ClusterNetworkConnect blue-green', 'Pod blue/web', 'Namespace blue']),
  );
  expect(proof).toMatchObject({ node: 'n1', verdict: 'apart', time: '2026-01-02T03:04:05.000Z' });
  expect(status).toBeUndefined();
});

test.each([
  ['torn', CERTIFICATE.slice(0, 100), [], 'is no JSON'],
  ['changed', CERTIFICATE.replace('"node":"n1"', '"node":"n2"'), [], 'does not hold'],
  ['of another node', CERTIFICATE, ['--node', 'n7'], 'is of node n1, and the page of n7'],
])('a certificate that is %s is refused, and no page is written', async (_, text, flags, why) => {
  const { code, stderr, html } = await graph(flags, text);
  expect([code, html]).toEqual([64, undefined]);
  expect(stderr).toContain('--proof');
  expect(stderr).toContain(why);
});

test.each([['blue_net'], ['--json'], ['--format', 'dot'], ['--detail'], ['--namespace', 'blue']])(
  '--html does not go with %s',
  async (...flags) => {
    const { code, stderr, html } = await graph(flags);
    expect([code, html]).toEqual([64, undefined]);
    expect(stderr).toContain('--html: does not go with');
  },
);

test('--proof without --html is refused', async () => {
  using installation = new Installation();
  const { code, stderr } = await installed(installation, ...MANIFESTS, '--proof', 'x');
  expect(code).toBe(64);
  expect(stderr).toContain('--proof: is for --html');
});
