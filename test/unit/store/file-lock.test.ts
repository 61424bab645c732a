import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/store/clock.ts';
import { FileLock } from '../../../src/store/manifests/file-lock.ts';
import { StateDirectory } from '../../../src/store/manifests/state-directory.ts';
import { ownFolder } from '../../support/run/left-behind.ts';

const SOURCE = resolve(import.meta.dirname, '../../../src/store');

/** Another process that runs `script` and says `held` when it has what it wants. */
async function otherProcess(script: string, ...args: string[]): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
}

describe('locks between processes', () => {
  let folder: string;
  beforeEach(async () => {
    folder = ownFolder('heddle-lock');
  });
  afterEach(() => rm(folder, { recursive: true }));
  const holder = (): Promise<string> => readFile(join(folder, 'leases', 'cluster.holder'), 'utf8');

  test('one holds the lock; the other waits for it, or gives up', async () => {
    using one = new FileLock(join(folder, 'lock'));
    using two = new FileLock(join(folder, 'lock'));
    expect(await one.acquire(1)).toBe(true);
    expect(await two.acquire(0)).toBe(false);
    const waiting = two.acquire(10);
    await one.release();
    expect(await waiting).toBe(true);
    expect(await one.acquire(0)).toBe(false);
  });

  test('a killed process holds nothing', async () => {
    const path = join(folder, 'lock');
    const kill = await otherProcess(
      `import { FileLock } from '${SOURCE}/manifests/file-lock.ts';
       const lock = new FileLock(process.argv[1]);
       await lock.acquire(5);
       console.log('held');
       setInterval(() => undefined, 1000);`,
      path,
    );
    using lock = new FileLock(path);
    expect(await lock.acquire(0)).toBe(false);
    await kill();
    expect(await lock.acquire(10)).toBe(true);
  });

  test('leadership passes on when the leader is killed', async () => {
    const kill = await otherProcess(
      `import { StateDirectory } from '${SOURCE}/manifests/state-directory.ts';
       import { systemClock } from '${SOURCE}/clock.ts';
       const state = await StateDirectory.open(process.argv[1], systemClock);
       await state.lead('cluster', 'manager-1', new AbortController().signal);
       console.log('held');
       setInterval(() => undefined, 1000);`,
      folder,
    );
    const state = await StateDirectory.open(folder, systemClock);
    expect(await holder()).toBe('manager-1\n');
    const never = state.lead('cluster', 'manager-2', AbortSignal.timeout(50));
    await expect(never).rejects.toThrow();
    const leading = state.lead('cluster', 'manager-2', new AbortController().signal);
    await kill();
    await using leadership = await leading;
    expect(leadership.signal.aborted).toBe(false);
    expect(await holder()).toBe('manager-2\n');
    state.close();
  });

  test('a leader whose lock was taken away knows it at once', async () => {
    const state = await StateDirectory.open(folder, systemClock);
    await using leadership = await state.lead('cluster', 'me', new AbortController().signal);
    const file = join(folder, 'leases', 'cluster.lock');
    for (const process of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
      const command = await readFile(`/proc/${process}/cmdline`, 'utf8').catch(() => '');
      if (command.split('\0').includes(file)) globalThis.process.kill(Number(process), 'SIGKILL');
    }
    await expect.poll(() => leadership.signal.aborted).toBe(true);
    expect(String(leadership.signal.reason)).toContain(
      `${file}: can't be locked: sh ended with SIGKILL`,
    );
    state.close();
  });

  test('a lock that can not be made says what is needed', async () => {
    using lock = new FileLock(join(folder, 'missing', 'lock'));
    await expect(lock.acquire(1)).rejects.toThrow(
      /missing\/lock: can't be locked: .*flock \(util-linux\) and a writable directory are needed/,
    );
  });
});
