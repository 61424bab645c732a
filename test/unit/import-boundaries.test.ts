import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

/** Which packages (folders of src/) a package may import from: data goes one way (docs/architecture.md). */
const MAY_IMPORT: Record<string, readonly string[]> = {
  ovsdb: [],
  netlink: [],
  allocators: [],
  graph: [],
  // Shares nothing with those that build rows and host state: what they got wrong it must not get wrong, too.
  verify: ['api', 'allocators', 'ovsdb', 'netlink'],
  facts: ['api'],
  api: ['allocators'],
  desired: ['facts', 'api', 'ovsdb'],
  model: ['facts', 'api', 'allocators'],
  // Types of rows.
  topology: ['model', 'desired', 'facts', 'api', 'allocators', 'ovsdb'],
  store: ['model', 'api', 'allocators'],
  process: ['store', 'api', 'allocators'],
  traces: ['process', 'api'],
  databases: ['process', 'desired', 'api', 'ovsdb'],
  // Of pods: what the cluster manager and the nodes share.
  addresses: ['traces', 'store', 'model', 'api', 'allocators'],
  cluster: ['traces', 'addresses', 'store', 'model', 'api', 'allocators'],
  node: [
    'databases',
    'process',
    'store',
    'model',
    'desired',
    'facts',
    'api',
    'allocators',
    'ovsdb',
    'netlink',
  ],
  control: ['process', 'api'],
  cni: [
    'traces',
    'control',
    'node',
    'databases',
    'process',
    'store',
    'api',
    'allocators',
    'ovsdb',
    'netlink',
  ],
  settings: [
    'traces',
    'control',
    'node',
    'cluster',
    'databases',
    'process',
    'store',
    'model',
    'api',
    'allocators',
  ],
  views: [
    'settings',
    'node',
    'cluster',
    'databases',
    'process',
    'topology',
    'store',
    'model',
    'desired',
    'api',
    'allocators',
    'ovsdb',
  ],
  packets: ['views', 'process', 'api', 'allocators'],
  bundle: ['api', 'netlink'],
  // Who reaches whom by objects alone.
  reach: ['model', 'api', 'allocators'],
  // Puts together what others worked out.
  page: ['reach', 'bundle', 'verify', 'views', 'model', 'api'],
  'cluster-daemon': ['traces', 'settings', 'cluster', 'process', 'store', 'api'],
  zone: [
    // What a proof says, which another program makes.
    'verify',
    'traces',
    'cluster-daemon',
    'packets',
    'views',
    'settings',
    'cni',
    'control',
    'node',
    'cluster',
    'addresses',
    'databases',
    'process',
    'topology',
    'store',
    'model',
    'desired',
    'facts',
    'api',
    'allocators',
    'ovsdb',
  ],
  lab: ['cni', 'settings', 'process', 'store', 'model', 'api', 'allocators', 'ovsdb'],
  cli: [
    'page',
    'reach',
    'lab',
    'verify',
    'bundle',
    'zone',
    'cluster-daemon',
    'packets',
    'views',
    'settings',
    'cni',
    'control',
    'node',
    'cluster',
    'databases',
    'process',
    'graph',
    'topology',
    'store',
    'model',
    'desired',
    'api',
    'allocators',
    'ovsdb',
  ],
};

/** The same within src/ovsdb (its README). Files that lie in no folder are the client, which puts the others together. */
const OVSDB_MAY_IMPORT: Record<string, readonly string[]> = {
  data: [],
  wire: ['data'],
  storage: ['data', 'wire'],
  values: ['data', 'wire'],
  schema: ['data'],
  replica: ['data', 'wire', 'storage', 'schema'],
  session: ['data', 'wire', 'schema', 'replica'],
  '': ['data', 'wire', 'schema', 'replica', 'session'],
  testing: ['data', 'wire', 'session'],
  extras: ['data', 'schema', 'replica', ''],
};

/** The same within src/netlink: what is written and read is a matter of values, and only `socket` opens anything. */
const NETLINK_MAY_IMPORT: Record<string, readonly string[]> = {
  wire: [],
  route: ['wire'],
  conntrack: ['wire'],
  generic: ['wire'],
  socket: ['wire'],
  '': ['wire', 'route', 'conntrack', 'generic', 'socket'],
};

/** Packages of their own, by the names of their entries for the product. */
const OWN_PACKAGES: Readonly<Record<string, string>> = {
  'ovsdb-client-ts': 'ovsdb',
  'rtnetlink-ts': 'netlink',
};

/** What opens files, sockets and processes in packages that are pure but for these. */
const EDGES = [
  'node/programs/',
  'node/dns/dns-forwarder.ts',
  'node/dns/dns-query.ts',
  'node/dns/dns-relay.ts',
  'node/health-checks/health-check-servers.ts',
  'node/linux/kernel-sysctls.ts',
  'node/linux/network-socket.ts',
  'node/nftables/cgroups.ts',
  'node/openflow/ofctl-program.ts',
  'cni/server/',
  'cni/install/plugin-files.ts',
  'cni/install/shown-conflist.ts',
  'cni/links/pod-links.ts',
  'netlink/socket/',
  'netlink/packing.ts',
  'verify/read/host.ts',
  'verify/read/tracers.ts',
  'verify/read/wire.ts',
];

/** Packages whose files take values and return values: no sockets, files, processes or clocks. */
const PURE_PACKAGES = [
  'allocators',
  'api',
  'facts',
  'desired',
  'model',
  'topology',
  'node',
  'cni',
  'netlink',
  'verify',
  'page',
];
const PURE_BUILTINS = ['node:crypto', 'node:util'];

const SOURCE = resolve(import.meta.dirname, '../../src');

function sourceFiles(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? sourceFiles(path) : path.endsWith('.ts') ? [path] : [];
  });
}

const importsOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*'([^']+)'/g)].map((m) => m[1] ?? '');

const files = sourceFiles(SOURCE);
const packageOf = (file: string): string => relative(SOURCE, file).split('/')[0] ?? '';

/** The files of the repository that a file imports. */
const targetsOf = (file: string): string[] =>
  importsOf(file).flatMap((name) => {
    if (name.startsWith('.')) return [resolve(dirname(file), name)];
    const own = OWN_PACKAGES[name.split('/')[0] ?? ''];
    return own === undefined ? [] : [join(SOURCE, own)];
  });

describe('packages', () => {
  test('are those of the list', () => {
    expect([...new Set(files.map(packageOf))].toSorted()).toEqual(
      Object.keys(MAY_IMPORT).toSorted(),
    );
  });

  test('no package imports from one further down the flow', () => {
    const wrong = files.flatMap((file) =>
      targetsOf(file)
        .filter((target) => {
          const [from, to] = [packageOf(file), packageOf(target)];
          return from !== to && !(MAY_IMPORT[from] ?? []).includes(to);
        })
        .map((target) => `${relative(SOURCE, file)} imports ${relative(SOURCE, target)}`),
    );
    expect(wrong).toEqual([]);
  });

  test.each([
    ['ovsdb', OVSDB_MAY_IMPORT],
    ['netlink', NETLINK_MAY_IMPORT],
  ])('nor does a folder of src/%s, which is a package of its own', (own, mayImport) => {
    const folderOf = (file: string): string => relative(join(SOURCE, own), dirname(file));
    const inside = files.filter((file) => packageOf(file) === own);
    expect([...new Set(inside.map(folderOf))].toSorted()).toEqual(
      Object.keys(mayImport).toSorted(),
    );
    const wrong = inside.flatMap((file) =>
      targetsOf(file)
        .filter((target) => {
          const [from, to] = [folderOf(file), folderOf(target)];
          return from !== to && !(mayImport[from] ?? []).includes(to);
        })
        .map((target) => `${relative(SOURCE, file)} imports ${relative(SOURCE, target)}`),
    );
    expect(wrong).toEqual([]);
  });

  test.each(Object.entries(OWN_PACKAGES))(
    'others import %s by its name, and nothing of it that is for other programs',
    (entry, own) => {
      const wrong = files
        .filter((file) => packageOf(file) !== own)
        .flatMap((file) =>
          importsOf(file)
            .filter((name) =>
              name.startsWith('.')
                ? packageOf(resolve(dirname(file), name)) === own
                : name.startsWith(`${entry}/`),
            )
            .map((name) => `${relative(SOURCE, file)} imports ${name}`),
        );
      expect(wrong).toEqual([]);
    },
  );

  test('what runs in a browser takes nothing but data and rules that run anywhere', () => {
    const folder = join(SOURCE, 'page/browser');
    const wrong = files
      .filter((file) => file.startsWith(folder))
      .flatMap((file) =>
        targetsOf(file)
          .filter(
            (target) =>
              !target.startsWith(folder) &&
              ![
                'page/page-data.ts',
                'page/pairs.ts',
                'reach/way.ts',
                'verify/headers-text.ts',
                'views/node-changes.ts',
              ].includes(relative(SOURCE, target)),
          )
          .map((target) => `${relative(SOURCE, file)} imports ${relative(SOURCE, target)}`),
      );
    expect(wrong).toEqual([]);
  });

  test('what checks a certificate takes nothing but types of what makes one', () => {
    const folder = join(SOURCE, 'verify/recheck');
    const wrong = files
      .filter((file) => file.startsWith(folder))
      .flatMap((file) =>
        [...readFileSync(file, 'utf8').matchAll(/^import (type )?[^;]*? from '(\.[^']+)';/gms)]
          .filter(([, isType, name = '']) => {
            const target = resolve(dirname(file), name);
            return packageOf(target) === 'verify' && !target.startsWith(folder) && !isType;
          })
          .map(([, , name]) => `${relative(SOURCE, file)} imports ${name}`),
      );
    expect(wrong).toEqual([]);
  });

  test('pure packages open nothing', () => {
    const wrong = files
      .filter(
        (file) =>
          PURE_PACKAGES.includes(packageOf(file)) &&
          !EDGES.some((path) => relative(SOURCE, file).startsWith(path)),
      )
      .flatMap((file) =>
        importsOf(file)
          .filter((name) => name.startsWith('node:') && !PURE_BUILTINS.includes(name))
          .map((name) => `${relative(SOURCE, file)} imports ${name}`),
      );
    expect(wrong).toEqual([]);
  });
});
