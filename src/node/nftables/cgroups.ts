/** Cgroups of this machine, by name: nft takes their paths, and the kernel keeps what was there under the path then. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isCgroup, isPodCgroup } from './cgroup-names.ts';

export interface Cgroup {
  /** Below the mount of cgroup v2. */
  readonly path: string;
  /** Another one when the cgroup was made again. */
  readonly id: number;
}

export interface Cgroups {
  /** The first one of the name; undefined without one, and where there is no cgroup v2. `before`: what was found last, looked at first. */
  find(name: string, before?: Cgroup): Cgroup | undefined;
}

/** Kubelet's own slice, that of its pods, that of their class, and the pod's. */
const DEEPEST = 4;
/** What a path may be made of: it becomes a word of a command. */
const PLAIN = /^[\w.@:-]+$/;

/** Those below a mount of cgroup v2. */
export function cgroupsBelow(root: string): Cgroups {
  const idOf = (path: string): number | undefined =>
    statSync(join(root, path), { throwIfNoEntry: false })?.ino;
  return {
    find(name, before) {
      if (before !== undefined && idOf(before.path) === before.id) return before;
      // Otherwise it is cgroup v1, or not mounted here.
      if (idOf('cgroup.controllers') === undefined) return undefined;
      const path = findPath(root, name);
      const id = path === undefined ? undefined : idOf(path);
      return path === undefined || id === undefined ? undefined : { path, id };
    },
  };
}

/** Where systemd mounts them, and nft looks. */
export const kernelCgroups: Cgroups = cgroupsBelow('/sys/fs/cgroup');

/** Level by level: units are near the root, and pods, which are many, below them. */
function findPath(root: string, name: string): string | undefined {
  let level = [''];
  for (let depth = 0; depth < DEEPEST && level.length > 0; depth += 1) {
    const below = level.flatMap((folder) => foldersIn(root, folder));
    const found = below.find(({ last }) => isCgroup(last, name));
    if (found !== undefined) return found.path;
    level = below.filter(({ last }) => !isPodCgroup(last)).map(({ path }) => path);
  }
  return undefined;
}

function foldersIn(
  root: string,
  folder: string,
): readonly { readonly path: string; readonly last: string }[] {
  try {
    return readdirSync(join(root, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && PLAIN.test(entry.name))
      .map(({ name }) => ({ path: join(folder, name), last: name }));
  } catch {
    return []; // it went while it was looked at
  }
}
