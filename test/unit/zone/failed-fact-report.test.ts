/** What is said of facts that could not be worked out. */
import { expect, test } from 'vitest';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import { zoneFacts } from '../../../src/model/zone/zone.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { FailedFacts } from '../../../src/zone/failed-fact-report.ts';

test('what is read in a moment is waited for, and is no problem', () => {
  const facts = zoneFacts('n1', DEFAULT_SETTINGS);
  facts.externalRoutes.put('by-pods', {
    name: 'by-pods',
    created: '',
    namespaceSelector: {},
    hops: [],
    pods: [{ podSelector: {}, namespaceSelector: {}, network: '', isWatched: false }],
  });
  facts.otherPods.want('AdminPolicyBasedExternalRoute by-pods', true);
  facts.refresh(0);
  const failed = new FailedFacts(facts, createLogger('silent'));
  expect([...failed.problems()]).toEqual([]);
  expect([...failed.waiting()]).toEqual([
    {
      object: 'AdminPolicyBasedExternalRoute by-pods',
      message: 'what is to be read first: the pods of other nodes are not read yet',
    },
  ]);
  facts.otherPods.known();
  facts.refresh(0);
  expect([...failed.waiting()]).toEqual([]);
});
