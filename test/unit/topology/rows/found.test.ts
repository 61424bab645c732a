import { describe, expect, test } from 'vitest';
import type { FoundRow } from '../../../../src/desired/rows.ts';
import {
  claimByName,
  claimOfGroups,
  idKey,
  idsOf,
  isSet,
  mapOf,
  numberOf,
  textOf,
} from '../../../../src/topology/rows/found.ts';
import { hashedName } from '../../../../src/topology/rows/object-ids.ts';

/** A row as a database holds it: whatever somebody wrote. */
const row = (columns: Readonly<Record<string, unknown>>): FoundRow =>
  ({ column: (name: string) => columns[name] }) as unknown as FoundRow;

describe('a row that a database holds', () => {
  test('is read column by column in the shape that is asked for, and in no other', () => {
    expect(textOf(row({ name: 'x' }), 'name')).toBe('x');
    expect(textOf(row({ name: 1 }), 'name')).toBeUndefined();
    expect(textOf(row({}), 'name')).toBeUndefined();
    expect(numberOf(row({ priority: 5 }), 'priority')).toBe(5);
    expect(numberOf(row({ priority: 5n }), 'priority')).toBe(5);
    expect(numberOf(row({ priority: '5' }), 'priority')).toBeUndefined();
    expect(mapOf(row({ options: 'x' }), 'options')).toEqual(new Map());
  });

  test('is known by the id among its external ids', () => {
    const found = row({ external_ids: new Map([['k8s.ovn.org/id', 'i']]) });
    expect(idKey(found)).toBe('i');
    expect(idKey(row({}))).toBeUndefined();
    expect(idsOf(row({})).size).toBe(0);
  });

  test('has something in a column that is neither absent, nor an empty text, nor an empty set', () => {
    expect(
      [undefined, '', [], 'x', ['x'], 0].map((value) => isSet(row({ c: value }), 'c')),
    ).toEqual([false, false, false, true, true, true]);
  });
});

test('a table whose rows are known by their names', () => {
  const claim = claimByName('OVN_Northbound', 'Logical_Switch', { isolates: true });
  expect(claim).toMatchObject({
    database: 'OVN_Northbound',
    table: 'Logical_Switch',
    isolates: true,
  });
  expect(claim.keyOf(row({ name: 'x' }), undefined)).toBe('x');
});

test('a port group or address set that ovn-kubernetes named by the hash of its id is that which has the name here', () => {
  const keyOf = (found: FoundRow): string | undefined =>
    claimOfGroups('Port_Group').keyOf(found, undefined);
  const id = 'default-network-controller:UDNIsolation:SecondaryPods';
  const external_ids = new Map([['k8s.ovn.org/id', id]]);
  expect(keyOf(row({ name: 'a8747502060113802905', external_ids }))).toBe(hashedName(id));
  expect(keyOf(row({ name: hashedName(id), external_ids }))).toBe(hashedName(id));
  // Of another id, of none, or no hash at all.
  for (const name of ['a8747502060113802906', 'web'])
    expect(keyOf(row({ name, external_ids }))).toBe(name);
  expect(keyOf(row({ name: 'a8747502060113802905' }))).toBe('a8747502060113802905');
});
