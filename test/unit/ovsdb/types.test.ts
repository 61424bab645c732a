import { expect, expectTypeOf, test } from 'vitest';
import {
  Replica,
  parseSchema,
  typedReplica,
  type Change,
  type Column,
  type Integer,
  type NewRow,
  type Row,
  type Uuid,
} from '../../../src/ovsdb/index.ts';
import type {
  ACL,
  Logical_Switch_Port,
  Northbound,
} from '../../../src/topology/schema/northbound.generated.ts';

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

test('rows of a typed replica are read by column', () => {
  const schema = parseSchema({
    name: 'OVN_Northbound',
    tables: {
      Logical_Switch_Port: {
        columns: { name: { type: 'string' }, tag: { type: { key: 'integer', min: 0 } } },
      },
    },
  });
  const replica = new Replica(schema);
  const id = '00000000-0000-4000-8000-000000000001';
  replica.apply(
    { Logical_Switch_Port: { [id]: { initial: { name: 'pod', tag: 7 } } } },
    'update2',
    'contents',
  );
  const northbound = typedReplica<Northbound>(replica);
  const port = northbound.row('Logical_Switch_Port', id);
  expectTypeOf(port?.tag).toEqualTypeOf<number | undefined>();
  expect([port?.name, port?.tag, port?.uuid]).toEqual(['pod', 7, id]);
  const inOrder = northbound.ordered('Logical_Switch_Port', ['tag']).range([1]);
  expectTypeOf(inOrder[0]?.tag).toEqualTypeOf<number | undefined>();
  expect(inOrder.map(({ name }) => name)).toEqual(['pod']);
  // @ts-expect-error there is no such table
  expect(() => northbound.rows('Logical_Swich')).toThrow('has no table');
});
