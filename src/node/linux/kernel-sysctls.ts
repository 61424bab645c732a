/** Settings of the kernel, as files. A key is the path below /proc/sys: names of devices may have dots in them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Sysctls {
  /** Undefined where the kernel has no such key. */
  read(path: string): string | undefined;
  /** Returns why it could not be written, or undefined. */
  write(path: string, value: string): string | undefined;
}

const ROOT = '/proc/sys';

export const kernelSysctls: Sysctls = {
  read(path) {
    try {
      return readFileSync(join(ROOT, path), 'utf8').trim();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  },
  write(path, value) {
    try {
      writeFileSync(join(ROOT, path), value);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
    const found = this.read(path);
    return found === value ? undefined : `it is ${found} after ${value} was written`;
  },
};
