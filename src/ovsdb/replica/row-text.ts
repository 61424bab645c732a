import { INTEGER_HOLE, TEXT_HOLE, UUID_HOLE } from '../storage/shape-scan.ts';
import { lastIs, TAG } from '../storage/atom-codec.ts';
import {
  CLOSE_BRACKET,
  COLON,
  COMMA,
  JsonCursor,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../wire/json-cursor.ts';
import type { NamedColumn, NameTable } from './name-table.ts';
import { DELETE } from './staging.ts';

/** An atom in the text of a row. */
export interface AtomPlace {
  /** Where its value begins: what a codec reads. */
  readonly value: number;
  /** What differs when it is another: from where to where. */
  readonly start: number;
  readonly end: number;
  /** What kind of hole this can be in a shape; 0: none. */
  readonly hole: number;
}

interface ColumnText {
  readonly column: NamedColumn;
  readonly start: number;
  readonly atoms: readonly AtomPlace[];
}

/** Larger rows, and rows with more atoms, have hardly the same shape as others. */
export const LONGEST_ROW = 2048;
const MOST_ATOMS = 32;

const SHORT_INTEGER = /^(?:0|[1-9][0-9]{0,8})$/;

/** The text of one row's update, `"uuid":{"insert":{…}}` or another kind, which was found right before, and where its atoms are. */
export class RowText {
  readonly text: Buffer;
  readonly kind: number;
  /** The atoms that may be holes, the UUID of the row first. */
  readonly atoms: readonly AtomPlace[];
  readonly columns: readonly ColumnText[];
  /** The text without these atoms. */
  readonly skeleton: string;

  private constructor(text: Buffer, kind: number, uuid: AtomPlace, columns: readonly ColumnText[]) {
    this.text = text;
    this.kind = kind;
    this.columns = columns;
    this.atoms = [uuid, ...columns.flatMap(({ atoms }) => atoms)].filter(({ hole }) => hole !== 0);
    const bounds = [0, ...this.atoms.flatMap(({ start, end }) => [start, end]), text.length];
    this.skeleton = Array.from({ length: bounds.length / 2 }, (_, i) =>
      text.toString('latin1', bounds[i * 2], bounds[i * 2 + 1]),
    ).join('\0');
  }

  /** Undefined when the row has many atoms, or when the same column comes twice. */
  static of(
    bytes: Buffer,
    from: number,
    to: number,
    kind: number,
    names: NameTable,
  ): RowText | undefined {
    const text = Buffer.from(bytes.subarray(from, to));
    const cursor = new JsonCursor(text);
    const uuid = stringAtom(cursor, UUID_HOLE);
    cursor.expect(COLON);
    cursor.expect(OPEN_BRACE);
    cursor.string();
    cursor.expect(COLON);
    const columns: ColumnText[] = [];
    if (kind !== DELETE) {
      cursor.object(() => {
        const column = names.find(cursor.text, cursor.textStart, cursor.textEnd);
        cursor.first();
        const start = cursor.position;
        if (column === undefined) cursor.skip();
        else columns.push({ column, start, atoms: valueAtoms(cursor, column) });
      });
    }
    const isUnique = new Set(columns.map(({ column }) => column)).size === columns.length;
    const row = new RowText(text, kind, uuid, columns);
    return isUnique && uuid.hole !== 0 && row.atoms.length <= MOST_ATOMS ? row : undefined;
  }

  textOf({ start, end }: AtomPlace): Buffer {
    return this.text.subarray(start, end);
  }
}

/** The atoms of a column's value; none when it is written in a way in which no other is likely to be. */
function valueAtoms(cursor: JsonCursor, { codec }: NamedColumn): readonly AtomPlace[] {
  const { type, kind } = codec;
  const start = cursor.position;
  if (cursor.first() !== OPEN_BRACKET) return [atom(cursor, type.key.type)];
  cursor.expect(OPEN_BRACKET);
  cursor.string();
  if (lastIs(cursor, TAG)) {
    cursor.position = start;
    return [atom(cursor, 'uuid')];
  }
  cursor.expect(COMMA);
  const atoms: AtomPlace[] = [];
  cursor.array(() => {
    if (type.value === undefined) atoms.push(atom(cursor, type.key.type));
    else {
      cursor.expect(OPEN_BRACKET);
      atoms.push(atom(cursor, type.key.type));
      cursor.expect(COMMA);
      atoms.push(atom(cursor, type.value.type));
      cursor.expect(CLOSE_BRACKET);
    }
  });
  cursor.expect(CLOSE_BRACKET);
  // One in brackets: the codec reads it as a whole.
  return kind === 'set' || kind === 'map' ? atoms : [];
}

/** Steps over an atom. */
function atom(cursor: JsonCursor, type: string): AtomPlace {
  const byte = cursor.first();
  const value = cursor.position;
  if (byte === QUOTE) return stringAtom(cursor, type === 'string' ? TEXT_HOLE : 0);
  if (byte === OPEN_BRACKET) {
    cursor.expect(OPEN_BRACKET);
    cursor.string();
    cursor.expect(COMMA);
    const uuid = stringAtom(cursor, UUID_HOLE);
    cursor.expect(CLOSE_BRACKET);
    return { ...uuid, value };
  }
  cursor.skip();
  const end = cursor.position;
  const isShort = SHORT_INTEGER.test(cursor.bytes.toString('latin1', value, end));
  return { value, start: value, end, hole: isShort ? INTEGER_HOLE : 0 };
}

/** Steps over a string, which can be a hole when it is written as it is kept. */
function stringAtom(cursor: JsonCursor, hole: number): AtomPlace {
  cursor.first();
  const value = cursor.position;
  cursor.string();
  const { text, bytes, textStart, textEnd } = cursor;
  const isPlain = text === bytes && isAscii(text, textStart, textEnd);
  const end = cursor.position - 1;
  return { value, start: value + 1, end, hole: isPlain ? hole : 0 };
}

function isAscii(bytes: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if ((bytes[i] as number) > 0x7f) return false;
  return true;
}
