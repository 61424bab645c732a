/** `heddle verify` as a program of its own: what it finds out shares nothing with the daemon but its settings. */
import { execFile } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { OPTIONS } from '../settings/options.ts';
import type { GivenOptions } from '../settings/configuration.ts';
import type { Verdict } from '../verify/verify.ts';

/** Milliseconds: verify itself gives up what does not answer, and reads again up to six times. */
const LONGEST = 120_000;
/** Bytes of a verdict with every edge of some thousand networks. */
const LARGEST = 256 * 2 ** 20;
/** Exit codes of a verdict (docs/verify.md); any other is a failure. */
const VERDICTS: readonly unknown[] = [0, 1, 2];

/** The settings that the daemon was given, for the settings that `heddle verify` knows: its own environment and file the program reads itself. */
const flagsOf = (given: GivenOptions): readonly string[] =>
  OPTIONS.filter(({ name, group }) => group !== 'control' && given[name] !== undefined).map(
    ({ name }) => `--${name}=${given[name] ?? ''}`,
  );

/**
 * Proves once, with the least priority that there is: pods and packets come first. Rejects with what the program reported when it came to no verdict, and when
 * `signal` aborts.
 */
export function proofByProcess(given: GivenOptions, signal: AbortSignal): Promise<Verdict> {
  const [, main = ''] = process.argv;
  return new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [...process.execArgv, main, 'verify', '--json', ...flagsOf(given)],
      { signal, timeout: LONGEST, killSignal: 'SIGKILL', maxBuffer: LARGEST },
      (error, stdout, stderr) => {
        if (error !== null && !VERDICTS.includes(error.code)) {
          const reported = stderr.trim().split('\n').at(-1) ?? '';
          reject(
            new Error(
              error.killed === true
                ? `no verdict within ${LONGEST / 1000} s`
                : reported || error.message,
            ),
          );
          return;
        }
        try {
          resolve(JSON.parse(stdout) as Verdict);
        } catch {
          reject(new Error(`no verdict: ${stderr.trim().slice(0, 200)}`));
        }
      },
    );
    if (child.pid !== undefined)
      try {
        setPriority(child.pid, constants.priority.PRIORITY_LOW);
      } catch {
        // It has ended already.
      }
  });
}
