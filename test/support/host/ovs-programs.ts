import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { rootFileSystem } from '../../../src/lab/paths.ts';

/** A program and the arguments that come before its own. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
}

/** `usr/sbin/ovs-vswitchd` is a link to a path outside of that root. */
const FOLDERS = [
  'usr/lib/openvswitch-switch',
  'usr/sbin',
  'usr/bin',
  'usr/share/ovn/scripts',
  'usr/share/openvswitch/scripts',
];

const LIBRARIES = ['usr/lib/x86_64-linux-gnu', 'usr/lib/aarch64-linux-gnu'];
const LOADERS = ['lib64/ld-linux-x86-64.so.2', 'lib/ld-linux-aarch64.so.1'];

/** The root file system of the lab, undefined if it was not built yet; `HEDDLE_LAB_SUITE=sid` names that of a newer OVN. */
function labRoot(): string | undefined {
  const root = rootFileSystem();
  return existsSync(join(root, 'usr/sbin/ovsdb-server')) ? root : undefined;
}

/**
 * How to start a program of the lab's root file system on this machine: through that system's own loader and
 * libraries, so that nothing has to be installed. Throws when the lab was not built.
 */
export function ovsProgram(name: string): Program {
  const root = labRoot();
  if (root === undefined) {
    throw new Error(
      `${name} is not there: run \`./dev lab build\` first (looked in ${rootFileSystem()})`,
    );
  }
  const path = FOLDERS.map((folder) => join(root, folder, name)).find((candidate) =>
    existsSync(candidate),
  );
  if (path === undefined) throw new Error(`${name} is not in ${root}`);
  const loader = LOADERS.map((file) => join(root, file)).find((file) => existsSync(file));
  const libraries = LIBRARIES.map((folder) => join(root, folder)).find((folder) =>
    existsSync(folder),
  );
  if (loader === undefined || libraries === undefined)
    throw new Error(`${root} has no loader for this machine`);
  return { command: loader, args: ['--library-path', libraries, path] };
}

/** The program of the lab's root file system as a function of a shell, on this database. */
export function shellFunction(name: string, remote: string): string {
  const { command, args } = ovsProgram(name);
  return `${name}() { ${[command, ...args].join(' ')} --db=${remote} "$@"; }`;
}
