/** `heddle cni install` and `uninstall`: the files by which container runtimes find the plugin. */
import { Option, type Command } from 'commander';
import {
  installConflist,
  installPlugin,
  removeConflist,
  removePlugin,
} from '../cni/install/plugin-files.ts';
import { CNI_SOCKET } from '../cni/install/shim.ts';

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
      if (conf) installConflist(confDir, '--conf-dir');
    });
  withFolders(cni.command('uninstall'))
    .description('remove them; pods keep their interfaces')
    .action(({ binDir, confDir }: Folders) => {
      removeConflist(confDir);
      removePlugin(binDir);
    });
}

const withFolders = (command: Command): Command =>
  command
    .addOption(new Option('--bin-dir <DIR>', 'plugins of the runtime').default('/opt/cni/bin'))
    .addOption(
      new Option('--conf-dir <DIR>', 'configurations of the runtime').default('/etc/cni/net.d'),
    );
