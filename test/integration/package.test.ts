/** What `npm pack` makes comes again, byte for byte, from the same sources. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { Graphviz } from '@hpcc-js/wasm-graphviz';
import { describe, expect, test } from 'vitest';
import { imageBom } from '../../deploy/sbom.ts';
import { node22 } from '../support/run/from-registry.ts';
import { ownFolder } from '../support/run/left-behind.ts';

const ROOT = resolve(import.meta.dirname, '../..');

describe('the package', () => {
  test('has the same bytes wherever and whenever it is made, and the licences of what is in it', async () => {
    const hashes = [1, 2].map((time) => {
      const folder = ownFolder(`heddle-package${time}`);
      for (const part of [
        'package.json',
        'package-lock.json',
        'LICENSE',
        'README.md',
        'build.ts',
        'src',
        'schemas',
        'deploy',
        'docs',
      ])
        cpSync(join(ROOT, part), join(folder, part), { recursive: true });
      mkdirSync(join(folder, 'node_modules'));
      for (const name of readdirSync(join(ROOT, 'node_modules')))
        symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
      // As `npm ci` does in a checkout.
      rmSync(join(folder, 'node_modules/ovsdb-client-ts'));
      symlinkSync('../src/ovsdb', join(folder, 'node_modules/ovsdb-client-ts'));
      for (const name of readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' }))
        utimesSync(join(folder, 'src', name), time * 1e8, time * 1e8);
      execFileSync(process.execPath, ['build.ts'], { cwd: folder });
      mkdirSync(join(folder, 'out'));
      execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination=out'], {
        cwd: folder,
      });
      const [made = ''] = readdirSync(join(folder, 'out'));
      const hash = createHash('sha256')
        .update(readFileSync(join(folder, 'out', made)))
        .digest('hex');
      const contents = execFileSync('tar', ['-tzf', join(folder, 'out', made)], {
        encoding: 'utf8',
      });
      const notices = readFileSync(join(folder, 'dist/NOTICES'), 'utf8');
      execFileSync('tar', ['-xzf', join(folder, 'out', made), '-C', join(folder, 'out')]);
      const help = ['--help', 'lab', 'node'].map((command) =>
        execFileSync(
          process.execPath,
          [join(folder, 'out/package/dist/cli/main.js'), command, '--help'],
          { encoding: 'utf8' },
        ),
      );
      const rendered = [process.execPath, node22()].map((node) =>
        execFileSync(
          node,
          [
            join(folder, 'out/package/dist/cli/main.js'),
            'render',
            '--node=ovn-worker',
            `--manifests=${join(ROOT, 'test/integration/cli/fixtures/worked-example')}`,
            `--state=${join(folder, 'state')}`,
          ],
          { encoding: 'utf8', cwd: '/' },
        ),
      );
      rmSync(folder, { recursive: true });
      return { hash, contents, notices, help, rendered };
    });
    expect(hashes[0]?.hash).toBe(hashes[1]?.hash);
    for (const part of [
      'dist/cli/main.js',
      'dist/NOTICES',
      'LICENSE',
      'schemas/crds/',
      'schemas/heddle.schema.json',
      'docs/man/heddle.1',
    ])
      expect(hashes[0]?.contents).toContain(`package/${part}`);
    expect(hashes[0]?.contents).not.toMatch(/\.test\.ts$|node_modules/m);
    // Where it is installed none of its sources are.
    for (const text of hashes[0]?.help ?? []) expect(text).toContain('Usage: heddle');
    const [rendered = '', renderedByNode22] = hashes[0]?.rendered ?? [];
    expect(rendered).toContain('create Logical_Switch name=blue_blue_join');
    expect(renderedByNode22).toBe(rendered);
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Parameters<
      typeof imageBom
    >[0];
    const bill = JSON.stringify(
      imageBom(lock, hashes[0]?.notices ?? '', 'libc6 2.41-12 amd64', '24.21.0', 0),
    );
    for (const name of ['@grpc/grpc-js', 'koffi', 'prom-client'])
      expect(bill).toContain(`"name":"${name}"`);
    const graphviz = await Graphviz.load();
    expect(hashes[0]?.notices).toContain(
      `Graphviz ${graphviz.version()}, under the Eclipse Public License`,
    );
    for (const name of ['ajv', 'prom-client', 'yaml', 'pino'])
      expect(hashes[0]?.notices).toMatch(new RegExp(`^${name} [\\d.]+ \\(`, 'm'));
  }, 120_000);
});
