/** The name that somebody most likely meant. Pure. */

/** Letters to add, drop or replace until one text is the other. */
function distance(a: string, b: string): number {
  let before = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 0; i < a.length; i += 1) {
    const row = [i + 1];
    for (let j = 0; j < b.length; j += 1)
      row.push(
        Math.min(
          (before[j + 1] ?? 0) + 1,
          (row[j] ?? 0) + 1,
          (before[j] ?? 0) + (a[i] === b[j] ? 0 : 1),
        ),
      );
    before = row;
  }
  return before[b.length] ?? 0;
}

/** Names are short: longer texts are no typing errors, and cost time. */
const LONGEST = 64;

const MOST_LETTERS = 3;

/** Of `names` the one that differs from `written` by the fewest letters, at most a third of its own; case does not count. */
export function nearestName(written: string, names: Iterable<string>): string | undefined {
  if (written.length > LONGEST) return undefined;
  const [best] = [...names]
    .map((name) => [name, distance(written.toLowerCase(), name.toLowerCase())] as const)
    .filter(([name, letters]) => letters <= Math.min(Math.floor(name.length / 3), MOST_LETTERS))
    .sort(([, a], [, b]) => a - b);
  return best?.[0];
}
