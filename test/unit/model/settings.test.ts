import { describe, expect, test } from 'vitest';
import { overlaps, parsePrefix, type Prefix } from '../../../src/allocators/addresses.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';

describe('defaults of the cluster (reference/api.md §12)', () => {
  test('are subnets that do not overlap', () => {
    const { clusterSubnets, serviceSubnets, ...rest } = DEFAULT_SETTINGS;
    const perFamily = [
      rest.joinSubnets,
      rest.udnJoinSubnets,
      rest.transitSubnets,
      rest.masqueradeSubnets,
    ];
    const prefixes = [
      ...clusterSubnets.map(({ cidr }) => cidr),
      ...serviceSubnets,
      ...perFamily.flatMap(({ v4 = '', v6 = '' }) => [v4, v6]),
    ].map((cidr): Prefix => {
      const prefix = parsePrefix(cidr);
      if (prefix === undefined) throw new Error(`${cidr} is no prefix`);
      return prefix;
    });
    for (const [index, prefix] of prefixes.entries())
      for (const other of prefixes.slice(index + 1)) expect(overlaps(prefix, other)).toBe(false);
  });

  test('let nobody but nodes send to tunnels, and no address of a service be anywhere special', () => {
    expect(DEFAULT_SETTINGS.tunnelSources).toEqual([]);
    expect(DEFAULT_SETTINGS.serviceExternalRanges).toEqual([]);
  });
});
