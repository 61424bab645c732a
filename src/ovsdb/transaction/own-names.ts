import type { Clause, Mutation, Operation, WireRow } from '../data/operation.ts';
import type { JsonValue } from '../data/value.ts';

/**
 * The operations with another name for each row that they name (`uuid-name`), and in each place that means one of these. What ends each name is
 * up to the caller; an empty one, which the server refuses, stays as it is. The operations must be well formed.
 */
export function withNames(operations: readonly Operation[], end: string): readonly Operation[] {
  const name = (given: string): string => (given === '' ? given : given + end);
  const atom = (json: JsonValue): JsonValue =>
    isTagged(json, 'named-uuid') && typeof json[1] === 'string'
      ? ['named-uuid', name(json[1])]
      : json;
  // A key of a map may be "named-uuid", too.
  const pair = (json: JsonValue): JsonValue => (Array.isArray(json) ? json.map(atom) : json);
  const value = (json: JsonValue): JsonValue => {
    if (isTagged(json, 'set') && Array.isArray(json[1])) return ['set', json[1].map(atom)];
    if (isTagged(json, 'map') && Array.isArray(json[1])) return ['map', json[1].map(pair)];
    return atom(json);
  };
  const row = (columns: WireRow): WireRow =>
    Object.fromEntries(Object.entries(columns).map(([column, json]) => [column, value(json)]));
  const clause = (given: Clause): Clause =>
    typeof given === 'boolean' ? given : [given[0], given[1], value(given[2])];
  const mutation = ([column, mutator, json]: Mutation): Mutation => [column, mutator, value(json)];
  return operations.map((operation): Operation => {
    switch (operation.op) {
      case 'insert': {
        const given = operation['uuid-name'];
        const named = given === undefined ? {} : { 'uuid-name': name(given) };
        return { ...operation, row: row(operation.row), ...named };
      }
      case 'update':
        return { ...operation, where: operation.where.map(clause), row: row(operation.row) };
      case 'mutate':
        return {
          ...operation,
          where: operation.where.map(clause),
          mutations: operation.mutations.map(mutation),
        };
      case 'wait':
        return {
          ...operation,
          where: operation.where.map(clause),
          rows: operation.rows.map(row),
        };
      case 'delete':
      case 'select':
        return { ...operation, where: operation.where.map(clause) };
      case 'comment':
      case 'commit':
      case 'abort':
      case 'assert':
        return operation;
    }
  });
}

const isTagged = (json: JsonValue, tag: string): json is readonly [string, JsonValue] =>
  Array.isArray(json) && json.length === 2 && json[0] === tag;
