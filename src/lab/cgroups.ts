/** The cgroups that a lab's container runtimes make: they are the machine's, and outlive the processes in them. */
import { existsSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { LabError } from './paths.ts';
import { waitFor } from './processes.ts';

/** Longest time for the kernel to let go of a cgroup whose processes were killed. */
const EMPTY_LIMIT_MS = 10_000;

const file = (folder: string): string => join(folder, 'cgroups');

/** Name of a lab's cgroup in each hierarchy; what is below is its runtimes'. */
const nameOf = (lab: string): string => `heddle-lab-${lab}`;

/** Folders of a process's cgroups, one per hierarchy that this machine shows. Pure (proc_pid_cgroup(5), proc_pid_mountinfo(5)). */
export function cgroupFolders(cgroups: string, mounts: string): string[] {
  const folders: string[] = [];
  for (const line of mounts.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '', at = ''] = before.split(' ');
    const [type, , options = ''] = after.split(' ');
    if (type !== 'cgroup' && type !== 'cgroup2') continue;
    const mounted = type === 'cgroup2' ? [''] : options.split(',');
    for (const entry of cgroups.split('\n')) {
      const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(entry) ?? [];
      if (controllers === undefined || path === undefined) continue;
      const isHere = controllers.split(',').every((one) => mounted.includes(one));
      if (!isHere || !`${path}/`.startsWith(root === '/' ? '/' : `${root}/`)) continue;
      folders.push(resolve(at, `.${root === '/' ? path : path.slice(root.length)}`));
    }
  }
  return [...new Set(folders)];
}

/** Writes down where the cgroups of a lab that this process starts will be: below its own. */
export function noteCgroups(folder: string, lab: string): void {
  const own = readFileSync('/proc/self/cgroup', 'utf8');
  const parents = cgroupFolders(own, readFileSync('/proc/self/mountinfo', 'utf8'));
  writeFileSync(file(folder), parents.map((parent) => `${join(parent, nameOf(lab))}\n`).join(''));
}

/** Removes the cgroups of a lab whose processes are gone. */
export async function removeCgroups(folder: string): Promise<void> {
  if (!existsSync(file(folder))) return;
  const cgroups = readFileSync(file(folder), 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  const gone = await waitFor(
    () => (cgroups.every((path) => isRemoved(path)) ? true : undefined),
    EMPTY_LIMIT_MS,
  );
  if (gone === undefined)
    throw new LabError(
      `cgroups of the lab can't be removed: ${cgroups.filter((path) => existsSync(path)).join(', ')}`,
    );
}

/** Removes a cgroup and those below; false while processes are in one. */
function isRemoved(path: string): boolean {
  if (!existsSync(path)) return true;
  const below = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  if (!below.every(({ name }) => isRemoved(join(path, name)))) return false;
  try {
    rmdirSync(path);
    return true;
  } catch {
    return false;
  }
}
