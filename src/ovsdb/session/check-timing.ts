import { OvsdbError } from '../data/error.ts';
import { DEFAULT_TIMING, type LinkTiming } from './link.ts';

/** What timers of Node.js can wait for: 24 days. */
const LONGEST = 2 ** 31 - 1;

type Timing = Partial<LinkTiming> & { readonly checkInterval?: number };

/** Which numbers each of them may be, for the test and in words. */
const ALLOWED: {
  readonly [name in keyof Required<Timing>]: readonly [(value: number) => boolean, string];
} = {
  minBackoff: [(value) => value > 0 && value <= LONGEST, 'milliseconds above 0'],
  maxBackoff: [(value) => value > 0 && value <= LONGEST, 'milliseconds above 0'],
  connectTimeout: [
    (value) => value > 0 && (value <= LONGEST || value === Infinity),
    'milliseconds above 0, or Infinity',
  ],
  probeInterval: [(value) => value >= 0 && value <= LONGEST, 'milliseconds, or 0 for never'],
  checkInterval: [(value) => value >= 0 && value <= LONGEST, 'milliseconds, or 0 for never'],
};

/** The timing as it was given, without what is undefined. Throws `bad argument` for a number that can't be meant. */
export function checkTiming<T extends Timing>(given: T): T {
  const timing = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as T;
  for (const [name, value] of Object.entries(timing)) {
    const allowed = ALLOWED[name as keyof Timing];
    if (allowed === undefined) {
      const names = Object.keys(ALLOWED).join(', ');
      throw new OvsdbError('bad argument', `timing has no ${name}; it has ${names}`);
    }
    const [isAllowed, what] = allowed;
    if (typeof value !== 'number' || !isAllowed(value)) {
      const longest = ` (${LONGEST} at most)`;
      throw new OvsdbError(
        'bad argument',
        `timing.${name} is ${String(value)}; give ${what}${longest}`,
      );
    }
  }
  const { minBackoff, maxBackoff } = { ...DEFAULT_TIMING, ...timing };
  if (maxBackoff < minBackoff) {
    throw new OvsdbError(
      'bad argument',
      `timing.maxBackoff is ${maxBackoff}, less than minBackoff, ${minBackoff}; give a larger one`,
    );
  }
  return timing;
}
