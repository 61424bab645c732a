/** The two tenants of examples/two-tenants on a lab: started, plugged in and looked at. */
import { join } from 'node:path';
import {
  connectivity,
  endpoints,
  unexpected,
  type Endpoint,
} from '../../../src/lab/connectivity.ts';
import { daemonLog, startDaemons } from '../../../src/lab/daemons.ts';
import { networksOf } from '../../../src/lab/demo.ts';
import { outputInside, runInside } from '../../../src/lab/exec.ts';
import { addManifests, awaitDataPlane, readObjects } from '../../../src/lab/objects.ts';
import { checkout, nodeNames } from '../../../src/lab/paths.ts';
import { attachPods } from '../../../src/lab/pods.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

export type Database = 'OVN_Northbound' | 'OVN_Southbound' | 'Open_vSwitch';

const SOCKETS: Readonly<Record<Database, string>> = {
  OVN_Northbound: '/run/ovn/ovnnb_db.sock',
  OVN_Southbound: '/run/ovn/ovnsb_db.sock',
  Open_vSwitch: '/run/openvswitch/db.sock',
};

export interface TenantsOptions {
  /** Folder of their manifests; the two of the examples if left out. */
  readonly folder?: string;
  /** More arguments of `heddle node`. */
  readonly daemonArguments?: readonly string[];
  /** Seconds that a change may take to be in the data plane. */
  readonly seconds?: number;
}

export class Tenants {
  readonly lab: LabRecord;
  /** Folder of the tenants' manifests, which the daemons watch. */
  readonly manifests: string;
  readonly #seconds: number;
  readonly #daemonArguments: readonly string[];

  constructor(lab: LabRecord, options: TenantsOptions = {}) {
    this.lab = lab;
    this.#seconds = options.seconds ?? 60;
    this.#daemonArguments = options.daemonArguments ?? [];
    const folder = options.folder ?? join(checkout, 'examples/two-tenants');
    this.manifests = addManifests(lab.name, folder);
  }

  /** Starts the daemons and plugs the pods in. */
  async start(): Promise<void> {
    await startDaemons(this.lab, this.#daemonArguments);
    await this.settle();
  }

  /** Waits until the data plane has what the manifests say, and makes the lab's pods those. */
  async settle(): Promise<void> {
    const declared = networksOf((await readObjects(this.lab.name)).networks);
    await awaitDataPlane(this.lab, declared, this.#seconds);
    const { pods, nads } = await readObjects(this.lab.name);
    await attachPods(this.lab, pods, nads, { waitSeconds: this.#seconds });
  }

  async endpoints(which: 'primary' | 'default' = 'primary'): Promise<Endpoint[]> {
    const { pods, nads } = await readObjects(this.lab.name);
    return endpoints((await attachPods(this.lab, pods, nads)).attachments, which);
  }

  /** Pairs of pods that are not as they should be, measured with packets. */
  async unexpected(seconds = 8): Promise<string[]> {
    const ends = await this.endpoints();
    const networkOf = new Map(ends.map((end) => [end.pod, end.nadKey]));
    return this.unexpectedBy((from, to) => networkOf.get(from) === networkOf.get(to), seconds);
  }

  /** The same where `expected` says whether a packet from one pod should arrive at the other; only from `senders`, if they are named. */
  async unexpectedBy(
    expected: (from: string, to: string) => boolean,
    seconds = 8,
    senders?: ReadonlySet<string>,
  ): Promise<string[]> {
    const ends = await this.endpoints();
    const from = ends.filter(({ pod }) => senders?.has(pod) !== false);
    return unexpected(await connectivity(this.lab, ends, seconds, from), expected);
  }

  /** All rows of a database of one node, as text, one row a line, in no order. */
  async rows(node: string, database: Database, tables: readonly string[] = []): Promise<string[]> {
    const text = await outputInside(this.lab, [
      'on',
      node,
      'ovsdb-client',
      '--format=csv',
      '--no-headings',
      'dump',
      `unix:${SOCKETS[database]}`,
      database,
      ...tables,
    ]);
    return text.split('\n').filter((line) => line !== '');
  }

  /** What is asked of a node's OVN: all Northbound rows, sorted, without the counters and times of NB_Global. */
  async intent(node: string): Promise<string[]> {
    const tables = await outputInside(this.lab, [
      'on',
      node,
      'ovsdb-client',
      '--no-headings',
      'list-tables',
      `unix:${SOCKETS.OVN_Northbound}`,
      'OVN_Northbound',
    ]);
    const rows: string[] = [];
    for (const table of tables.split('\n').map((line) => line.trim()))
      if (table !== '' && table !== 'NB_Global')
        for (const row of await this.rows(node, 'OVN_Northbound', [table]))
          rows.push(`${table} ${row}`);
    return rows.sort();
  }

  /** How many lines of a daemon's log have this message. */
  async logged(node: string, message: string): Promise<number> {
    const { stdout } = await runInside(this.lab, [
      'grep',
      '-c',
      '-F',
      `"msg":"${message}"`,
      daemonLog(this.lab.name, node),
    ]);
    return Number(stdout);
  }

  /** Words with `part` in them in any database of any node: `n1 OVN_Northbound: blue_l3net_join`. */
  async mentions(part: string): Promise<string[]> {
    const found = new Set<string>();
    for (const node of nodeNames(this.lab.nodes))
      for (const database of ['OVN_Northbound', 'OVN_Southbound', 'Open_vSwitch'] as const)
        for (const row of await this.rows(node, database))
          for (const word of row.split(/[^\w./-]+/))
            if (word.includes(part)) found.add(`${node} ${database}: ${word}`);
    return [...found];
  }
}
