import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiReport } from '../../support/run/api-report.ts';
import { packageLinters } from '../../support/run/from-registry.ts';
import { temporaryFolder } from '../../support/ovsdb/ovsdb-server.ts';
import { whyNoNamespace } from '../../support/host/network-namespace.ts';

/** The package by itself: packed, installed in another program's folder, type-checked and run there, with the example of its page. */

const execute = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../../..');
const folder = temporaryFolder();
const program = join(folder.path, 'program');
const sources = join(folder.path, 'heddle');
const manifest = (path: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Record<string, unknown>;

const run = async (command: string, ...args: readonly string[]): Promise<string> => {
  const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`;
  const options = { cwd: program, env: { ...process.env, PATH } };
  const { stdout } = await execute(command, args, options).catch((error: unknown) => {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${command} ${args.join(' ')}: ${stdout}${stderr}`);
  });
  return stdout;
};

beforeAll(async () => {
  // A copy: nothing is written into the sources while other tests read them.
  cpSync(join(ROOT, 'src/netlink'), join(sources, 'src/netlink'), { recursive: true });
  cpSync(join(ROOT, 'tsconfig.json'), join(sources, 'tsconfig.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(sources, 'node_modules'));
  mkdirSync(join(program, 'node_modules'), { recursive: true });
  writeFileSync(join(program, 'package.json'), '{"type":"module","private":true}');
  await run('npm', 'pack', join(sources, 'src/netlink'), '--pack-destination', folder.path);
  const [packed = ''] = readdirSync(folder.path).filter((name) => name.endsWith('.tgz'));
  // Without a registry: what it depends on is put beside it, as npm would.
  const target = join(program, 'node_modules/rtnetlink-ts');
  mkdirSync(target);
  await run('tar', '-xzf', join(folder.path, packed), '-C', target, '--strip-components=1');
  for (const name of ['koffi', '@types', 'undici-types'])
    symlinkSync(join(ROOT, 'node_modules', name), join(program, 'node_modules', name));
}, 60_000);

afterAll(() => {
  folder[Symbol.dispose]();
});

test('its page, its license and what was compiled are in it; its version and license are those of Heddle', () => {
  const installed = join(program, 'node_modules/rtnetlink-ts');
  const all = ['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'package.json'];
  expect(readdirSync(installed).toSorted()).toEqual(all);
  const [its, ours] = [manifest(installed), manifest(ROOT)];
  expect([its['version'], its['license']]).toEqual([ours['version'], ours['license']]);
  expect(its['exports']).toEqual({ '.': './dist/index.js' });
  expect(manifest(join(sources, 'src/netlink'))).toEqual(manifest(join(ROOT, 'src/netlink')));
});

test.skipIf(whyNoNamespace !== undefined)(
  'the example of its page compiles in another program, and does what it says',
  async () => {
    const page = readFileSync(join(ROOT, 'src/netlink/README.md'), 'utf8');
    const [, example = ''] = /^```ts\n([^]*?)^```$/m.exec(page) ?? [];
    writeFileSync(join(program, 'main.mts'), example);
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
        },
        include: ['*.mts'],
      }),
    );
    expect(await run('tsc', '-p', '.')).toBe('');
    expect(await run('unshare', '--net', process.execPath, 'main.mts')).toBe(
      '10.0.0.1/24\nfalse\n',
    );
  },
);

test('what it exports is what its report says (vitest -u writes it anew)', async () => {
  const report = apiReport(program, 'rtnetlink-ts', 'index');
  await expect(report).toMatchFileSnapshot(join(ROOT, 'src/netlink/api/rtnetlink-ts.api.md'));
}, 120_000);

test('others find its modules, and their types', async () => {
  const { publint, attw } = packageLinters();
  const [packed = ''] = readdirSync(folder.path).filter((name) => name.endsWith('.tgz'));
  expect(await run(publint, '--strict', join(folder.path, packed))).toContain('All good!');
  // Ends with 1 when something can't be found.
  await run(attw, '--profile', 'esm-only', join(folder.path, packed));
}, 60_000);
