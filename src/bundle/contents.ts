/** What a bundle holds of a node: which program says it, and the file that it goes into. Pure. */

/** What is to be gathered. */
export interface Wanted {
  /** Path in the bundle. */
  readonly file: string;
  /** Program and arguments; never text of a shell. */
  readonly argv: readonly [string, ...string[]];
  /** What is made of its output: tables of a database go without what looks like a secret. */
  readonly as?: 'database';
  /** A node may do without this program. */
  readonly isOptional?: true;
}

export interface Places {
  readonly nb?: string | undefined;
  readonly sb?: string | undefined;
  readonly ovs?: string | undefined;
  /** Arguments of OVSDB's programs for ssl: remotes. */
  readonly tls: readonly string[];
  /** Bridges of Open vSwitch. */
  readonly bridges: readonly string[];
}

/** Commands of heddle whose answer a bundle holds, each as JSON. */
export const OWN_COMMANDS: readonly (readonly [string, ...string[]])[] = [
  ['version'],
  ['status'],
  ['plan'],
  ['diff'],
  ['changes', '--limit', '400'],
  ['show', 'node'],
  ['check'],
  ['drops', '--total'],
  ['verify'],
];

/** Nothing that a program could take for an option or for a socket. */
const BRIDGE_NAME = /^\w[\w.-]*$/;
/** Bytes of the end of a log. */
const END_OF_LOG = 4 * 1024 * 1024;

/** What OVN, Open vSwitch and the host say of themselves. What a place is missing for is left out. */
export function programsOf({ nb, sb, ovs, tls, bridges }: Places): readonly Wanted[] {
  const database = (file: string, remote: string, name: string): Wanted => ({
    file: `databases/${file}.json`,
    argv: ['ovsdb-client', ...tls, '--no-leader-only', '--format=json', 'dump', remote, name],
    as: 'database',
  });
  const show = (program: string, remote: string, ...options: readonly string[]): Wanted => ({
    file: `databases/${program}-show.txt`,
    argv: [program, `--db=${remote}`, ...tls, ...options, 'show'],
  });
  return [
    ...(nb === undefined
      ? []
      : [
          database('northbound', nb, 'OVN_Northbound'),
          show('ovn-nbctl', nb, '--no-leader-only'),
          ...appctl('ovn-appctl', 'ovn-northd', 'status', 'inc-engine/show-stats'),
        ]),
    ...(sb === undefined
      ? []
      : [database('southbound', sb, 'OVN_Southbound'), show('ovn-sbctl', sb, '--no-leader-only')]),
    ...(ovs === undefined ? [] : [...openVswitch(database, show, ovs, bridges), ...HOST]),
  ];
}

const openVswitch = (
  database: (file: string, remote: string, name: string) => Wanted,
  show: (program: string, remote: string) => Wanted,
  ovs: string,
  bridges: readonly string[],
): readonly Wanted[] => [
  database('open-vswitch', ovs, 'Open_vSwitch'),
  show('ovs-vsctl', ovs),
  ...bridges.filter((name) => BRIDGE_NAME.test(name)).flatMap(flowsOf),
  ...appctl(
    'ovs-appctl',
    'ovs-vswitchd',
    'dpctl/show',
    'dpctl/dump-flows',
    'dpctl/ct-stats-show',
    'upcall/show',
    'coverage/show',
    'memory/show',
  ),
  ...appctl(
    'ovn-appctl',
    'ovn-controller',
    'connection-status',
    'inc-engine/show-stats',
    'ct-zone-list',
    'memory/show',
    'coverage/show',
  ),
];

const flowsOf = (bridge: string): readonly Wanted[] =>
  ['dump-flows', 'dump-groups', 'dump-ports-desc', 'dump-ports'].map((command) => ({
    file: `openflow/${bridge}-${command.slice('dump-'.length)}.txt`,
    argv: ['ovs-ofctl', '-O', 'OpenFlow15', command, bridge],
  }));

const appctl = (
  program: string,
  daemon: string,
  ...commands: readonly string[]
): readonly Wanted[] =>
  commands.map((command) => ({
    file: `daemons/${daemon}-${command.replaceAll('/', '-')}.txt`,
    argv: [program, '-t', daemon, command],
  }));

const ip = (file: string, ...args: readonly string[]): Wanted => ({
  file: `host/${file}.txt`,
  argv: ['ip', ...args],
  // hostNetwork() has the same.
  isOptional: true,
});

const HOST: readonly Wanted[] = [
  { file: 'host/kernel.txt', argv: ['uname', '-a'] },
  { file: 'host/release.txt', argv: ['cat', '/etc/os-release'] },
  { file: 'host/nftables.txt', argv: ['nft', '-a', 'list', 'ruleset'] },
  ip('links', '-details', '-statistics', 'link', 'show'),
  ip('addresses', 'address', 'show'),
  ip('neighbours', 'neighbour', 'show'),
  ...['4', '6'].flatMap((family) => [
    ip(`rules-v${family}`, `-${family}`, 'rule', 'show'),
    ip(`routes-v${family}`, `-${family}`, 'route', 'show', 'table', 'all'),
  ]),
  { file: 'host/memory.txt', argv: ['cat', '/proc/meminfo'] },
  { file: 'host/disks.txt', argv: ['df', '-h'] },
  {
    file: 'host/processes.txt',
    argv: ['ps', '-eo', 'pid,ppid,etime,time,rss,comm'],
    isOptional: true,
  },
  { file: 'host/sockets.txt', argv: ['ss', '-lntup'], isOptional: true },
  { file: 'host/conntrack.txt', argv: ['conntrack', '-S'], isOptional: true },
];

/** The end of a log; `path` is a file that was found. */
export const endOfLog = (folder: string, path: string): Wanted => ({
  file: `logs/${folder}/${path.slice(path.lastIndexOf('/') + 1)}`,
  argv: ['tail', '--bytes', String(END_OF_LOG), '--', path],
});
