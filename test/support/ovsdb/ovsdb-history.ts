import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  datumToJson,
  OvsdbClient,
  stringify,
  type JsonValue,
  type MonitorMethod,
  type Operation,
  type Outcome,
} from 'ovsdb-client-ts';
import { parseDatum } from 'ovsdb-client-ts/values';
import { OvsdbServer, temporaryFolder } from './ovsdb-server.ts';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** A real server with a small schema, and a client that carries out a history on it. `await using` it. */
export class History implements AsyncDisposable {
  readonly server: OvsdbServer;
  readonly client: OvsdbClient;
  readonly #folder: Disposable;
  readonly #names = new Map<string, string>();

  private constructor(server: OvsdbServer, client: OvsdbClient, folder: Disposable) {
    this.server = server;
    this.client = client;
    this.#folder = folder;
  }

  static async start(name: string, tables: JsonValue, method: MonitorMethod): Promise<History> {
    const folder = temporaryFolder();
    const schema = join(folder.path, 'schema');
    writeFileSync(schema, stringify({ name, version: '1.0.0', tables }));
    const server = await OvsdbServer.start({ schema });
    // What a server before 2.6 knows.
    if (method === 'monitor') await server.control('ovsdb-server/disable-monitor-cond');
    let used: string | undefined;
    const client = new OvsdbClient({
      remotes: server.remote,
      database: name,
      onEvent: (event) => {
        if (event.kind === 'loaded') used = event.method;
      },
    }).start();
    await client.ready(AbortSignal.timeout(15_000));
    if (used !== method) throw new Error(`the client follows the database by ${used}`);
    return new History(server, client, folder);
  }

  /** UUIDs as `<0>`, `<1>` … in the order in which they were seen, `<nil>` for the one of zeros. */
  #named(value: unknown): unknown {
    const text = stringify(value as JsonValue).replace(UUID, (uuid) => {
      if (/^[0-]*$/.test(uuid)) return '<nil>';
      const name = this.#names.get(uuid) ?? `<${this.#names.size}>`;
      this.#names.set(uuid, name);
      return name;
    });
    return JSON.parse(text) as unknown;
  }

  /** The UUID that is called so. */
  uuid(name: string): string {
    for (const [uuid, known] of this.#names) if (known === name) return uuid;
    throw new Error(`no UUID is called ${name}`);
  }

  /**
   * What came of a transaction: its results, or `error: details` and the position of the guilty operation. Throws when the
   * replica then differs from what the server says that it has.
   */
  async run(...operations: readonly Operation[]): Promise<unknown> {
    const outcome = await this.client.transact(operations);
    await this.#compare();
    return this.#named(summary(outcome));
  }

  async #compare(): Promise<void> {
    const { replica } = this.client;
    for (const table of replica.schema.tables.values()) {
      const columns = ['_uuid', ...table.columns.keys()];
      const found = await this.client.transact([
        { op: 'select', table: table.name, where: [], columns },
      ]);
      const theirs = found.kind === 'success' ? (found.results[0]?.rows ?? []) : [];
      const ours = [...replica.rows(table.name)].map((row) => ({
        _uuid: ['uuid', row.uuid],
        ...Object.fromEntries(
          [...table.columns.values()].map(({ name, type }) => [
            name,
            datumToJson(type, row.column(name)),
          ]),
        ),
      }));
      const canonical = (rows: readonly { readonly [column: string]: JsonValue }[]): string[] =>
        rows
          .map((row) =>
            [...table.columns.values()]
              .map(({ name, type }) =>
                stringify(datumToJson(type, parseDatum(type, row[name] ?? null))),
              )
              .concat(stringify(row['_uuid'] ?? null))
              .join(),
          )
          .toSorted();
      const [expected, actual] = [canonical(theirs), canonical(ours)];
      if (expected.join('\n') !== actual.join('\n')) {
        throw new Error(
          `the replica of ${table.name} has\n${actual.join('\n')}\nbut the server\n${expected.join('\n')}`,
        );
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.close();
    await this.server[Symbol.asyncDispose]();
    this.#folder[Symbol.dispose]();
  }
}

function summary(outcome: Outcome): unknown {
  switch (outcome.kind) {
    case 'success':
      return outcome.results;
    case 'error':
      return {
        at: outcome.operation ?? 'commit',
        error: `${outcome.error}: ${outcome.details}`,
      };
    case 'try-again':
      return { at: outcome.operation ?? 'commit', tryAgain: outcome.reason };
    default:
      return outcome;
  }
}
