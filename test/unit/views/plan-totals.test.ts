import { expect, test } from 'vitest';
import { planTotals } from '../../../src/views/plan-totals.ts';

test('a plan is summed up over all databases and the host', () => {
  const change = (action: string): object => ({ action, table: 'T', key: 'k' });
  expect(
    planTotals('n1', [
      {
        database: 'OVN_Northbound',
        changes: [change('insert'), change('insert'), change('delete')],
      },
      { database: 'OVN_Southbound', changes: [] },
      { database: 'Linux', changes: [change('update')] },
      { database: 'Chassis', steps: ['ovn-remote'] },
    ]),
  ).toBe(
    'Node n1: 2 to add, 1 to change, 1 to remove, 1 setting to make (OVN_Northbound 3, Linux 1, Chassis 1)',
  );
});

test('one that changes nothing says so', () => {
  expect(planTotals('n1', [{ database: 'OVN_Northbound', changes: [] }])).toBe(
    'Node n1: Nothing to do.',
  );
});
