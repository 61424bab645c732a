/** The databases of a node (zones.ts) and ovn-northd as they really run: what northd makes of our rows. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { northboundTables, southboundTables } from '../../../src/zone/monitored-columns.ts';
import type { Database } from '../../../src/zone/database-target.ts';
import type { Plan } from '../../../src/desired/ovsdb/changes.ts';
import { commitPlan } from '../../../src/desired/ovsdb/commit.ts';
import { OvsdbClient } from 'ovsdb-client-ts';
import { bound } from '../run/left-behind.ts';
import { ovsProgram } from '../host/ovs-programs.ts';
import { OvsdbServer, runOvs, SCHEMAS } from '../ovsdb/ovsdb-server.ts';
import { logRecomputes, recomputes } from './recomputes.ts';
import { ZoneEngine } from './zone-engine.ts';
import { CHASSIS_1, type Zone } from './zones.ts';

const soon = (): AbortSignal => AbortSignal.timeout(30_000);

/** Of a log of OVN, without time. */
export const warningsOf = (log: string): string[] =>
  log
    .split('\n')
    .filter((line) => /\|(WARN|ERR|EMER)\|/.test(line))
    .map((line) => line.replace(/^.*\|(WARN|ERR|EMER)\|/, ''));

export class OvnZone implements AsyncDisposable {
  readonly northbound: OvsdbServer;
  readonly southbound: OvsdbServer;
  readonly #clients: Readonly<Record<Database, OvsdbClient>>;
  readonly #northd: ChildProcess;
  #engine: ZoneEngine | undefined;
  readonly #log: string;
  readonly #control: string;

  private constructor(northbound: OvsdbServer, southbound: OvsdbServer) {
    this.northbound = northbound;
    this.southbound = southbound;
    this.#clients = {
      Northbound: new OvsdbClient({
        remotes: northbound.remote,
        database: 'OVN_Northbound',
        tables: northboundTables,
      }).start(),
      Southbound: new OvsdbClient({
        remotes: southbound.remote,
        database: 'OVN_Southbound',
        tables: southboundTables,
      }).start(),
    };
    this.#log = join(northbound.folder, 'northd.log');
    this.#control = join(northbound.folder, 'northd.ctl');
    const program = ovsProgram('ovn-northd');
    this.#northd = spawn(
      ...bound(program.command, [
        ...program.args,
        `--ovnnb-db=${northbound.remote}`,
        `--ovnsb-db=${southbound.remote}`,
        `--unixctl=${this.#control}`,
        `--log-file=${this.#log}`,
        '--verbose=off',
        '--verbose=file:info',
      ]),
      { stdio: 'ignore', cwd: northbound.folder },
    );
  }

  /** For the node with that chassis and tunnel address; ovn-worker unless something else is said. */
  static async start(chassis = CHASSIS_1, address = '172.18.0.3'): Promise<OvnZone> {
    const northbound = await OvsdbServer.start({ name: 'northbound' });
    const southbound = await OvsdbServer.start({
      name: 'southbound',
      schema: join(SCHEMAS, 'ovn-sb.ovsschema'),
    });
    const zone = new OvnZone(northbound, southbound);
    for (const client of Object.values(zone.#clients)) await client.ready(soon());
    // ovn-controller's part: this node's own chassis.
    await zone.sbctl('chassis-add', chassis, 'geneve', address);
    return zone;
  }

  planOf(zone: Zone, database: Database): Plan {
    const replicas = Object.values(this.#clients).map((client) => client.replica);
    this.#engine ??= new ZoneEngine(zone, replicas);
    return this.#engine.plan(zone, this.#clients[database].replica);
  }

  /** Commits what a zone wants, chassis first, and waits until northd has made flows of it. Returns what was refused. */
  async apply(zone: Zone): Promise<string[]> {
    const messages: string[] = [];
    for (const database of ['Southbound', 'Northbound'] as const) {
      const { refused, kind, reason } = await commitPlan(
        this.#clients[database],
        this.planOf(zone, database),
      );
      messages.push(...refused.map(({ message }) => message));
      if (kind !== 'success' && kind !== 'unchanged') messages.push(reason ?? kind);
    }
    await this.nbctl('--wait=sb', 'sync');
    return messages;
  }

  nbctl(...command: readonly string[]): Promise<string> {
    return runOvs('ovn-nbctl', [`--db=${this.northbound.remote}`, '--timeout=60', ...command]);
  }

  sbctl(...command: readonly string[]): Promise<string> {
    return runOvs('ovn-sbctl', [`--db=${this.southbound.remote}`, '--timeout=60', ...command]);
  }

  /**
   * What the logical network does with a packet that enters a switch: ports and changes, in order. It is of an established connection
   * unless `options` say otherwise (`--ct=new`, once for each look at connection tracking).
   */
  async trace(logicalSwitch: string, packet: string, ...options: string[]): Promise<string[]> {
    const text = await this.traceText(logicalSwitch, packet, '--minimal', ...options);
    return text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => /^(output|eth\.dst|ct_snat)/.test(line));
  }

  /** The same in full: every step of the way. */
  traceText(logicalSwitch: string, packet: string, ...options: string[]): Promise<string> {
    const remote = `--db=${this.southbound.remote}`;
    return runOvs('ovn-trace', [remote, ...options, logicalSwitch, packet]);
  }

  /** Full computations of northd so far, by node of its engine. */
  recomputes(): Promise<ReadonlyMap<string, number>> {
    return recomputes(this.#control);
  }

  /** From now on the log says why something is worked out from nothing. */
  logRecomputes(): Promise<void> {
    return logRecomputes(this.#control);
  }

  get log(): string {
    return readFileSync(this.#log, 'utf8');
  }

  /** Warnings and errors that northd wrote, without time. */
  warnings(): string[] {
    return warningsOf(this.log);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of Object.values(this.#clients)) await client[Symbol.asyncDispose]();
    if (this.#northd.exitCode === null) {
      const ended = once(this.#northd, 'exit');
      this.#northd.kill('SIGKILL');
      await ended;
    }
    await this.southbound[Symbol.asyncDispose]();
    await this.northbound[Symbol.asyncDispose]();
  }
}
