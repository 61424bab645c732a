import type { ReplicaView, Transactor } from 'ovsdb-client-ts';

/** One database of the zone as the controller needs it. */
export interface ZoneDatabase {
  readonly replica: ReplicaView;
  readonly transactor: Transactor;
  /** False before its first contents: `replica` throws. Absent where they are there from the beginning. */
  readonly isLoaded?: () => boolean;
  /** Lock to assert in every transaction; absent for a database that others write too. */
  readonly lock?: string;
  /** Why nothing can be written now, in words, or undefined. */
  readonly unavailable: () => string | undefined;
}
