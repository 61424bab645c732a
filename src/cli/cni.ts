/** `heddle cni install` and `uninstall`: the files by which container runtimes find the plugin. */
import { isAbsolute } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import {
  installConflist,
  installPlugin,
  removeConflist,
  removePlugin,
} from '../cni/install/plugin-files.ts';
import { CNI_SOCKET, CONFLIST_NAME, PLUGIN_NAMES } from '../cni/install/shim.ts';
import { report } from './output.ts';

interface Folders {
  readonly binDir: string;
  readonly confDir: string;
}

interface InstallOptions extends Folders {
  readonly cniSocket: string;
  readonly conf: boolean;
}

export function register(program: Command): void {
  const cni = program
    .command('cni')
    .description("install or remove the CNI plugin, which asks this node's heddle node");
  withFolders(cni.command('install'))
    .description('put the plugin and its configuration where the container runtime looks')
    .option('--cni-socket <PATH>', 'socket of heddle node --cni-socket', CNI_SOCKET)
    .option(
      '--no-conf',
      'the plugin alone: heddle node --cni-conf-dir writes the configuration once it answers',
    )
    .action(({ binDir, confDir, cniSocket, conf }: InstallOptions) => {
      installPlugin(binDir, cniSocket);
      report(`${PLUGIN_NAMES.join(', ')} installed in ${binDir}`);
      if (!conf) return;
      installConflist(confDir, '--conf-dir');
      report(`${CONFLIST_NAME} installed in ${confDir}`);
    });
  withFolders(cni.command('uninstall'))
    .description('remove them; pods keep their interfaces')
    .action(({ binDir, confDir }: Folders) => {
      removeConflist(confDir);
      removePlugin(binDir);
      report(`nothing of ours is left in ${binDir} and ${confDir}`);
    });
}

/** Throws InvalidArgumentError for a folder that is another one for the runtime. */
function absolute(folder: string): string {
  if (isAbsolute(folder)) return folder;
  throw new InvalidArgumentError('write the whole path, which begins with "/"');
}

const withFolders = (command: Command): Command =>
  command
    .addOption(
      new Option('--bin-dir <DIR>', 'plugins of the runtime')
        .argParser(absolute)
        .default('/opt/cni/bin'),
    )
    .addOption(
      new Option('--conf-dir <DIR>', 'configurations of the runtime')
        .argParser(absolute)
        .default('/etc/cni/net.d'),
    );
