/** What attacks came to, in one form for all tests of test/e2e/hostile: a line for each kind, and how many of those tried were held. */
import { table } from '../../../src/cli/output.ts';

/** One thing that was tried. `by`: heading of its column, such as the network of who tried. */
export interface Attack {
  readonly kind: string;
  readonly by: string;
  readonly isHeld: boolean;
}

/** The table as text, kinds and columns in the order in which they came. */
export function heldTable(what: string, attacks: readonly Attack[]): string {
  const columns = [...new Set(attacks.map(({ by }) => by))];
  const rows = [...Map.groupBy(attacks, ({ kind }) => kind)].map(([kind, ofKind]) => [
    kind,
    ...columns.map((column) => {
      const tried = ofKind.filter(({ by }) => by === column);
      if (tried.length === 0) return '-';
      return `${tried.filter(({ isHeld }) => isHeld).length} of ${tried.length}`;
    }),
  ]);
  return table([`${what}: held of tried`, ...columns], rows);
}

export const sayHeld = (what: string, attacks: readonly Attack[]): void => {
  process.stdout.write(`${heldTable(what, attacks)}\n`);
};
