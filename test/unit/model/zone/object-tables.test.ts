import { describe, expect, test } from 'vitest';
import { objectId, tablesOf } from '../../../../src/model/zone/object-tables.ts';
import { exampleZone, factsOf, worker2 } from '../../../support/zone/zones.ts';

describe('what is read of objects', () => {
  test("this node's facts outlive its object, those of others go with theirs", () => {
    const facts = factsOf(exampleZone);
    const { nodes } = tablesOf(facts);
    nodes.put(objectId('Node', 'ovn-worker'), undefined, undefined);
    nodes.put(objectId('Node', worker2.name), undefined, undefined);
    expect(facts.self.peek('ovn-worker')).toBeDefined();
    expect(facts.nodes.peek(worker2.name)).toBeUndefined();
  });

  test('a node that waits for an allocation again keeps what it had', () => {
    const facts = factsOf(exampleZone);
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: worker2.name } };
    tablesOf(facts).nodes.put(objectId('Node', worker2.name), undefined, node);
    expect(facts.nodes.peek(worker2.name)).toBeDefined();
  });

  test('a node that says the same again came when it came first; with another identity it comes anew', () => {
    const facts = factsOf(exampleZone);
    const { nodes } = tablesOf(facts);
    const since = (): unknown => facts.nodes.peek(worker2.name)?.since;
    const put = (fact: typeof worker2): void =>
      nodes.put(objectId('Node', worker2.name), fact, undefined);
    put(worker2);
    const first = since();
    facts.refresh(0);
    put({ ...worker2, hostAddresses: [] });
    expect(since()).toBe(first);
    put({ ...worker2, chassisId: 'another' });
    expect(since()).not.toBe(first);
  });
});
