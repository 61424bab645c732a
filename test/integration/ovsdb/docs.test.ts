import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as exported from 'ovsdb-client-ts';
import * as extras from 'ovsdb-client-ts/extras';
import * as testing from 'ovsdb-client-ts/testing';
import * as values from 'ovsdb-client-ts/values';
import { Authority } from '../../support/run/certificates.ts';
import { OvsdbServer, SCHEMAS, temporaryFolder } from '../../support/ovsdb/ovsdb-server.ts';
import { freePort } from '../../support/run/free-port.ts';

/**
 * The examples of the package's README as a reader has them: each block is a program of its own, type-checked and run by Node. `// → text` behind
 * a statement is what it gives, `// throws code` what it throws. Addresses are those of servers started here.
 */

const execute = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../../..');
const page = readFileSync(join(ROOT, 'src/ovsdb/README.md'), 'utf8');
const blocks = [...page.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code ?? '');
const folder = temporaryFolder();

const HELPERS = `
import { inspect } from 'node:util';
function found(value: unknown, text: string): void {
  const is = inspect(value, { breakLength: Infinity, depth: 9, compact: 99 });
  if (is !== text) throw new Error('documented: ' + text + ', but it is: ' + is);
}
function refused(compute: () => unknown, code: string): void {
  let is = 'nothing';
  try {
    compute();
  } catch (error) {
    is = (error as { code: string }).code;
  }
  if (is !== code) throw new Error('documented: throws ' + code + ', but it throws ' + is);
}
`;

/** The program with its promises made checks. */
const program = (code: string): string =>
  code
    .replaceAll(
      /^(.*);[ ]+\/\/ → (.*)$/gm,
      (_, expression: string, text: string) => `found(${expression}, ${JSON.stringify(text)});`,
    )
    .replaceAll(
      /^(.*);[ ]+\/\/ throws (.*)$/gm,
      (_, expression: string, text: string) =>
        `refused(() => ${expression}, ${JSON.stringify(text)});`,
    ) + HELPERS;

const fileOf = (n: number): string => join(folder.path, `example${n}.mts`);

let certificates: Authority;

beforeAll(async () => {
  certificates = new Authority(folder.path, 'ca');
  for (const [n, code] of blocks.entries()) writeFileSync(fileOf(n), program(code));
  writeFileSync(join(folder.path, 'package.json'), '{"type":"module"}');
  const packages = join(folder.path, 'node_modules');
  mkdirSync(packages);
  symlinkSync(join(ROOT, 'src/ovsdb'), join(packages, 'ovsdb-client-ts'));
  for (const name of ['@types', 'undici-types'])
    symlinkSync(join(ROOT, 'node_modules', name), join(packages, name));
  const generator = join(ROOT, 'src/ovsdb/schema/generate.ts');
  const { stdout } = await execute(process.execPath, [
    generator,
    join(ROOT, 'schemas/ovn-nb.ovsschema'),
    'Northbound',
  ]);
  writeFileSync(join(folder.path, 'northbound.generated.ts'), stdout);
  writeFileSync(
    join(folder.path, 'tsconfig.json'),
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { noUnusedLocals: false },
      include: [join(folder.path, '*.mts')],
    }),
  );
});

afterAll(() => {
  folder[Symbol.dispose]();
});

test('links to parts of the page lead there', () => {
  const prose = page.replaceAll(/^```[^]*?^```$/gm, '');
  const headings = [...prose.matchAll(/^#+ (.*)$/gm)].map(([, text]) =>
    (text ?? '')
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
  const links = [...prose.matchAll(/\]\(#([^)]*)\)/g)].map(([, anchor]) => anchor);
  expect(links.length).toBeGreaterThan(5);
  expect(links.filter((anchor) => !headings.includes(anchor ?? ''))).toEqual([]);
});

test('everything that is exported is on the page', () => {
  const words = new Set(page.match(/\w+/g));
  expect(
    Object.keys({ ...exported, ...extras, ...testing, ...values }).filter(
      (name) => !words.has(name),
    ),
  ).toEqual([]);
});

test('its table of errors has the codes that there are', () => {
  const source = readFileSync(join(ROOT, 'src/ovsdb/data/error.ts'), 'utf8');
  const codes = [...source.matchAll(/^  \| '([a-z -]+)'/gm)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(20);
  const [, section = ''] = /^## Errors$([^]*?)^## /m.exec(page) ?? [];
  const listed = [...section.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([a-z -]+)`/g)].map(([, code]) => code),
  );
  expect(listed.length).toBe(codes.length + 1);
  expect(new Set(listed)).toEqual(new Set(['code', ...codes]));
});

test('the first example takes ten lines, and leaves nothing in the database', async () => {
  const [first = ''] = blocks;
  expect(first.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(10);
  await using server = await OvsdbServer.start();
  const file = join(folder.path, 'first.mjs');
  writeFileSync(file, first.replace('tcp:127.0.0.1:6641', server.remote));
  const { stdout } = await execute(process.execPath, [file], { cwd: folder.path });
  expect(stdout).toMatch(/^[\da-f-]{36} first-look\n$/);
  await using client = new exported.OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
  }).start();
  await client.ready(AbortSignal.timeout(10_000));
  expect(client.replica.size('Logical_Switch')).toBe(0);
});

test('there are examples, and they have the types that they show', async () => {
  expect(blocks.length).toBeGreaterThan(10);
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  const { stdout } = await execute(tsc, ['--noEmit', '-p', folder.path]).catch(
    (error: unknown) => error as { stdout: string },
  );
  expect(stdout).toBe('');
});

test.each(
  blocks.map((code, n) => [code.split('\n').find((line) => line !== '') ?? '', n] as const),
)('example: %s (block %i)', async (_first, n) => {
  const code = readFileSync(fileOf(n), 'utf8');
  const port = await freePort();
  const identity = certificates.issue(`server${n}`);
  const secure = [
    `--private-key=${identity.privateKey}`,
    `--certificate=${identity.certificate}`,
    `--ca-cert=${identity.caCertificate}`,
  ];
  await using northbound = await OvsdbServer.start({
    remotes: [`pssl:${port}:127.0.0.1`],
    args: secure,
  });
  await using vswitch = await OvsdbServer.start({ schema: join(SCHEMAS, 'vswitch.ovsschema') });
  writeFileSync(
    fileOf(n),
    code
      .replaceAll('unix:/run/ovn/ovnnb_db.sock', northbound.remote)
      .replaceAll('tcp:127.0.0.1:6641', northbound.remote)
      .replaceAll('unix:/run/openvswitch/db.sock', vswitch.remote)
      .replaceAll('ssl:10.0.0.1:6641', `ssl:127.0.0.1:${port}`)
      .replaceAll('/etc/ovn/key.pem', identity.privateKey)
      .replaceAll('/etc/ovn/cert.pem', identity.certificate)
      .replaceAll('/etc/ovn/ca.pem', identity.caCertificate),
  );
  await execute(process.execPath, [fileOf(n)], { cwd: folder.path, timeout: 30_000 });
});
