/** Which folders of this machine a lab's nodes see, under the path that they have outside. */
import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of packages that `path` is in: of a store of pnpm's, or another checkout's `node_modules`. */
function packageFolder(path: string): string {
  const parts = path.split('/');
  const last = parts.indexOf('node_modules');
  return last === -1 ? dirname(path) : parts.slice(0, last + 1).join('/');
}

/** Folders outside of `checkout` in which its packages are, where `node_modules` or entries of it are links to elsewhere. */
function foldersOfPackages(checkout: string): Set<string> {
  const modules = join(checkout, 'node_modules');
  if (!existsSync(modules)) return new Set([modules]);
  const isOutside = (path: string): boolean => !path.startsWith(`${checkout}/`);
  const real = realpathSync(modules);
  if (isOutside(real)) return new Set([real]);
  return new Set(
    readdirSync(modules)
      .map((name) => join(modules, name))
      .filter((path) => lstatSync(path).isSymbolicLink() && existsSync(path))
      .map((path) => realpathSync(path))
      .filter(isOutside)
      .map(packageFolder),
  );
}

/** The checkout, and where the packages are that it is run with, without what is in one of the others. */
export function sharedFolders(checkout: string): string[] {
  const found = [checkout, ...foldersOfPackages(checkout)];
  return found.filter((path) => path === checkout || !path.startsWith(`${checkout}/`));
}
