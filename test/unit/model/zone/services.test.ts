import { describe, expect, test } from 'vitest';
import type { ServiceTables } from '../../../../src/model/zone/services.ts';
import { service, withServices } from '../../../support/zone/services.ts';
import { secondaryLayer3 } from '../../../support/zone/zone-variants.ts';
import {
  blue,
  colored,
  connectedZone,
  defaultNetwork,
  exampleZone,
  factsOf,
  more,
  type Zone,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';

const web = service('blue/web', { clusterIPs: ['10.96.1.1'] });
const networksOf = ({ serviceNetworks }: ServiceTables, key: string): unknown =>
  serviceNetworks.peek(key)?.networks;

describe('a service', () => {
  test('is on the primary networks of its namespace, or on the default one where it asks for none', () => {
    const dns = service('kube-system/dns', { clusterIPs: ['10.96.0.10'] });
    const facts = factsOf(
      withServices({ ...exampleZone, networks: [...exampleZone.networks, more] }, web, dns),
    );
    expect(networksOf(facts, 'blue/web')).toEqual([blue.name, more.name]);
    expect(networksOf(facts, 'kube-system/dns')).toEqual(['default']);
  });

  test('is nowhere while its namespace asks for a network that it has not, or is not known', () => {
    const facts = factsOf(withServices(exampleZone, web));
    facts.definitions.delete('blue/blue');
    facts.refresh(0);
    expect(networksOf(facts, 'blue/web')).toEqual([]);
    facts.namespaces.delete('blue');
    facts.refresh(0);
    expect(networksOf(facts, 'blue/web')).toBeUndefined();
  });

  test('is on the secondary network that it names, where that has a gateway, and nowhere else', () => {
    const placed = (
      askedNetwork: string,
      changes: Partial<ZoneNetwork> = {},
      zone: Partial<Zone> = {},
    ) => {
      const facts = factsOf({
        ...withServices(
          {
            ...exampleZone,
            networks: [
              ...exampleZone.networks,
              { ...secondaryLayer3, secondaryGateway: '{}', ...changes },
            ],
            ...zone,
          },
          web,
        ),
        askedNetworks: { 'blue/web': askedNetwork },
      });
      return [
        networksOf(facts, 'blue/web'),
        ...[...facts.serviceProblems()].map(({ object, message }) => `${object}: ${message}`),
      ];
    };
    expect(placed('sec')).toEqual([['blue_sec']]);
    expect(placed(' blue/sec ')).toEqual([['blue_sec']]);
    // In a namespace without a primary network, too.
    const networks = [defaultNetwork, { ...secondaryLayer3, secondaryGateway: '{}' }];
    expect(placed('sec', {}, { networks })).toEqual([['blue_sec']]);
    expect(placed('sec', { secondaryGateway: 'unreadable' })).toEqual([
      [],
      expect.stringMatching(
        /^Service blue\/web: .*"sec" is of network blue_sec, which has no gateway/,
      ),
    ]);
    const off = { settings: { ...exampleZone.settings, secondaryGateways: false } };
    expect(placed('sec', {}, off)).toEqual([
      [],
      expect.stringContaining('an administrator sets secondary-gateways to true'),
    ]);
    expect(placed('blue')).toEqual([[], expect.stringContaining('is of a primary network')]);
    expect(placed('other')).toEqual([
      [],
      expect.stringContaining('is no NetworkAttachmentDefinition that stands for a network'),
    ]);
  });

  test('has no external address that is a cluster address of another one, and has a problem', () => {
    const facts = factsOf(
      withServices(
        exampleZone,
        web,
        service('blue/greedy', { clusterIPs: ['10.96.1.2'], externalIPs: ['10.96.1.1'] }),
      ),
    );
    expect(facts.services.peek('blue/greedy')?.externalIps).toEqual([]);
    expect([...facts.serviceProblems()].map(({ object }) => object)).toEqual([
      'Service blue/greedy',
    ]);
    expect(facts.services.peek('blue/web')?.refused).toBeUndefined();
  });
});

test('of two services with one address and port on networks of a connection the first one by its name is shared', () => {
  const twin = service('green/web', { clusterIPs: ['10.96.1.1'] });
  const facts = factsOf(
    withServices(
      {
        ...connectedZone,
        namespaces: [...connectedZone.namespaces, 'green'],
        connects: [{ ...colored, hasServices: true }],
      },
      web,
      twin,
    ),
  );
  expect(facts.sharedBefore('colored-net', 'green/web')).toBe('blue/web');
  expect(facts.sharedBefore('colored-net', 'blue/web')).toBeUndefined();
  expect(facts.sharedBefore('other', 'green/web')).toBeUndefined();
});
