import { expect, test } from 'vitest';
import { defaultAccessWays } from '../../../../src/topology/services/default-access.ts';
import { withDefaultAccess } from '../../../support/zone/default-access.ts';
import { dualZone, exampleZone, inLocalMode } from '../../../support/zone/zones.ts';
import { textsOf } from '../unit-texts.ts';

const rows = (zone: typeof exampleZone): string[] =>
  textsOf(zone, new RegExp(`^${defaultAccessWays.name}`));

test('what named pods of this node send to cluster IPs that are not of their network goes to the host, in either gateway mode', () => {
  const found = rows(withDefaultAccess(exampleZone));
  const set = /^Address_Set (\S+)/.exec(found[0] ?? '')?.[1];
  expect(found).toEqual([
    expect.stringMatching(/^Address_Set \S+ addresses=\[10\.244\.0\.9\] external_ids=/),
    expect.stringMatching(
      /^Logical_Router_Policy \S+:DefaultNetworkAccess:1001:services:v4 .* action=reroute /,
    ),
  ]);
  expect(found[1]).toContain(
    `match=inport == "rtos-ovn-worker" && ip4.src == $${set} && ip4.dst == 10.96.0.0/16`,
  );
  expect(found[1]).toContain('nexthops=[10.244.0.2] priority=1001');
  expect(found[1]).toMatch(/< Logical_Router\/ovn_cluster_router\.policies$/);
  expect(rows(inLocalMode(withDefaultAccess(exampleZone)))).toEqual(found);
});

test('each family has its set and its way', () => {
  const found = rows(withDefaultAccess(dualZone)).join('\n');
  expect(found).toContain('addresses=[fd00:10:244::9]');
  expect(found).toMatch(/ip6\.src == \$\S+ && ip6\.dst == fd00:10:96::\/112/);
  expect(found).toContain('nexthops=[fd00:10:244::2]');
});

test('without a namespace that is named there is nothing', () => {
  expect(rows(exampleZone)).toEqual([]);
});
