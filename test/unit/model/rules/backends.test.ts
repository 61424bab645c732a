import { describe, expect, test } from 'vitest';
import type { SliceFacts } from '../../../../src/model/read/endpoint-slices.ts';
import { readService, type ServiceFacts } from '../../../../src/model/read/services.ts';
import {
  backendsOf,
  endpointLimit,
  socketAddress,
  withHostAt,
  type Backends,
  type NetworkSlices,
} from '../../../../src/model/rules/backends.ts';
import { service } from '../../../support/zone/services.ts';

const LIMITS = { entries: 1024, targets: 20_000, slices: 1000 };

const HERE = { node: 'n1', zone: () => 'a' };

const facts = (spec: Readonly<Record<string, unknown>> = {}): ServiceFacts => {
  const found = readService(service('blue/web', { clusterIPs: ['10.96.1.1'], ...spec }));
  if (found === undefined) throw new Error('no service');
  return found;
};
type Endpoint = SliceFacts['endpoints'][number];
const at = (address: string, more: Partial<Endpoint> = {}): Endpoint => ({
  addresses: [address],
  state: 'ready',
  ...more,
});
const on = (network: string, subnet: string, ...endpoints: readonly Endpoint[]): NetworkSlices => ({
  network,
  subnets: [subnet],
  left: 0,
  slices: [
    {
      network,
      service: 'blue/web',
      ports: [{ name: '', protocol: 'TCP', port: 8080 }],
      endpoints,
      age: '',
    },
  ],
});
const blue = (...endpoints: readonly Endpoint[]): NetworkSlices =>
  on('blue', '10.0.0.0/16', ...endpoints);
function backends(
  networks: readonly NetworkSlices[],
  {
    spec = {},
    limits = LIMITS,
    isForeign = () => false,
  }: { spec?: object; limits?: typeof LIMITS; isForeign?: (address: string) => boolean } = {},
): Backends {
  const found = backendsOf(facts({ ...spec }), networks, 'blue', HERE, limits, isForeign);
  if (found === undefined) throw new Error('no backends');
  return found;
}
const all = (...args: Parameters<typeof backends>): string | undefined =>
  backends(...args).ports[0]?.all.v4;

describe('which endpoints take traffic', () => {
  test('those that are ready, in the order of their addresses, each once', () => {
    expect(all([blue(at('10.0.0.9'), at('10.0.0.10'), at('10.0.0.9'))])).toBe(
      '10.0.0.10:8080,10.0.0.9:8080',
    );
  });

  test('while none is ready those that are ending, and never those that are not ready', () => {
    const ending = at('10.0.0.3', { state: 'ending' });
    const unready = at('10.0.0.4', { state: 'unready' });
    expect(all([blue(ending, unready)])).toBe('10.0.0.3:8080');
    expect(all([blue(ending, unready, at('10.0.0.5'))])).toBe('10.0.0.5:8080');
    expect(all([blue(unready)])).toBe('');
  });

  test('all of them, if the service wants that', () => {
    const unready = at('10.0.0.4', { state: 'unready' });
    expect(all([blue(unready)], { spec: { publishNotReadyAddresses: true } })).toBe(
      '10.0.0.4:8080',
    );
  });

  test('those that offer the port by its name and protocol', () => {
    expect(all([blue(at('10.0.0.3'))], { spec: { ports: [{ port: 53, protocol: 'UDP' }] } })).toBe(
      '',
    );
  });
});

describe('hints of slices', () => {
  const forZone = (address: string, zone: string, more: Partial<Endpoint> = {}): Endpoint =>
    at(address, { forZones: [zone], ...more });
  const forNode = (address: string, zone: string, node: string): Endpoint =>
    forZone(address, zone, { forNodes: [node] });
  const near = (address: string): Endpoint => forZone(address, 'a');
  const far = (address: string): Endpoint => forZone(address, 'b');

  test('keep clients in their zone', () => {
    expect(all([blue(near('10.0.0.3'), far('10.0.0.4'), near('10.0.0.5'))])).toBe(
      '10.0.0.3:8080,10.0.0.5:8080',
    );
  });

  test('of nodes keep them on their node, before those of zones', () => {
    const here = forNode('10.0.0.3', 'a', 'n1');
    expect(all([blue(here, forNode('10.0.0.4', 'a', 'n2'))])).toBe('10.0.0.3:8080');
    expect(all([blue(here, near('10.0.0.4'), far('10.0.0.5'))])).toBe(
      '10.0.0.3:8080,10.0.0.4:8080',
    );
  });

  test('of nodes none of which is this one lead to the zone', () => {
    const others = [forNode('10.0.0.4', 'a', 'n2'), forNode('10.0.0.5', 'b', 'n3')];
    expect(all([blue(...others)])).toBe('10.0.0.4:8080');
  });

  test('count for nothing where one that is ready has none, or none is for the zone', () => {
    expect(all([blue(near('10.0.0.3'), at('10.0.0.4'))])).toBe('10.0.0.3:8080,10.0.0.4:8080');
    expect(all([blue(far('10.0.0.3'), far('10.0.0.4'))])).toBe('10.0.0.3:8080,10.0.0.4:8080');
    const unready = at('10.0.0.5', { state: 'unready' });
    expect(all([blue(near('10.0.0.3'), far('10.0.0.4'), unready)])).toBe('10.0.0.3:8080');
  });

  test('count for nothing on a node that has no zone', () => {
    const place = { node: 'n1', zone: () => undefined };
    const found = backendsOf(
      facts(),
      [blue(near('10.0.0.3'), far('10.0.0.4'))],
      'blue',
      place,
      LIMITS,
      () => false,
    );
    expect(found?.ports[0]?.all.v4).toBe('10.0.0.3:8080,10.0.0.4:8080');
  });

  test('count for nothing among the last ones that serve while they end', () => {
    const ending = [near('10.0.0.3'), far('10.0.0.4')].map((one) => ({
      ...one,
      state: 'ending' as const,
    }));
    expect(all([blue(...ending)])).toBe('10.0.0.3:8080,10.0.0.4:8080');
  });

  test('of each family count for that family', () => {
    const found = backends([
      blue(near('10.0.0.3'), far('10.0.0.4'), at('fd00::3'), far('fd00::4')),
    ]);
    expect(found.ports[0]?.all).toEqual({
      v4: '10.0.0.3:8080',
      v6: '[fd00::3]:8080,[fd00::4]:8080',
    });
  });

  test('take no endpoint of the node from a policy Local', () => {
    const spec = { internalTrafficPolicy: 'Local' };
    const here = far('10.0.0.4');
    const [port] = backends([blue(near('10.0.0.3'), { ...here, node: 'n1' })], { spec }).ports;
    expect(port?.local.v4).toBe('10.0.0.4:8080');
    expect(port?.all.v4).toBe('10.0.0.3:8080');
  });
});

describe('endpoints of a service', () => {
  test('on another network of the namespace are among all, and not among those of the network itself', () => {
    const [port] = backends([
      blue(at('10.0.0.3')),
      on('more', '10.1.0.0/16', at('10.1.0.3')),
    ]).ports;
    expect(port?.all.v4).toBe('10.0.0.3:8080,10.1.0.3:8080');
    expect(port?.own.v4).toBe('10.0.0.3:8080');
    expect(port?.hasHostEndpoints).toBe(false);
  });

  test('of the node alone are told where the service makes a difference', () => {
    const here = at('10.0.0.3', { node: 'n1' });
    const there = at('10.0.0.4', { node: 'n2' });
    const spec = { internalTrafficPolicy: 'Local' };
    expect(backends([blue(here, there)], { spec }).ports[0]?.local.v4).toBe('10.0.0.3:8080');
    expect(backends([blue(here, there)]).ports[0]?.local.v4).toBe('10.0.0.3:8080,10.0.0.4:8080');
  });

  test('outside of all subnets are on hosts', () => {
    expect(backends([blue(at('172.18.0.3'))]).ports[0]?.hasHostEndpoints).toBe(true);
  });

  test('of networks that are connected are left out, whoever named them, and told: connected may be services alone', () => {
    const isForeign = (address: string): boolean => !address.startsWith('172.');
    const found = backends([blue(at('10.0.0.3'), at('10.1.0.3'), at('172.18.0.3'))], { isForeign });
    expect(found.ports[0]?.all.v4).toBe('10.0.0.3:8080,172.18.0.3:8080');
    expect(found.foreign).toEqual(['10.1.0.3']);
    const siblings = [blue(at('10.0.0.3')), on('red', '10.1.0.0/16', at('10.1.0.3'))];
    expect(backends(siblings, { isForeign: () => true }).foreign).toEqual([]);
  });

  test('that are more than one may have are cut, and counted', () => {
    const limits = { ...LIMITS, targets: 4 };
    const many = Array.from({ length: 10 }, (_, index) => at(`10.0.0.${index + 1}`));
    const [port] = backends([blue(...many)], { limits }).ports;
    const kept = port?.all.v4.split(',').length ?? 0;
    expect(kept).toBeLessThan(10);
    expect(kept + (port?.surplus ?? 0)).toBe(10);
  });

  test('one address and port may have a quarter of them, where others leave it more', () => {
    const limits = { ...LIMITS, targets: 400 };
    const ports = [80, 81, 82, 83, 84].map((port) => ({ name: `p${port}`, port }));
    const [one, five] = [facts(), facts({ ports })];
    expect(endpointLimit(one, limits)).toBe(100);
    expect(endpointLimit(five, limits)).toBe(80);
  });

  test('are none where the service is on no network', () => {
    expect(backendsOf(facts(), [], undefined, HERE, LIMITS, () => false)).toBeUndefined();
  });
});

describe('targets as OVN writes them', () => {
  test('IPv6 addresses are in brackets', () => {
    expect(socketAddress('10.0.0.1', 80)).toBe('10.0.0.1:80');
    expect(socketAddress('fd00::1', 80)).toBe('[fd00::1]:80');
  });

  test("those at the host's addresses are at another one instead, and one that begins alike is not", () => {
    expect(withHostAt('10.0.0.1:80,10.0.0.11:80', ['10.0.0.1'], '169.254.0.2')).toBe(
      '169.254.0.2:80,10.0.0.11:80',
    );
    expect(withHostAt('[fd00::1]:80', ['10.0.0.1', 'fd00::1'], 'fd69::2')).toBe('[fd69::2]:80');
    expect(withHostAt('10.0.0.1:80', ['10.0.0.1'], undefined)).toBe('10.0.0.1:80');
  });
});
