import { parseCondition, readClause } from '../data/condition.ts';
import { OvsdbError, shorten, syntaxError } from '../data/error.ts';
import type { TableSchema } from '../data/schema.ts';
import type { JsonValue } from '../data/value.ts';

/**
 * Checks the rows that a program wants of a table, as the server will. Without a schema only the form of the clauses can be looked at.
 * Throws what `parseCondition` throws, with the names of table and column and the clause.
 */
export function checkCondition(
  table: string,
  where: JsonValue,
  schema: TableSchema | undefined,
): void {
  if (!Array.isArray(where)) {
    throw syntaxError(`the condition of table ${table} must be a list of clauses`, where);
  }
  for (const clause of where as readonly JsonValue[]) {
    try {
      if (schema !== undefined) parseCondition(schema, [clause]);
      else if (typeof clause !== 'boolean') readClause(clause);
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      const column = Array.isArray(clause) && typeof clause[0] === 'string' ? clause[0] : undefined;
      const what = `condition of table ${table}${column === undefined ? '' : `, column ${column}`}`;
      throw new OvsdbError(error.code, `${what}: ${error.details}`, {
        syntax: shorten(clause),
        cause: error,
      });
    }
  }
}
