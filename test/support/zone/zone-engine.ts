/** All features over the facts of a zone, and what they come to in databases in memory. */

import { claimsOf, Engine } from '../../../src/desired/engine.ts';
import type { Feature } from '../../../src/desired/features.ts';
import type { Plan } from '../../../src/desired/ovsdb/changes.ts';
import { Reconciler, type ReconcilerOptions } from '../../../src/desired/ovsdb/reconciler.ts';
import type { ZoneFacts } from '../../../src/model/zone/zone.ts';
import type { ReplicaView } from 'ovsdb-client-ts';
import { zoneFeatures } from '../../../src/topology/features.ts';
import { isLeftOver } from '../../../src/zone/left-over-rows.ts';
import { factsOf, putZone, type Zone } from './zones.ts';

/** An engine over facts whose time stands still unless a test moves it. */
export const engineOver = (
  facts: ZoneFacts,
  now: () => number = () => 0,
  features: readonly Feature<ZoneFacts>[] = zoneFeatures,
): Engine<ZoneFacts> =>
  new Engine({
    facts,
    recorder: facts.recorder,
    refresh: () => facts.refresh(now()),
    features,
  });

/** A zone's daemon without anything around it: zones go in, plans for databases come out. */
export class ZoneEngine {
  readonly engine: Engine<ZoneFacts>;
  readonly #facts: ZoneFacts;
  readonly #reconcilers: ReadonlyMap<ReplicaView, Reconciler>;
  #zone: Zone;

  constructor(zone: Zone, databases: readonly ReplicaView[], options: ReconcilerOptions = {}) {
    this.#zone = zone;
    this.#facts = factsOf(zone);
    this.engine = engineOver(this.#facts);
    this.#reconcilers = new Map(
      databases.map((database) => {
        const claims = claimsOf(zoneFeatures, database.schema.name);
        const reconciler = new Reconciler(database, claims, options);
        reconciler.follow();
        return [database, reconciler];
      }),
    );
    this.engine.connect([...this.#reconcilers.values()]);
  }

  /** What `database` lacks for the zone. */
  plan(zone: Zone, database: ReplicaView): Plan {
    putZone(this.#facts, this.#zone, zone);
    this.#zone = zone;
    this.engine.build();
    return this.#reconcilerOf(database).plan({ now: 0, isComplete: this.engine.isComplete });
  }

  /** What an ovn-kubernetes left there and no object asks for is to go. */
  takeOver(database: ReplicaView): void {
    const reconciler = this.#reconcilerOf(database);
    reconciler.takeOver(reconciler.unmarked(isLeftOver(this.#facts, undefined, () => false)));
  }

  #reconcilerOf(database: ReplicaView): Reconciler {
    const reconciler = this.#reconcilers.get(database);
    if (reconciler === undefined) throw new Error(`not a database of this zone`);
    return reconciler;
  }
}
