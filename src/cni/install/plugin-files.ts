/** Puts the plugin and its configuration where container runtimes look for them, and takes them away. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { errorText } from '../../api/error-text.ts';
import { reasonOfPath } from '../../api/without-errno.ts';
import { ConfigurationError } from '../../process/configuration-error.ts';
import { makeFolder } from '../../store/make-folder.ts';
import { conflist, CONFLIST_NAME, PLUGIN_MARK, PLUGIN_NAMES, shimScript } from './shim.ts';

/** Writes the plugin, which asks on `socket`. Throws ConfigurationError. */
export function installPlugin(binDir: string, socket: string): void {
  let script: string;
  try {
    script = shimScript(socket);
  } catch (error) {
    throw new ConfigurationError('--cni-socket', errorText(error));
  }
  const plugins = PLUGIN_NAMES.map((name) => join(binDir, name));
  for (const path of plugins)
    if (existsSync(path) && !isOurs(path))
      throw new ConfigurationError(
        '--bin-dir',
        `${path} is another plugin: remove it with what installed it, or name another folder`,
      );
  for (const path of plugins) replace(path, script, 0o755, '--bin-dir');
}

/** Writes the configuration: from then on the runtime calls the plugin. Throws ConfigurationError, which names `flag`. */
export const installConflist = (confDir: string, flag: string): void =>
  replace(join(confDir, CONFLIST_NAME), conflist(), 0o644, flag);

/** From then on the runtime doesn't call the plugin any more. */
export const removeConflist = (confDir: string): void =>
  rmSync(join(confDir, CONFLIST_NAME), { force: true });

export function removePlugin(binDir: string): void {
  for (const name of PLUGIN_NAMES) {
    const path = join(binDir, name);
    if (existsSync(path) && isOurs(path)) rmSync(path, { force: true });
  }
}

const isOurs = (path: string): boolean => readFileSync(path, 'utf8').startsWith(PLUGIN_MARK);

/** At each moment there is the old file or the new one, as a whole; an equal one stays. */
function replace(path: string, text: string | Buffer, mode: number, flag: string): void {
  // The runtime takes no notice of a name with such an end.
  const temporary = `${path}.heddle-${process.pid}`;
  try {
    makeFolder(dirname(path));
    if (existsSync(path) && readFileSync(path).equals(Buffer.from(text))) return;
    const file = openSync(temporary, 'w', mode);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    // Not where the folder is none.
    if (existsSync(temporary)) rmSync(temporary, { force: true });
    throw new ConfigurationError(flag, `${path} can't be written: ${reasonOfPath(error)}`);
  }
}
