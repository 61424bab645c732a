/** The table of what the hostile tests of a run tried. */
import { expect, test } from 'vitest';
import { heldOfRun, heldTable, type Attack } from '../../support/lab/held-table.ts';

const attack = (kind: string, by: string, isHeld = true): Attack => ({ kind, by, isHeld });
const line = (what: string, ...attacks: readonly Attack[]): string =>
  `${JSON.stringify({ what, attacks })}\n`;
const cells = (text: string): string[][] =>
  text
    .trimEnd()
    .split('\n')
    .map((row) => row.trim().split(/ {2,}/));

test('a file says of each kind how much was held, by who tried', () => {
  const text = heldTable('frames', [
    attack('arp', 'blue'),
    attack('arp', 'blue', false),
    attack('nd', 'red'),
  ]);
  expect(cells(text)).toEqual([
    ['frames: held of tried', 'blue', 'red'],
    ['arp', '1 of 2', '-'],
    ['nd', '-', '1 of 1'],
  ]);
});

test('a run has a line for each kind of each file, what got through, and the sum', () => {
  const text = heldOfRun(
    line('frames', attack('arp', 'blue'), attack('arp', 'red', false), attack('nd', 'red')) +
      line('floods', attack('arp', 'blue')),
  );
  expect(cells(text)).toEqual([
    ['attacks', 'kind', 'tries', 'got through'],
    ['frames', 'arp', '2', '1'],
    ['frames', 'nd', '1', '0'],
    ['floods', 'arp', '1', '0'],
    ['all', '4', '1'],
  ]);
});
