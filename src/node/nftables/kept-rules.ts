/** Which rules of a chain stay where they are. */

/** For each wanted rule the index of the found one that stays for it: the most that are in the same order on both sides. */
export function keptRules(
  wanted: readonly string[],
  found: readonly string[],
): readonly (number | undefined)[] {
  // lengths[i][j]: how many of wanted from i on and found from j on can stay.
  const width = found.length + 1;
  const lengths = new Uint32Array((wanted.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = wanted.length - 1; i >= 0; i -= 1)
    for (let j = found.length - 1; j >= 0; j -= 1)
      lengths[i * width + j] =
        wanted[i] === found[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  let j = 0;
  return wanted.map((text, i) => {
    while (j < found.length && found[j] !== text && at(i, j + 1) === at(i, j)) j += 1;
    if (j >= found.length || found[j] !== text || at(i + 1, j + 1) + 1 !== at(i, j))
      return undefined;
    j += 1;
    return j - 1;
  });
}
