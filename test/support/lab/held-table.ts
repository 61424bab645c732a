/** What attacks came to, in one form for all tests of test/e2e/hostile: a line for each kind, and how many of those tried were held. */
import { appendFileSync } from 'node:fs';
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

/** Names the file in which a run collects what all tests say. */
export const HELD_FILE = 'HEDDLE_TEST_HELD';

/** Prints the table of one file of tests, and leaves its attacks to the table of the whole run. Without attacks it says nothing. */
export function sayHeld(what: string, attacks: readonly Attack[]): void {
  if (attacks.length === 0) return;
  process.stdout.write(`${heldTable(what, attacks)}\n`);
  const file = process.env[HELD_FILE];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ what, attacks })}\n`);
}

interface Said {
  readonly what: string;
  readonly attacks: readonly Attack[];
}

/** The table of a whole run, from what its tests left in the file: a line for each kind, with what was tried and what got through. */
export function heldOfRun(collected: string): string {
  const said = collected
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Said);
  const all = said.flatMap(({ what, attacks }) => attacks.map((one) => ({ ...one, what })));
  const through = (list: readonly Attack[]): string =>
    String(list.filter(({ isHeld }) => !isHeld).length);
  const rows = [...Map.groupBy(all, ({ what, kind }) => JSON.stringify([what, kind])).values()].map(
    (list) => [list[0]?.what ?? '', list[0]?.kind ?? '', String(list.length), through(list)],
  );
  return table(
    ['attacks', 'kind', 'tries', 'got through'],
    [...rows, ['all', '', String(all.length), through(all)]],
  );
}
