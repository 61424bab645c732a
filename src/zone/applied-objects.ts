/** Objects whose status says where they are in force: which of them are so in this zone, each with the generation that is. */
import { APPLIED_KINDS } from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';
import type { ZoneAppliedObject } from '../api/zone-status.ts';
import { HeededChanges } from '../node/heeded-changes.ts';
import type { Informers } from '../store/informers.ts';

/** What is to come into force, by object. */
export type BuiltObjects = ReadonlyMap<string, ZoneAppliedObject>;

export interface AppliedObjectsOptions {
  readonly informers: Pick<Informers, 'of'>;
  /** False while the facts lack something that these objects may need. */
  readonly isComplete: () => boolean;
  /** True while all that was built is on the host. */
  readonly isHostSet: () => boolean;
  /** Called when more may be in force. */
  readonly onChange: () => void;
  /** See `HeededChanges`. */
  readonly revalidated?: () => Promise<void>;
}

export class AppliedObjects {
  readonly #options: AppliedObjectsOptions;
  /** As the objects are now. */
  readonly #newest = new Map<string, ZoneAppliedObject>();
  /** Those of them that are not known to be sent: what a pass costs follows their number. */
  readonly #changed = new Map<string, ZoneAppliedObject>();
  readonly #changes: HeededChanges<BuiltObjects>;
  #hasSent = false;
  readonly #applied = new Map<string, ZoneAppliedObject>();
  #sorted: readonly ZoneAppliedObject[] | undefined;
  #isKnown = false;

  constructor(options: AppliedObjectsOptions) {
    this.#options = options;
    this.#changes = new HeededChanges({
      revalidated: options.revalidated,
      onHeeded: (changes) => this.#heeded(changes),
    });
    for (const kind of APPLIED_KINDS)
      options.informers.of(kind).onChange(({ key, after }) => {
        const object = `${kind.kind} ${key}`;
        if (after === undefined) this.#forget(object);
        else this.#note(object, after);
      });
  }

  /** Those that are built and were not sent yet: to be asked before they are. Undefined while the facts lack something. */
  get built(): BuiltObjects | undefined {
    return this.#options.isComplete() ? new Map(this.#changed) : undefined;
  }

  /** Rows of these are in the Northbound database, which went out with that `nb_cfg`. */
  sent(objects: BuiltObjects | undefined, sequence: number): void {
    if (objects === undefined) return;
    for (const [object, entry] of objects)
      if (this.#changed.get(object) === entry) this.#changed.delete(object);
    // Without any it has to be known once that there is none.
    if (objects.size === 0 && this.#hasSent) return;
    this.#hasSent = true;
    this.#changes.sent(objects, sequence);
  }

  /** The data plane has reached that `nb_cfg`, or the host is as wanted. */
  reached(sequence: number): void {
    if (this.#options.isHostSet()) this.#changes.reached(sequence);
  }

  #heeded(changes: readonly BuiltObjects[]): void {
    for (const objects of changes)
      for (const [object, entry] of objects)
        if (this.#newest.get(object) === entry) this.#applied.set(object, entry);
    this.#isKnown = true;
    this.#sorted = undefined;
    this.#options.onChange();
  }

  /** Those that are in force and none of `unfinished`, by name; undefined while that is not known: what was reported before stands. */
  list(unfinished: ReadonlySet<string>): readonly ZoneAppliedObject[] | undefined {
    if (!this.#isKnown) return undefined;
    this.#sorted ??= [...this.#applied.values()].sort((a, b) => (a.object < b.object ? -1 : 1));
    return unfinished.size === 0
      ? this.#sorted
      : this.#sorted.filter(({ object }) => !unfinished.has(object));
  }

  #note(object: string, { metadata: { generation = 0, uid } }: KubeObject): void {
    const known = this.#newest.get(object);
    // A status was written.
    if (known?.generation === generation && known.uid === uid) return;
    const entry = { object, generation, ...(uid === undefined ? {} : { uid }) };
    this.#newest.set(object, entry);
    this.#changed.set(object, entry);
  }

  #forget(object: string): void {
    this.#newest.delete(object);
    this.#changed.delete(object);
    if (this.#applied.delete(object)) this.#sorted = undefined;
  }
}
