import type { OvsdbError } from './data/error.ts';
import type { DatabaseSchema } from './data/schema.ts';
import type { LinkTiming } from './session/link.ts';
import type { MonitorMethod } from './session/monitor.ts';
import type { Remotes } from './session/remote.ts';
import type { Selection, SelectTables } from './session/selection.ts';
import type { TlsOptions } from './session/tls.ts';
import type { OpenSocket } from './session/transport.ts';

/** What happens to the connection, for logs and metrics. */
export type ClientEvent =
  | { readonly kind: 'connecting'; readonly remote: string }
  | { readonly kind: 'connected'; readonly remote: string }
  /** The contents are complete and from now on followed. `found`: only what changed since the last time was sent. */
  | {
      readonly kind: 'loaded';
      readonly method: MonitorMethod;
      readonly found: boolean;
      readonly rows: number;
    }
  | { readonly kind: 'unloaded'; readonly reason: string }
  | { readonly kind: 'disconnected'; readonly remote: string; readonly error: OvsdbError }
  | { readonly kind: 'warning'; readonly text: string };

/** Where a client is: only `ready` transactions are sent; the replica can always be read once it was ready. */
export type ClientStatus = 'disconnected' | 'connecting' | 'loading' | 'ready' | 'closed';

export interface ClientTiming extends LinkTiming {
  /** How often the server is asked whether it still knows the monitors; 0: never. 60000 by default. */
  readonly checkInterval: number;
  /**
   * How long the server may take to answer what the client asks by itself (schema, contents, conditions, locks), and contents that arrive may stop
   * on their way, before the connection is given up; 0: for ever. 120000 by default.
   */
  readonly answerTimeout: number;
}

export interface ClientOptions {
  /** `unix:PATH`, `tcp:HOST:PORT`, `ssl:HOST:PORT`, several joined by commas, also with a `cid:UUID`. */
  readonly remotes: string | Remotes;
  readonly database: string;
  /** Tables and columns to follow, or a function that tells them by the server's schema; everything by default. */
  readonly tables?: Selection | SelectTables;
  /** The schema that the program was written for: what the server lacks of it reads as default. */
  readonly schema?: DatabaseSchema;
  /** Use only the leader of a cluster; true by default. */
  readonly leaderOnly?: boolean;
  readonly tls?: TlsOptions;
  /**
   * Milliseconds. The probe interval is 5000 by default, 0 (never) on unix sockets; an attempt to connect may take 20000 (`Infinity`: as
   * long as it likes).
   */
  readonly timing?: Partial<ClientTiming>;
  /**
   * Bytes of a server's message that are kept until they can be used: of table updates one row, of any other message all of it. 256 MiB by default;
   * at most what a string of V8 can hold.
   */
  readonly maxMessageBytes?: number;
  readonly onEvent?: (event: ClientEvent) => void;
  /** What a subscriber of a replica, a listener of a lock, or `onEvent` threw; an uncaught exception by default. */
  readonly onListenerError?: (error: unknown) => void;
  /** Milliseconds on a monotonic clock. */
  readonly now?: () => number;
  /** Shuffles the remotes; 0 ≤ x < 1. */
  readonly random?: () => number;
  readonly openSocket?: OpenSocket;
}
