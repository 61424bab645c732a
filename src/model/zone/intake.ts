/**
 * Objects → facts. Takes the change of one object at a time, reads it as its kind is declared, again only where a text that matters changed,
 * and puts only what is another now.
 */
import { NadRegistry } from '../../api/nad/nad-registry.ts';
import type { KubeObject, ObjectKey } from '../../api/objects.ts';
import type { ObjectKind, ObjectPart, ReadContext } from '../read/object-kind.ts';
import { objectKindOf } from '../read/object-kinds.ts';
import type { ZoneFacts } from './zone.ts';
import { objectId, tablesOf, type ObjectId, type ObjectTable } from './object-tables.ts';

/** One change of an object; `after` absent = gone. */
export interface ModelChange {
  readonly key: ObjectKey;
  readonly after: KubeObject | undefined;
}

type Context = Omit<ReadContext<unknown>, 'before'>;

export class ObjectIntake {
  readonly #facts: ZoneFacts;
  /** The NADs, for whoever else in this process asks what they say. */
  readonly registry = new NadRegistry();
  readonly #tables: Readonly<Record<string, ObjectTable<unknown>>>;
  /** What each object was read from last. */
  readonly #texts = new Map<string, readonly unknown[]>();

  constructor(facts: ZoneFacts) {
    this.#facts = facts;
    this.#tables = tablesOf(facts, this.registry);
  }

  /** Throws for a kind that no zone follows. */
  take(kind: string, { key, after: found }: ModelChange): void {
    const declared = objectKindOf(kind);
    if (declared === undefined) throw new Error(`no zone follows objects of kind ${kind}`);
    const { nodeName, settings, otherPods } = this.#facts;
    const node = found && declared.nodeOf?.(found);
    const isOwn = declared.nodeOf === undefined || node === nodeName;
    const isRead = isOwn || (otherPods.areWanted && node !== undefined);
    const after = isRead ? found : undefined;
    const context = { nodeName, settings, isOwn, round: this.#facts.roundFor(isOwn) };
    const id = objectId(kind, key);
    this.#check(declared, id, isOwn ? after : undefined);
    const isAnother = this.#hasChanged(declared, id, after);
    if (isAnother) this.#read(declared, id, after, context);
    for (const part of declared.also ?? []) {
      const isFromSame = part.texts !== undefined && part.texts === declared.texts;
      if (!(isFromSame ? isAnother : this.#hasChanged(part, id, after))) continue;
      const table = this.#table(part);
      table.put(id, after && part.read(after, { ...context, before: table.peek(id) }), after);
    }
  }

  #check(
    { checks = [] }: ObjectKind,
    { kind, key }: ObjectId,
    after: KubeObject | undefined,
  ): void {
    const object = `${kind} ${key}`;
    for (const [index, check] of checks.entries()) {
      const message = after && check(after);
      this.#facts.problems.note(
        object,
        `check ${index}`,
        message === undefined ? undefined : { kind: 'problem', message },
      );
    }
  }

  #read(
    declared: ObjectKind,
    id: ObjectId,
    after: KubeObject | undefined,
    { isOwn, ...rest }: Context,
  ): void {
    const { problems, otherPods, unreadable } = this.#facts;
    const object = `${id.kind} ${id.key}`;
    const table = this.#table(declared);
    const context = { ...rest, isOwn, before: table.peek(id) };
    const reading = after && declared.read(after, context);
    problems.note(object, 'object', isOwn ? reading : undefined);
    const isUnreadable = reading?.kind === 'problem';
    const isHeld =
      isUnreadable &&
      after !== undefined &&
      (table.holds?.(id, after) ?? context.before !== undefined);
    const closed =
      isUnreadable && !isHeld && declared.onUnreadable === 'closed'
        ? declared.closed(after as KubeObject, context)
        : undefined;
    const { value, warning } = [reading, closed].find((one) => one?.kind === 'value') ?? {};
    problems.note(
      object,
      'warning',
      warning === undefined || !isOwn ? undefined : { kind: 'problem', message: warning },
    );
    const isUnknown =
      isUnreadable &&
      !isHeld &&
      closed === undefined &&
      (declared.isTorn?.(after as KubeObject) ?? true);
    if (isUnknown) unreadable.set(object, declared.others?.(after as KubeObject) ?? []);
    else unreadable.delete(object);
    if (isHeld) return;
    table.put(id, value, after);
    const needsOtherPods = value !== undefined && declared.needsOtherPods?.(value) === true;
    otherPods.want(object, isOwn && needsOtherPods);
  }

  #table({ table }: ObjectPart): ObjectTable<unknown> {
    const found = this.#tables[table];
    if (found === undefined) throw new Error(`there is no table ${table}`);
    return found;
  }

  /** True if an object is to be read again: its texts are others than last time. */
  #hasChanged(
    part: Pick<ObjectPart, 'table' | 'texts'>,
    { kind, key }: ObjectId,
    object: KubeObject | undefined,
  ): boolean {
    if (part.texts === undefined) return true;
    const about = `${part.table} ${kind} ${key}`;
    const texts = object && part.texts(object);
    const before = this.#texts.get(about);
    if (texts === undefined) return this.#texts.delete(about);
    if (before?.length === texts.length && texts.every((text, i) => text === before[i]))
      return false;
    this.#texts.set(about, texts);
    return true;
  }
}
