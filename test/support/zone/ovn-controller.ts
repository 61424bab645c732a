/** A real ovn-controller on a real ovs-vswitchd, beside an OvnZone: what becomes of our rows in flows. No packet leaves it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { resolveConfiguration } from '../../../src/settings/configuration.ts';
import { chassisSettings } from '../../../src/node/chassis/settings.ts';
import { bound } from '../run/left-behind.ts';
import { warningsOf, type OvnZone } from './ovn-zone.ts';
import { logRecomputes, recomputes } from './recomputes.ts';
import { ovsProgram } from '../host/ovs-programs.ts';
import { Vswitchd } from '../host/vswitchd.ts';

export interface ControlledNode {
  readonly chassis: string;
  readonly address: string;
  /** Physical networks, each with a bridge. */
  readonly mappings: Readonly<Record<string, string>>;
  /** Logical ports that have an interface here, each with the UID of its pod: without it ovn-controller leaves the port alone. */
  readonly ports: Readonly<Record<string, string>>;
}

export class OvnController implements AsyncDisposable {
  readonly #vswitchd: Vswitchd;
  readonly #process: ChildProcess;
  readonly #log: string;
  readonly #control: string;

  private constructor(vswitchd: Vswitchd) {
    this.#vswitchd = vswitchd;
    const { folder, remote } = vswitchd.database;
    this.#log = join(folder, 'ovn-controller.log');
    this.#control = join(folder, 'ovn-controller.ctl');
    const program = ovsProgram('ovn-controller');
    const words = [
      remote,
      `--unixctl=${this.#control}`,
      `--log-file=${this.#log}`,
      '--verbose=off',
      '--verbose=file:info',
    ];
    this.#process = spawn(...bound(program.command, [...program.args, ...words]), {
      stdio: 'ignore',
      cwd: folder,
      // Where the sockets of bridges are.
      env: { ...process.env, OVS_RUNDIR: folder, OVN_RUNDIR: folder },
    });
  }

  static async start(zone: OvnZone, node: ControlledNode): Promise<OvnController> {
    const vswitchd = await Vswitchd.start();
    const mappings = Object.entries(node.mappings);
    const bridges = new Set(['br-int', ...mappings.map(([, bridge]) => bridge)]);
    const { chassis } = resolveConfiguration({
      flags: { sb: zone.southbound.remote },
      environment: {},
    });
    // As heddle node sets it.
    const settings = chassisSettings(chassis, {
      node: node.chassis,
      encapIps: [node.address],
      flows: 'none',
    });
    const ids = {
      'system-id': node.chassis,
      'ovn-bridge-mappings': mappings.map((pair) => pair.join(':')).join(','),
      ...Object.fromEntries(
        settings.flatMap(({ key, value }) => (value === undefined ? [] : [[key, value]])),
      ),
    };
    await vswitchd.vsctl(
      'set',
      'Open_vSwitch',
      '.',
      ...Object.entries(ids).map(([key, value]) => `external_ids:${key}="${value}"`),
      ...[...bridges].flatMap((bridge) => ['--', 'add-br', bridge]),
      '--',
      'set-fail-mode',
      'br-int',
      'secure',
      ...Object.entries(node.ports).flatMap(([port, podUid], number) => [
        '--',
        'add-port',
        'br-int',
        `pod${number}`,
        '--',
        'set',
        'Interface',
        `pod${number}`,
        'type=dummy',
        `external_ids:iface-id="${port}"`,
        `external_ids:iface-id-ver="${podUid}"`,
      ]),
    );
    return new OvnController(vswitchd);
  }

  /** From now on the log says why something is worked out from nothing. */
  logRecomputes(): Promise<void> {
    return logRecomputes(this.#control);
  }

  get log(): string {
    return readFileSync(this.#log, 'utf8');
  }

  /** Warnings and errors that it wrote, without time. */
  warnings(): string[] {
    return warningsOf(this.log);
  }

  /** Full computations so far, by node of its engine. */
  recomputes(): Promise<ReadonlyMap<string, number>> {
    return recomputes(this.#control);
  }

  /** Flows of the integration bridge. */
  flows(): Promise<readonly string[]> {
    return this.#vswitchd.flows('br-int');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const ended = once(this.#process, 'exit');
      this.#process.kill('SIGKILL');
      await ended;
    }
    await this.#vswitchd[Symbol.asyncDispose]();
  }
}
