/** What a feature is: units that range over facts, what each builds, and the sentences that it follows. */
import type { Key, KeySource } from '../facts/keys.ts';
import type { DesiredRow, TableClaim } from './rows.ts';

/** A rule that rows follow, in words, and the text that it comes from. */
export interface Rule {
  /** One sentence: "one switch per Layer2 network, shared by all zones". */
  readonly text: string;
  /** Section of a page of docs, of an RFC or a manual page: "reference/topology.md §9.1". */
  readonly source: string;
}

/** Where a unit puts what it builds. */
export interface Sink {
  row(row: DesiredRow): void;
  /** What is built is right as far as it goes, and this is missing yet: "a subnet of network blue on node n1". */
  waitFor(what: string): void;
  /** Something that concerns the object, with what to do about it; the rest of the unit goes on. */
  problem(object: string, message: string): void;
  /** The unit can't be as its object asks: it gets no rows. Ends the build. */
  reject(object: string, reason: string): never;
}

/** Something that Heddle keeps true; `F` are the facts that it knows, `K` the keys of its units. One file or small folder each. */
export interface Feature<F, K extends Key = Key> {
  /** `layer3/remote-node`. */
  readonly name: string;
  /** One unit per key. */
  over(facts: F): KeySource<K>;
  /** Pure: gives the same rows for the same facts. What it reads is recorded. A throw leaves the unit's last rows as they are. */
  build(facts: F, key: NoInfer<K>, out: Sink): void;
  readonly rules: Readonly<Record<string, Rule>>;
  /** Tables that it writes. Features that write one table share one claim. */
  readonly claims: readonly TableClaim[];
  /** Which unit keeps a name that two want: the lower one, then the feature that comes first in the list, then the lower key. Default 0. */
  rank?(facts: F, key: NoInfer<K>): number;
  /**
   * Objects whose marks the unit's rows may carry: rows of theirs that nobody wants stay as long as the unit could not be built since the
   * start. Undefined where nobody can tell: all rows of its tables do. Nothing that is read here is recorded.
   */
  objects?(facts: F, key: NoInfer<K>): readonly string[] | undefined;
  /** What the unit's state counts for in a report, such as the name of a network; undefined for what concerns all. */
  subject?(facts: F, key: NoInfer<K>): string | undefined;
}

/** A feature whose units have the keys that it is `over`. */
export const feature = <F, K extends Key>(one: Feature<F, K>): Feature<F> => one;

/** How a unit is. */
export type UnitState =
  | { readonly kind: 'ok' }
  | { readonly kind: 'waiting'; readonly for: string }
  | { readonly kind: 'rejected'; readonly object: string; readonly reason: string }
  | { readonly kind: 'failed'; readonly error: string };
