import { expect, expectTypeOf, test } from 'vitest';
import { RowReference } from '../../../src/desired/rows.ts';
import type { NorthboundRows } from '../../../src/topology/schema/northbound.generated.ts';
import type { SouthboundRows } from '../../../src/topology/schema/southbound.generated.ts';

test('a desired row has the columns of its table, with values of their types', () => {
  const row: NorthboundRows['Logical_Switch'] = {
    name: 'blue',
    copp: new RowReference('Copp', 'default'),
    other_config: { 'requested-tnl-key': '7' },
    external_ids: new Map([['heddle', 'cluster']]),
    ports: [new RowReference('Logical_Switch_Port', 'pod')],
  };
  // @ts-expect-error a misspelt column
  const misspelt: NorthboundRows['Logical_Switch'] = { nam: 'blue' };
  // @ts-expect-error a number where the schema has a string
  const wrong: NorthboundRows['Logical_Switch'] = { name: 7 };
  // @ts-expect-error a UUID where another desired row is meant
  const uuid: NorthboundRows['Logical_Switch'] = { copp: '00000000-0000-4000-8000-000000000001' };
  // @ts-expect-error not one of the values that the schema allows
  const value: NorthboundRows['ACL'] = { direction: 'sideways' };
  expect([row, misspelt, wrong, uuid, value]).toHaveLength(5);
  expectTypeOf<SouthboundRows['Chassis']['encaps']>().toEqualTypeOf<
    readonly RowReference[] | undefined
  >();
});
