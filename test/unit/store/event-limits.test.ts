import { expect, test } from 'vitest';
import { EventLimits } from '../../../src/store/event-limits.ts';
import type { ObjectEvent } from '../../../src/store/store.ts';

const about = (key: string, message: string, reason = 'Wrong'): ObjectEvent => {
  const [namespace = '', name = ''] = key.split('/');
  const regarding = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name, uid: key } };
  return { regarding, type: 'Warning', reason, message };
};
/** How many of `count` events are written. */
const written = (
  count: number,
  make: (index: number) => ObjectEvent,
  limits: EventLimits,
  now = 0,
) =>
  Array.from({ length: count }, (_, index) => limits.admit(make(index), now)).filter(
    (event) => typeof event !== 'string',
  );

test('an object has 25 events at once, and one in five minutes after that', () => {
  const limits = new EventLimits();
  const same = (): ObjectEvent => about('a/web', 'no address');
  expect(written(100, same, limits)).toHaveLength(25);
  expect(written(100, same, limits, 299_000)).toHaveLength(0);
  expect(written(100, same, limits, 300_000)).toHaveLength(1);
  expect(written(100, same, limits, 3_600_000)).toHaveLength(11);
});

test('another object is not concerned, but a namespace has 200 at once and one a second', () => {
  const limits = new EventLimits();
  const ofA = (index: number): ObjectEvent => about(`a/web-${index}`, 'no address');
  expect(written(5000, ofA, limits)).toHaveLength(200);
  expect(limits.admit(about('b/web', 'no address'), 0)).toMatchObject({ message: 'no address' });
  expect(written(5000, (index) => ofA(index + 5000), limits, 10_000)).toHaveLength(10);
});

test('all namespaces together have 2000 at once', () => {
  const limits = new EventLimits();
  expect(written(50_000, (index) => about(`n${index}/web`, 'm'), limits)).toHaveLength(2000);
});

test('more than ten messages with one reason become one event, until ten minutes are over', () => {
  const limits = new EventLimits();
  const messages = written(20, (index) => about('a/web', `text ${index}`), limits).map(
    ({ message }) => message,
  );
  expect(messages.slice(0, 10)).toEqual(Array.from({ length: 10 }, (_, index) => `text ${index}`));
  expect(new Set(messages.slice(10)).size).toBe(1);
  expect(limits.admit(about('a/web', 'text 3'), 1)).toMatchObject({ message: 'text 3' });
  expect(limits.admit(about('a/web', 'another', 'Other'), 1)).toMatchObject({ message: 'another' });
  expect(limits.admit(about('a/web', 'text 30'), 700_000)).toMatchObject({
    message: 'text 30',
  });
});

test('what is not written is said with the narrowest limit that it is beyond', () => {
  const limits = new EventLimits();
  const refused = (count: number, make: (index: number) => ObjectEvent): unknown[] =>
    Array.from({ length: count }, (_, index) => limits.admit(make(index), 0)).filter(
      (admitted) => typeof admitted === 'string',
    );
  expect(refused(27, () => about('a/web', 'm'))).toEqual(['object', 'object']);
  expect(refused(177, (index) => about(`a/w${index}`, 'm'))).toEqual(['namespace', 'namespace']);
  expect(refused(1801, (index) => about(`n${index}/web`, 'm'))).toEqual(['total']);
});
