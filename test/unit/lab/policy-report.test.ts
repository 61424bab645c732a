import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { policyReport } from '../../support/lab/policy-report.ts';

const about = { version: '1.2.3', date: '2026-01-01T00:00:00Z' };
const standardOf = (...results: readonly { name: string; isPassed: boolean }[]): unknown =>
  (parse(policyReport(results, about)) as { profiles: { standard: unknown }[] }).profiles[0]
    ?.standard;

test('a report of the suite counts each case once, and names what failed', () => {
  expect(
    standardOf(
      { name: 'A', isPassed: true },
      { name: 'B', isPassed: true },
      { name: 'B', isPassed: false },
    ),
  ).toMatchObject({
    result: 'failure',
    statistics: { Passed: 1, Failed: 1, Skipped: 0 },
    failedTests: ['B'],
  });
  expect(standardOf({ name: 'A', isPassed: true })).toMatchObject({ result: 'success' });
});
