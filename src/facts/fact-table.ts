/**
 * Facts: one table per kind, with indexes. What is read while something is built is recorded, so that a change dirties
 * exactly the readers of that fact, field or bucket of an index.
 */
import { CountedSet, EMPTY_SET, type SetVersion } from './counted-set.ts';
import {
  keyAsWritten,
  keyOf,
  keyText,
  written,
  type Key,
  type KeyListener,
  type KeySource,
  type Written,
} from './keys.ts';
import { eachOf, withMember, withoutMember, type Members } from './members.ts';
import { Cell, CellMap, type ReadRecorder, type Step } from './reads.ts';
import { isSame } from './same.ts';
import { FailedFact } from './unreadable.ts';

/** Keys of the buckets of indexes, or of sets, by name. */
export type Buckets = Readonly<Record<string, Key>>;

export interface FactTableOptions<K extends Key, V, I extends Buckets, S extends Buckets> {
  /** Buckets of each index that a fact belongs into. */
  readonly indexes?: {
    readonly [X in keyof I]: (value: V, key: Written<K>) => Iterable<Written<I[X]>>;
  };
  /** Sets of what facts say, kept member by member: members that a fact adds, each with the bucket of its set. */
  readonly sets?: {
    readonly [X in keyof S]: (value: V) => Iterable<readonly [bucket: S[X], member: string]>;
  };
}

const NOWHERE: ReadonlySet<string> = new Set();

class Index<K extends Key, V> {
  readonly #by: (value: V, key: Written<K>) => Iterable<string | Key>;
  /** Texts of the keys in each bucket. */
  readonly buckets = new Map<string, Members<string>>();
  /** Readers of the members and what they say. */
  readonly contents = new CellMap();
  /** Readers of which members there are. */
  readonly members = new CellMap();
  readonly listeners: KeyListener<Key>[] = [];
  /** Subscribers to the members of each bucket. */
  readonly memberListeners: ((bucket: string, ...member: Parameters<KeyListener<K>>) => void)[] =
    [];

  constructor(by: (value: V, key: Written<K>) => Iterable<string | Key>) {
    this.#by = by;
  }

  /** Buckets that the fact belongs into, as texts. */
  placesOf(value: V | undefined, key: Written<K>): ReadonlySet<string> {
    if (value === undefined) return NOWHERE;
    const places = new Set<string>();
    for (const bucket of this.#by(value, key)) places.add(keyText(bucket));
    return places;
  }

  /** Returns true if the bucket has come or gone. */
  move(bucket: string, key: string, isMember: boolean): boolean {
    const before = this.buckets.get(bucket);
    const now = isMember ? withMember(before, key) : withoutMember(before, key);
    if (now === undefined) this.buckets.delete(bucket);
    else if (now !== before) this.buckets.set(bucket, now);
    return (before === undefined) !== (now === undefined);
  }
}

/** Sets by bucket, each kept as facts come and go. */
class KeptSets<V> {
  readonly by: (value: V) => Iterable<readonly [bucket: Key, member: string]>;
  readonly buckets = new Map<string, CountedSet>();
  readonly cells = new CellMap();

  constructor(by: (value: V) => Iterable<readonly [bucket: Key, member: string]>) {
    this.by = by;
  }

  move(before: V | undefined, value: V | undefined): void {
    const changed = new Set<string>();
    // What stays is added before it is removed, so that it does not move.
    for (const [key, member] of value === undefined ? [] : this.by(value)) {
      const bucket = keyText(key);
      let set = this.buckets.get(bucket);
      if (set === undefined) this.buckets.set(bucket, (set = new CountedSet()));
      if (set.add(member)) changed.add(bucket);
    }
    for (const [key, member] of before === undefined ? [] : this.by(before)) {
      const bucket = keyText(key);
      if (this.buckets.get(bucket)?.remove(member) === true) changed.add(bucket);
    }
    for (const bucket of changed) {
      this.cells.invalidate(bucket);
      if (this.buckets.get(bucket)?.version.size === 0) this.buckets.delete(bucket);
    }
  }
}

/** A fact, or the lack of one that was asked for, with who read it as a whole. */
class Fact<V> extends Cell {
  value: V | undefined;
}

/** Below this many facts that are not there, those that nobody asks for are not looked for. */
const FEW_LACKING = 64;

/** Facts by key. `I` has the indexes with the keys of their buckets, `S` the sets. */
export class FactTable<
  K extends Key,
  V extends object,
  I extends Buckets = {},
  S extends Buckets = {},
> implements KeySource<K> {
  readonly name: string;
  readonly #recorder: ReadRecorder;
  readonly #facts = new Map<string, Fact<V>>();
  /** Those of them that are there. */
  #size = 0;
  /** So many others may be among them before those that nobody asks for go. */
  #mostLacking = FEW_LACKING;
  /** Readers of one field, by field and key. */
  readonly #parts = new Map<keyof V, CellMap>();
  readonly #all = new Cell();
  readonly #indexes = new Map<keyof I, Index<K, V>>();
  readonly #sets = new Map<keyof S, KeptSets<V>>();
  readonly #listeners: KeyListener<K>[] = [];
  /** With what its facts are worked out; undefined for what is read from objects. */
  readonly #step: Step | undefined;
  /** Why the facts of these keys can't be known: each is what it was last, or never was. */
  readonly #failed = new Map<string, string>();

  constructor(
    name: string,
    recorder: ReadRecorder,
    { indexes, sets }: FactTableOptions<K, V, I, S> = {},
    step?: Step,
  ) {
    this.name = name;
    this.#step = step;
    this.#recorder = recorder;
    for (const index in indexes) this.#indexes.set(index, new Index(indexes[index]));
    for (const set in sets) this.#sets.set(set, new KeptSets(sets[set]));
  }

  get size(): number {
    return this.#size;
  }

  get steps(): readonly Step[] {
    return this.#step === undefined ? [] : [this.#step];
  }

  /** The whole fact. Throws `FailedFact` if it could not be worked out. */
  get(...key: K): V | undefined {
    const text = keyText(key);
    this.#step?.noteRead();
    const fact = this.#recorder.isRecording ? this.#factOf(text) : this.#facts.get(text);
    if (fact !== undefined) this.#recorder.note(fact);
    if (this.#failed.size > 0) this.#refuse(text);
    return fact?.value;
  }

  /** One field of the fact, for readers to which the others do not matter. Throws `FailedFact` if the fact could not be worked out. */
  part<F extends keyof V>(key: Written<K>, field: F): V[F] | undefined {
    const text = keyText(key);
    this.#step?.noteRead();
    if (this.#recorder.isRecording) {
      let cells = this.#parts.get(field);
      if (cells === undefined) this.#parts.set(field, (cells = new CellMap()));
      cells.note(text, this.#recorder);
    }
    if (this.#failed.size > 0) this.#refuse(text);
    return this.#facts.get(text)?.value?.[field];
  }

  /** The facts of one bucket, in the order of their keys; those that can't be worked out now are what they were last. */
  by<X extends keyof I>(index: X, ...bucket: I[X]): readonly V[] {
    const text = keyText(bucket);
    this.#step?.noteRead();
    const found = this.#index(index);
    found.contents.note(text, this.#recorder);
    return this.#sorted(found, text).map((key) => this.#facts.get(key)?.value as V);
  }

  /** The keys of one bucket, sorted, for readers to which only matters which facts there are. */
  keysBy<X extends keyof I>(index: X, ...bucket: I[X]): readonly Written<K>[] {
    const text = keyText(bucket);
    this.#step?.noteRead();
    const found = this.#index(index);
    found.members.note(text, this.#recorder);
    return this.#sorted(found, text).map((key) => written(keyOf<K>(key)));
  }

  /** The set that facts keep under this name and bucket, as it is now. */
  setOf<X extends keyof S>(name: X, ...bucket: S[X]): SetVersion {
    const text = keyText(bucket);
    const sets = this.#sets.get(name);
    if (sets === undefined) throw new Error(`facts ${this.name} have no sets ${String(name)}`);
    this.#step?.noteRead();
    sets.cells.note(text, this.#recorder);
    return sets.buckets.get(text)?.version ?? EMPTY_SET;
  }

  /** Every fact, in the order of the keys. */
  all(): readonly V[] {
    this.#step?.noteRead();
    this.#recorder.note(this.#all);
    return [...this.#present()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
  }

  /** Every key and fact, for programs outside of builds: nothing is recorded, nothing sorted. */
  entries(): IteratorObject<[Written<K>, V]> {
    return this.#present().map(([key, value]) => [written(keyOf<K>(key)), value]);
  }

  /** The fact, for programs outside of builds: nothing is recorded. */
  peek(...key: K): V | undefined {
    return this.#facts.get(keyText(key))?.value;
  }

  keys(): Iterable<K> {
    return this.#present().map(([key]) => keyOf<K>(key));
  }

  onKeys(listener: KeyListener<K>): void {
    this.#listeners.push(listener);
  }

  /** The buckets of an index that have a member, as keys. */
  distinct<X extends keyof I>(index: X): KeySource<I[X]> {
    const { buckets, listeners } = this.#index(index);
    return {
      steps: this.steps,
      keys: () => buckets.keys().map((bucket) => keyOf<I[X]>(bucket)),
      onKeys: (listener) => void listeners.push(listener as KeyListener<Key>),
    };
  }

  /** The keys of one bucket. */
  bucket<X extends keyof I>(index: X, ...bucket: I[X]): KeySource<K> {
    return this.buckets(index, { steps: [], keys: () => [bucket], onKeys: () => undefined });
  }

  /** The keys of those buckets that are keys of `buckets`. */
  buckets<X extends keyof I>(index: X, buckets: KeySource<I[X]>): KeySource<K> {
    const found = this.#index(index);
    return {
      steps: [...this.steps, ...buckets.steps],
      *keys() {
        for (const bucket of buckets.keys())
          for (const member of eachOf(found.buckets.get(keyText(bucket)))) yield keyOf<K>(member);
      },
      onKeys: (listener) => {
        const present = new Set<string>();
        for (const bucket of buckets.keys()) present.add(keyText(bucket));
        buckets.onKeys((_key, isPresent, bucket) => {
          if (isPresent) present.add(bucket);
          else present.delete(bucket);
          for (const member of eachOf(found.buckets.get(bucket)))
            listener(keyOf(member), isPresent, member);
        });
        found.memberListeners.push((bucket, ...member) => {
          if (present.has(bucket)) listener(...member);
        });
      },
    };
  }

  /** Sets the fact, or removes it when `value` is undefined. Returns false when nothing is another than before. */
  put(key: Written<K>, value: V | undefined): boolean {
    return this.putAs(keyText(key), key, value);
  }

  /** As `put`, for who has the text of the key. */
  protected putAs(text: string, key: Written<K>, value: V | undefined): boolean {
    if (this.#recorder.isRecording)
      throw new Error(`facts ${this.name} are changed while something is worked out from facts`);
    const before = this.#facts.get(text)?.value;
    if (this.#failed.delete(text)) this.#noteFact(text);
    if (before === undefined ? value === undefined : isSame(before, value)) return false;
    // First what may throw: a fact that has no place in an index is not taken in at all.
    const places = [...this.#indexes.values()].map(
      (index) => [index, index.placesOf(value, key)] as const,
    );
    this.#set(text, value);
    this.#all.invalidate();
    for (const [field, cells] of this.#parts)
      if (!isSame(before?.[field], value?.[field])) cells.invalidate(text);
    const read = keyAsWritten(key);
    for (const [index, now] of places)
      this.#move(index, read, text, index.placesOf(before, key), now);
    for (const sets of this.#sets.values()) sets.move(before, value);
    if ((before === undefined) !== (value === undefined))
      for (const listener of this.#listeners) listener(read, value !== undefined, text);
    return true;
  }

  delete(key: Written<K>): boolean {
    return this.put(key, undefined);
  }

  /** The fact can't be worked out: it stays what it was, and who asks for it by its key is told why. */
  fail(key: Written<K>, why: string): void {
    const text = keyText(key);
    if (this.#failed.get(text) === why) return;
    this.#failed.set(text, why);
    this.#noteFact(text);
  }

  #factOf(key: string): Fact<V> {
    let fact = this.#facts.get(key);
    if (fact === undefined) this.#facts.set(key, (fact = new Fact()));
    return fact;
  }

  /** Facts that are there, by the texts of their keys. */
  *#present(): Generator<[string, V], undefined> {
    for (const [key, { value }] of this.#facts) if (value !== undefined) yield [key, value];
    return undefined;
  }

  #set(key: string, value: V | undefined): void {
    const fact = this.#factOf(key);
    this.#size += Number(value !== undefined) - Number(fact.value !== undefined);
    fact.value = value;
    fact.invalidate();
    if (value === undefined && !fact.isRead) this.#facts.delete(key);
    if (this.#facts.size - this.#size <= this.#mostLacking) return;
    for (const [name, one] of this.#facts)
      if (one.value === undefined && !one.isRead) this.#facts.delete(name);
    this.#mostLacking = Math.max(FEW_LACKING, 2 * (this.#facts.size - this.#size));
  }

  #refuse(key: string): void {
    const why = this.#failed.get(key);
    if (why !== undefined) throw new FailedFact(why);
  }

  /** Readers of the fact by its key work out again what they made of it. */
  #noteFact(key: string): void {
    this.#facts.get(key)?.invalidate();
    for (const cells of this.#parts.values()) cells.invalidate(key);
  }

  #index(name: keyof I): Index<K, V> {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`facts ${this.name} have no index ${String(name)}`);
    return index;
  }

  #sorted(index: Index<K, V>, bucket: string): string[] {
    return [...eachOf(index.buckets.get(bucket))].sort();
  }

  #move(
    index: Index<K, V>,
    key: K,
    text: string,
    old: ReadonlySet<string>,
    now: ReadonlySet<string>,
  ): void {
    for (const bucket of old.size === 0 ? now : old.union(now)) {
      const isMember = now.has(bucket);
      index.contents.invalidate(bucket);
      if (old.has(bucket) === isMember) continue;
      index.members.invalidate(bucket);
      if (index.move(bucket, text, isMember) && index.listeners.length > 0) {
        const bucketKey = keyOf(bucket);
        for (const listener of index.listeners) listener(bucketKey, isMember, bucket);
      }
      for (const listener of index.memberListeners) listener(bucket, key, isMember, text);
    }
  }
}
