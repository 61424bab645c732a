import { describe, expect, test } from 'vitest';
import type { ReachTables } from '../../../../src/model/zone/reach.ts';
import {
  blue,
  colored,
  connectedZone,
  exampleZone,
  factsOf,
  green,
  more,
  networkName,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';

const both = { ...exampleZone, networks: [...exampleZone.networks, more] };

describe('networks that reach each other', () => {
  test('are the primary networks of one namespace', () => {
    const reach: ReachTables = factsOf(both);
    expect(reach.primariesOf('blue')).toEqual([blue.name, more.name]);
    expect(reach.siblingsOf(blue.name)).toEqual([more.name]);
    expect(reach.reachedFrom(more.name)).toEqual([blue.name]);
  });

  test('none of a namespace that does not ask for a primary network', () => {
    const facts = factsOf(both);
    facts.namespaces.put('blue', {
      name: 'blue',
      isLabelled: false,
      labels: {},
      logging: {},
      hasMulticast: false,
    });
    facts.refresh(0);
    expect([facts.primariesOf('blue'), facts.siblingsOf(blue.name)]).toEqual([[], []]);
  });

  test('those whose subnets overlap stay apart, whoever made them', () => {
    const twin = { ...more, subnets: blue.subnets };
    const facts = factsOf({ ...exampleZone, networks: [...exampleZone.networks, twin] });
    expect(facts.primariesOf('blue')).toEqual([blue.name, more.name]);
    expect([facts.siblingsOf(blue.name), facts.reachedFrom(blue.name)]).toEqual([[], []]);
  });

  test('a connection joins pods, or services alone', () => {
    expect(factsOf(connectedZone).reachedFrom(blue.name)).toEqual([green.name]);
    const services = { ...connectedZone, connects: [{ ...colored, hasPods: false }] };
    expect(factsOf(services).reachedFrom(blue.name)).toEqual([]);
  });

  test('what connects A with B and B with C says nothing of A and C', () => {
    const red: ZoneNetwork = {
      ...green,
      name: networkName('red_red'),
      id: 5,
      nads: ['red/red'],
      namespaces: ['red'],
      subnets: [{ cidr: '106.106.0.0/16', hostLength: 24 }],
    };
    const [, second] = colored.members;
    const facts = factsOf({
      ...connectedZone,
      networks: [...connectedZone.networks, red],
      connects: [
        colored,
        {
          ...colored,
          name: 'second',
          members: [
            ...(second === undefined ? [] : [second]),
            { networkId: 5, topology: 'layer3', subnets: ['192.168.2.0/24'] },
          ],
        },
      ],
    });
    expect(facts.reachedFrom(blue.name)).toEqual([green.name]);
    expect(facts.reachedFrom(green.name)).toEqual([blue.name, red.name]);
  });
});
