import type { OvsdbError } from '../data/error.ts';
import type { ReloadBackoff } from './link.ts';
import type { DatabaseMonitor, MonitorMethod } from './monitor.ts';
import type { DatabaseStatus, ServerRequirements } from './server-status.ts';

/** What outlives a connection, and is told the session's state. */
export interface SessionOwner {
  requirements(): ServerRequirements;
  /** What is followed. */
  readonly monitors: ReadonlySet<DatabaseMonitor>;
  /** Pauses before the database is loaded again on the same connection. */
  readonly reloads: ReloadBackoff;
  /** The server described the database anew. */
  described(status: DatabaseStatus | undefined): void;
  /** Contents of a monitor are complete. */
  loaded(monitor: DatabaseMonitor, method: MonitorMethod, found: boolean): void;
  /** Contents are not followed any more, until `loaded` is called again. */
  unloaded(monitor: DatabaseMonitor, reason: string): void;
  /** A monitor does not fit the database, or the server refuses it. */
  refused(monitor: DatabaseMonitor, error: OvsdbError): void;
  /** This server can't be used. `atOnce`: try the next without a pause. */
  leave(error: OvsdbError, atOnce: boolean): void;
  warn(text: string): void;
  /** Contents do not fit; `text` says what is done about it. */
  schemaMismatch(error: OvsdbError, text: string): void;
}
