import { chassisId } from '../api/annotations/node-annotations.ts';
import type { Node } from '../api/types.ts';
import type { OpenDatabase } from '../databases/open-database.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import {
  foreignDatabase,
  isKnownByNorthbound,
  unfitSchema,
  zoneIdentity,
} from './zone-identity.ts';

export interface ZoneOwnershipOptions {
  readonly node: string;
  /** Whose the databases were does not matter. */
  readonly takeZone: boolean;
  readonly northbound: OpenDatabase;
  readonly southbound: OpenDatabase | undefined;
  /** The node as an object, once it is known. */
  readonly object: () => Node | undefined;
  /** `external_ids:system-id` of the host, where that can be read. */
  readonly systemId: () => string | undefined;
}

/** Whether the databases are this node's, and fit for it: looked at again whenever one was connected anew. */
export class ZoneOwnership {
  readonly #options: ZoneOwnershipOptions;
  #isOurs = false;

  constructor(options: ZoneOwnershipOptions) {
    this.#options = options;
  }

  /** To be called when a database was connected anew: another one may be there. */
  forget(): void {
    this.#isOurs = false;
  }

  /** True if Northbound is this node's, whatever Southbound would say. */
  get isNorthboundOurs(): boolean {
    const { node, takeZone, northbound } = this.#options;
    return takeZone || isKnownByNorthbound(node, northbound.replica);
  }

  /** Throws ConfigurationError when the databases are those of another node, or lack what isolation needs. */
  assert(): void {
    if (this.#isOurs) return;
    const { node, takeZone, northbound, object, systemId } = this.#options;
    const southbound =
      this.#options.southbound?.isLoaded?.() === false ? undefined : this.#options.southbound;
    const databases = [['--nb', northbound] as const, ['--sb', southbound] as const];
    for (const [flag, database] of databases) {
      const unfit = database && unfitSchema(database.replica);
      if (unfit !== undefined) throw new ConfigurationError(flag, unfit);
    }
    const known = object();
    const chassis = known && chassisId(known).value;
    const foreign = takeZone
      ? undefined
      : foreignDatabase(
          node,
          chassis,
          zoneIdentity(northbound.replica, southbound?.replica),
          systemId(),
        );
    if (foreign !== undefined) throw new ConfigurationError(foreign.flag, foreign.message);
    // Without a chassis nothing is built.
    this.#isOurs = chassis !== undefined;
  }
}
