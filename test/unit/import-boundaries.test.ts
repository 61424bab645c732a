import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

/** Which packages (folders of src/) a package may import from: data goes one way (docs/architecture.md). */
const MAY_IMPORT: Record<string, readonly string[]> = {
  ovsdb: [],
  allocators: [],
  graph: [],
  facts: ['api'],
  api: ['allocators'],
  desired: ['facts', 'api', 'ovsdb'],
  model: ['facts', 'api', 'allocators'],
  // Types of rows.
  topology: ['model', 'desired', 'facts', 'api', 'allocators', 'ovsdb'],
  store: ['model', 'api', 'allocators'],
  process: ['store', 'api', 'allocators'],
  databases: ['process', 'desired', 'api', 'ovsdb'],
  // Of pods: what the cluster manager and the nodes share.
  addresses: ['store', 'model', 'api', 'allocators'],
  cluster: ['addresses', 'store', 'model', 'api', 'allocators'],
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
  ],
  control: ['process', 'api'],
  cni: ['control', 'node', 'databases', 'process', 'store', 'api', 'allocators', 'ovsdb'],
  settings: [
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
    'topology',
    'store',
    'model',
    'desired',
    'api',
    'allocators',
    'ovsdb',
  ],
  'cluster-daemon': ['settings', 'cluster', 'process', 'store', 'api'],
  zone: [
    'cluster-daemon',
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
    'lab',
    'zone',
    'cluster-daemon',
    'views',
    'settings',
    'cni',
    'control',
    'node',
    'cluster',
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

/** The OVSDB client is a package of its own, and this is its entry for the product. */
const OVSDB_CLIENT = 'ovsdb-client-ts';

/** What opens files, sockets and processes in packages that are pure but for these. */
const EDGES = [
  'node/programs/',
  'node/health-checks/health-check-servers.ts',
  'node/linux/kernel-sysctls.ts',
  'node/nftables/cgroups.ts',
  'node/openflow/ofctl-program.ts',
  'cni/server/',
  'cni/links/pod-links.ts',
];

/** Packages whose files take values and return values: no sockets, files, processes or clocks. */
const PURE_PACKAGES = ['allocators', 'api', 'facts', 'desired', 'model', 'topology', 'node', 'cni'];
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
    return name.split('/')[0] === OVSDB_CLIENT ? [join(SOURCE, 'ovsdb')] : [];
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

  test('nor does a folder of the OVSDB client', () => {
    const ovsdb = join(SOURCE, 'ovsdb');
    const folderOf = (file: string): string => relative(ovsdb, dirname(file));
    const inside = files.filter((file) => packageOf(file) === 'ovsdb');
    expect([...new Set(inside.map(folderOf))].toSorted()).toEqual(
      Object.keys(OVSDB_MAY_IMPORT).toSorted(),
    );
    const wrong = inside.flatMap((file) =>
      targetsOf(file)
        .filter((target) => {
          const [from, to] = [folderOf(file), folderOf(target)];
          return from !== to && !(OVSDB_MAY_IMPORT[from] ?? []).includes(to);
        })
        .map((target) => `${relative(SOURCE, file)} imports ${relative(SOURCE, target)}`),
    );
    expect(wrong).toEqual([]);
  });

  test('others import the OVSDB client by its name, and nothing of it that is for other programs', () => {
    const wrong = files
      .filter((file) => packageOf(file) !== 'ovsdb')
      .flatMap((file) =>
        importsOf(file)
          .filter((name) =>
            name.startsWith('.')
              ? packageOf(resolve(dirname(file), name)) === 'ovsdb'
              : name.startsWith(`${OVSDB_CLIENT}/`),
          )
          .map((name) => `${relative(SOURCE, file)} imports ${name}`),
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
