import { join } from 'node:path';
import { NORTHBOUND_SCHEMA, OvsdbServer, runOvs, temporaryFolder } from './ovsdb-server.ts';
import { until } from '../run/until.ts';
import { freePort } from '../run/free-port.ts';

/** Three ovsdb-servers that form one RAFT cluster. `await using` it. */
export class OvsdbCluster implements AsyncDisposable {
  readonly servers: readonly OvsdbServer[];
  readonly #database: string;
  readonly #folder: Disposable;

  private constructor(servers: readonly OvsdbServer[], database: string, folder: Disposable) {
    this.servers = servers;
    this.#database = database;
    this.#folder = folder;
  }

  static async start(
    schema = NORTHBOUND_SCHEMA,
    database = 'OVN_Northbound',
    size = 3,
  ): Promise<OvsdbCluster> {
    const folder = temporaryFolder();
    const addresses: string[] = [];
    for (let n = 0; n < size; n++) addresses.push(`tcp:127.0.0.1:${await freePort()}`);
    const [first = ''] = addresses;
    const servers: OvsdbServer[] = [];
    for (const [n, address] of addresses.entries()) {
      const file = join(folder.path, `member${n}.db`);
      await (n === 0
        ? runOvs('ovsdb-tool', ['create-cluster', file, schema, address])
        : runOvs('ovsdb-tool', ['join-cluster', file, database, address, first]));
      servers.push(
        await OvsdbServer.start({ folder: folder.path, name: `member${n}`, databases: [file] }),
      );
    }
    const cluster = new OvsdbCluster(servers, database, folder);
    await until(
      'the cluster to have a leader and all members',
      async () => {
        const states = await Promise.all(servers.map((server) => cluster.state(server)));
        return (
          states.filter((state) => state.includes('Role: leader')).length === 1 &&
          states.every((state) => state.includes('Status: cluster member'))
        );
      },
      40_000,
    );
    return cluster;
  }

  /** Remotes of all members. */
  get remotes(): string {
    return this.servers.map((server) => server.remote).join(',');
  }

  /** What `cluster/status` of a member says; empty when it does not answer. */
  async state(server: OvsdbServer): Promise<string> {
    try {
      return await server.control('cluster/status', this.#database);
    } catch {
      return '';
    }
  }

  /** The member that leads now. */
  async leader(): Promise<OvsdbServer> {
    let leader: OvsdbServer | undefined;
    await until(
      'a leader',
      async () => {
        for (const server of this.servers) {
          if ((await this.state(server)).includes('Role: leader')) leader = server;
        }
        return leader !== undefined;
      },
      30_000,
    );
    return leader as OvsdbServer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop('SIGKILL')));
    this.#folder[Symbol.dispose]();
  }
}
