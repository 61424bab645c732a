import { expect, test } from 'vitest';
import type { bridgedServiceTables } from '../../../../src/model/zone/bridged-services.ts';
import { overlappingZone, sharing, twin } from '../../../support/zone/overlapping.ts';
import { service, slice, withServices } from '../../../support/zone/services.ts';
import { bluePod, factsOf, type Zone } from '../../../support/zone/zones.ts';

type Tables = ReturnType<typeof bridgedServiceTables>;

const waysIn = (zone: Zone): string[] => {
  const { bridgedServices }: Tables = factsOf(zone);
  return [...bridgedServices.distinct('way').keys()].map((way) => way.join(' ')).toSorted();
};
const refusals = (zone: Zone, network: string, key: string): readonly string[] =>
  factsOf(zone)
    .bridgedServices.get(network, key)
    ?.refusals.map(({ message }) => message) ?? [];

/** With the service of `twin` as `spec` says. */
const withSpec = (spec: Readonly<Record<string, unknown>>, endpoint = '103.103.0.5'): Zone =>
  withServices(
    overlappingZone,
    service('twin/web', { clusterIPs: ['10.96.2.2'], ...spec }),
    slice('twin/web', [`${endpoint} on ovn-worker`], { network: 'twin_net' }),
  );

test('each network of the connection reaches services of the others, and none of its own this way', () => {
  expect(waysIn(overlappingZone)).toEqual([
    'sharing blue_blue twin_net twin/web',
    'sharing cluster_udn_yellow-net blue_blue blue/web',
    'sharing cluster_udn_yellow-net twin_net twin/web',
    'sharing twin_net blue_blue blue/web',
  ]);
});

test('networks with links reach each other by these, and bridged ones over the bridge', () => {
  const members = [1, 3].map((networkId) => ({
    networkId,
    topology: networkId === 3 ? ('layer2' as const) : ('layer3' as const),
    subnets: [`192.168.${networkId}.0/${networkId === 3 ? 31 : 24}`],
  }));
  const connects = [{ ...sharing, members, bridged: [2] }];
  expect(waysIn({ ...overlappingZone, connects })).toEqual([
    'sharing blue_blue twin_net twin/web',
    'sharing cluster_udn_yellow-net twin_net twin/web',
    'sharing twin_net blue_blue blue/web',
  ]);
});

test('connections are not transitive, and of two that say the same the first one is named', () => {
  const connects = [
    { ...sharing, name: 'b', bridged: [1, 2] },
    { ...sharing, name: 'c', bridged: [2, 3] },
    { ...sharing, name: 'd', bridged: [1, 2] },
  ];
  expect(waysIn({ ...overlappingZone, connects })).toEqual([
    'b blue_blue twin_net twin/web',
    'b twin_net blue_blue blue/web',
    'c cluster_udn_yellow-net twin_net twin/web',
  ]);
});

test('a network in use brings those whose services it reaches', () => {
  const facts = factsOf({ ...overlappingZone, attachments: [bluePod] }, {});
  expect([...facts.rendered.entries()].map(([name]) => name).toSorted()).toEqual([
    'blue_blue',
    'cluster_udn_yellow-net',
    'default',
    'twin_net',
  ]);
});

test('it ends with the connection, with the service and with a network', () => {
  const facts = factsOf(overlappingZone);
  const ways = (): number => [...facts.bridgedServices.distinct('way').keys()].length;
  expect(ways()).toBe(4);
  facts.declaredServices.delete('blue/web');
  facts.refresh(0);
  expect(ways()).toBe(2);
  facts.registrations.delete(twin.name);
  facts.refresh(0);
  expect(ways()).toBe(0);
});

test('with internalTrafficPolicy: Local it is shared where nothing from outside leads to its cluster IP', () => {
  const local = { internalTrafficPolicy: 'Local' };
  expect(refusals(withSpec(local), 'twin_net', 'twin/web')).toEqual([]);
  expect(waysIn(withSpec(local))).toHaveLength(2);
  const outside = { ...local, type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] };
  expect(refusals(withSpec(outside), 'twin_net', 'twin/web')).toEqual([
    expect.stringMatching(/^over the external bridge internalTrafficPolicy: Local can’t be told/),
  ]);
  expect(waysIn(withSpec(outside))).toEqual([]);
  const { internalTrafficPolicy: _, ...cluster } = outside;
  expect(waysIn(withSpec(cluster))).toHaveLength(2);
});

test('a service with an endpoint on a host is not shared: its processes are not connected', () => {
  expect(waysIn(withSpec({}, '172.18.0.4'))).toEqual([]);
});

test('a headless service has nothing that could be reached', () => {
  expect(waysIn(withSpec({ clusterIP: 'None', clusterIPs: ['None'] }))).toEqual([]);
});
