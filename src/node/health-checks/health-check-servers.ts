/** Answers load balancers that ask on which nodes a service has endpoints: an HTTP server for each port that units want. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isSame } from '../../facts/same.ts';
import { HEALTH_CHECKS, type HealthCheckColumns, type HealthCheckRow } from './health-checks.ts';
import type { Contest } from '../reconcile/claims.ts';
import { HostDriver, type HostEvents, type Written } from '../reconcile/host-driver.ts';
import {
  markOf,
  wantedBy,
  wantedByNobody,
  type Difference,
  type PlannedChange,
} from '../reconcile/host-plan.ts';
import type { Refused } from '../reconcile/refusals.ts';

/** Milliseconds in which a request must have come as a whole. */
const REQUEST_TIMEOUT = 5000;
/** Bytes of its headers. */
const LONGEST_HEADER = 8192;
/** Connections at once, of one port. */
const MOST_CONNECTIONS = 64;

interface OpenPort {
  readonly server: Server;
  /** For whom it answers, and what, now. */
  row: HealthCheckRow;
}

interface HealthCheckChange extends PlannedChange {
  /** Of a port that is to be open. */
  readonly row?: HealthCheckRow;
}

export class HealthCheckServers extends HostDriver<HealthCheckRow, HealthCheckChange> {
  readonly database = HEALTH_CHECKS;
  readonly title = HEALTH_CHECKS;
  readonly #onTrouble: HostEvents['onTrouble'];
  readonly #open = new Map<string, OpenPort>();

  constructor({ onTrouble }: HostEvents = {}) {
    super({ resync: Infinity });
    this.#onTrouble = onTrouble;
  }

  /** What is open is the driver's own, and nobody else changes it. */
  protected staleAll(): void {}
  protected async read(): Promise<void> {}
  protected readonly foundVersion = undefined;

  protected compare(): Difference<HealthCheckChange> {
    const gone = new Set(this.#open.keys());
    const changes = [...this.claims.winners()].flatMap((one): HealthCheckChange[] => {
      const { row } = one;
      const before = this.#open.get(row.key)?.row;
      gone.delete(row.key);
      if (before !== undefined && isSame(before, row)) return [];
      const texts = { before: before && textOf(before), after: textOf(row) };
      const action = before === undefined ? 'add' : 'change';
      return [{ ...wantedBy(one), ...texts, action, row }];
    });
    for (const [key, { row }] of this.#open)
      if (gone.has(key)) {
        const { table } = row;
        changes.push({ ...wantedByNobody(markOf(row.object)), table, key, before: textOf(row) });
      }
    return { changes, problems: [] };
  }

  protected async write(
    changes: readonly HealthCheckChange[],
  ): Promise<Written<HealthCheckChange>> {
    const refused: Refused<HealthCheckChange>[] = [];
    await Promise.all(
      changes.map(async (change) => {
        const { key, row } = change;
        const open = this.#open.get(key);
        if (row === undefined) {
          this.#open.delete(key);
          if (open !== undefined) close(open.server);
        } else if (open !== undefined) open.row = row;
        else {
          const reason = await this.#listen(key, row);
          if (reason !== undefined) refused.push({ change, reason });
        }
      }),
    );
    return { applied: changes.length - refused.length, refused };
  }

  protected override refusedText([{ change, reason }]: readonly [
    Refused<HealthCheckChange>,
  ]): string {
    return `healthCheckNodePort ${change.key} can't be opened on this node (${reason}): load balancers take the node for one without endpoints; end what has the port, or give the service another one`;
  }

  protected contestText({ row, winner }: Contest<HealthCheckRow>): string {
    return `healthCheckNodePort ${row.key} is that of ${winner.object}; change one of them`;
  }

  /** Closes all. */
  [Symbol.dispose](): void {
    for (const { server } of this.#open.values()) close(server);
    this.#open.clear();
  }

  /** Returns why the port can't be had, if so. */
  async #listen(port: string, row: HealthCheckRow): Promise<string | undefined> {
    const opened: OpenPort = {
      server: createServer(
        {
          requestTimeout: REQUEST_TIMEOUT,
          headersTimeout: REQUEST_TIMEOUT,
          connectionsCheckingInterval: REQUEST_TIMEOUT,
          maxHeaderSize: LONGEST_HEADER,
        },
        (request, response) => respond(request, response, opened.row.columns),
      ),
      row,
    };
    const { server } = opened;
    server.maxConnections = MOST_CONNECTIONS;
    const reason = await new Promise<string | undefined>((resolve) => {
      server.once('error', (error) => resolve(error.message));
      server.listen(Number(port), () => resolve(undefined));
    });
    if (reason !== undefined) return reason;
    // Of a single connection that can't be taken: the port stays open.
    server.on('error', (error) =>
      this.#onTrouble?.(`healthCheckNodePort ${port}: ${error.message}`),
    );
    server.unref();
    this.#open.set(port, opened);
    return undefined;
  }
}

const textOf = ({ columns: { namespace, name, localEndpoints } }: HealthCheckRow): string =>
  `${namespace}/${name}, ${localEndpoints} endpoints here`;

/** Whatever is asked for: as kube-proxy does, whose answer load balancers know. */
function respond(
  request: IncomingMessage,
  response: ServerResponse,
  { namespace, name, localEndpoints }: HealthCheckColumns,
): void {
  request.resume();
  response
    .writeHead(localEndpoints > 0 ? 200 : 503, {
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
      'x-load-balancing-endpoint-weight': String(localEndpoints),
      connection: 'close',
    })
    .end(`${JSON.stringify({ service: { namespace, name }, localEndpoints })}\n`);
}

function close(server: Server): void {
  server.close();
  server.closeAllConnections();
}
