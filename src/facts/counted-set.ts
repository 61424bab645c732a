/** Sets that change a little at a time: who knows one state of such a set finds the next one by the members that moved, however many there are. */

/** A set as it was at one time, and stays. It is read without a copy: later ones know all members, earlier ones what moved since. */
export class SetVersion implements Iterable<string> {
  readonly size: number;
  /** Members of the newest version. */
  readonly #newest: ReadonlyMap<string, number>;
  /** The version behind this one, and the member that only one of the two has. An earlier one that nobody holds is forgotten. */
  #next: { readonly version: SetVersion; readonly moved: string } | undefined;

  private constructor(newest: ReadonlyMap<string, number>) {
    this.#newest = newest;
    this.size = newest.size;
  }

  /** The first version. */
  static of(members: ReadonlyMap<string, number>): SetVersion {
    return new SetVersion(members);
  }

  /** The version that follows this one, the newest, now that one member came or went. */
  followed(moved: string): SetVersion {
    const version = new SetVersion(this.#newest);
    this.#next = { version, moved };
    return version;
  }

  has(member: string): boolean {
    let isMember = this.#newest.has(member);
    for (let next = this.#next; next !== undefined; next = next.version.#next)
      if (next.moved === member) isMember = !isMember;
    return isMember;
  }

  *[Symbol.iterator](): Iterator<string> {
    const moved = new Set<string>();
    for (let next = this.#next; next !== undefined; next = next.version.#next)
      moved.add(next.moved);
    for (const member of this.#newest.keys()) if (!moved.has(member)) yield member;
    for (const member of moved) if (this.has(member)) yield member;
  }

  /**
   * The members that moved between this version and a later one of the same set; a few of them may have come back. Undefined when it is none, or
   * when so much moved that a look at all members costs less.
   */
  movedUntil(later: SetVersion): ReadonlySet<string> | undefined {
    const moved = new Set<string>();
    if (this === later) return moved;
    let steps = 0;
    for (let next = this.#next; next !== undefined; next = next.version.#next) {
      moved.add(next.moved);
      if (next.version === later) return moved;
      steps += 1;
      if (steps > later.size) return undefined;
    }
    return undefined;
  }

  isSame(other: SetVersion): boolean {
    if (this === other) return true;
    if (this.size !== other.size) return false;
    for (const member of this) if (!other.has(member)) return false;
    return true;
  }

  toJSON(): readonly string[] {
    return [...this];
  }
}

/** The set of nothing. */
export const EMPTY_SET = SetVersion.of(new Map());

/** A set whose members are there as long as somebody adds them. */
export class CountedSet {
  readonly #counts = new Map<string, number>();
  #version = SetVersion.of(this.#counts);

  /** The set as it is now. */
  get version(): SetVersion {
    return this.#version;
  }

  /** Returns true when the set is another one than before. */
  add(member: string): boolean {
    const count = this.#counts.get(member) ?? 0;
    this.#counts.set(member, count + 1);
    if (count > 0) return false;
    this.#version = this.#version.followed(member);
    return true;
  }

  /** Takes back one `add`. Returns true when the set is another one than before. */
  remove(member: string): boolean {
    const count = this.#counts.get(member) ?? 0;
    if (count > 1) {
      this.#counts.set(member, count - 1);
      return false;
    }
    if (!this.#counts.delete(member)) return false;
    this.#version = this.#version.followed(member);
    return true;
  }
}
