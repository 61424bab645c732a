/** A block of addresses without some of them, as prefixes: OVN multiplies out what a match negates, and adds up what it lists. */
import { bitsOf, containsPrefix, lastOf, type Family, type Prefix } from './addresses.ts';

/**
 * What is left of a block without the exceptions, in ascending order and as few prefixes as there can be; nothing where they cover it.
 * Exceptions of the other family, or outside of the block, change nothing. Lazy, since an exception can leave a prefix per bit of its
 * address: who takes only some pays for those.
 */
export function* withoutPrefixes(
  block: Prefix,
  exceptions: readonly Prefix[],
): Generator<Prefix, void> {
  const inside = exceptions
    .filter(({ family }) => family === block.family)
    .map((one) => (containsPrefix(one, block) ? block : one))
    .filter((one) => containsPrefix(block, one))
    .sort((a, b) => (a.base < b.base ? -1 : a.base > b.base ? 1 : 0));
  let next = block.base;
  for (const exception of inside) {
    yield* prefixesBetween(block.family, next, exception.base - 1n);
    const behind = lastOf(exception) + 1n;
    if (behind > next) next = behind;
  }
  yield* prefixesBetween(block.family, next, lastOf(block));
}

/** The fewest prefixes that have the addresses from `first` to `last`, both included; none if `last` comes before `first`. */
export function* prefixesBetween(
  family: Family,
  first: bigint,
  last: bigint,
): Generator<Prefix, void> {
  const bits = bitsOf(family);
  let base = first;
  while (base <= last) {
    let hostBits = 0;
    while (
      hostBits < bits &&
      (base >> BigInt(hostBits)) % 2n === 0n &&
      base + (2n << BigInt(hostBits)) - 1n <= last
    )
      hostBits += 1;
    yield { family, base, length: bits - hostBits };
    base += 1n << BigInt(hostBits);
  }
}
