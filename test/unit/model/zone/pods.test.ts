import { expect, test } from 'vitest';
import { Unreadable } from '../../../../src/facts/unreadable.ts';
import type { PodTables } from '../../../../src/model/zone/pods.ts';
import { exampleZone, factsOf } from '../../../support/zone/zones.ts';

test('nothing is built of the pods of all nodes before those of the others are there', () => {
  const pods: PodTables = factsOf(exampleZone);
  expect(() => pods.requireOtherPods()).toThrow(Unreadable);
  pods.otherPods.want('AdminNetworkPolicy p', true);
  expect(() => pods.requireOtherPods()).toThrow('not read yet');
  pods.otherPods.known();
  expect(() => pods.requireOtherPods()).not.toThrow();
});
