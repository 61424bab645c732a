/** Settings of the kernel, as files. A key is the path below /proc/sys: names of devices may have dots in them. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '../../api/error-text.ts';

export interface Sysctls {
  /** Undefined where the kernel has no such key. Throws for one that can't be read. */
  read(path: string): string | undefined;
  /** Returns why it could not be written, or undefined. */
  write(path: string, value: string): string | undefined;
}

/** No such key, or its device went while it was read. */
const GONE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENODEV', 'ENXIO']);

/**
 * Those of a folder that is /proc/sys, or the same mounted elsewhere: the kernel shows each process those of its network namespace, whatever
 * the mount. Throws when it is no such folder, as then every key would seem to be one that the kernel does not have.
 */
export function sysctlsBelow(root: string): Sysctls {
  if (!existsSync(join(root, 'net/ipv4')))
    throw new Error(
      `${root} has no net/ipv4: it is not /proc/sys, nor that of the host in a container`,
    );
  return {
    read(path) {
      try {
        return readFileSync(join(root, path), 'utf8').trim();
      } catch (error) {
        if (GONE.has((error as NodeJS.ErrnoException).code)) return undefined;
        throw error;
      }
    },
    write(path, value) {
      try {
        writeFileSync(join(root, path), value);
        const found = this.read(path);
        return found === value ? undefined : `it is ${found} after ${value} was written`;
      } catch (error) {
        const message = errorText(error);
        return (error as NodeJS.ErrnoException).code === 'EROFS'
          ? `${message}: mount the host's /proc/sys/net below another folder, and name that with sysctl-folder`
          : message;
      }
    },
  };
}
