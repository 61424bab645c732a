import { describe, expect, test } from 'vitest';
import {
  canonicalText,
  columnTypeToJson,
  conditionToJson,
  evaluateCondition,
  parseColumnType,
  parseCondition,
  parseDatum,
  parseJson,
  parseMutations,
  parseTableSchema,
  schemaToJson,
  tableSchemaToJson,
  typeToEnglish,
} from 'ovsdb-client-ts/values';
import { datumToJson, parseSchema, type Datum, type JsonValue } from 'ovsdb-client-ts';

/** What RFC 7047 and ovsdb-server say about types, values, schemas and conditions, case by case. */

const canonicalType = (text: string): string =>
  canonicalText(columnTypeToJson(parseColumnType(parseJson(text))));

describe('types', () => {
  test.each([
    ['"integer"', '"integer"'],
    ['{"key":"integer"}', '"integer"'],
    ['{"key":"real","min":1,"max":1}', '"real"'],
    ['{"key":{"type":"boolean"}}', '"boolean"'],
    [
      '{"key":{"type":"integer","minInteger":-5,"maxInteger":10}}',
      '{"key":{"maxInteger":10,"minInteger":-5,"type":"integer"}}',
    ],
    ['{"key":{"type":"real","maxReal":1e5}}', '{"key":{"maxReal":100000,"type":"real"}}'],
    [
      '{"key":{"type":"string","minLength":1,"maxLength":5}}',
      '{"key":{"maxLength":5,"minLength":1,"type":"string"}}',
    ],
    ['{"key":{"type":"string","minLength":0}}', '"string"'],
    [
      '{"key":{"type":"uuid","refTable":"t","refType":"strong"}}',
      '{"key":{"refTable":"t","type":"uuid"}}',
    ],
    [
      '{"key":{"type":"uuid","refTable":"t","refType":"weak"}}',
      '{"key":{"refTable":"t","refType":"weak","type":"uuid"}}',
    ],
    [
      '{"key":{"type":"string","enum":["set",["b","a"]]}}',
      '{"key":{"enum":["set",["a","b"]],"type":"string"}}',
    ],
    ['{"key":{"type":"string","enum":"a"}}', '{"key":{"enum":"a","type":"string"}}'],
    ['{"key":"boolean","min":0}', '{"key":"boolean","min":0}'],
    ['{"key":"uuid","min":1,"max":3}', '{"key":"uuid","max":3}'],
    ['{"key":"real","max":"unlimited"}', '{"key":"real","max":"unlimited"}'],
    ['{"key":"integer","value":"boolean"}', '{"key":"integer","value":"boolean"}'],
    [
      '{"key":"string","value":"uuid","min":0,"max":10}',
      '{"key":"string","max":10,"min":0,"value":"uuid"}',
    ],
  ])('%s is %s', (given, canonical) => {
    expect(canonicalType(given)).toBe(canonical);
  });

  test.each([
    ['"void"', 'is not an atomic-type'],
    ['1', 'Parsing ovsdb type failed: Object expected.'],
    ['{"key":1}', "Type mismatch for member 'key'."],
    ['{"key":{"type":1}}', 'atomic-type expected'],
    ['{}', "Parsing ovsdb type failed: Required 'key' member is missing."],
    ['{"key":{}}', "Parsing ovsdb type failed: Required 'type' member is missing."],
    ['{"value":"integer"}', "Required 'key' member is missing."],
    ['{"key":{"type":"integer","minInteger":5,"maxInteger":3}}', 'minInteger exceeds maxInteger'],
    ['{"key":{"type":"real","minReal":555,"maxReal":444}}', 'minReal exceeds maxReal'],
    ['{"key":{"type":"string","minLength":5,"maxLength":3}}', 'minLength exceeds maxLength'],
    ['{"key":{"type":"string","maxLength":-1}}', 'maxLength out of valid range 0 to 4294967295'],
    ['{"key":{"type":"uuid","refTable":"a-b-c"}}', "Type mismatch for member 'refTable'."],
    [
      '{"key":{"type":"uuid","refTable":"a","refType":"soft"}}',
      'refType must be "strong" or "weak" (not "soft")',
    ],
    ['{"key":{"type":"integer","minInteger":0.5}}', "Type mismatch for member 'minInteger'."],
    ['{"key":"real","min":"1"}', "Type mismatch for member 'min'."],
    ['{"key":"real","max":true}', "Type mismatch for member 'max'."],
    ['{"key":"real","max":"many"}', 'bad min or max value'],
    [
      '{"key":{"type":"integer","enum":["set",[]]}}',
      'set must have 1 to 4294967295 members but 0 are present',
    ],
    ['{"key":{"type":"integer","enum":1,"minInteger":0}}', "Member 'minInteger' is present"],
    ['{"key":"real","min":5,"max":3}', 'ovsdb type fails constraint checks'],
    ['{"key":"real","max":-1}', 'bad min or max value'],
    ['{"key":"real","max":0}', 'ovsdb type fails constraint checks'],
    ['{"key":"real","min":-1}', 'bad min or max value'],
    ['{"key":"real","min":10,"max":"unlimited"}', 'ovsdb type fails constraint checks'],
    ['{"key":"real","extra":1}', "Member 'extra' is present but not allowed here."],
    [
      '{"key":"real","more":2,"extra":1}',
      "Member 'more' and 1 other member are present but not allowed here.",
    ],
  ])('%s is refused', (given, problem) => {
    expect(() => canonicalType(given)).toThrow(problem);
  });

  test.each([
    ['"integer"', 'integer'],
    ['{"key":"boolean","min":0}', 'set of up to 1 booleans'],
    ['{"key":"integer","min":1,"max":2}', 'set of 1 to 2 integers'],
    ['{"key":"string","min":0,"max":"unlimited"}', 'set of strings'],
    ['{"key":"integer","value":"string","min":0}', 'map of up to 1 (integer, string) pairs'],
  ])('%s in words: %s', (given, words) => {
    expect(typeToEnglish(parseColumnType(parseJson(given)))).toBe(words);
  });
});

describe('values', () => {
  const canonical = (type: string, value: string): string =>
    canonicalText(
      datumToJson(
        parseColumnType(parseJson(type)),
        parseDatum(parseColumnType(parseJson(type)), parseJson(value)),
      ),
    );

  test.each([
    ['"integer"', '1e3', '1000'],
    ['"integer"', '["set",[1]]', '1'],
    ['"integer"', '9223372036854775807.0', '9223372036854775807'],
    ['"integer"', '-9.223372036854775808e18', '-9223372036854775808'],
    ['"real"', '-0.0', '0'],
    ['"boolean"', '["set",[true]]', 'true'],
    ['{"key":"boolean","min":0}', '["set",[]]', '["set",[]]'],
    ['{"key":"integer","min":0,"max":"unlimited"}', '["set",[0]]', '0'],
    ['{"key":"integer","min":0,"max":"unlimited"}', '["set",[10,9,-1]]', '["set",[-1,9,10]]'],
    ['{"key":"string","min":0,"max":3}', '["set",["b","\u{1d11e}","\uffff","a"]]', 'too many'],
    [
      '{"key":"string","min":0,"max":4}',
      '["set",["\u{1d11e}","\uffff","a"]]',
      '["set",["a","\uffff","\u{1d11e}"]]',
    ],
    [
      '{"key":"integer","value":"boolean","max":"unlimited"}',
      '["map",[[3,false],[0,true]]]',
      '["map",[[0,true],[3,false]]]',
    ],
  ])('%s %s', (type, value, expected) => {
    if (expected === 'too many')
      expect(() => canonical(type, value)).toThrow('0 to 3 members but 4 are present');
    else expect(canonical(type, value)).toBe(expected);
  });

  test.each([
    ['"integer"', '0.5', 'syntax "0.5": syntax error: expected integer'],
    ['"integer"', '9223372036854775808', 'expected integer'],
    ['"boolean"', '"true"', 'expected boolean'],
    ['"string"', '1', 'expected string'],
    ['"uuid"', '"550e8400-e29b-41d4-a716-446655440000"', 'expected ["uuid", <string>]'],
    ['"uuid"', '["named-uuid","x"]', 'expected ["uuid", <string>]'],
    ['"uuid"', '["uuid","1234-5678"]', '"1234-5678" is not a valid UUID'],
    ['"integer"', '["set",[]]', 'set must have exactly one member but 0 are present'],
    ['{"key":"integer","max":5}', '["set",[1,2,3,1]]', 'ovsdb error: set contains duplicate'],
    ['{"key":"real","max":5}', '["set",[0.0,-0.0]]', 'ovsdb error: set contains duplicate'],
    [
      '{"key":"integer","value":"boolean","max":5}',
      '["map",[[1,true],[2,false],[1,false]]]',
      'ovsdb error: map contains duplicate key',
    ],
    [
      '{"key":{"type":"integer","enum":["set",[10,1]]}}',
      '2',
      'constraint violation: 2 is not one of the allowed values ([1, 10])',
    ],
    [
      '{"key":{"type":"string","enum":["set",["def","abc"]]}}',
      '""',
      'constraint violation: "" is not one of the allowed values ([abc, def])',
    ],
    [
      '{"key":{"type":"integer","minInteger":5}}',
      '4',
      'constraint violation: 4 is less than minimum allowed value 5',
    ],
    [
      '{"key":{"type":"real","maxReal":-1}}',
      '0',
      'constraint violation: 0 is greater than maximum allowed value -1',
    ],
    [
      '{"key":{"type":"integer","minInteger":-10,"maxInteger":10}}',
      '11',
      'constraint violation: 11 is not in the valid range -10 to 10 (inclusive)',
    ],
    [
      '{"key":{"type":"string","minLength":2}}',
      '"\\ud834\\udd1e"',
      'length 1 is less than minimum allowed length 2',
    ],
    [
      '{"key":{"type":"string","maxLength":2}}',
      '"abc"',
      'constraint violation: "abc" length 3 is greater than maximum allowed length 2',
    ],
  ])('%s does not take %s', (type, value, problem) => {
    expect(() => canonical(type, value)).toThrow(problem);
  });
});

describe('schemas', () => {
  test.each([
    ['{"columns":{"name":{"type":"string"}}}', '{"columns":{"name":{"type":"string"}}}'],
    [
      '{"columns":{"name":{"type":"string"}},"mutable":false}',
      '{"columns":{"name":{"type":"string"}},"mutable":false}',
    ],
    [
      '{"columns":{"name":{"type":"string","ephemeral":true}},"isRoot":true,"maxRows":2}',
      '{"columns":{"name":{"ephemeral":true,"type":"string"}},"isRoot":true,"maxRows":2}',
    ],
    [
      '{"columns":{"a":{"type":"integer"},"b":{"type":"string"}},"indexes":[["b","a"]]}',
      '{"columns":{"a":{"type":"integer"},"b":{"type":"string"}},"indexes":[["b","a"]]}',
    ],
  ])('table %s', (given, canonical) => {
    expect(canonicalText(tableSchemaToJson(parseTableSchema(parseJson(given), 'mytable')))).toBe(
      canonical,
    );
  });

  test.each([
    ['{}', "Parsing table schema for table mytable failed: Required 'columns' member is missing."],
    ['{"columns":{}}', 'table must have at least one column'],
    ['{"columns":{"_column":{"type":"integer"}}}', 'names beginning with "_" are reserved'],
    [
      '{"columns":{"name":{}}}',
      "Parsing schema for column name failed: Required 'type' member is missing.",
    ],
    ['{"columns":{"name":{"type":"string"}},"maxRows":0}', 'maxRows must be at least 1'],
    [
      '{"columns":{"a":{"type":"integer"}},"indexes":[["a"],[0]]}',
      'array of distinct column names expected',
    ],
    [
      '{"columns":{"a":{"type":"integer"}},"indexes":[["a","a"]]}',
      'array of distinct column names expected',
    ],
    ['{"columns":{"a":{"type":"integer"}},"indexes":[[]]}', 'index must have at least one column'],
    [
      '{"columns":{"a":{"type":"integer","ephemeral":true}},"indexes":[["a"]]}',
      'ephemeral columns (such as a) may not be indexed',
    ],
  ])('table %s is refused', (given, problem) => {
    expect(() => parseTableSchema(parseJson(given), 'mytable')).toThrow(problem);
  });

  const reference = (table: string): JsonValue => ({
    name: 'mydb',
    tables: { a: { columns: { to: { type: { key: { type: 'uuid', refTable: table } } } } } },
  });

  test('references lead to tables that exist; without a root every table is one, and none says so', () => {
    expect(schemaToJson(parseSchema(reference('a')))).toEqual(reference('a'));
    expect(parseSchema(reference('a')).tables.get('a')?.isRoot).toBe(true);
    expect(() => parseSchema(reference('c'))).toThrow('column to key refers to undefined table c');
  });
});

describe('conditions', () => {
  const table = parseTableSchema(
    {
      columns: {
        i: { type: 'integer' },
        s: { type: 'string' },
        o: { type: { key: 'integer', min: 0 } },
      },
    },
    'mytable',
  );

  test('are sorted as the server tries them', () => {
    const given: JsonValue = [
      ['i', 'excludes', 7],
      ['i', '!=', 8],
      ['i', '==', 1],
      ['i', 'includes', 2],
      ['i', '<=', 3],
      ['i', '<', 4],
      ['i', '>', 6],
      ['i', '>=', 5],
      ['_uuid', '==', ['uuid', 'd50e85c6-8ae7-4b16-b69e-4395928bd9be']],
    ];
    expect(
      (conditionToJson(parseCondition(table, given)) as JsonValue[]).map((clause) =>
        (clause as readonly string[]).slice(0, 2).join(' '),
      ),
    ).toEqual([
      '_uuid ==',
      'i ==',
      'i includes',
      'i <=',
      'i <',
      'i >=',
      'i >',
      'i excludes',
      'i !=',
    ]);
  });

  test.each<[JsonValue, string]>([
    [
      [['s', '<', 'a']],
      'Type mismatch: "<" operator may not be applied to column s of type string.',
    ],
    [[['o', '>', ['set', []]]], 'set must have exactly one member but 0 are present'],
    [[['x', '==', 1]], 'No column x in table mytable.'],
    [[['i', '=~', 1]], 'No function named =~.'],
    [[['i', '==']], 'Parse error in condition.'],
  ])('%j is refused', (given, problem) => {
    expect(() => parseCondition(table, given)).toThrow(problem);
  });

  test.each<[JsonValue, Datum, boolean]>([
    [[], 1, true],
    [[true], 1, true],
    [[false], 1, false],
    [[['o', '<', 5]], undefined, false],
    [[['o', '!=', 5]], undefined, true],
    [[['o', '==', ['set', []]]], undefined, true],
    [
      [
        ['o', '>', 0],
        ['o', '<', 2],
      ],
      1,
      true,
    ],
  ])('%j of %j: %j', (given, value, expected) => {
    expect(evaluateCondition(parseCondition(table, given), () => value)).toBe(expected);
  });

  test('mutations of immutable columns and unknown mutators are refused', () => {
    const fixed = parseTableSchema(
      { columns: { i: { type: 'integer', mutable: false }, j: { type: 'integer' } } },
      'mytable',
    );
    expect(() => parseMutations(fixed, [['i', '+=', 1]])).toThrow(
      'constraint violation: Cannot mutate immutable column i in table mytable.',
    );
    expect(() => parseMutations(fixed, [['j', 'xxx', 1]])).toThrow(
      'unknown mutator: No mutator named xxx.',
    );
    expect(() => parseMutations(fixed, [['j', 'insert', 1]])).toThrow(
      'Type mismatch: "insert" operator may not be applied to column j of type integer.',
    );
  });
});
