import { expect, test } from 'vitest';
import type { Namespace } from '../../../../src/api/types.ts';
import { multicastEnabled, multicastSenders } from '../../../../src/model/read/multicast.ts';
import { namespace } from '../../../support/zone/policed-zone.ts';

const asked = (text?: string): Namespace =>
  namespace('blue', {}, text === undefined ? {} : { 'k8s.ovn.org/multicast-enabled': text });

test('a namespace has multicast where it says so (reference/topology.md §16.4)', () => {
  expect(multicastEnabled(asked('true'))).toEqual({ kind: 'value', value: { isEnabled: true } });
  for (const text of [undefined, 'false'])
    expect(multicastEnabled(asked(text))).toEqual({ kind: 'value', value: { isEnabled: false } });
});

test('what is neither yes nor no is told, and multicast stays denied', () => {
  expect(multicastEnabled(asked('yes'))).toMatchObject({
    kind: 'problem',
    message: expect.stringContaining('"yes"') as string,
  });
});

test('all pods of a namespace may send to it, and to no other', () => {
  expect(multicastSenders('blue')).toMatchObject({ namespace: 'blue', podSelector: {} });
  expect(multicastSenders('blue').id).not.toBe(multicastSenders('red').id);
});
