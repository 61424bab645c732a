/**
 * The engine: units of all features, built from facts, built again when a fact that they read changed. What they build goes
 * to the reconciler of the database; what cannot be built keeps the rows that it had.
 */
import type { Feature, Sink, UnitState } from './features.ts';
import { errorText } from '../api/error-text.ts';
import { keyOf } from '../facts/keys.ts';
import { forgetReads, type Cell, type Reader, type ReadRecorder } from '../facts/reads.ts';
import type { DesiredRow, TableClaim } from './rows.ts';

/** Whoever wants rows of a database: a unit. Reconcilers know no more of it. */
export interface RowOwner {
  /** Feature and arguments as one text, another one for every other unit. */
  readonly id: string;
  /** Of two owners that want one key the first in this order has it. */
  readonly rank: number;
  readonly order: number;
  /** What it wants in a database, built anew: rows that were found right are not kept. */
  rowsIn(database: string): readonly DesiredRow[];
}

/** Where the units' rows of one database go. */
export interface RowTarget {
  readonly database: string;
  /** Replaces what the owner wants; nothing at all = the owner is gone. */
  set(owner: RowOwner, wanted: readonly DesiredRow[]): void;
  /** True if the owner wants anything now. */
  has(owner: RowOwner): boolean;
}

/** Something about an object that is not as it should be. */
interface UnitProblem {
  readonly object: string;
  readonly message: string;
}

/** How the last build of a unit went. */
export interface UnitReport {
  readonly state: UnitState;
  readonly problems: readonly UnitProblem[];
}

/** A unit that is not simply ok. */
export interface NotableUnit extends UnitReport {
  readonly id: string;
  readonly args: readonly string[];
}

/** What a unit wants, built anew. */
export interface WantedUnit {
  readonly id: string;
  readonly args: readonly string[];
  readonly subject: string | undefined;
  readonly rows: readonly DesiredRow[];
}

const OK: UnitState = { kind: 'ok' };
const NOTHING: readonly DesiredRow[] = [];

const FINE: UnitReport = { state: OK, problems: [] };

/** What the units of one feature have in common: there are very many units. */
interface UnitKind<F> {
  readonly engine: Engine<F>;
  readonly feature: Feature<F>;
  readonly order: number;
}

class Unit<F> implements Reader, RowOwner {
  reads: readonly Cell[] = [];
  rank = 0;
  report = FINE;
  readonly kind: UnitKind<F>;
  readonly id: string;

  constructor(kind: UnitKind<F>, id: string) {
    this.kind = kind;
    this.id = id;
  }

  /** Read from the id: few units are built at a time. */
  get args(): readonly string[] {
    return keyOf(this.id).slice(1);
  }

  get order(): number {
    return this.kind.order;
  }

  invalidate(): void {
    this.kind.engine.markDirty(this);
  }

  rowsIn(database: string): readonly DesiredRow[] {
    return this.kind.engine.rowsOf(this, database);
  }
}

/** Ends the build of a unit that is rejected. */
class Rejection extends Error {
  readonly object: string;

  constructor(object: string, reason: string) {
    super(reason);
    this.object = object;
  }
}

/** What one run of a builder gave. */
class Build implements Sink {
  readonly byDatabase = new Map<string, DesiredRow[]>();
  readonly problems: UnitProblem[] = [];
  waitsFor: string | undefined;

  row(row: DesiredRow): void {
    const rows = this.byDatabase.get(row.database);
    if (rows === undefined) this.byDatabase.set(row.database, [row]);
    else rows.push(row);
  }

  waitFor(what: string): void {
    this.waitsFor ??= what;
  }

  problem(object: string, message: string): void {
    this.problems.push({ object, message });
  }

  reject(object: string, reason: string): never {
    throw new Rejection(object, reason);
  }
}

export interface EngineOptions<F> {
  readonly facts: F;
  readonly recorder: ReadRecorder;
  /** Brings derived facts up to date, before units are built. Does not throw: reading what could not be worked out does. */
  readonly refresh: () => void;
  readonly features: readonly Feature<F>[];
  /** Called with what the builder of a unit threw, unless it threw the same the last time. */
  readonly onFault?: (unit: string, error: unknown) => void;
}

export class Engine<F> {
  readonly #options: EngineOptions<F>;
  readonly #units = new Map<string, Unit<F>>();
  /** Units to be built. */
  readonly #dirty = new Set<Unit<F>>();
  /** Units that were not built yet since targets were connected. */
  readonly #unbuilt = new Set<Unit<F>>();
  /** Units that are not simply ok. */
  readonly #notable = new Set<Unit<F>>();
  #targets: readonly RowTarget[] = [];

  constructor(options: EngineOptions<F>) {
    this.#options = options;
    for (const [order, feature] of options.features.entries()) {
      const source = feature.over(options.facts);
      const kind = { engine: this, feature, order };
      for (const key of source.keys()) this.#keyChanged(kind, key, true);
      source.onKeys((key, isPresent) => this.#keyChanged(kind, key, isPresent));
    }
  }

  /** Where rows go from the next build on: every unit is built for them. */
  connect(targets: readonly RowTarget[]): void {
    this.#targets = targets;
    for (const unit of this.#units.values()) {
      this.#unbuilt.add(unit);
      this.#dirty.add(unit);
    }
  }

  /** True when every unit has been built once: only then is it known which rows nobody wants. */
  get isComplete(): boolean {
    return this.#unbuilt.size === 0;
  }

  /**
   * Whether rows of a database may be those of a unit that could not be built since targets were connected, by their table and the object that
   * they are marked with: they stay though nobody wants them.
   */
  unbuiltIn(database: string): (table: string, object: string) => boolean {
    const anything = new Set<string>();
    const objectsIn = new Map<string, Set<string>>();
    for (const { kind, args } of this.#unbuilt) {
      const { claims } = kind.feature;
      const objects = kind.feature.objects?.(this.#options.facts, args);
      for (const claim of claims) {
        if (claim.database !== database) continue;
        if (objects === undefined) anything.add(claim.table);
        const known = objectsIn.get(claim.table) ?? new Set();
        for (const object of objects ?? []) known.add(object);
        objectsIn.set(claim.table, known);
      }
    }
    // Of a row whose mark is lost nobody can tell whose it is.
    return (table, object) =>
      anything.has(table) ||
      (object === '' ? objectsIn.has(table) : objectsIn.get(table)?.has(object) === true);
  }

  /** Objects of the units of these features that could not be built since targets were connected; undefined if nobody can tell. */
  unbuiltOf(features: readonly Pick<Feature<F>, 'name'>[]): ReadonlySet<string> | undefined {
    const names = new Set(features.map(({ name }) => name));
    const objects = new Set<string>();
    for (const { kind, args } of this.#unbuilt) {
      if (!names.has(kind.feature.name)) continue;
      const own = kind.feature.objects?.(this.#options.facts, args);
      if (own === undefined) return undefined;
      for (const object of own) objects.add(object);
    }
    return objects;
  }

  /** Objects of units that could not be built, or wait for something: what is there of them is not all that they want. */
  *unfinishedObjects(): Iterable<string> {
    for (const { kind, args, report } of this.#notable)
      if (report.state.kind === 'failed' || report.state.kind === 'waiting')
        yield* kind.feature.objects?.(this.#options.facts, args) ?? [];
  }

  get isDirty(): boolean {
    return this.#dirty.size > 0;
  }

  get unitCount(): number {
    return this.#units.size;
  }

  /** Builds what has to be built. Returns how many units were. */
  build(): number {
    this.#options.refresh();
    let built = 0;
    for (const unit of this.#dirty) {
      this.#dirty.delete(unit);
      this.#build(unit);
      built += 1;
    }
    return built;
  }

  /** Units that wait, are rejected or failed, or that report problems. */
  *notable(): Iterable<NotableUnit> {
    for (const { id, args, report } of this.#notable) yield { id, args, ...report };
  }

  /** What the units of these features want of all databases, built anew. Throws what a builder throws, but for a rejection. */
  *wanted(features: readonly Pick<Feature<F>, 'name'>[]): Iterable<WantedUnit> {
    const names = new Set(features.map(({ name }) => name));
    for (const unit of this.#units.values()) {
      const { id, args, kind, report } = unit;
      if (!names.has(kind.feature.name)) continue;
      const rows = report.state.kind === 'rejected' ? [] : [...this.#anew(unit).values()].flat();
      yield { id, args, subject: this.subjectOf(id), rows };
    }
  }

  /** What a unit's state counts for; undefined for one that is gone or concerns all. */
  subjectOf(id: string): string | undefined {
    const unit = this.#units.get(id);
    return unit?.kind.feature.subject?.(this.#options.facts, unit.args);
  }

  markDirty(unit: Unit<F>): void {
    this.#dirty.add(unit);
  }

  /** What a unit wants in a database, by the facts as they are. Throws what its builder throws. */
  rowsOf(unit: Unit<F>, database: string): readonly DesiredRow[] {
    return this.#anew(unit).get(database) ?? NOTHING;
  }

  #anew({ kind, args }: Unit<F>): ReadonlyMap<string, readonly DesiredRow[]> {
    const build = new Build();
    this.#options.recorder.aside(() => kind.feature.build(this.#options.facts, args, build));
    return build.byDatabase;
  }

  #build(unit: Unit<F>): void {
    const { facts, recorder } = this.#options;
    const { kind, args } = unit;
    const build = new Build();
    let state = OK;
    try {
      recorder.run(unit, () => {
        unit.rank = kind.feature.rank?.(facts, args) ?? 0;
        kind.feature.build(facts, args, build);
      });
      if (build.waitsFor !== undefined) state = { kind: 'waiting', for: build.waitsFor };
    } catch (error) {
      if (!(error instanceof Rejection)) {
        this.#fail(unit, error);
        return;
      }
      state = { kind: 'rejected', object: error.object, reason: error.message };
      build.byDatabase.clear();
    }
    const isFine = state === OK && build.problems.length === 0;
    this.#report(unit, isFine ? FINE : { state, problems: build.problems });
    this.#unbuilt.delete(unit);
    for (const target of this.#targets) {
      const wanted = build.byDatabase.get(target.database) ?? NOTHING;
      if (wanted !== NOTHING || target.has(unit)) target.set(unit, wanted);
    }
  }

  /** What it had stays, and so does what was reported of it. */
  #fail(unit: Unit<F>, error: unknown): void {
    const { state } = unit.report;
    const text = errorText(error);
    if (state.kind !== 'failed' || state.error !== text) this.#options.onFault?.(unit.id, error);
    this.#report(unit, { ...unit.report, state: { kind: 'failed', error: text } });
  }

  #report(unit: Unit<F>, report: UnitReport): void {
    unit.report = report;
    if (report === FINE) this.#notable.delete(unit);
    else this.#notable.add(unit);
  }

  #keyChanged(kind: UnitKind<F>, args: readonly string[], isPresent: boolean): void {
    const id = JSON.stringify([kind.feature.name, ...args]);
    const known = this.#units.get(id);
    if (isPresent) {
      if (known !== undefined) return;
      const unit = new Unit(kind, id);
      this.#units.set(id, unit);
      this.#unbuilt.add(unit);
      this.#dirty.add(unit);
      return;
    }
    if (known === undefined) return;
    forgetReads(known);
    this.#units.delete(id);
    for (const set of [this.#dirty, this.#unbuilt, this.#notable]) set.delete(known);
    for (const target of this.#targets) if (target.has(known)) target.set(known, NOTHING);
  }
}

/** The feature of a unit, from the unit's id. */
export const featureOf = (unit: string): string => keyOf<[string, ...string[]]>(unit)[0];

/** The claims of all features by table, for one database. Features that write one table must share one claim. */
export function claimsOf(
  features: readonly Pick<Feature<never>, 'name' | 'claims'>[],
  database: string,
): ReadonlyMap<string, TableClaim> {
  const claims = new Map<string, TableClaim>();
  for (const feature of features) {
    for (const claim of feature.claims) {
      if (claim.database !== database) continue;
      const known = claims.get(claim.table);
      if (known !== undefined && known !== claim)
        throw new Error(`feature ${feature.name} claims table ${claim.table} in its own way`);
      claims.set(claim.table, claim);
    }
  }
  return claims;
}
