/** Answers load balancers that ask on which nodes a service has endpoints: an HTTP server for each port that units want. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { RowOwner, RowTarget } from '../../desired/engine.ts';
import type { DesiredRow } from '../../desired/rows.ts';
import { HEALTH_CHECKS, type HealthCheckColumns, type HealthCheckRow } from './health-checks.ts';
import { Claims, type Wanted } from '../reconcile/claims.ts';
import type { HostProblem } from '../reconcile/host-plan.ts';

/** A port that can't be had is left at that for this long. */
const REFUSED_REST = 30_000;
/** Milliseconds in which a request must have come as a whole. */
const REQUEST_TIMEOUT = 5000;
/** Bytes of its headers. */
const LONGEST_HEADER = 8192;
/** Connections at once, of one port. */
const MOST_CONNECTIONS = 64;

interface OpenPort {
  readonly server: Server;
  /** What it answers now. */
  answer: HealthCheckColumns;
}

interface Refusal {
  readonly until: number;
  readonly reason: string;
}

export interface HealthCheckServersOptions {
  /** Called with what went wrong, in words. */
  readonly onTrouble?: (text: string) => void;
}

export class HealthCheckServers implements RowTarget, Disposable {
  readonly database = HEALTH_CHECKS;
  readonly #options: HealthCheckServersOptions;
  readonly claims = new Claims<HealthCheckRow>();
  readonly #open = new Map<string, OpenPort>();
  readonly #refused = new Map<string, Refusal>();

  constructor(options: HealthCheckServersOptions = {}) {
    this.#options = options;
  }

  set(owner: RowOwner, wanted: readonly DesiredRow[]): void {
    this.claims.set(owner, wanted);
  }

  has(owner: RowOwner): boolean {
    return this.claims.has(owner);
  }

  /** Opens and closes ports, and answers what is wanted from then on. `now` in milliseconds of a monotonic clock. */
  async flush(now: number): Promise<void> {
    const wanted = new Map([...this.claims.winners()].map((one) => [one.row.key, one]));
    for (const [port, { server }] of this.#open)
      if (!wanted.has(port)) {
        this.#open.delete(port);
        close(server);
      }
    for (const port of this.#refused.keys()) if (!wanted.has(port)) this.#refused.delete(port);
    await Promise.all([...wanted.values()].map((one) => this.#answer(one, now)));
  }

  problems(): readonly HostProblem[] {
    const found: HostProblem[] = [];
    for (const { row, unit, winner } of this.claims.contests())
      found.push({
        ...whatOf(row, unit),
        kind: 'name-taken',
        message: `healthCheckNodePort ${row.key} is that of ${winner.object}; change one of them`,
      });
    for (const { row, owner } of this.claims.winners()) {
      const reason = this.#refused.get(row.key)?.reason;
      if (reason !== undefined)
        found.push({
          ...whatOf(row, owner.id),
          kind: 'refused',
          message: `healthCheckNodePort ${row.key} can't be opened on this node (${reason}): load balancers take the node for one without endpoints; end what has the port, or give the service another one`,
        });
    }
    return found;
  }

  /** Closes all. */
  [Symbol.dispose](): void {
    for (const { server } of this.#open.values()) close(server);
    this.#open.clear();
  }

  async #answer({ row }: Wanted<HealthCheckRow>, now: number): Promise<void> {
    const answer = row.columns;
    const open = this.#open.get(row.key);
    if (open !== undefined) {
      open.answer = answer;
      return;
    }
    if ((this.#refused.get(row.key)?.until ?? 0) > now) return;
    const reason = await this.#listen(row.key, answer);
    if (reason === undefined) this.#refused.delete(row.key);
    else this.#refused.set(row.key, { until: now + REFUSED_REST, reason });
  }

  /** Returns why the port can't be had, if so. */
  async #listen(port: string, answer: HealthCheckColumns): Promise<string | undefined> {
    const opened: OpenPort = {
      server: createServer(
        {
          requestTimeout: REQUEST_TIMEOUT,
          headersTimeout: REQUEST_TIMEOUT,
          connectionsCheckingInterval: REQUEST_TIMEOUT,
          maxHeaderSize: LONGEST_HEADER,
        },
        (request, response) => respond(request, response, opened.answer),
      ),
      answer,
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
      this.#options.onTrouble?.(`healthCheckNodePort ${port}: ${error.message}`),
    );
    server.unref();
    this.#open.set(port, opened);
    return undefined;
  }
}

const whatOf = (
  { table, key, object }: DesiredRow,
  unit: string,
): Pick<HostProblem, 'table' | 'key' | 'unit' | 'object'> => ({ table, key, unit, object });

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
