import { describe, expect, test } from 'vitest';
import type { backendTables } from '../../../../src/model/zone/backends.ts';
import { service, slice, withServices } from '../../../support/zone/services.ts';
import {
  blue,
  colored,
  connectedZone,
  exampleZone,
  factsOf,
  green,
  more,
  type Zone,
} from '../../../support/zone/zones.ts';

const web = service('blue/web', { clusterIPs: ['10.96.1.1'] });
const onBlue = slice('blue/web', ['103.103.0.3 on ovn-worker'], { network: blue.name });
const onMore = slice('blue/web', ['109.109.0.3 on ovn-worker'], { network: more.name, name: 'b' });
const both: Zone = { ...exampleZone, networks: [...exampleZone.networks, more] };
const backendsIn = (zone: Zone, network: string, options?: object) => {
  const { backends }: ReturnType<typeof backendTables> = factsOf(zone, options);
  return backends.peek(network, 'blue/web');
};

describe('endpoints of a service', () => {
  test('are known on each network that it is on and that has rows here', () => {
    const zone = withServices(exampleZone, web, onBlue);
    expect(JSON.stringify(backendsIn(zone, blue.name)?.ports)).toContain('103.103.0.3');
    expect(backendsIn(zone, 'default')).toBeUndefined();
    expect(backendsIn(zone, blue.name, {})).toBeUndefined();
  });

  test('of networks that reach each other are those of all of them', () => {
    const zone = withServices(both, web, onBlue, onMore);
    for (const network of [blue.name, more.name]) {
      const text = JSON.stringify(backendsIn(zone, network)?.ports);
      expect(text).toContain('103.103.0.3');
      expect(text).toContain('109.109.0.3');
    }
  });

  test('are no pods of a network that is connected, as connected may be services alone; of one that is not, an address is one outside of the cluster', () => {
    const theirs = (green.subnets[0]?.cidr ?? '').replace(/0\/\d+$/, '9');
    const named = slice('blue/web', [`${theirs} on ovn-worker`, '192.0.2.7 on ovn-worker'], {
      network: blue.name,
    });
    const onlyServices = { ...connectedZone, connects: [{ ...colored, hasPods: false }] };
    const connected = backendsIn(withServices(onlyServices, web, named), blue.name);
    expect(connected?.ports[0]?.all.v4).toBe('192.0.2.7:8080');
    expect(connected?.foreign).toEqual([theirs]);
    const apart = backendsIn(
      withServices({ ...connectedZone, connects: [] }, web, named),
      blue.name,
    );
    expect(apart?.ports[0]?.all.v4).toContain(`${theirs}:8080`);
  });

  test('of the zone of the node are the only ones, where slices say so', () => {
    const hinted = (address: string, zone: string): object => ({
      addresses: [address],
      hints: { forZones: [{ name: zone }] },
    });
    const near = slice(
      'blue/web',
      [{ ...hinted('103.103.0.3', 'a') }, { ...hinted('103.103.1.5', 'b') }],
      {
        network: blue.name,
      },
    );
    const of = (zone?: string): string | undefined =>
      backendsIn(
        {
          ...withServices(exampleZone, web, near),
          nodeLabels: [
            {
              name: exampleZone.node.name,
              labels: zone === undefined ? {} : { 'topology.kubernetes.io/zone': zone },
            },
          ],
        },
        blue.name,
      )?.ports[0]?.all.v4;
    expect([of('a'), of('b')]).toEqual(['103.103.0.3:8080', '103.103.1.5:8080']);
    for (const zone of [undefined, 'c']) expect(of(zone)).toBe('103.103.0.3:8080,103.103.1.5:8080');
  });

  test('what comes from outside enters by the oldest network that has any', () => {
    const entry = (zone: Zone): readonly unknown[] =>
      [blue.name, more.name].map((network) => backendsIn(zone, network)?.isEntry);
    expect(entry(withServices(both, web, onBlue, onMore))).toEqual([true, false]);
    expect(entry(withServices(both, web, onMore))).toEqual([false, true]);
    expect(entry(withServices(both, web))).toEqual([true, false]);
  });
});
