import type { DatabaseSchema } from '../data/schema.ts';

/** What is wanted and the server's schema lacks, in sentences for people. */
export class LeftOut {
  readonly sentences = new Set<string>();
  readonly #schema: DatabaseSchema;

  constructor(schema: DatabaseSchema) {
    this.#schema = schema;
  }

  table(table: string): void {
    this.sentences.add(`${this.#subject} has no table ${table}: its rows are left out`);
  }

  column(table: string, column: string): void {
    this.sentences.add(
      `${this.#subject} has no column ${column} in table ${table}: its values are left out`,
    );
  }

  get #subject(): string {
    return `the server's schema ${this.#schema.name} ${this.#schema.version}`;
  }
}
