import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Wanted } from '../../../src/bundle/contents.ts';
import { gather, logsOf, type Gathered } from '../../../src/bundle/gather.ts';
import { ownFolder } from '../../support/run/left-behind.ts';

const folder = ownFolder('heddle-gather');
const FILE = 'said/it.txt';
const path = join(folder, FILE);

const ask = (wanted: Omit<Wanted, 'file'>, signal = new AbortController().signal) =>
  gather({ file: FILE, ...wanted }, { folder, signal });
const shell = (line: string): Pick<Wanted, 'argv'> => ({ argv: ['sh', '-c', line] });

test('what a program says is kept, with how it ended', async () => {
  expect(await ask(shell('echo yes'))).toMatchObject({
    file: FILE,
    command: 'sh -c echo yes',
    bytes: 4,
    exitCode: 0,
  });
  expect(readFileSync(path, 'utf8')).toBe('yes\n');
});

test('of a program that fails both what it said and why it failed', async () => {
  const { missing, exitCode } = (await ask(
    shell('echo half; echo no database >&2; exit 3'),
  )) as Gathered;
  expect([missing, exitCode]).toEqual(['no database', 3]);
  expect(readFileSync(path, 'utf8')).toBe('half\n');
  expect(await ask(shell('kill -9 $$'))).toMatchObject({ missing: 'it ended with SIGKILL' });
});

test('a program that is not installed is missing, unless a node may do without it', async () => {
  expect(await ask({ argv: ['no-such-program'] })).toMatchObject({
    missing: 'no-such-program is not installed',
    bytes: 0,
  });
  expect(await ask({ argv: ['no-such-program'], isOptional: true })).toBeUndefined();
});

test('tables that can not be read are not kept: they may hold a secret', async () => {
  const { missing, bytes } = (await ask({
    ...shell('echo "psk: hunter2"'),
    as: 'database',
  })) as Gathered;
  expect([missing, bytes]).toEqual([expect.stringContaining("tables can't be read"), 0]);
  expect(readFileSync(path, 'utf8')).toBe('');
});

test('who ends the command ends the program', async () => {
  const stop = new AbortController();
  const asked = ask(shell('exec sleep 600'), stop.signal);
  stop.abort();
  expect((await asked)?.missing).toContain('abort');
});

test('logs are the files of a folder that are called so; a folder that is not there has none', async () => {
  for (const name of ['a.log', 'a.log.1.gz', 'b.log', 'pid']) writeFileSync(join(folder, name), '');
  expect([...(await logsOf(folder))].toSorted()).toEqual(
    ['a.log', 'b.log'].map((name) => join(folder, name)),
  );
  expect(await logsOf(join(folder, 'none'))).toEqual([]);
});
