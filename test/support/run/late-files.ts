/**
 * Runs tests until a time: files that come to be run later are skipped. A run that has to end by the clock then says what it left out, instead of
 * being ended by somebody else without a word.
 */
import { TestRunner, type RunnerTask, type RunnerTestFile } from 'vitest';

/** The time after which no file begins, in milliseconds since 1970. */
export const LAST_BEGIN = 'HEDDLE_TEST_LAST_BEGIN';

export default class LateFilesSkipped extends TestRunner {
  onCollected(files: readonly RunnerTestFile[]): void {
    const last = process.env[LAST_BEGIN];
    if (last !== undefined && Date.now() > Number(last)) skip(files);
  }
}

function skip(tasks: readonly RunnerTask[]): void {
  for (const task of tasks) {
    task.mode = 'skip';
    if (task.type === 'suite') skip(task.tasks);
  }
}
