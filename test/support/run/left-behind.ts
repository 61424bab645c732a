/** Processes and folders of a run: neither outlives it for long, even when it was killed. */
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where process ids mean what they mean here: containers may share a folder of temporary files. */
const NAMESPACE =
  (existsSync('/proc/self/ns/pid') ? readlinkSync('/proc/self/ns/pid') : '').replaceAll(
    /\D/g,
    '',
  ) || '0';

/** Ends at once when its parent is not the one that is named any more. */
const UNLESS_ORPHANED = '[ "$PPID" = "$0" ] && exec "$@"';

/**
 * How to start a program that the kernel kills when this process ends, by whatever: to the thread that starts it, the same as to the
 * process unless it is a worker's. The program keeps the process id; it must not detach itself.
 */
export const bound = (
  command: string,
  args: readonly string[],
): readonly [command: string, args: readonly string[]] => [
  'setpriv',
  ['--pdeathsig', 'KILL', 'sh', '-c', UNLESS_ORPHANED, String(process.pid), command, ...args],
];

const OWNED = /-(\d+)-(\d+)-[^-]{6}$/;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Removes folders whose owners could not. */
function removeLeftBehind(): void {
  for (const name of readdirSync(tmpdir())) {
    const [, namespace, pid] = OWNED.exec(name) ?? [];
    if (namespace !== NAMESPACE || isAlive(Number(pid))) continue;
    try {
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
    } catch {
      // It belongs to another user, or another run removes it at the same time.
    }
  }
}

let isFirst = true;

/** A new folder for temporary files. Who makes it removes it; if that can't be, another run does. */
export function ownFolder(name: string): string {
  if (isFirst) removeLeftBehind();
  isFirst = false;
  return mkdtempSync(join(tmpdir(), `${name}-${NAMESPACE}-${process.pid}-`));
}
