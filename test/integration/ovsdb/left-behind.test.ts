import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { identify } from '../../../src/lab/processes.ts';
import { bound } from '../../support/run/left-behind.ts';
import { until } from '../../support/run/until.ts';

/** What a run leaves that was killed: no process, and no folder that the next one would not remove. */

const SUPPORT = resolve(import.meta.dirname, '../../support');

/** A program that starts servers and then only waits. */
const OWNER = `
import { OvsdbServer } from '${join(SUPPORT, 'ovsdb/ovsdb-server.ts')}';
const servers = [await OvsdbServer.start(), await OvsdbServer.start()];
console.log(JSON.stringify(servers.map(({ pid, folder }) => ({ pid, folder }))));
setInterval(() => undefined, 1000);
`;

const NEXT_RUN = `
import { ownFolder } from '${join(SUPPORT, 'run/left-behind.ts')}';
import { rmSync } from 'node:fs';
rmSync(ownFolder('next'), { recursive: true });
`;

const program = (script: string, ...args: readonly string[]): ChildProcess =>
  spawn(...bound(process.execPath, ['--input-type=module', '-e', script, ...args]), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });

/** One that nobody has asked for its exit code yet has ended, too. */
const isAlive = (pid: number): boolean => identify(pid) !== undefined;

interface Left {
  readonly pid: number;
  readonly folder: string;
}

async function leftBy(owner: ChildProcess): Promise<readonly Left[]> {
  const [line] = (await once(owner.stdout ?? owner, 'data')) as [Buffer];
  return JSON.parse(line.toString()) as readonly Left[];
}

async function nextRun(): Promise<void> {
  expect(await once(program(NEXT_RUN), 'exit')).toEqual([0, null]);
}

test('the servers of a program that is killed end with it, and the next run removes their folders', async () => {
  const owner = program(OWNER);
  const left = await leftBy(owner);
  expect(left.map(({ pid }) => isAlive(pid))).toEqual([true, true]);
  await nextRun();
  expect(left.map(({ folder }) => existsSync(folder))).toEqual([true, true]);
  owner.kill('SIGKILL');
  await until('the servers to end', () => left.every(({ pid }) => !isAlive(pid)));
  await nextRun();
  expect(left.map(({ folder }) => existsSync(folder))).toEqual([false, false]);
});

test('a program that is started when its owner has ended already ends at once', async () => {
  // As between the start of a process and the moment in which it asks to be told of the end of its owner.
  const [command, args] = bound('echo', ['it runs']);
  const isOurs = (word: string): boolean => word === String(process.pid);
  expect(args.filter(isOurs)).toHaveLength(1);
  const orphan = spawn(
    command,
    args.map((word) => (isOurs(word) ? '1' : word)),
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let said = '';
  orphan.stdout.on('data', (text: Buffer) => (said += text.toString()));
  expect([await once(orphan, 'close'), said]).toEqual([[1, null], '']);
});
