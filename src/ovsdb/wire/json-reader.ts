import { syntaxError } from '../data/error.ts';
import type { JsonValue } from '../data/value.ts';
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  JsonCursor,
  MAX_DEPTH,
  NEED_MORE,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  setMember,
} from './json-cursor.ts';
import type { TextsElsewhere } from './text-elsewhere.ts';

type Members = { [name: string]: JsonValue };

/** An array or object that is open. */
interface Open {
  readonly items: JsonValue[] | undefined;
  readonly members: Members | undefined;
  /** Of an object: the name whose value comes next. */
  name: string;
}

/** What comes next. */
const VALUE = 0;
/** A value, or the end of an array that is still empty. */
const FIRST_VALUE = 1;
const NAME = 2;
/** A name, or the end of an object that is still empty. */
const FIRST_NAME = 3;
/** A comma, or the end of what is open. */
const NEXT = 4;
const DONE = 5;

/**
 * Builds a JSON value from bytes that come in pieces, cut anywhere. What `JsonCursor.value` (or `skip`) does in one go, for values so large that it
 * would take long.
 */
export class JsonReader {
  readonly #cursor = new JsonCursor();
  readonly #open: Open[] = [];
  #state = VALUE;
  #value: JsonValue = null;
  /** Bytes that `push` should be given at least, so that a long string is not begun again with each piece. */
  wants = 0;

  readonly #isKept: boolean;

  /** `isKept`: false for a value that is only to be stepped over. */
  constructor(isKept = true) {
    this.#isKept = isKept;
    this.#cursor.isPartial = true;
  }

  get isDone(): boolean {
    return this.#state === DONE;
  }

  /** The value, once it is complete. */
  get value(): JsonValue {
    if (!this.isDone) throw syntaxError('JSON ends too early');
    return this.#value;
  }

  /** Braces of the value that are open. */
  get braces(): number {
    return this.#open.length - this.brackets;
  }

  /** Brackets of the value that are open. */
  get brackets(): number {
    return this.#open.filter(({ items }) => items !== undefined).length;
  }

  /** Returns where it stopped: what follows is to be given again, with more. Throws `syntax error`. */
  push(bytes: Buffer, texts: TextsElsewhere | undefined, position = 0, end = bytes.length): number {
    const cursor = this.#cursor;
    cursor.reset(bytes, position, end);
    cursor.texts = texts;
    let complete = position;
    try {
      while (this.#state !== DONE && cursor.peek() !== -1) {
        this.#step(cursor);
        complete = cursor.position;
      }
    } catch (error) {
      if (error !== NEED_MORE) throw error;
    }
    this.wants = 2 * (end - complete);
    return complete;
  }

  #step(cursor: JsonCursor): void {
    switch (this.#state) {
      case FIRST_NAME:
        if (cursor.take(CLOSE_BRACE)) this.#close();
        else this.#name(cursor);
        break;
      case NAME:
        this.#name(cursor);
        break;
      case FIRST_VALUE:
        if (cursor.take(CLOSE_BRACKET)) this.#close();
        else this.#read(cursor);
        break;
      case VALUE:
        this.#read(cursor);
        break;
      default: {
        const isArray = this.#open.at(-1)?.items !== undefined;
        if (cursor.take(isArray ? CLOSE_BRACKET : CLOSE_BRACE)) this.#close();
        else {
          cursor.expect(COMMA);
          this.#state = isArray ? VALUE : NAME;
        }
      }
    }
  }

  #name(cursor: JsonCursor): void {
    cursor.string();
    const name = cursor.lastName;
    cursor.expect(COLON);
    (this.#open.at(-1) as Open).name = name;
    this.#state = VALUE;
  }

  #read(cursor: JsonCursor): void {
    const byte = cursor.peek();
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (this.#open.length >= MAX_DEPTH)
        throw syntaxError(`JSON is nested more than ${MAX_DEPTH} levels deep`);
      cursor.position++;
      const isArray = byte === OPEN_BRACKET;
      this.#open.push({
        items: isArray ? [] : undefined,
        members: isArray ? undefined : {},
        name: '',
      });
      this.#state = isArray ? FIRST_VALUE : FIRST_NAME;
      return;
    }
    let value: JsonValue = null;
    if (this.#isKept) value = cursor.value();
    else cursor.skip();
    // A number may go on in the next piece.
    if (byte !== QUOTE && cursor.position >= cursor.end) throw NEED_MORE;
    this.#add(value);
  }

  #close(): void {
    const { items, members } = this.#open.pop() as Open;
    this.#add(items ?? (members as Members));
  }

  #add(value: JsonValue): void {
    const open = this.#open.at(-1);
    this.#state = open === undefined ? DONE : NEXT;
    if (!this.#isKept) return;
    if (open === undefined) this.#value = value;
    else if (open.items !== undefined) open.items.push(value);
    else if (open.members !== undefined) setMember(open.members, open.name, value);
  }
}
