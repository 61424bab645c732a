import { describe, expect, test } from 'vitest';
import type { FoundRow } from '../../../src/desired/rows.ts';
import type { Unknown } from '../../../src/model/zone/unknown.ts';
import { rowsOfUnknown } from '../../../src/topology/unknown-rows.ts';
import { exampleZone, factsOf } from '../../support/zone/zones.ts';

const facts = factsOf(exampleZone);
const NOTHING: Unknown = {
  nodes: new Set(),
  concernsNodes: () => false,
  nads: new Set(),
  concernsNads: () => false,
  concerns: () => false,
  objects: [],
};
const row = (ids: Readonly<Record<string, string>> = {}): FoundRow =>
  ({
    column: (name: string) => (name === 'external_ids' ? new Map(Object.entries(ids)) : undefined),
  }) as unknown as FoundRow;
const stays = (
  unknown: Partial<Unknown>,
  table: string,
  object: string,
  ids: Readonly<Record<string, string>> = {},
): boolean => rowsOfUnknown(facts, { ...NOTHING, ...unknown })(row(ids), table, object);

describe('a row that nobody wants', () => {
  test('goes when everything about it is known', () => {
    expect(stays({}, 'ACL', 'NetworkPolicy blue/p')).toBe(false);
  });

  test('stays when its mark is lost: nobody can tell whose it is', () => {
    expect(stays({}, 'ACL', '')).toBe(true);
  });

  test('stays when what it is marked with is not known, and those beside it go', () => {
    const concerns = (object: string): boolean => object === 'NetworkPolicy blue/p';
    expect(stays({ concerns }, 'ACL', 'NetworkPolicy blue/p')).toBe(true);
    expect(stays({ concerns }, 'ACL', 'NetworkPolicy blue/q')).toBe(false);
  });
});

describe('while nothing is known of another node', () => {
  const unknown = { nodes: new Set(['n9']), concernsNodes: () => true };
  const object = 'UserDefinedNetwork blue/blue';

  test('rows for that node stay, and those for others go', () => {
    expect(stays(unknown, 'Logical_Router_Static_Route', object, { 'ic-node': 'n9' })).toBe(true);
    expect(stays(unknown, 'Logical_Router_Static_Route', object, { 'ic-node': 'n8' })).toBe(false);
    expect(stays(unknown, 'Logical_Switch_Port', object, { node: 'n9' })).toBe(true);
  });

  test('a tunnel endpoint, which says nothing of its node, stays', () => {
    expect(stays(unknown, 'Encap', object)).toBe(true);
  });

  test('rows of tables that are for no node go', () => {
    expect(stays(unknown, 'Load_Balancer', object, { node: 'n9' })).toBe(false);
  });
});

test('while nothing is known of a NAD its pods keep their ports', () => {
  const unknown = { nads: new Set(['blue/l2']) };
  const pod = 'Pod blue/a';
  expect(stays(unknown, 'Logical_Switch_Port', pod, { 'k8s.ovn.org/nad': 'blue/l2' })).toBe(true);
  expect(stays(unknown, 'Logical_Switch_Port', pod, { 'k8s.ovn.org/nad': 'blue/l3' })).toBe(false);
});
