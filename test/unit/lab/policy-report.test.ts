import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { NOT_RUN, policyReport } from '../../support/lab/policy-report.ts';

const about = { version: '1.2.3', date: '2026-01-01T00:00:00Z' };
const standardOf = (...results: readonly { name: string; isPassed: boolean }[]): unknown =>
  (parse(policyReport(results, about)) as { profiles: { standard: unknown }[] }).profiles[0]
    ?.standard;

test('a report of the suite counts each case once, and names what failed and what was not run', () => {
  const skipped = Object.keys(NOT_RUN);
  expect(
    standardOf(
      { name: 'A', isPassed: true },
      { name: 'B', isPassed: true },
      { name: 'B', isPassed: false },
    ),
  ).toMatchObject({
    result: 'failure',
    statistics: { Passed: 1, Failed: 1, Skipped: skipped.length },
    failedTests: ['B'],
    skippedTests: skipped.toSorted(),
  });
  // What leaves cases out is never a success.
  expect(standardOf({ name: 'A', isPassed: true })).toMatchObject({ result: 'partial' });
});
