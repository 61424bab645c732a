/** Vitest loads this before each file of tests: what the file costs, for the end of `./dev test`. */
import { appendFileSync, readFileSync } from 'node:fs';
import { afterAll, expect } from 'vitest';

/** What /proc/PID/stat counts in, on every processor that runs this. */
const TICKS_A_SECOND = 100;

/** Seconds of this process and of the children that it has waited for, and theirs. */
function processorSeconds(): number {
  const text = readFileSync('/proc/self/stat', 'utf8');
  // Numbered from 1 in proc(5), the name in brackets is the second: utime, stime, cutime and cstime are 14 to 17.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_A_SECOND;
}

/** Where test/all.ts wants a line for each file: its path and the seconds. */
const { HEDDLE_TEST_TIMES: times } = process.env;

if (times !== undefined) {
  const before = processorSeconds();
  // Hooks of a file that come later run earlier, and those end what they started.
  afterAll(() => {
    const { testPath } = expect.getState();
    appendFileSync(times, `${testPath}\t${(processorSeconds() - before).toFixed(2)}\n`);
  });
}
