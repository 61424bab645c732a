import { describe, expect, test } from 'vitest';
import type { GroupTables } from '../../../../src/model/zone/namespace-groups.ts';
import { secondaryLayer3, secondaryPod } from '../../../support/zone/zone-variants.ts';
import { exampleZone, factsOf } from '../../../support/zone/zones.ts';

const withFeatures = (egressFirewall: boolean, multicast: boolean): typeof exampleZone => ({
  ...exampleZone,
  settings: {
    ...exampleZone.settings,
    features: { ...exampleZone.settings.features, egressFirewall, multicast },
  },
});

describe('a group of the pods of a namespace', () => {
  test('is there on the default network for each, on a primary one for the namespaces of its NADs', () => {
    const groups: GroupTables = factsOf(withFeatures(true, false));
    expect(groups.isGrouped('default', 'kube-system')).toBe(true);
    expect(groups.isGrouped('blue/blue', 'blue')).toBe(true);
    expect(groups.isGrouped('blue/blue', 'default')).toBe(false);
    expect(groups.isGrouped('blue/unknown', 'blue')).toBe(false);
    expect(groups.isGrouped('default', 'unknown')).toBe(false);
  });

  test('is on a secondary network with a gateway that of the pods, whosever the NAD is by which they are there', () => {
    const grouped = (secondaryGateway: string | undefined, firewalls: boolean) => {
      const groups = factsOf({
        ...withFeatures(firewalls, true),
        networks: [
          ...exampleZone.networks,
          { ...secondaryLayer3, ...(secondaryGateway === undefined ? {} : { secondaryGateway }) },
        ],
        attachments: [secondaryPod],
      });
      return [
        groups.isGrouped('blue/sec', 'blue'),
        groups.isGrouped('blue/sec/1', 'blue'),
        groups.isGrouped('blue/sec', 'red'),
      ];
    };
    expect(grouped('{}', true)).toEqual([true, true, false]);
    expect(grouped('{}', false)).toEqual([false, false, false]);
    expect(grouped(undefined, true)).toEqual([false, false, false]);
    expect(grouped('unreadable', true)).toEqual([false, false, false]);
  });

  test('is not there where no feature has rules per namespace', () => {
    const groups: GroupTables = factsOf(withFeatures(false, false));
    expect([groups.isGrouped('default', 'blue'), groups.isGrouped('blue/blue', 'blue')]).toEqual([
      false,
      false,
    ]);
  });

  test('on a primary network needs the label of the namespace, and rows of the network', () => {
    const facts = factsOf(withFeatures(false, true), {});
    expect(facts.isGrouped('blue/blue', 'blue')).toBe(false);
    const rendered = factsOf(withFeatures(false, true));
    const blue = rendered.namespaces.peek('blue');
    if (blue === undefined) throw new Error('no namespace blue');
    rendered.namespaces.put('blue', { ...blue, isLabelled: false });
    rendered.refresh(0);
    expect(rendered.isGrouped('blue/blue', 'blue')).toBe(false);
  });
});
