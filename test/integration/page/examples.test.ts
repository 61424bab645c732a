/** What a page says of the folders of examples/, beside the tables of their README.md, which are tried with packets. */
import { cpSync, globSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { pods } from '../../../src/api/kinds.ts';
import type { PageData, PagePod } from '../../../src/page/page-data.ts';
import { pageOf } from '../../../src/page/page-of-zone.ts';
import { Pairs } from '../../../src/page/pairs.ts';
import { resolveConfiguration } from '../../../src/settings/configuration.ts';
import { statusReport } from '../../../src/views/zone-reports.ts';
import { renderedZone } from '../../../src/zone/rendered-zone.ts';
import { checkout } from '../../../src/lab/paths.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { examples, NODE, optionsOf } from '../../support/zone/examples.ts';

async function pageOfFolder(folder: string, isAsked = false): Promise<PageData> {
  const manifests = ownFolder('heddle-page');
  for (const file of globSync(join(folder, '*.yaml')))
    cpSync(file, join(manifests, basename(file)));
  writeFileSync(join(manifests, 'node.json'), NODE);
  const configuration = resolveConfiguration({
    flags: { ...optionsOf(folder), manifests, node: 'n1', render: 'everywhere' },
    environment: {},
  });
  await using zone = await renderedZone({ ...configuration, node: 'n1' });
  const overview = await statusReport(zone.store, configuration.settings);
  return pageOf({
    heddle: '0',
    node: 'n1',
    time: new Date(0),
    settings: configuration.settings,
    facts: zone.facts,
    overview,
    ...(isAsked ? { status: overview } : {}),
    pods: await zone.store.objects.list(pods),
    policies: [],
    others: [],
    pictures: new Map(),
    problems: [],
  });
}

/** The networks by which a pod sends and is reached, of those of a table: `blue/web`, `lab/disk on storage`. */
function networksOf(named: string, { pods: all, networks }: PageData): readonly string[] {
  const [key = '', secondary] = named.split(' on ');
  const pod: PagePod | undefined = all.find((one) => one.key === key);
  if (pod === undefined) return expect.unreachable(`no pod ${key}`);
  return pod.interfaces
    .filter(({ network, role }) =>
      secondary === undefined
        ? role === 'primary' || role === undefined
        : network.includes(secondary) && networks.some(({ name }) => name === network),
    )
    .map(({ network }) => network);
}

const isAddress = (name: string): boolean => /^[\d.]+$/.test(name);

describe.each(examples)('$name', ({ folder, ways }) => {
  test('pods that reach each other are on networks that the page says reach each other', async () => {
    const page = await pageOfFolder(folder);
    const pairs = new Pairs(page);
    const between = ways.filter(({ from, to }) => !isAddress(to) && !isAddress(from));
    for (const { from, to, expected } of between) {
      const [mine, theirs] = [networksOf(from, page), networksOf(to, page)];
      expect([from, mine.length, to, theirs.length]).toEqual([from, 1, to, 1]);
      const [one = '', other = ''] = [...mine, ...theirs];
      const isApart = one !== other && pairs.pair(one, other).by.length === 0;
      expect({ from, to, isApart }).toEqual({
        from,
        to,
        isApart: expected.startsWith('reached') ? false : isApart,
      });
      if (one !== other && !expected.startsWith('reached') && !isApart)
        // A way that is there for something else than pods: services alone, or ports.
        expect(pairs.pair(one, other).by.map(({ what }) => what)).not.toContain(
          'pods and services',
        );
    }
  });
});

test('a pair that a connection joins has its name, and one that none joins is apart', async () => {
  const page = await pageOfFolder(join(checkout, 'examples/connect'));
  const pairs = new Pairs(page);
  const joined = page.joins.filter(({ kind }) => kind === 'connection');
  expect(joined.length).toBeGreaterThan(0);
  const names = page.networks.map(({ name }) => name);
  for (const a of names)
    for (const b of names) {
      const by = joined.filter(
        ({ networks }) => a !== b && networks.includes(a) && networks.includes(b),
      );
      expect(pairs.pair(a, b).by.filter(({ kind }) => kind === 'connection')).toEqual(by);
    }
  expect(names.some((a) => a !== 'default' && pairs.pair('default', a).by.length === 0)).toBe(true);
});

test('open services and the default network’s access have their objects', async () => {
  const page = await pageOfFolder(join(checkout, 'examples/default-network-access'));
  expect(page.ways.filter(({ kind }) => kind === 'access')).not.toEqual([]);
  const services = await pageOfFolder(join(checkout, 'examples/services'));
  expect(services.networks.flatMap((network) => network.services)).not.toEqual([]);
  // Other networks ask at its node ports as somebody outside does.
  const exposed = services.ways.find(({ kind }) => kind === 'exposed');
  const tenants = await pageOfFolder(join(checkout, 'examples/two-tenants'));
  const both = { joins: [], ways: [...services.ways, ...tenants.ways] };
  expect(exposed).toBeDefined();
  expect(new Pairs(both).pair('green_l3net', exposed?.to ?? '').by).toEqual([exposed]);
  const wired = await pageOfFolder(join(checkout, 'examples/localnet'));
  const wire = wired.networks.find(({ topology }) => topology === 'localnet')?.name ?? '';
  for (const [from, to] of [
    [wire, 'outside'],
    ['outside', wire],
  ] as const)
    expect(new Pairs(wired).pair(from, to).by).toMatchObject([
      { what: expect.stringMatching(/^physical network \S+ (VLAN \d+|without VLAN)$/) as unknown },
    ]);
  const ports = await pageOfFolder(join(checkout, 'examples/hostport'));
  expect(
    ports.ways.filter(({ kind, object }) => kind === 'exposed' && object.startsWith('Pod ')),
  ).not.toEqual([]);
});

test('what a daemon says of nodes and networks is there, and nothing of that where none was asked', async () => {
  const folder = join(checkout, 'examples/two-tenants');
  const { status, networks } = await pageOfFolder(folder, true);
  expect(status).toMatchObject({
    verdict: expect.stringContaining('1 node, 3 networks') as unknown,
    nodes: [{ name: 'n1' }],
  });
  expect(networks.map(({ state }) => state)).not.toContain(undefined);
  const silent = await pageOfFolder(folder);
  expect(silent.status).toBeUndefined();
  expect(silent.networks.some((network) => 'state' in network)).toBe(false);
});
