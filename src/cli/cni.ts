/** `heddle cni install` and `uninstall`: the files by which container runtimes find the plugin. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Option, type Command } from 'commander';
import {
  CNI_SOCKET,
  conflist,
  CONFLIST_NAME,
  NODE_NAME,
  NODE_SCRIPT_NAME,
  nodeScript,
  PLUGIN_MARK,
  PLUGIN_NAMES,
  shimScript,
} from '../cni/install/shim.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { errorText } from '../api/error-text.ts';

interface Folders {
  readonly binDir: string;
  readonly confDir: string;
}

export function register(program: Command): void {
  const cni = program
    .command('cni')
    .description("install or remove the CNI plugin, which asks this node's heddle node");
  withFolders(cni.command('install'))
    .description('put the plugin and its configuration where the container runtime looks')
    .option('--cni-socket <PATH>', 'socket of heddle node --cni-socket', CNI_SOCKET)
    .option('--with-node', 'with Node.js, for a host that has no curl (120 MB)')
    .action((options: Folders & { readonly cniSocket: string; readonly withNode?: boolean }) => {
      install(options, options.cniSocket, options.withNode);
    });
  withFolders(cni.command('uninstall'))
    .description('remove them; pods keep their interfaces')
    .action((options: Folders) => {
      uninstall(options);
    });
}

const withFolders = (command: Command): Command =>
  command
    .addOption(new Option('--bin-dir <DIR>', 'plugins of the runtime').default('/opt/cni/bin'))
    .addOption(
      new Option('--conf-dir <DIR>', 'configurations of the runtime').default('/etc/cni/net.d'),
    );

/** The configuration comes last: from then on the runtime calls the plugin. */
export function install({ binDir, confDir }: Folders, socket: string, withNode = false): void {
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
  if (withNode) {
    replace(join(binDir, NODE_NAME), readFileSync(process.execPath), 0o755, '--bin-dir');
    replace(join(binDir, NODE_SCRIPT_NAME), nodeScript(), 0o644, '--bin-dir');
  }
  for (const path of plugins) replace(path, script, 0o755, '--bin-dir');
  replace(join(confDir, CONFLIST_NAME), conflist(), 0o644, '--conf-dir');
}

/** The configuration goes first: from then on the runtime doesn't call the plugin any more. */
export function uninstall({ binDir, confDir }: Folders): void {
  rmSync(join(confDir, CONFLIST_NAME), { force: true });
  for (const name of PLUGIN_NAMES) {
    const path = join(binDir, name);
    if (existsSync(path) && isOurs(path)) rmSync(path, { force: true });
  }
  for (const name of [NODE_NAME, NODE_SCRIPT_NAME]) rmSync(join(binDir, name), { force: true });
}

const isOurs = (path: string): boolean => readFileSync(path, 'utf8').startsWith(PLUGIN_MARK);

/** At each moment there is the old file or the new one, as a whole; an equal one stays. */
function replace(path: string, text: string | Buffer, mode: number, flag: string): void {
  // The runtime takes no notice of a name with such an end.
  const temporary = `${path}.heddle-${process.pid}`;
  try {
    mkdirSync(join(path, '..'), { recursive: true });
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
    rmSync(temporary, { force: true });
    throw new ConfigurationError(flag, `${path} can't be written: ${errorText(error)}`);
  }
}
