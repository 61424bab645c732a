/**
 * Facts: one table per kind, with indexes. What is read while something is built is recorded, so that a change dirties
 * exactly the readers of that fact, field or bucket of an index.
 */
import { CountedSet, EMPTY_SET, type SetVersion } from './counted-set.ts';
import type { KeySource } from './keys.ts';
import { Cell, CellMap, type ReadRecorder, type Step } from './reads.ts';
import { isSame } from './same.ts';
import { FailedFact } from './unreadable.ts';

/** Buckets of an index that a fact belongs into. */
type IndexBy<V> = (value: V, key: string) => Iterable<string>;

/** Members that a fact adds to sets, each with the bucket of its set. */
type MembersBy<V> = (value: V, key: string) => Iterable<readonly [bucket: string, member: string]>;

export interface FactTableOptions<V> {
  /** Number of texts that a key is made of; default 1. */
  readonly arity?: number;
  readonly indexes?: Readonly<Record<string, IndexBy<V>>>;
  /** Sets of what facts say, kept member by member. */
  readonly sets?: Readonly<Record<string, MembersBy<V>>>;
}

class Index<V> {
  readonly by: IndexBy<V>;
  readonly buckets = new Map<string, Set<string>>();
  /** Readers of the members and what they say. */
  readonly contents = new CellMap();
  /** Readers of which members there are. */
  readonly members = new CellMap();
  readonly listeners: ((tuple: readonly string[], isPresent: boolean) => void)[] = [];
  /** Subscribers to the members of each bucket. */
  readonly memberListeners: ((bucket: string, key: string, isPresent: boolean) => void)[] = [];

  constructor(by: IndexBy<V>) {
    this.by = by;
  }
}

/** Sets by bucket, each kept as facts come and go. */
class KeptSets<V> {
  readonly by: MembersBy<V>;
  readonly buckets = new Map<string, CountedSet>();
  readonly cells = new CellMap();

  constructor(by: MembersBy<V>) {
    this.by = by;
  }

  move(key: string, before: V | undefined, value: V | undefined): void {
    const changed = new Set<string>();
    // What stays is added before it is removed, so that it does not move.
    for (const [bucket, member] of value === undefined ? [] : this.by(value, key)) {
      let set = this.buckets.get(bucket);
      if (set === undefined) this.buckets.set(bucket, (set = new CountedSet()));
      if (set.add(member)) changed.add(bucket);
    }
    for (const [bucket, member] of before === undefined ? [] : this.by(before, key))
      if (this.buckets.get(bucket)?.remove(member) === true) changed.add(bucket);
    for (const bucket of changed) {
      this.cells.invalidate(bucket);
      if (this.buckets.get(bucket)?.version.size === 0) this.buckets.delete(bucket);
    }
  }
}

export class FactTable<V extends object> implements KeySource {
  readonly name: string;
  readonly #recorder: ReadRecorder;
  readonly #arity: number;
  readonly #facts = new Map<string, V>();
  readonly #cells = new CellMap();
  /** Readers of one field, by field and key. */
  readonly #parts = new Map<keyof V, CellMap>();
  readonly #all = new Cell();
  readonly #indexes: ReadonlyMap<string, Index<V>>;
  readonly #sets: ReadonlyMap<string, KeptSets<V>>;
  readonly #listeners: ((tuple: readonly string[], isPresent: boolean) => void)[] = [];
  /** With what its facts are worked out; undefined for what is read from objects. */
  readonly #step: Step | undefined;
  /** Why the facts of these keys can't be known: each is what it was last, or never was. */
  readonly #failed = new Map<string, string>();

  constructor(
    name: string,
    recorder: ReadRecorder,
    options: FactTableOptions<V> = {},
    step?: Step,
  ) {
    this.name = name;
    this.#step = step;
    this.#recorder = recorder;
    this.#arity = options.arity ?? 1;
    this.#indexes = new Map(
      Object.entries(options.indexes ?? {}).map(([index, by]) => [index, new Index(by)]),
    );
    this.#sets = new Map(
      Object.entries(options.sets ?? {}).map(([set, by]) => [set, new KeptSets(by)]),
    );
  }

  get size(): number {
    return this.#facts.size;
  }

  get steps(): readonly Step[] {
    return this.#step === undefined ? [] : [this.#step];
  }

  /** The whole fact. Throws `FailedFact` if it could not be worked out. */
  get(...key: readonly string[]): V | undefined {
    const text = this.#key(key);
    this.#step?.noteRead();
    this.#cells.note(text, this.#recorder);
    if (this.#failed.size > 0) this.#refuse(text);
    return this.#facts.get(text);
  }

  /** One field of the fact, for readers to which the others do not matter. Throws `FailedFact` if the fact could not be worked out. */
  part<K extends keyof V>(key: string, field: K): V[K] | undefined {
    this.#step?.noteRead();
    if (this.#recorder.isRecording) {
      let cells = this.#parts.get(field);
      if (cells === undefined) this.#parts.set(field, (cells = new CellMap()));
      cells.note(key, this.#recorder);
    }
    if (this.#failed.size > 0) this.#refuse(key);
    return this.#facts.get(key)?.[field];
  }

  /** The facts of one bucket, in the order of their keys; those that can't be worked out now are what they were last. */
  by(index: string, bucket: string): readonly V[] {
    this.#step?.noteRead();
    const found = this.#index(index);
    found.contents.note(bucket, this.#recorder);
    return this.#sorted(found, bucket).map((key) => this.#facts.get(key) as V);
  }

  /** The keys of one bucket, sorted, for readers to which only matters which facts there are. */
  keysBy(index: string, bucket: string): readonly string[] {
    this.#step?.noteRead();
    const found = this.#index(index);
    found.members.note(bucket, this.#recorder);
    return this.#sorted(found, bucket);
  }

  /** The set that facts keep under this name and bucket, as it is now. */
  setOf(name: string, bucket: string): SetVersion {
    const sets = this.#sets.get(name);
    if (sets === undefined) throw new Error(`facts ${this.name} have no sets ${name}`);
    this.#step?.noteRead();
    sets.cells.note(bucket, this.#recorder);
    return sets.buckets.get(bucket)?.version ?? EMPTY_SET;
  }

  /** Every fact, in the order of the keys. */
  all(): readonly V[] {
    this.#step?.noteRead();
    this.#recorder.note(this.#all);
    return [...this.#facts.keys()].sort().map((key) => this.#facts.get(key) as V);
  }

  /** Every key and fact, for programs outside of builds: nothing is recorded, nothing sorted. */
  entries(): IterableIterator<[string, V]> {
    return this.#facts.entries();
  }

  /** The fact, for programs outside of builds: nothing is recorded. */
  peek(...key: readonly string[]): V | undefined {
    return this.#facts.get(this.#key(key));
  }

  *tuples(): Iterable<readonly string[]> {
    for (const key of this.#facts.keys()) yield this.#tuple(key);
  }

  onKeys(listener: (tuple: readonly string[], isPresent: boolean) => void): void {
    this.#listeners.push(listener);
  }

  /** The buckets of an index that have a member, as keys; buckets of an arity above 1 are `tupleKey`s. */
  distinct(index: string, arity = 1): KeySource {
    const found = this.#index(index);
    const tuple = (bucket: string): readonly string[] =>
      arity === 1 ? [bucket] : (JSON.parse(bucket) as readonly string[]);
    return {
      steps: this.steps,
      *tuples() {
        for (const bucket of found.buckets.keys()) yield tuple(bucket);
      },
      onKeys(listener) {
        found.listeners.push(([bucket = ''], isPresent) => listener(tuple(bucket), isPresent));
      },
    };
  }

  /** The keys of one bucket. */
  bucket(index: string, bucket: string): KeySource {
    return this.buckets(index, { steps: [], tuples: () => [[bucket]], onKeys: () => undefined });
  }

  /** The keys of those buckets that are keys of `buckets`. */
  buckets(index: string, buckets: KeySource): KeySource {
    const found = this.#index(index);
    const membersOf = (bucket = ''): (readonly string[])[] =>
      [...(found.buckets.get(bucket) ?? [])].map((key) => this.#tuple(key));
    return {
      steps: [...this.steps, ...buckets.steps],
      *tuples() {
        for (const [bucket] of buckets.tuples()) yield* membersOf(bucket);
      },
      onKeys: (listener) => {
        const present = new Set<string>();
        for (const [bucket = ''] of buckets.tuples()) present.add(bucket);
        buckets.onKeys(([bucket = ''], isPresent) => {
          if (isPresent) present.add(bucket);
          else present.delete(bucket);
          for (const key of membersOf(bucket)) listener(key, isPresent);
        });
        found.memberListeners.push((bucket, key, isPresent) => {
          if (present.has(bucket)) listener(this.#tuple(key), isPresent);
        });
      },
    };
  }

  /** Sets the fact, or removes it when `value` is undefined. Returns false when nothing is another than before. */
  put(key: string | readonly string[], value: V | undefined): boolean {
    if (this.#recorder.isRecording)
      throw new Error(`facts ${this.name} are changed while something is worked out from facts`);
    const text = typeof key === 'string' ? key : this.#key(key);
    const before = this.#facts.get(text);
    if (this.#failed.delete(text)) this.#noteFact(text);
    if (before === undefined ? value === undefined : isSame(before, value)) return false;
    // First what may throw: a fact that has no place in an index is not taken in at all.
    const places = [...this.#indexes.values()].map(
      (index) => [index, new Set(value === undefined ? [] : index.by(value, text))] as const,
    );
    if (value === undefined) this.#facts.delete(text);
    else this.#facts.set(text, value);
    this.#cells.invalidate(text);
    this.#all.invalidate();
    for (const [field, cells] of this.#parts)
      if (!isSame(before?.[field], value?.[field])) cells.invalidate(text);
    for (const [index, now] of places) this.#move(index, text, before, now);
    for (const sets of this.#sets.values()) sets.move(text, before, value);
    if ((before === undefined) !== (value === undefined)) {
      const tuple = this.#tuple(text);
      for (const listener of this.#listeners) listener(tuple, value !== undefined);
    }
    return true;
  }

  delete(key: string | readonly string[]): boolean {
    return this.put(key, undefined);
  }

  /** The fact can't be worked out: it stays what it was, and who asks for it by its key is told why. */
  fail(key: string, why: string): void {
    if (this.#failed.get(key) === why) return;
    this.#failed.set(key, why);
    this.#noteFact(key);
  }

  #refuse(key: string): void {
    const why = this.#failed.get(key);
    if (why !== undefined) throw new FailedFact(why);
  }

  /** Readers of the fact by its key work out again what they made of it. */
  #noteFact(key: string): void {
    this.#cells.invalidate(key);
    for (const cells of this.#parts.values()) cells.invalidate(key);
  }

  #key(key: readonly string[]): string {
    return this.#arity === 1 ? (key[0] ?? '') : JSON.stringify(key);
  }

  #tuple(key: string): readonly string[] {
    return this.#arity === 1 ? [key] : (JSON.parse(key) as readonly string[]);
  }

  #index(name: string): Index<V> {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`facts ${this.name} have no index ${name}`);
    return index;
  }

  #sorted(index: Index<V>, bucket: string): string[] {
    return [...(index.buckets.get(bucket) ?? [])].sort();
  }

  #move(index: Index<V>, key: string, before: V | undefined, now: ReadonlySet<string>): void {
    const old = new Set(before === undefined ? [] : index.by(before, key));
    for (const bucket of old.union(now)) {
      const isMember = now.has(bucket);
      index.contents.invalidate(bucket);
      if (old.has(bucket) === isMember) continue;
      index.members.invalidate(bucket);
      const keys = index.buckets.get(bucket);
      if (isMember) {
        if (keys === undefined) index.buckets.set(bucket, new Set([key]));
        else keys.add(key);
        if (keys === undefined) for (const listener of index.listeners) listener([bucket], true);
      } else if (keys !== undefined) {
        keys.delete(key);
        if (keys.size === 0) {
          index.buckets.delete(bucket);
          for (const listener of index.listeners) listener([bucket], false);
        }
      }
      for (const listener of index.memberListeners) listener(bucket, key, isMember);
    }
  }
}
