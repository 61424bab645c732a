/**
 * What a declaration of a kind says: which objects a zone follows, how they are read, in which facts that ends, and what holds while one can't be
 * read. Each stands at the end of the file of its reader.
 */
import type { KubeObject, ResourceKind } from '../../api/objects.ts';
import type { ClusterSettings } from '../model.ts';
import type { ObjectReading } from './reading.ts';

export interface ReadContext<F> {
  readonly nodeName: string;
  readonly settings: ClusterSettings;
  /** The object is on this node, or on none. */
  readonly isOwn: boolean;
  /** Grows: what is read in one round came at the same time. */
  readonly round: number;
  /** What was read of the object last. */
  readonly before: F | undefined;
}

/** Something that is read of an object as far as it can be. Methods, so that parts of all kinds fit one list. */
export interface ObjectPart<
  O extends KubeObject = KubeObject,
  F = unknown,
  T extends string = string,
> {
  /** Facts that it ends in: an entry of `tablesOf` (`src/model/zone/object-tables.ts`). */
  readonly table: T;
  /** All that it is read from, where comparing that is cheaper than reading. */
  texts?(object: O): readonly unknown[];
  /** Undefined for an object that has nothing of it. */
  read(object: O, context: ReadContext<F>): F | undefined;
}

type Check<O extends KubeObject> = { check(object: O): string | undefined }['check'];

interface ReadKind<O extends KubeObject, F, T extends string> extends Omit<
  ObjectPart<O, F, T>,
  'read'
> {
  readonly kind: ResourceKind<O>;
  read(object: O, context: ReadContext<F>): ObjectReading<F> | undefined;
  /** What else is read of its objects. */
  readonly also?: readonly ObjectPart<O>[];
  /** What an object is told, whatever can be read of it; undefined where nothing is wrong. */
  readonly checks?: readonly Check<O>[];
  /** The node that an object is on. Those of other nodes are read while something asks for them, and told what is wrong there. */
  nodeOf?(object: O): string | undefined;
  /** True if what was read depends on the pods of all nodes. */
  needsOtherPods?(fact: F): boolean;
  /** False for an unreadable object that says nothing where others say something: no rows can be there for it. */
  isTorn?(object: O): boolean;
  /** Other objects whose rows may be there for an unreadable one. */
  others?(object: O): readonly string[];
}

/** A kind whose objects a zone follows. */
export type ObjectKind<
  O extends KubeObject = KubeObject,
  F = unknown,
  T extends string = string,
> = ReadKind<O, F, T> &
  // What holds of an object that exists and can't be read. What was read of it last stays in force; where that is nothing, `keep`: rows that may be
  // there for it stay; `closed`: it closes what it might have closed (`closed`), and where that can't be told rows stay, too.
  (
    | { readonly onUnreadable: 'keep' }
    | {
        readonly onUnreadable: 'closed';
        /** Undefined where it can't be told what to close. */
        closed(object: O, context: ReadContext<F>): ObjectReading<F> | undefined;
      }
  );
