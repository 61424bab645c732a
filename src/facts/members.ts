/** Who is in something, once each. Most of these have one or a few: a Set for each would take more memory than all that they are about. */
export type Members<T extends object | string> = undefined | T | readonly T[] | Set<T>;

/** More than these are looked up instead of looked through. */
const FEW = 8;

/** With one more; `members` is not to be used any more. */
export function withMember<T extends object | string>(members: Members<T>, member: T): Members<T> {
  if (members === undefined) return member;
  if (members instanceof Set) return members.add(member);
  const list = listOf<T>(members);
  if (list.includes(member)) return members;
  const more = [...list, member];
  return more.length > FEW ? new Set(more) : more;
}

/** With one less; `members` is not to be used any more. */
export function withoutMember<T extends object | string>(
  members: Members<T>,
  member: T,
): Members<T> {
  if (members instanceof Set) {
    members.delete(member);
    return members.size === 0 ? undefined : members;
  }
  const rest = listOf<T>(members).filter((one) => one !== member);
  return rest.length > 1 ? rest : rest[0];
}

/** Each of them, in the order in which they came. */
export const eachOf = <T extends object | string>(members: Members<T>): Iterable<T> =>
  members instanceof Set ? members : listOf<T>(members);

const NOBODY: readonly never[] = [];

const listOf = <T extends object | string>(members: T | readonly T[] | undefined): readonly T[] =>
  members === undefined
    ? NOBODY
    : Array.isArray(members)
      ? (members as readonly T[])
      : [members as T];
