import { expect, test } from 'vitest';
import type { NamespaceTables } from '../../../../src/model/zone/namespaces.ts';
import { exampleZone, factsOf } from '../../../support/zone/zones.ts';

test('who reads whether a namespace asks for a network is not woken by its other labels', () => {
  const facts = factsOf(exampleZone);
  const { namespaces }: NamespaceTables = facts;
  let woken = 0;
  const reader = { reads: [], invalidate: () => (woken += 1) };
  facts.recorder.run(reader, () => void namespaces.part('blue', 'isLabelled'));
  const blue = namespaces.peek('blue');
  if (blue === undefined) throw new Error('no namespace blue');
  namespaces.put('blue', { ...blue, labels: { team: 'x' } });
  expect(woken).toBe(0);
  namespaces.put('blue', { ...blue, isLabelled: false });
  expect(woken).toBe(1);
});
