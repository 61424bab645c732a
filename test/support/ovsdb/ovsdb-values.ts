import * as fc from 'fast-check';
import { parseSchema, type DatabaseSchema, type JsonValue } from 'ovsdb-client-ts';

/** A schema with a column of each kind of type, and values for it: small ranges, so that random values often meet. */

const ATOMS = ['integer', 'real', 'boolean', 'string', 'uuid'] as const;

function columnsOf(): { [name: string]: JsonValue } {
  const columns: { [name: string]: JsonValue } = {};
  for (const type of ATOMS) {
    const letter = type[0] ?? '';
    columns[letter] = { type };
    columns[`${letter}_optional`] = { type: { key: type, min: 0 } };
    columns[`${letter}_set`] = { type: { key: type, min: 0, max: 'unlimited' } };
    columns[`${letter}_some`] = { type: { key: type, min: 1, max: 3 } };
    columns[`${letter}_map`] = {
      type: { key: type, value: 'integer', min: 0, max: 'unlimited' },
    };
  }
  columns['i_range'] = { type: { key: { type: 'integer', minInteger: -2, maxInteger: 3 } } };
  columns['s_length'] = { type: { key: { type: 'string', minLength: 0, maxLength: 2 } } };
  columns['s_enum'] = { type: { key: { type: 'string', enum: ['set', ['a', 'b', '']] } } };
  columns['s_fixed'] = { type: 'string', mutable: false };
  columns['ss_map'] = { type: { key: 'string', value: 'string', min: 0, max: 4 } };
  return columns;
}

export const VALUES_SCHEMA_JSON: JsonValue = {
  name: 'Values',
  version: '1.0.0',
  tables: { T: { columns: columnsOf(), isRoot: true } },
};

export const VALUES_SCHEMA: DatabaseSchema = parseSchema(VALUES_SCHEMA_JSON);

const uuidOf = (n: number): JsonValue => ['uuid', `00000000-0000-4000-8000-00000000000${n}`];

/** Wire JSON of an atom of a type. */
function atomJson(type: string): fc.Arbitrary<JsonValue> {
  switch (type) {
    case 'integer':
      return fc.oneof(
        { weight: 6, arbitrary: fc.integer({ min: -3, max: 4 }) },
        fc.constantFrom<JsonValue>(
          9223372036854775807n,
          -9223372036854775808n,
          9007199254740993n,
          3037000500,
          -3037000500,
        ),
      );
    case 'real':
      return fc.constantFrom<JsonValue>(0, 0.5, -1.5, 2, 4, 1e37, -1e300, 1e308);
    case 'boolean':
      return fc.boolean();
    case 'uuid':
      return fc.integer({ min: 0, max: 4 }).map(uuidOf);
    default:
      return fc.constantFrom('', 'a', 'b', 'ab', 'abc', '\u{1d11e}', 'true', '"\\\n');
  }
}

/** Wire JSON of a value: of this type, or now and then of another. */
export function valueJson(type: string, valueType: string | undefined): fc.Arbitrary<JsonValue> {
  const set = fc
    .array(atomJson(type), { maxLength: 4 })
    .map((members): JsonValue => ['set', members]);
  if (valueType === undefined) {
    return fc.oneof(
      { weight: 4, arbitrary: atomJson(type) },
      { weight: 4, arbitrary: set },
      atomJson('string'),
    );
  }
  const map = fc
    .array(fc.tuple(atomJson(type), atomJson(valueType)), { maxLength: 4 })
    .map((pairs): JsonValue => ['map', pairs]);
  return fc.oneof({ weight: 8, arbitrary: map }, set, atomJson(type));
}
