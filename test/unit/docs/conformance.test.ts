/** docs/conformance.md is what was kept of the runs of upstream's specs, and every exception has its reason. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { NOT_APPLICABLE } from '../../upstream/not-applicable.ts';
import { keptResults, page, PAGE } from '../../upstream/page.ts';
import {
  keptOutcomes,
  networkResults,
  NETWORKS,
  type NotApplicable,
  outcomes,
  whyNotApplicable,
} from '../../upstream/report.ts';

const names = keptResults().flatMap((results) => [
  ...results.passed,
  ...results.notRun,
  ...[...results.failed, ...results.notApplicable].map(({ name }) => name),
]);

describe('the page', () => {
  test('is what the results make', () => {
    expect(readFileSync(PAGE, 'utf8')).toBe(page(keptResults()));
  });

  test('has the same specs for each network, each once', () => {
    const specs = keptResults().map(({ passed, failed, notApplicable, notRun }) =>
      [...passed, ...notRun, ...[...failed, ...notApplicable].map(({ name }) => name)].toSorted(),
    );
    for (const one of specs) {
      expect(one).toEqual(specs[0]);
      expect(new Set(one).size).toBe(one.length);
    }
    expect(specs[0]?.length).toBe(231);
  });

  test('has of the checked-in list what it says, and nothing that passed', () => {
    for (const { network, passed, failed, notApplicable } of keptResults()) {
      for (const name of failed.map((one) => one.name))
        expect(whyNotApplicable(NOT_APPLICABLE, network, name), name).toBeUndefined();
      for (const { name, why } of notApplicable)
        if (!why.startsWith('it skips itself'))
          expect(why, name).toBe(whyNotApplicable(NOT_APPLICABLE, network, name));
      expect(
        passed.filter((name) => whyNotApplicable(NOT_APPLICABLE, network, name) !== undefined),
      ).toEqual([]);
    }
  });

  test.each(NOT_APPLICABLE)('$specs is of a spec that there is', ({ specs, networks }) => {
    for (const network of networks ?? NETWORKS)
      expect(
        names.some((name) => whyNotApplicable([{ specs, reason: '' }], network, name) === ''),
      ).toBe(true);
  });
});

const spec = (text: string, state: string, message = ''): object => ({
  LeafNodeType: 'It',
  ContainerHierarchyTexts: ['[sig-network] Services'],
  LeafNodeText: text,
  State: state,
  RunTime: 2e9,
  ...(message === '' ? {} : { Failure: { Message: message } }),
});
const reported = (...specs: readonly object[]): string => JSON.stringify([{ SpecReports: specs }]);

describe('what ginkgo reported', () => {
  const list: readonly NotApplicable[] = [
    { specs: /\[sig-network\] Services cannot/, networks: ['layer2'], reason: 'it can not' },
  ];
  const results = (network: (typeof NETWORKS)[number], ...reports: readonly string[]): object =>
    networkResults({
      kubernetes: '1.36.2',
      network,
      outcomes: reports.flatMap((report) => outcomes(report)),
      list,
    });

  test('is sorted by state, without what is not of the network, or of SCTP', () => {
    const report = reported(
      spec('works', 'passed'),
      spec('panics', 'panicked', 'why\n  not'),
      spec('takes long', 'timedout', 'time'),
      spec('other provider', 'skipped', 'only for gce'),
      spec('out of focus', 'skipped'),
      spec('works with SCTP', 'passed'),
      { ...spec('stores', 'passed'), ContainerHierarchyTexts: ['[sig-storage] Volumes'] },
      { ...spec('', 'passed'), LeafNodeType: 'BeforeSuite', ContainerHierarchyTexts: null },
    );
    expect(results('default', report)).toEqual({
      kubernetes: '1.36.2',
      network: 'default',
      passed: ['Services works'],
      failed: [
        { name: 'Services panics', why: 'why not' },
        { name: 'Services takes long', why: 'time' },
      ],
      notApplicable: [{ name: 'Services other provider', why: 'it skips itself: only for gce' }],
      notRun: ['Services out of focus'],
    });
  });

  test.each([
    ['skipped', ''],
    ['failed', 'refused'],
  ])('an exception that is %s has its reason, on its networks alone', (state, message) => {
    const report = reported(spec('cannot', state, message));
    expect(results('layer2', report)).toMatchObject({
      failed: [],
      notApplicable: [{ name: 'Services cannot', why: 'it can not' }],
    });
    expect(results('layer3', report)).toMatchObject({
      failed: state === 'failed' ? [{ name: 'Services cannot', why: 'refused' }] : [],
      notApplicable: [],
    });
  });

  test('a later run counts, where the spec was run in it', () => {
    const first = reported(spec('one', 'failed', 'slow'), spec('two', 'passed'));
    const again = reported(spec('one', 'passed'), spec('two', 'skipped'));
    expect(results('default', first, again)).toMatchObject({
      passed: ['Services one', 'Services two'],
      failed: [],
    });
    expect(results('default', again, first)).toMatchObject({
      passed: ['Services two'],
      failed: [{ name: 'Services one', why: 'slow' }],
    });
  });

  test('stays as it was kept, where a run of some leaves it out', () => {
    const kept = networkResults({
      kubernetes: '1.36.2',
      network: 'layer2',
      outcomes: outcomes(
        reported(
          spec('passes', 'passed'),
          spec('fails', 'failed', 'why'),
          spec('is mended', 'failed', 'why'),
          spec('cannot', 'failed', 'refused'),
          spec('other provider', 'skipped', 'only for gce'),
          spec('waits', 'skipped'),
        ),
      ),
      list,
    });
    const again = [...keptOutcomes(kept), ...outcomes(reported(spec('is mended', 'passed')))];
    const merge = (reasons: readonly NotApplicable[]): object =>
      networkResults({ kubernetes: '1.36.2', network: 'layer2', outcomes: again, list: reasons });
    const sum = {
      ...kept,
      passed: ['Services is mended', 'Services passes'],
      failed: [{ name: 'Services fails', why: 'why' }],
    };
    expect(merge(list)).toEqual(sum);
    expect(merge([])).toEqual({
      ...sum,
      notApplicable: [{ name: 'Services other provider', why: 'it skips itself: only for gce' }],
      notRun: ['Services cannot', 'Services waits'],
    });
  });
});
