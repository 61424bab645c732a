/** A database server whose file system is full: a real ovsdb-server on a small tmpfs. */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLogger } from '../../../src/process/logger.ts';
import { northboundTables } from '../../../src/zone/monitored-columns.ts';
import { ZoneController } from '../../../src/zone/zone-controller.ts';
import { OvsdbClient } from 'ovsdb-client-ts';
import { OvsdbServer, temporaryFolder } from '../../support/ovsdb/ovsdb-server.ts';
import { exampleZone, factsOf } from '../../support/zone/zones.ts';

/** A file system of 512 KiB at `path`; why there is none where mounting is not allowed. */
function mounted(path: string): Disposable | string {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'heddle-test', path], {
      stdio: 'pipe',
    });
  } catch (error) {
    return `a small file system can't be mounted here: ${String(error)}`;
  }
  return { [Symbol.dispose]: () => execFileSync('umount', ['--lazy', path]) };
}

/** Leaves no page free. */
function fill(file: string): void {
  for (let size = 512 * 1024; size >= 1; size = Math.floor(size / 2))
    try {
      writeFileSync(file, Buffer.alloc(size), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
}

test('a full disk is one problem of the database: no unit is blamed, and what is wanted goes in once there is space', async (context) => {
  using folder = temporaryFolder();
  using disk = ((): Disposable => {
    const made = mounted(folder.path);
    if (typeof made !== 'string') return made;
    context.skip(made);
    throw new Error(made);
  })();
  void disk;
  await using server = await OvsdbServer.start({ folder: folder.path });
  await using client = new OvsdbClient({
    remotes: server.remote,
    database: 'OVN_Northbound',
    tables: northboundTables,
  }).start();
  const signal = AbortSignal.timeout(60_000);
  await client.ready(signal);
  const ballast = join(folder.path, 'ballast');
  fill(ballast);
  let now = 0;
  const commits: string[] = [];
  const controller = new ZoneController({
    facts: factsOf(exampleZone, { renderEverywhere: true }),
    northbound: {
      replica: client.replica,
      transactor: client,
      unavailable: () => undefined,
    },
    log: createLogger('silent'),
    now: () => now,
    onCommit: ({ outcome, refused }) => commits.push(`${outcome} ${refused}`),
  });
  controller.update();
  for (let pass = 0; pass < 3; pass += 1)
    expect(await controller.flush(signal)).toMatchObject({ kind: 'again' });
  expect(commits).toEqual(['server-failed 0']);
  expect(controller.problems()).toEqual([
    {
      object: 'database Northbound',
      message: expect.stringMatching(/I\/O error: .*No space left on device/) as string,
    },
  ]);
  expect(client.replica.size('Logical_Switch')).toBe(0);

  rmSync(ballast);
  now += 60_000;
  expect(await controller.flush(signal)).toMatchObject({ kind: 'settled' });
  expect(controller.problems()).toEqual([]);
  expect(commits.at(-1)).toBe('success 0');
  expect(client.replica.size('Logical_Switch')).toBeGreaterThan(3);
});
