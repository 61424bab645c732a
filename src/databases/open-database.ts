/** The zone's databases: a client each, its lock, and the words for what keeps it from being written. */
import { readFileSync } from 'node:fs';
import { ConfigurationError } from '../process/configuration-error.ts';

import type { Logger } from '../process/logger.ts';
import {
  OvsdbClient,
  OvsdbError,
  type ClientEvent,
  type DatabaseStatus,
  type SelectTables,
  type TlsOptions,
} from 'ovsdb-client-ts';
import type { ZoneDatabase } from './zone-database.ts';
import { WatchedTransactor, type Times } from './watched-transactor.ts';
import { isClosing, otherDatabases, refusedConnection } from './refused-connection.ts';
import { errorText } from '../api/error-text.ts';
import { withoutErrno } from '../api/without-errno.ts';

export interface TlsFiles {
  readonly privateKey?: string;
  readonly certificate?: string;
  readonly caCert?: string;
}

/** Milliseconds in which a server may restart, or another become leader, before its absence is told. */
const LOSS_GRACE = 2000;

/** Lock of the Northbound server that makes one process the zone's writer (RFC 7047 §4.1.8). */
export const ZONE_LOCK = 'heddle_zone';

export interface DatabaseOptions {
  readonly name: 'OVN_Northbound' | 'OVN_Southbound' | 'Open_vSwitch';
  /** `--nb`, `--sb` or `--ovs`, for error messages. */
  readonly flag: string;
  readonly remotes: string;
  readonly tls: TlsFiles;
  /** What is followed of it. */
  readonly tables: SelectTables;
  /** Asked for when given; a client that only reads needs none. */
  readonly lock?: string;
  readonly log: Logger;
  /** Called when the database may have become writable. */
  readonly onAvailable?: () => void;
  /** Called once for a connection that is lost and did not come back within `LOSS_GRACE`. */
  readonly onLost?: () => void;
  /** By which a server is found that stands still. */
  readonly clock?: Times;
}

/** Of a database of the zone. */
export type ZoneDatabaseOptions = DatabaseOptions & {
  readonly name: 'OVN_Northbound' | 'OVN_Southbound';
};

export interface ReadyOptions {
  /** Rejects at once where no remote can be reached before somebody changes a path or a name. A daemon waits for that. */
  readonly isImpatient?: boolean;
}

export interface OpenDatabase extends ZoneDatabase, AsyncDisposable {
  /** True while another process holds the lock that this one asked for. */
  isHeldByOther(): boolean;
  /** Resolves when contents (and lock) are there; rejects with what was waited for, with a ConfigurationError where the flag leads to another database. */
  ready(signal: AbortSignal, how?: ReadyOptions): Promise<void>;
  /** What the server says of the database; undefined while it is not connected, and of a server that says nothing. */
  status(): DatabaseStatus | undefined;
  /** That the server is connected and has not answered a transaction for long, since when and what to do, in words. Absent where nothing is written. */
  silent?(): string | undefined;
}

/** The message has why a server could not be reached, and what was or can be done. */
class UnreachableError extends Error {
  readonly code = 'UNREACHABLE';

  constructor(database: string, why: string, more: string, cause: unknown) {
    super(`${database} can't be reached: ${why}; ${more}`, { cause });
    this.name = 'UnreachableError';
  }
}

/** Of a connection that the next try would not get either: a path that is not there or not ours, a host without a name; or a server of another database. */
const FINAL_CAUSES: ReadonlySet<unknown> = new Set([
  'EACCES',
  'ENOENT',
  'ENOTDIR',
  'ENOTFOUND',
  'EPERM',
]);

const isFinal = (error: OvsdbError): boolean =>
  otherDatabases(error).length > 0 ||
  (error.cause instanceof Error && 'code' in error.cause && FINAL_CAUSES.has(error.cause.code));

/** That a flag leads to the server of another database is its user's mistake; undefined for anything else. */
function misled(
  database: string,
  flag: string,
  remotes: string,
  error: unknown,
): ConfigurationError | undefined {
  const others = error instanceof OvsdbError ? otherDatabases(error) : [];
  return others.length === 0
    ? undefined
    : new ConfigurationError(
        flag,
        `the server at ${remotes} has ${others.join(' and ')}, and no database ${database}, which is needed: give the remote of the server that has it`,
      );
}

/** The cause stays the same from try to try, so that it is one line of the log. */
function notConnected(
  database: string,
  flag: string,
  remotes: string,
  status: string,
  lost: OvsdbError | undefined,
): string {
  const { why, remedy } =
    (lost && refusedConnection(lost, flag, remotes)) ??
    ({
      why: lost && withoutErrno(explain(lost)),
      remedy: 'see whether its ovsdb-server runs, and its log',
    } as const);
  return `${database} is not connected ${
    why === undefined ? `yet (${status})` : `(${why})`
  }: what was programmed goes on, and no change gets there; ${remedy}`;
}

/** Begins to connect. Throws ConfigurationError for a remote or TLS file that can't be used. */
export function openDatabase(options: DatabaseOptions): OpenDatabase {
  const { name, flag, remotes, log, lock: lockName, onAvailable, onLost } = options;
  let isLoaded = false;
  let lost: OvsdbError | undefined;
  let lossTimer: NodeJS.Timeout | undefined;
  const [hopeless, gaveUp] = [new Set<string>(), new AbortController()];
  const client = clientOf(
    options,
    () => {
      isLoaded = true;
      lost = undefined;
      clearTimeout(lossTimer);
      hopeless.clear();
      onAvailable?.();
    },
    (remote, error) => {
      if (lost === undefined && isLoaded) lossTimer = setTimeout(() => onLost?.(), LOSS_GRACE);
      // A server that refuses us closes the connection, too: its reason counts, whichever is seen.
      const isRefused = lost !== undefined && refusedConnection(lost, flag, remotes) !== undefined;
      if (!isRefused || !isClosing(error)) lost = error;
      if (isFinal(error)) hopeless.add(remote);
      else hopeless.delete(remote);
      if (hopeless.size === remotes.split(',').length) gaveUp.abort(error);
    },
  );
  const transactor = new WatchedTransactor(client, options.clock);
  const lock = lockName === undefined ? undefined : client.lock(lockName);
  const unavailable = (): string | undefined => {
    if (client.status !== 'ready')
      return notConnected(`${name} (${flag} ${remotes})`, flag, remotes, client.status, lost);
    if (lock !== undefined && !lock.isHeld)
      return `another Heddle process holds the lock "${lock.name}" of ${name} (${flag} ${remotes})`;
    return undefined;
  };
  lock?.onChange((isHeld) => {
    log.info({ component: 'ovsdb', database: name, lock: lock.name, isHeld }, 'zone lock');
    if (isHeld) onAvailable?.();
  });
  client.start();
  return {
    get replica() {
      return client.replica;
    },
    transactor,
    isLoaded: () => isLoaded,
    ...(lockName === undefined ? {} : { lock: lockName }),
    unavailable,
    status: () => client.databaseStatus,
    silent() {
      const since = client.status === 'ready' ? transactor.silentSince : undefined;
      return since === undefined
        ? undefined
        : `${name} (${flag} ${remotes}) has not answered a transaction since ${new Date(since).toISOString().slice(0, 19)}Z: what was programmed goes on, and no change gets there; see whether its ovsdb-server is stopped (state T in ps: kill -CONT), waits for its disk (state D) or is busy, and its log`;
    },
    isHeldByOther: () => client.status === 'ready' && lock?.isHeld === false,
    async ready(limit, { isImpatient = false } = {}) {
      const signal = isImpatient ? AbortSignal.any([limit, gaveUp.signal]) : limit;
      try {
        await client.ready(signal);
        await lock?.held(signal);
      } catch (error) {
        if (!signal.aborted) throw error;
        const database = `${name} (${flag} ${remotes})`;
        const mistake = misled(
          name,
          flag,
          remotes,
          limit.aborted && client.status !== 'ready' ? lost : gaveUp.signal.reason,
        );
        if (mistake !== undefined) throw mistake;
        if (!limit.aborted)
          throw new UnreachableError(
            database,
            explain(gaveUp.signal.reason),
            `start its server, or correct ${flag}`,
            error,
          );
        const tried = 'it was tried again until the limit (--timeout)';
        const refused =
          client.status === 'ready' || lost === undefined
            ? undefined
            : refusedConnection(lost, flag, remotes);
        if (refused !== undefined)
          throw new UnreachableError(database, refused.why, `${refused.remedy}; ${tried}`, error);
        const why = client.status === 'ready' ? unavailable() : explain(error);
        // What is known of the cause comes first: that it was waited for is no cause.
        const known = /\(last error: (?:disconnected: )?(.+)\)$/.exec(why ?? '')?.[1];
        if (known !== undefined) throw new UnreachableError(database, known, tried, error);
        throw new OvsdbError('timed out', `${database}: ${why ?? 'not ready'}`, {
          cause: error,
        });
      }
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(lossTimer);
      await client[Symbol.asyncDispose]();
    },
  };
}

function clientOf(
  { name, flag, remotes, tls, tables, log, onAvailable }: DatabaseOptions,
  onLoaded: () => void,
  onDisconnected: (remote: string, error: OvsdbError) => void,
): OvsdbClient {
  try {
    const options = tlsOptions(remotes, tls);
    return new OvsdbClient({
      remotes,
      database: name,
      tables,
      ...(options === undefined ? {} : { tls: options }),
      // Who follows rows keeps its own faults to them; what is left of listeners only asks for another pass.
      onListenerError(error) {
        const stack = error instanceof Error ? error.stack : undefined;
        log.error(
          { component: 'ovsdb', database: name, error, stack },
          'a change could not be worked in',
        );
        onAvailable?.();
      },
      onEvent(event) {
        logEvent(log, name, event);
        if (event.kind === 'loaded') onLoaded();
        if (event.kind === 'disconnected') onDisconnected(event.remote, event.error);
      },
    });
  } catch (error) {
    if (!(error instanceof OvsdbError)) throw error;
    // A remote that is alone names itself.
    const isNamed = error.details.startsWith(`"${remotes}"`);
    throw new ConfigurationError(flag, isNamed ? error.details : `${remotes}: ${error.details}`);
  }
}

/** TLS needs all three files; anything else does without. */
function tlsOptions(remotes: string, tls: TlsFiles): TlsOptions | undefined {
  if (!/(^|,)p?ssl:/.test(remotes)) return undefined;
  const file = (flag: string, path: string | undefined): string => {
    if (path === undefined)
      throw new ConfigurationError(flag, `is required for the remote ${remotes}`);
    return path;
  };
  const privateKey = file('--private-key', tls.privateKey);
  const certificate = file('--certificate', tls.certificate);
  const caCertificate = file('--ca-cert', tls.caCert);
  for (const [flag, path] of [
    ['--private-key', privateKey],
    ['--certificate', certificate],
    ['--ca-cert', caCertificate],
  ] as const) {
    try {
      readFileSync(path);
    } catch (error) {
      throw new ConfigurationError(flag, errorText(error));
    }
  }
  return { privateKey, certificate, caCertificate };
}

const explain = (error: unknown): string =>
  error instanceof OvsdbError ? error.details : error instanceof Error ? error.message : 'failed';

function logEvent(log: Logger, database: string, event: ClientEvent): void {
  const fields = { component: 'ovsdb', database };
  switch (event.kind) {
    case 'connecting':
      log.debug({ ...fields, remote: event.remote }, 'connecting');
      break;
    case 'connected':
      log.info({ ...fields, remote: event.remote }, 'connected');
      break;
    case 'loaded':
      log.info({ ...fields, rows: event.rows, method: event.method, found: event.found }, 'loaded');
      break;
    case 'unloaded':
    case 'disconnected':
      log.warn(
        { ...fields, reason: event.kind === 'unloaded' ? event.reason : event.error.details },
        event.kind,
      );
      break;
    case 'warning':
      log.warn(fields, event.text);
      break;
  }
}
