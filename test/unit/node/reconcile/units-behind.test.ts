import { expect, test } from 'vitest';
import type { RowOwner, RowTarget } from '../../../../src/desired/engine.ts';
import { UnitsBehind } from '../../../../src/node/reconcile/units-behind.ts';

const owner = (id: string): RowOwner => ({ id, rank: 0, order: 0, rowsIn: () => [] });

test('a unit is behind until a pass that began after it was wanted has done all', () => {
  const wanted: string[] = [];
  const target: RowTarget = {
    database: 'Linux',
    has: ({ id }) => wanted.includes(id),
    set: ({ id }) => void wanted.push(id),
  };
  const behind = new UnitsBehind();
  const noted = behind.note(target);
  expect([noted.database, noted.has(owner('blue')), behind.isAny]).toEqual(['Linux', false, false]);
  noted.set(owner('blue'), []);
  noted.set(owner('red'), []);
  expect(wanted).toEqual(['blue', 'red']);
  const first = behind.begin();
  noted.set(owner('red'), []);
  expect([behind.isNewer('blue'), behind.isNewer('red')]).toEqual([false, true]);
  first();
  expect([...behind.awaited()].map(({ unit }) => unit)).toEqual(['red']);
  // One that could not do all says nothing.
  behind.begin();
  expect(behind.isAny).toBe(true);
  behind.begin()();
  expect(behind.isAny).toBe(false);
});
