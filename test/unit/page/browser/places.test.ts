import { expect, test } from 'vitest';
import { hashOf, placeOf, type Place } from '../../../../src/page/browser/places.ts';

test.each<Place>([
  { kind: 'start' },
  { kind: 'network', name: 'blue_net' },
  { kind: 'pair', from: 'a/b', to: 'c#d%' },
  { kind: 'pod', key: 'blue/web' },
  { kind: 'object', object: 'Service blue/<web>' },
])('%o comes back from its address', (place) => {
  expect(placeOf(hashOf(place))).toEqual(place);
});

test.each(['', '#', '#pair/a', '#network', '#nothing/x', '#pod/%E0%A4%A'])(
  '%s is the start',
  (hash) => {
    expect(placeOf(hash)).toEqual({ kind: 'start' });
  },
);
