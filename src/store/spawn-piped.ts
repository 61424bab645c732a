/** Child processes with three pipes, whose start fails in one way alone. */
import { spawn, type ChildProcessWithoutNullStreams, type SpawnOptions } from 'node:child_process';

/**
 * Throws when it can't be started for want of memory or descriptors. Without descriptors Node.js returns a child that has no streams, and ends
 * this process when nobody listens to it. A program that is not there is told by the child's event `error`.
 */
export function spawnPiped(
  command: string,
  args: readonly string[],
  options: Omit<SpawnOptions, 'stdio'> = {},
): ChildProcessWithoutNullStreams {
  const child = spawn(command, args, { ...options, stdio: ['pipe', 'pipe', 'pipe'] });
  if ((child.stdin as unknown) !== undefined) return child;
  child.on('error', () => undefined);
  throw new Error(`${command} can't be started: too many open files (EMFILE or ENFILE)`);
}
