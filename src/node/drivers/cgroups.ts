/** Cgroups of this machine, by name: nft takes their paths, and the kernel keeps what was there under the path then. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

export interface Cgroup {
  /** Below the mount of cgroup v2. */
  readonly path: string;
  /** Another one when the cgroup was made again. */
  readonly id: number;
}

export interface Cgroups {
  /** The first one of the name; undefined without one, and where there is no cgroup v2. */
  find(name: string): Cgroup | undefined;
}

/** Where nft looks. */
const ROOT = '/sys/fs/cgroup';
/** Units of systemd are not deeper. */
const DEEPEST = 3;
/** What a path may be made of: it becomes a word of a command. */
const PLAIN = /^[\w.@:-]+$/;

export const kernelCgroups: Cgroups = {
  find(name) {
    try {
      statSync(join(ROOT, 'cgroup.controllers'));
    } catch {
      return undefined; // cgroup v1, or not mounted here
    }
    const path = findPath(name);
    if (path === undefined) return undefined;
    const stat = statSync(join(ROOT, path), { throwIfNoEntry: false });
    return stat === undefined ? undefined : { path, id: stat.ino };
  },
};

/** Level by level: units are near the root, and pods, which are many, below them. */
function findPath(name: string): string | undefined {
  let level = [''];
  for (let depth = 0; depth < DEEPEST && level.length > 0; depth += 1) {
    const below = level.flatMap(foldersIn);
    const found = below.find((path) => path === name || path.endsWith(`/${name}`));
    if (found !== undefined) return found;
    level = below;
  }
  return undefined;
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(join(ROOT, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && PLAIN.test(entry.name))
      .map((entry) => join(folder, entry.name));
  } catch {
    return []; // it went while it was looked at
  }
}
