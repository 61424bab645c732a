/** A network namespace of its own, with the `ip` of the lab's root file system: what a driver does there is the kernel's real answer. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { bound } from '../run/left-behind.ts';
import { ovsProgram } from './ovs-programs.ts';
import { until } from '../run/until.ts';
import type { Sysctls } from '../../../src/node/linux/kernel-sysctls.ts';

/** Why there is no namespace here, for the reason of a skipped test. */
export const whyNoNamespace: string | undefined =
  process.platform !== 'linux'
    ? 'network namespaces need Linux'
    : process.getuid?.() !== 0
      ? 'network namespaces need root: run the tests as root'
      : undefined;

const namespaceOf = (pid: number | 'self'): string => {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return namespaceOf('self');
  }
};

const commandLine = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // it has ended
  }
};

export class NetworkNamespace implements Disposable {
  /** What runs a program inside. */
  readonly inside: readonly string[];
  /** `ip` inside. */
  readonly program: readonly string[];
  /** Of the namespace, as files are opened. */
  readonly path: string;
  readonly #holder: ReturnType<typeof spawn>;

  private constructor(holder: ReturnType<typeof spawn>) {
    this.#holder = holder;
    this.path = `/proc/${holder.pid}/ns/net`;
    this.inside = ['nsenter', `--net=${this.path}`];
    const ip = ovsProgram('ip');
    this.program = [...this.inside, ip.command, ...ip.args];
  }

  static async create(): Promise<NetworkNamespace> {
    const holder = spawn(...bound('unshare', ['--net', 'sleep', 'infinity']), { stdio: 'ignore' });
    await until('a network namespace', () => namespaceOf(holder.pid ?? 0) !== namespaceOf('self'));
    const namespace = new NetworkNamespace(holder);
    // Devices get no IPv6 addresses by themselves, which come when they come.
    namespace.sysctls.write('net/ipv6/conf/default/addr_gen_mode', '1');
    namespace.ip('link set dev lo up');
    return namespace;
  }

  /** Runs `ip` with words; gives what it printed. Throws when it fails. */
  ip(words: string): string {
    const [command = '', ...args] = this.program;
    return execFileSync(command, [...args, ...words.split(' ')], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** Runs a program of the lab's root file system. Throws when it fails. */
  run([name = '', ...words]: readonly string[]): void {
    const { command, args } = ovsProgram(name);
    const [nsenter = '', ...inside] = this.inside;
    execFileSync(nsenter, [...inside, command, ...args, ...words], { stdio: 'pipe' });
  }

  /** True if the kernel of this machine has VRFs. */
  get hasVrf(): boolean {
    try {
      this.ip('link add name probe type vrf table 9');
    } catch {
      return false;
    }
    this.ip('link delete dev probe');
    return true;
  }

  /** Everything that there is, as text, but for counters and addresses that the kernel makes by itself. */
  picture(): string {
    return (
      [
        'address show',
        'route show table all',
        '-6 route show table all',
        'rule show',
        '-6 rule show',
        'neighbour show nud permanent',
      ]
        .flatMap((what) => this.ip(`-details -Numeric ${what}`).split('\n'))
        // The kernel's, of each device with an IPv6 address.
        .filter((line) => !line.includes('ff00::/8'))
        .map((line) =>
          line
            .replace(/ (gc_timer|hello_timer|tcn_timer|topology_change_timer) +[\d.]+/g, '')
            // Whether something is behind a device is seen sooner or later.
            .replace(/NO-CARRIER,|,LOWER_UP| state (UP|DOWN|UNKNOWN)| linkdown| noop| noqueue/g, '')
            .trimEnd(),
        )
        .join('\n')
    );
  }

  readonly sysctls: Sysctls = {
    read: (path) => {
      const found = this.#run('cat', `/proc/sys/${path}`);
      return found.status === 0 ? found.stdout.trim() : undefined;
    },
    write: (path, value) => {
      const done = this.#run('sh', '-c', `echo ${value} > /proc/sys/${path}`);
      return done.status === 0 ? undefined : done.stderr;
    },
  };

  /** Command lines of the processes inside, by process id. */
  processes(): ReadonlyMap<number, string> {
    const own = namespaceOf(this.#holder.pid ?? 0);
    const pids = readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0 && namespaceOf(pid) === own);
    return new Map(pids.map((pid) => [pid, commandLine(pid)]));
  }

  #run(...command: string[]): { status: number | null; stdout: string; stderr: string } {
    const [nsenter = '', ...args] = [...this.inside, ...command];
    return spawnSync(nsenter, args, { encoding: 'utf8' });
  }

  [Symbol.dispose](): void {
    this.#holder.kill('SIGKILL');
  }
}
