import { OvsdbError, shorten, syntaxError } from './error.ts';
import { isObject } from './json.ts';
import type { JsonObject, JsonValue } from './value.ts';

/** Reads the members of an object and says in ovsdb-server's words what is wrong with them. */
export class Members {
  readonly #json: JsonObject;
  readonly #what: string;
  readonly #used = new Set<string>();

  /** `what` is being read: `schema for column name`. Throws `syntax error` unless it is an object. */
  constructor(json: JsonValue, what: string) {
    this.#what = what;
    this.#json = isObject(json) ? json : {};
    if (!isObject(json)) throw syntaxError(`Parsing ${what} failed: Object expected.`, json);
  }

  #fail(problem: string): never {
    throw new OvsdbError('syntax error', `Parsing ${this.#what} failed: ${problem}`, {
      syntax: shorten(this.#json),
    });
  }

  optional(name: string): JsonValue | undefined {
    this.#used.add(name);
    return Object.hasOwn(this.#json, name) ? this.#json[name] : undefined;
  }

  required(name: string): JsonValue {
    const value = this.optional(name);
    return value === undefined ? this.#fail(`Required '${name}' member is missing.`) : value;
  }

  /** The member is of another type than it must be. */
  mismatch(name: string): never {
    return this.#fail(`Type mismatch for member '${name}'.`);
  }

  boolean(name: string, fallback: boolean): boolean {
    const value = this.optional(name);
    if (value === undefined) return fallback;
    return typeof value === 'boolean' ? value : this.mismatch(name);
  }

  string(name: string, fallback: string): string {
    const value = this.optional(name);
    if (value === undefined) return fallback;
    return typeof value === 'string' ? value : this.mismatch(name);
  }

  /** Throws when there are members that were not read. */
  finish(): void {
    const unread = Object.keys(this.#json).filter((name) => !this.#used.has(name));
    const [first] = unread;
    if (first === undefined) return;
    const others = unread.length - 1;
    const present =
      others === 0
        ? 'is'
        : others === 1
          ? 'and 1 other member are'
          : `and ${others} other members are`;
    this.#fail(`Member '${first}' ${present} present but not allowed here.`);
  }
}
