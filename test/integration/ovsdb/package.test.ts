import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiReport } from '../../support/run/api-report.ts';
import { node22, packageLinters } from '../../support/run/from-registry.ts';
import { OvsdbServer, temporaryFolder } from '../../support/ovsdb/ovsdb-server.ts';

/** The client as a package by itself: packed, installed in another program's folder, type-checked and run there. */

const execute = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../../..');
const folder = temporaryFolder();
const program = join(folder.path, 'program');
let packedFrom = '';
const environment = {
  ...process.env,
  PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
};

const run = async (command: string, ...args: readonly string[]): Promise<string> => {
  const result = await execute(command, args, { cwd: program, env: environment }).catch(
    (error: unknown) => {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      throw new Error(`${command} ${args.join(' ')}: ${stdout}${stderr}`);
    },
  );
  return result.stdout;
};

beforeAll(async () => {
  // A copy: nothing is written into the sources while other tests read them.
  const sources = join(folder.path, 'heddle');
  cpSync(join(ROOT, 'src/ovsdb'), join(sources, 'src/ovsdb'), { recursive: true });
  cpSync(join(ROOT, 'tsconfig.json'), join(sources, 'tsconfig.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(sources, 'node_modules'));
  mkdirSync(program);
  writeFileSync(join(program, 'package.json'), '{"type":"module","private":true}');
  await run('npm', 'pack', join(sources, 'src/ovsdb'), '--pack-destination', folder.path);
  packedFrom = join(sources, 'src/ovsdb');
  const [packed = ''] = readdirSync(folder.path).filter((name) => name.endsWith('.tgz'));
  await run('npm', 'install', '--offline', '--no-audit', '--no-fund', join(folder.path, packed));
  symlinkSync(join(ROOT, 'node_modules/@types'), join(program, 'node_modules/@types'));
  symlinkSync(join(ROOT, 'node_modules/undici-types'), join(program, 'node_modules/undici-types'));
});

afterAll(() => {
  folder[Symbol.dispose]();
});

const own = {
  name: 'Inventory',
  version: '1.0.0',
  tables: {
    Host: { columns: { name: { type: 'string' }, cpus: { type: 'integer' } }, isRoot: true },
  },
};

test('a program with options of its own compiles against it and follows a database of its own', async () => {
  const schema = join(program, 'inventory.ovsschema');
  writeFileSync(schema, JSON.stringify(own));
  const types = await run('npx', '--offline', 'ovsdb-types', schema, 'Inventory');
  expect(types).toContain("import type { Column, Integer } from 'ovsdb-client-ts';");
  writeFileSync(join(program, 'inventory.generated.ts'), types);
  writeFileSync(
    join(program, 'main.ts'),
    `import { OvsdbClient } from 'ovsdb-client-ts';
import { transact, type NewRow } from 'ovsdb-client-ts/extras';
import { parseColumnType } from 'ovsdb-client-ts/values';
import type { Inventory } from './inventory.generated.ts';
await using client = new OvsdbClient<Inventory>({ remotes: process.argv[2] ?? '', database: 'Inventory' }).start();
await client.ready(AbortSignal.timeout(10_000));
const outcome = await transact(client, (t) => t.insert('Host', { name: 'a', cpus: 4 }));
const names: string[] = client.find('Host', { cpus: 4 }).map((row) => row.name);
const host: NewRow<Inventory['Host']> = { name: 'pod', cpus: 1 };
console.log(outcome.kind, names, host.name, parseColumnType('string').key.type);
`,
  );
  writeFileSync(
    join(program, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        noEmit: true,
        module: 'nodenext',
        target: 'es2024',
        lib: ['es2024', 'esnext.disposable'],
        types: ['node'],
        allowImportingTsExtensions: true,
      },
      include: ['*.ts'],
    }),
  );
  expect(await run('tsc', '-p', '.')).toBe('');
  await using server = await OvsdbServer.start({ schema });
  expect(await run(process.execPath, 'main.ts', server.remote)).toBe(
    "success [ 'a' ] pod string\n",
  );
});

test('a program in plain JavaScript follows and writes a database, and is tested without one, on Node.js 22 too', async () => {
  writeFileSync(
    join(program, 'main.js'),
    `import { OvsdbClient, isRetryable } from 'ovsdb-client-ts';
import { transact } from 'ovsdb-client-ts/extras';
import { scriptedTransport } from 'ovsdb-client-ts/testing';
import { datumText, parseColumnType } from 'ovsdb-client-ts/values';
const client = new OvsdbClient({ remotes: process.argv[2], database: 'Inventory' }).start();
await client.ready(AbortSignal.timeout(10_000));
const outcome = await client.transact([{ op: 'insert', table: 'Host', row: { name: 'b', cpus: 2 } }]);
const [host] = client.find('Host', { name: 'b' });
console.log(outcome.kind, host.cpus, datumText(parseColumnType('integer'), host.cpus));
console.log((await transact(client, (t) => t.delete('Host', host.uuid))).kind, host.exists);
client.close();

const unanswered = new OvsdbClient({
  remotes: 'tcp:script',
  database: 'Inventory',
  openSocket: scriptedTransport({ message: ({ id }, peer) => peer.send({ id, result: null, error: 'not today' }) }),
});
const refused = await unanswered.start().ready(AbortSignal.timeout(100)).catch((error) => error);
unanswered.close();
console.log(refused.code, isRetryable(refused));
`,
  );
  const schema = join(program, 'plain.ovsschema');
  writeFileSync(schema, JSON.stringify(own));
  await using server = await OvsdbServer.start({ schema });
  for (const node of [process.execPath, node22()])
    expect(await run(node, 'main.js', server.remote)).toBe(
      'success 2 2\nsuccess false\ntimed out true\n',
    );
}, 60_000);

test('a CommonJS program gets the same by require', async () => {
  writeFileSync(
    join(program, 'main.cjs'),
    "const { OvsdbClient } = require('ovsdb-client-ts'); const { transact } = require('ovsdb-client-ts/extras'); console.log(typeof OvsdbClient, typeof transact);",
  );
  for (const node of [process.execPath, node22()])
    expect(await run(node, '--no-warnings', 'main.cjs')).toBe('function function\n');
});

test('others find its modules, and their types', async () => {
  const { publint, attw } = packageLinters();
  const [packed = ''] = readdirSync(folder.path).filter((name) => name.endsWith('.tgz'));
  expect(await run(publint, '--strict', join(folder.path, packed))).toContain('All good!');
  // Ends with 1 when something can't be found.
  await run(attw, '--profile', 'esm-only', join(folder.path, packed));
}, 60_000);

test.each([
  ['ovsdb-client-ts', 'index'],
  ['ovsdb-client-ts-extras', 'extras/index'],
  ['ovsdb-client-ts-values', 'values/index'],
  ['ovsdb-client-ts-testing', 'testing/index'],
])(
  '%s: what it exports is what its report says (vitest -u writes it anew)',
  async (name, entry) => {
    const report = apiReport(program, 'ovsdb-client-ts', entry);
    await expect(report).toMatchFileSnapshot(join(ROOT, 'src/ovsdb/api', `${name}.api.md`));
  },
);

test('its page and its license are in it, and its manifest names sources again afterwards', () => {
  const installed = join(program, 'node_modules/ovsdb-client-ts');
  expect(readdirSync(installed).toSorted()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'dist',
    'package.json',
  ]);
  for (const [name, ours] of [
    ['LICENSE', 'LICENSE'],
    ['README.md', 'src/ovsdb/README.md'],
  ] as const)
    expect(readFileSync(join(installed, name), 'utf8')).toBe(
      readFileSync(join(ROOT, ours), 'utf8'),
    );
  expect(readFileSync(join(packedFrom, 'package.json'), 'utf8')).toBe(
    readFileSync(join(ROOT, 'src/ovsdb/package.json'), 'utf8'),
  );
});

test('the sources compile in a program that has no option but strict and theirs', async () => {
  const copy = join(folder.path, 'copied');
  mkdirSync(copy);
  cpSync(join(ROOT, 'src/ovsdb'), join(copy, 'ovsdb'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  writeFileSync(join(copy, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(copy, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        noEmit: true,
        module: 'nodenext',
        target: 'es2025',
        lib: ['esnext'],
        types: ['node'],
        allowImportingTsExtensions: true,
      },
      include: ['ovsdb'],
    }),
  );
  expect(await run('tsc', '-p', copy)).toBe('');
});

test.each(['', '/extras', '/values', '/testing'].map((entry) => `ovsdb-client-ts${entry}`))(
  'a Node.js that is too old is told so by %s before anything else happens',
  async (entry) => {
    // Stands in for an old one: it says that it is one, and lacks what those lack.
    const old = `data:text/javascript,${encodeURIComponent(
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } }); delete Set.prototype.difference;",
    )}`;
    await expect(
      run(process.execPath, '--import', old, '--input-type=module', '--eval', `import '${entry}'`),
    ).rejects.toThrow('the OVSDB client needs Node.js 22 or newer, and this is 20.20.2');
  },
);

test('its version and license are those of Heddle', async () => {
  const { default: ours } = (await import(join(ROOT, 'package.json'), {
    with: { type: 'json' },
  })) as { default: { version: string; license: string } };
  const { default: its } = (await import(join(ROOT, 'src/ovsdb/package.json'), {
    with: { type: 'json' },
  })) as { default: { version: string; license: string } };
  expect([its.version, its.license]).toEqual([ours.version, ours.license]);
});
