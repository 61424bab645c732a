/** A real ovs-vswitchd with its database and a datapath of its own, for flows: no kernel module, no root, no packet leaves it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OfctlProgram } from '../../../src/node/openflow/ofctl-program.ts';
import { bound } from '../run/left-behind.ts';
import { ovsProgram } from './ovs-programs.ts';
import { OvsdbServer, runOvs, SCHEMAS } from '../ovsdb/ovsdb-server.ts';
import { until } from '../run/until.ts';

export class Vswitchd implements AsyncDisposable {
  readonly database: OvsdbServer;
  readonly ofctl: OfctlProgram;
  readonly #inside: readonly string[] | undefined;
  #process: ChildProcess | undefined;

  private constructor(database: OvsdbServer, inside: readonly string[] | undefined) {
    this.database = database;
    this.#inside = inside;
    const { command, args } = ovsProgram('ovs-ofctl');
    this.ofctl = new OfctlProgram({ program: [command, ...args], folder: database.folder });
  }

  /** `inside`: what runs a program in a network namespace, whose devices are ports then, in the userspace datapath. */
  static async start({ inside }: { inside?: readonly string[] } = {}): Promise<Vswitchd> {
    const database = await OvsdbServer.start({ schema: join(SCHEMAS, 'vswitch.ovsschema') });
    const vswitchd = new Vswitchd(database, inside);
    await vswitchd.vsctl('init');
    await vswitchd.launch();
    return vswitchd;
  }

  /** Starts the process (again); bridges are there when it listens. */
  async launch(): Promise<void> {
    const { folder, remote } = this.database;
    const program = ovsProgram('ovs-vswitchd');
    const devices = this.#inside === undefined ? ['--enable-dummy=override'] : [];
    const words = [remote, ...devices, '--disable-system', '--no-chdir'];
    const [command = '', ...before] = [...(this.#inside ?? []), program.command, ...program.args];
    rmSync(this.#pidFile, { force: true });
    const log = [
      '--verbose=off',
      '--verbose=file:info',
      `--log-file=${join(folder, 'vswitchd.log')}`,
    ];
    const child = spawn(...bound(command, [...before, ...words, '--pidfile', ...log]), {
      stdio: 'ignore',
      cwd: folder,
      env: {
        ...process.env,
        OVS_RUNDIR: folder,
        OVS_LOGDIR: folder,
        OVS_DBDIR: folder,
        OVS_SYSCONFDIR: folder,
      },
    });
    this.#process = child;
    await until('ovs-vswitchd to listen', () => {
      if (child.exitCode !== null) throw new Error(`ovs-vswitchd ended with ${child.exitCode}`);
      return existsSync(this.#pidFile) && existsSync(this.#control);
    });
  }

  /** Ends the process at once; its flows are gone. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** `isWaiting`: until ovs-vswitchd has done it. */
  vsctl(...words: string[]): Promise<string> {
    const wait = this.#process === undefined ? ['--no-wait'] : [];
    return runOvs('ovs-vsctl', [`--db=${this.database.remote}`, ...wait, '--timeout=60', ...words]);
  }

  /** Flows as `ovs-ofctl` prints them. */
  flows(bridge: string): Promise<readonly string[]> {
    return this.ofctl.flows(bridge);
  }

  ofctlOn(bridge: string, command: string, ...words: string[]): Promise<string> {
    const target = this.ofctl.target(bridge);
    return runOvs('ovs-ofctl', ['-O', 'OpenFlow13', command, target, ...words]);
  }

  /** What becomes of a packet, in the words of `ofproto/trace`. */
  trace(bridge: string, packet: string, ...options: string[]): Promise<string> {
    return this.appctl('ofproto/trace', bridge, packet, ...options);
  }

  /** A command of `ovs-appctl`. */
  appctl(...words: string[]): Promise<string> {
    return runOvs('ovs-appctl', ['-t', this.#control, ...words]);
  }

  get #pidFile(): string {
    return join(this.database.folder, 'ovs-vswitchd.pid');
  }

  get #control(): string {
    const pid = readFileSync(this.#pidFile, 'utf8').trim();
    return join(this.database.folder, `ovs-vswitchd.${pid}.ctl`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.database[Symbol.asyncDispose]();
  }
}

/** `add-br` with an uplink of number 1 and patch ports of these names, numbered from 2 on. */
export function bridgeWords(bridge: string, mac: string, patchPorts: readonly string[]): string[] {
  const words = [
    '--may-exist',
    'add-br',
    'br-int',
    '--',
    'set',
    'Bridge',
    'br-int',
    'fail_mode=secure',
  ];
  words.push('--', 'add-br', bridge, '--', 'set', 'Bridge', bridge, `other_config:hwaddr="${mac}"`);
  words.push(
    '--',
    'add-port',
    bridge,
    'eth0',
    '--',
    'set',
    'Interface',
    'eth0',
    'type=dummy',
    'ofport_request=1',
  );
  for (const [index, name] of patchPorts.entries())
    words.push(...patchWords(bridge, name, index + 2));
  return words;
}

/** A patch port and its end on the integration bridge, as ovn-controller makes them. */
export function patchWords(bridge: string, name: string, number: number): string[] {
  const peer = `peer-of-${name}`;
  const pair = (on: string, port: string, other: string): string[] => [
    '--',
    'add-port',
    on,
    port,
    '--',
    'set',
    'Interface',
    port,
    'type=patch',
    `options:peer=${other}`,
  ];
  return [...pair(bridge, name, peer), `ofport_request=${number}`, ...pair('br-int', peer, name)];
}
