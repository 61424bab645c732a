import { OvsdbError } from 'ovsdb-client-ts';

/** What a function returns or, in place of an exception, the kind of its error. */
export function outcome<T>(compute: () => T): T | { readonly refused: string } {
  try {
    return compute();
  } catch (error) {
    if (error instanceof OvsdbError) return { refused: error.code };
    throw error;
  }
}

export const refused = (code: string): { readonly refused: string } => ({ refused: code });
