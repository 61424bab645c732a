import { expect, expectTypeOf, test } from 'vitest';
import type { Column, Integer, Row, Uuid } from 'ovsdb-client-ts';
import type { Change, NewRow } from 'ovsdb-client-ts/extras';
import type {
  ACL,
  Logical_Switch_Port,
  Northbound,
} from '../../support/ovsdb/northbound.generated.ts';

interface Bridge {
  readonly name: Column<string, false>;
  readonly flood_vlans: Column<readonly number[]>;
}

test('cardinality, enums and ranges are in the types', () => {
  expectTypeOf<Row<Logical_Switch_Port>['name']>().toEqualTypeOf<string>();
  expectTypeOf<Row<Logical_Switch_Port>['tag']>().toEqualTypeOf<number | undefined>();
  expectTypeOf<Row<Logical_Switch_Port>['addresses']>().toEqualTypeOf<readonly string[]>();
  expectTypeOf<Row<Logical_Switch_Port>['options']>().toEqualTypeOf<ReadonlyMap<string, string>>();
  expectTypeOf<Row<Logical_Switch_Port>['dhcpv4_options']>().toEqualTypeOf<Uuid | undefined>();
  expectTypeOf<Row<Northbound['NB_Global']>['nb_cfg']>().toEqualTypeOf<Integer>();
  expectTypeOf<Row<ACL>['direction']>().toEqualTypeOf<'from-lport' | 'to-lport' | ''>();
  expectTypeOf<Row<ACL>['severity']>().toEqualTypeOf<
    'alert' | 'debug' | 'info' | 'notice' | 'warning' | undefined
  >();
});

test('what can be written', () => {
  expectTypeOf<{ options: { a: string } }>().toExtend<NewRow<Logical_Switch_Port>>();
  expectTypeOf<{ name: string }>().toExtend<NewRow<Bridge>>();
  expectTypeOf<{ addresses: ReadonlySet<string> }>().toExtend<NewRow<Logical_Switch_Port>>();
  expectTypeOf<{ addresses: string }>().toExtend<NewRow<Logical_Switch_Port>>();
  expectTypeOf<{ addresses: number[] }>().not.toExtend<NewRow<Logical_Switch_Port>>();
  // @ts-expect-error an immutable column is not in the type of a change
  const change: Change<Bridge> = { name: 'br-int' };
  // @ts-expect-error there is no such column
  const row: NewRow<Bridge> = { nam: 'br-int' };
  expect([change, row]).toHaveLength(2);
});
