/** `heddle version`: releases of this program, of the node's daemon, and of the OVN and Open vSwitch that it works with. */
import type { Command } from 'commander';
import { VERSION } from '../process/version.ts';
import type { DaemonVersions } from '../zone/zone-view.ts';
import { askDaemon } from './ask.ts';
import { addSettings, configurationOf } from './options.ts';
import { print, printJson, printLines, table } from './output.ts';

interface About {
  readonly node: string;
  readonly pid: number;
  /** Absent from daemons of earlier releases. */
  readonly versions?: DaemonVersions;
}

export function register(program: Command): void {
  addSettings(
    program
      .command('version')
      .description(
        "releases of this program, of the daemon of --node, and of the node's OVN and Open vSwitch",
      )
      .option('--json', 'as JSON')
      .addHelpText('after', '\nExit code: 0, also where no daemon answers.'),
    ['where', 'control', 'cluster'],
  ).action(async ({ json }: { readonly json?: boolean }, command: Command) => {
    const about = await askDaemon<About>(configurationOf(command), 'about', {}, ['node', 'pid']);
    const daemon = about && { name: about.node, pid: about.pid, ...about.versions };
    if (json === true) {
      printJson({ heddle: VERSION, node: process.version, daemon: daemon ?? null });
      return;
    }
    const known = (release: string | undefined): string => release ?? 'not known';
    printLines(
      table(
        ['PROGRAM', 'RELEASE'],
        [
          ['heddle', `${VERSION} (Node.js ${process.version})`],
          ...(about === undefined
            ? []
            : [
                [
                  'daemon',
                  `${known(about.versions?.heddle)} (Node.js ${known(about.versions?.node)}), node ${about.node}`,
                ],
                ['ovn-northd', known(about.versions?.northd)],
                ['ovs-vswitchd', known(about.versions?.openVswitch)],
              ]),
        ],
      ),
    );
    if (about === undefined)
      print(
        'No daemon answered, which knows those of OVN and Open vSwitch: name its node (--node) or socket (--socket).',
      );
  });
}
