/** Units of host features as a driver gets them, without an engine. */
import type { RowOwner, RowTarget } from '../../../src/desired/engine.ts';
import type { Feature } from '../../../src/desired/features.ts';
import type { DesiredRow } from '../../../src/desired/rows.ts';
import type { ZoneFacts } from '../../../src/model/zone/zone.ts';
import { hostFeatures } from '../../../src/node/features.ts';
import { builtUnits, type BuiltUnit } from '../zone/built-rows.ts';
import { factsOf, type Zone } from '../zone/zones.ts';

/** Base of routing tables, as by default. */
export const HOST_SETTINGS = { routingTables: 10_000, hasVrfs: true };

export const hostUnits = (zone: Zone): readonly BuiltUnit[] =>
  builtUnits(factsOf(zone), hostFeatures(HOST_SETTINGS));

const ownerOf = ({ unit, rank, rows }: BuiltUnit, order: number): RowOwner => ({
  id: JSON.stringify(unit.split(' ')),
  rank,
  order,
  rowsIn: (database) => rows.filter((row) => row.database === database),
});

/** Gives a driver what features want of a zone, and takes from it what it was given before. */
export class FeatureUnits {
  readonly #target: RowTarget;
  readonly #features: readonly Feature<ZoneFacts>[];
  readonly #owners = new Map<string, RowOwner>();
  /** What each wants, as text. */
  readonly #wanted = new Map<string, string>();

  constructor(target: RowTarget, features: readonly Feature<ZoneFacts>[]) {
    this.#target = target;
    this.#features = features;
  }

  want(
    zone: Zone | undefined,
    change: (row: DesiredRow) => DesiredRow | undefined = (row) => row,
  ): void {
    const units = (zone === undefined ? [] : builtUnits(factsOf(zone), this.#features)).map(
      (unit) => ({
        ...unit,
        rows: unit.rows.flatMap((row) => change(row) ?? []),
      }),
    );
    const before = new Set(this.#owners.keys());
    for (const [order, unit] of units.entries()) {
      before.delete(unit.unit);
      const owner = this.#owners.get(unit.unit) ?? ownerOf(unit, order);
      this.#owners.set(unit.unit, owner);
      const rows = unit.rows.filter((row) => row.database === this.#target.database);
      // As an engine does: of a unit that is as it was a driver hears nothing.
      const text = JSON.stringify(rows);
      if (this.#wanted.get(unit.unit) === text) continue;
      this.#wanted.set(unit.unit, text);
      this.#target.set(owner, rows);
    }
    for (const unit of before) {
      this.#wanted.delete(unit);
      const owner = this.#owners.get(unit);
      if (owner !== undefined) this.#target.set(owner, []);
      this.#owners.delete(unit);
    }
  }
}

/** All of the host. */
export class HostUnits extends FeatureUnits {
  constructor(target: RowTarget) {
    super(target, hostFeatures(HOST_SETTINGS));
  }
}
