import { describe, expect, test } from 'vitest';
import { DEFAULT_NETWORK } from '../../../../src/model/read/networks.ts';
import { layer3Names } from '../../../../src/model/rules/names.ts';
import type { NetworkTables } from '../../../../src/model/zone/networks.ts';
import {
  blue,
  exampleZone,
  factsOf,
  more,
  networkName,
  yellow,
} from '../../../support/zone/zones.ts';

const names = ({ networks }: NetworkTables): readonly string[] =>
  [...networks.entries()].map(([name]) => name).toSorted();

describe('networks', () => {
  test('the default one is there without any object, and goes with none', () => {
    const facts = factsOf({ ...exampleZone, networks: [] });
    expect(names(facts)).toEqual([DEFAULT_NETWORK]);
    facts.registrations.delete(DEFAULT_NETWORK);
    facts.refresh(0);
    expect(names(facts)).toEqual([DEFAULT_NETWORK]);
  });

  test('are found by their ids', () => {
    const facts = factsOf(exampleZone);
    expect(facts.networksOfId(1)).toEqual([blue.name]);
    expect(facts.networkOfId(7)).toBeUndefined();
  });

  test('a tunnel key is that of the network that had it first; the other one has a problem, and comes when the key is free', () => {
    const { tunnelKeys } = yellow;
    const facts = factsOf({
      ...exampleZone,
      namespaces: [...exampleZone.namespaces, 'yellow'],
      networks: [...exampleZone.networks, yellow, { ...more, tunnelKeys }],
    });
    const problems = (): readonly string[] =>
      [...facts.networkProblems()].map(({ object }) => object);
    expect(problems()).toEqual([more.object]);
    facts.registrations.delete(yellow.name);
    facts.refresh(0);
    expect(problems()).toEqual([]);
  });

  test('a pod can not have the name of a port that is, or will be, that of a network', () => {
    const facts = factsOf(exampleZone, {});
    const isTaken = (port: string): boolean => facts.isInfrastructurePort(port, 'pod1');
    const { managementPort } = layer3Names(blue.name, 'ovn-worker');
    expect(isTaken(managementPort)).toBe(true);
    expect(isTaken(layer3Names(networkName('green_green'), 'ovn-worker').managementPort)).toBe(
      false,
    );
    expect(isTaken('blue.blue_blue_pod1')).toBe(false);
  });
});
