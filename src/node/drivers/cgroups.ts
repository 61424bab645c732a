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
const DEEPEST = 4;
/** What a path may be made of: it becomes a word of a command. */
const PLAIN = /^[\w.@:-]+$/;

export const kernelCgroups: Cgroups = {
  find(name) {
    try {
      statSync(join(ROOT, 'cgroup.controllers'));
    } catch {
      return undefined; // cgroup v1, or not mounted here
    }
    const path = findBelow('', name, 0);
    if (path === undefined) return undefined;
    const stat = statSync(join(ROOT, path), { throwIfNoEntry: false });
    return stat === undefined ? undefined : { path, id: stat.ino };
  },
};

function findBelow(folder: string, name: string, depth: number): string | undefined {
  let below: string[];
  try {
    below = readdirSync(join(ROOT, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && PLAIN.test(entry.name))
      .map((entry) => join(folder, entry.name));
  } catch {
    return undefined; // it went while it was looked at
  }
  for (const path of below) if (path === name || path.endsWith(`/${name}`)) return path;
  if (depth >= DEEPEST) return undefined;
  for (const path of below) {
    const found = findBelow(path, name, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}
