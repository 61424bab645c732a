import { describe, expect, test } from 'vitest';
import { aboutObject, concernedBy, factName } from '../../../../src/model/zone/failed-facts.ts';
import { connectedZone, exampleZone, factsOf } from '../../../support/zone/zones.ts';

const about = (object: string, zone = exampleZone): ((mark: string) => boolean) =>
  concernedBy([aboutObject(factsOf(zone), object)]);

describe('what may follow from an object', () => {
  test('of a Service: itself, and what is in its namespace; nothing of others', () => {
    const isConcerned = about('Service blue/web');
    expect(
      ['Service blue/web', 'Pod blue/pod1', 'Namespace blue', 'UserDefinedNetwork blue/blue'].map(
        isConcerned,
      ),
    ).toEqual([true, true, true, true]);
    expect(['Service kube-system/dns', 'Node ovn-worker2'].map(isConcerned)).toEqual([
      false,
      false,
    ]);
  });

  test('of a namespace whose network is connected: what is in the namespaces of the other network, too', () => {
    expect(about('Namespace blue')('Pod green/pod')).toBe(false);
    expect(about('Namespace blue', connectedZone)('Pod green/pod')).toBe(true);
  });

  test('of a network: those that its pods may reach; what is in no namespace by its own name alone', () => {
    const isConcerned = about('network blue_blue', connectedZone);
    expect(isConcerned('ClusterNetworkConnect colored-net')).toBe(true);
    expect(isConcerned('ClusterNetworkConnect other')).toBe(false);
    expect(isConcerned('Pod kube-system/dns')).toBe(false);
  });

  test('of an object in no namespace that is none of these: itself', () => {
    const isConcerned = about('AdminNetworkPolicy guard');
    expect(isConcerned('AdminNetworkPolicy guard')).toBe(true);
    expect(isConcerned('AdminNetworkPolicy other')).toBe(false);
  });

  test('nothing for what is known to be gone, but for the object itself', () => {
    const facts = factsOf(exampleZone);
    const isConcerned = concernedBy([aboutObject(facts, 'Service blue/web')], () => true);
    expect([isConcerned('Pod blue/pod1'), isConcerned('Service blue/web')]).toEqual([false, true]);
  });
});

test('a fact has a name by which people find it again', () => {
  const failure = { table: 'backends', key: ['blue_blue', 'blue/web'], object: '', error: '' };
  expect(factName(failure)).toBe('backends of blue_blue blue/web');
});
