import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

/** Which rooms of src/ a room may import from: data goes one way (docs/architecture.md). */
const MAY_IMPORT: Record<string, readonly string[]> = {
  ovsdb: [],
  allocators: [],
  api: ['allocators'],
  model: ['api', 'allocators'],
  topology: ['ovsdb', 'model', 'api', 'allocators'],
  store: ['model', 'api', 'allocators'],
  cluster: ['store', 'model', 'api', 'allocators'],
  daemon: ['cluster', 'topology', 'store', 'model', 'api', 'allocators', 'ovsdb'],
  lab: ['daemon', 'store', 'model', 'api', 'allocators', 'ovsdb'],
  cli: ['lab', 'daemon', 'cluster', 'topology', 'store', 'model', 'api', 'allocators', 'ovsdb'],
};

/** The same within src/ovsdb (docs/ovsdb.md). Files that lie in no folder put the others together, but for those of `OVSDB_SHARED`. */
const OVSDB_MAY_IMPORT: Record<string, readonly string[]> = {
  data: [],
  wire: ['data'],
  storage: ['data', 'wire'],
  values: ['data', 'wire'],
  schema: ['data'],
  replica: ['data', 'wire', 'storage', 'schema'],
  transaction: ['data', 'schema', 'replica'],
  session: ['data', 'wire', 'storage', 'replica'],
  plan: ['data', 'storage', 'replica', 'transaction', 'session'],
};
const OVSDB_SHARED = ['wasm.ts', 'listener-error.ts', 'abort-listeners.ts'];

/** All that others import of the OVSDB client; the plan of rows lies beside it for now. */
const OVSDB_ENTRIES = ['ovsdb/index.ts', 'ovsdb/plan/desired.ts', 'ovsdb/replica/replica-view.ts'];

/** Rooms whose files take values and return values: no sockets, files, processes or clocks. */
const PURE_ROOMS = ['allocators', 'api', 'model', 'topology'];
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
const roomOf = (file: string): string => relative(SOURCE, file).split('/')[0] ?? '';

describe('rooms', () => {
  test('are those of the list', () => {
    expect([...new Set(files.map(roomOf))].toSorted()).toEqual(Object.keys(MAY_IMPORT).toSorted());
  });

  test('no room imports from a room further down the flow', () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((name) => name.startsWith('.'))
        .map((name) => resolve(dirname(file), name))
        .filter((target) => {
          const [from, to] = [roomOf(file), roomOf(target)];
          return from !== to && !(MAY_IMPORT[from] ?? []).includes(to);
        })
        .map((target) => `${relative(SOURCE, file)} imports ${relative(SOURCE, target)}`),
    );
    expect(wrong).toEqual([]);
  });

  test('nor does a folder of the OVSDB client', () => {
    const ovsdb = join(SOURCE, 'ovsdb');
    const folderOf = (file: string): string => relative(ovsdb, dirname(file));
    const inside = files.filter((file) => roomOf(file) === 'ovsdb' && folderOf(file) !== '');
    expect([...new Set(inside.map(folderOf))].toSorted()).toEqual(
      Object.keys(OVSDB_MAY_IMPORT).toSorted(),
    );
    const wrong = inside.flatMap((file) =>
      importsOf(file)
        .filter((name) => name.startsWith('.'))
        .map((name) => resolve(dirname(file), name))
        .filter((target) => {
          const [from, to] = [folderOf(file), folderOf(target)];
          if (to === '') return !OVSDB_SHARED.includes(relative(ovsdb, target));
          return from !== to && !(OVSDB_MAY_IMPORT[from] ?? []).includes(to);
        })
        .map((target) => `${relative(SOURCE, file)} imports ${relative(SOURCE, target)}`),
    );
    expect(wrong).toEqual([]);
  });

  test('others import of the OVSDB client what it exports', () => {
    const wrong = files
      .filter((file) => roomOf(file) !== 'ovsdb')
      .flatMap((file) =>
        importsOf(file)
          .filter((name) => name.startsWith('.'))
          .map((name) => relative(SOURCE, resolve(dirname(file), name)))
          .filter((target) => target.startsWith('ovsdb/') && !OVSDB_ENTRIES.includes(target))
          .map((target) => `${relative(SOURCE, file)} imports ${target}`),
      );
    expect(wrong).toEqual([]);
  });

  test('pure rooms open nothing', () => {
    const wrong = files
      .filter((file) => PURE_ROOMS.includes(roomOf(file)))
      .flatMap((file) =>
        importsOf(file)
          .filter((name) => name.startsWith('node:') && !PURE_BUILTINS.includes(name))
          .map((name) => `${relative(SOURCE, file)} imports ${name}`),
      );
    expect(wrong).toEqual([]);
  });
});
