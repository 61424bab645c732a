/** One `up` or `down` at a time for each lab, across processes. */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, LabError } from './paths.ts';

/**
 * Holds an flock(2) on a file of that name in the cache until disposed. A child process holds it for us, and lets go when
 * our end of its standard input closes, so that a killed process leaves no lock behind.
 */
export async function lock(name: string, onWait: () => void): Promise<AsyncDisposable> {
  const folder = join(cacheFolder(), 'locks');
  mkdirSync(folder, { recursive: true });
  const holder = spawn('flock', ['-x', join(folder, name), 'sh', '-c', 'echo held; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true, // Ctrl-C is for us: the lock outlives our clean-up
  });
  const timer = setTimeout(onWait, 300);
  await new Promise<void>((resolve, reject) => {
    holder.once('error', (cause) => {
      reject(new LabError('flock (of util-linux) is missing on this machine', { cause }));
    });
    holder.once('close', (code) => {
      reject(new LabError(`flock on ${join(folder, name)} ended with ${code}`));
    });
    holder.stdout.once('data', () => {
      resolve();
    });
  }).finally(() => {
    clearTimeout(timer);
  });
  const closed = new Promise<void>((resolve) => {
    holder.once('close', () => {
      resolve();
    });
  });
  return {
    async [Symbol.asyncDispose]() {
      holder.stdin.end();
      await closed;
    },
  };
}
