import { describe, expect, test } from 'vitest';
import type { Sink } from '../../../../src/desired/features.ts';
import { RowReference, type DesiredRow } from '../../../../src/desired/rows.ts';
import { holds, Rows } from '../../../../src/topology/rows/unit-rows.ts';

function built(build: (rows: Rows) => void): DesiredRow[] {
  const found: DesiredRow[] = [];
  build(
    Rows.northbound({ row: (row: DesiredRow) => found.push(row) } as unknown as Sink, 'Node n1'),
  );
  return found;
}

describe('rows of a unit', () => {
  test('say their database, their object and the rule that they follow', () => {
    expect(
      built((rows) => {
        rows.by('some-rule').named('Logical_Switch', 's', {}, holds('T', 'k', 'c'));
      }),
    ).toEqual([
      {
        database: 'OVN_Northbound',
        object: 'Node n1',
        rule: 'some-rule',
        table: 'Logical_Switch',
        key: 's',
        columns: { name: 's' },
        containers: [{ table: 'T', key: 'k', column: 'c' }],
      },
    ]);
  });

  test('leave to the schema what is undefined or empty; a reference, a zero and a false are values', () => {
    const [row] = built((rows) => {
      rows.keyed('ACL', 'a', {
        match: undefined,
        options: {},
        external_ids: new Map(),
        priority: 0,
        log: false,
      });
    });
    expect(row?.columns).toEqual({ priority: 0, log: false });
  });

  test('may name other rows in their texts, leave columns to others, or add to a row of others', () => {
    const rows = built((all) => {
      all.naming([new RowReference('Address_Set', 'x')], 'ACL', 'a', {});
      all.namedWithout(['addresses'], 'Address_Set', 'x', {});
      all.partial('NB_Global', 'NB_Global', { name: 'n1' });
    });
    expect(
      rows.map(({ names, unspecified, partial }) => ({ names, unspecified, partial })),
    ).toEqual([
      { names: [new RowReference('Address_Set', 'x')] },
      { unspecified: ['addresses'] },
      { partial: true },
    ]);
  });
});
