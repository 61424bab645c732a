/**
 * Turns of the event loop. Promises that are settled already run before any timer and any socket, however many there are: who works
 * through a long list in memory has to give way, or a lease runs out meanwhile.
 */

/** Milliseconds after which a turn gives way. */
const LONGEST_TURN = 8;

/** Steps of which a turn takes as many in any case: a machine that was busy elsewhere makes no turn of one step. */
const FEWEST_STEPS = 10;

let began: number | undefined;
let steps = 0;

/** Counts a step of this turn; false when it is to wait for the next one (`setImmediate`). */
export function fitsIntoTurn(): boolean {
  const now = performance.now();
  if (began === undefined) {
    [began, steps] = [now, 0];
    setImmediate(() => {
      began = undefined;
    });
  }
  if (steps >= FEWEST_STEPS && now - began > LONGEST_TURN) return false;
  steps += 1;
  return true;
}

/** Resolves in the next turn: after a step that is a whole turn's work. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Resolves at once while a step fits into this turn, else in one in which it does. */
export async function ownTurn(): Promise<void> {
  while (!fitsIntoTurn()) await nextTurn();
}
