import { describe, expect, test } from 'vitest';
import type { SliceFacts } from '../../../../src/model/read/endpoint-slices.ts';
import { readService, type ServiceFacts } from '../../../../src/model/read/services.ts';
import {
  backendsOf,
  socketAddress,
  withHostAt,
  type Backends,
  type NetworkSlices,
} from '../../../../src/model/rules/backends.ts';
import { service } from '../../../support/zone/services.ts';

const LIMITS = { entries: 1024, targets: 20_000, slices: 1000 };

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
  { spec = {}, limits = LIMITS }: { spec?: object; limits?: typeof LIMITS } = {},
): Backends {
  const found = backendsOf(facts({ ...spec }), networks, 'blue', 'n1', limits);
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

  test('that are more than one may have are cut, and counted', () => {
    const limits = { ...LIMITS, targets: 4 };
    const many = Array.from({ length: 10 }, (_, index) => at(`10.0.0.${index + 1}`));
    const [port] = backends([blue(...many)], { limits }).ports;
    const kept = port?.all.v4.split(',').length ?? 0;
    expect(kept).toBeLessThan(10);
    expect(kept + (port?.surplus ?? 0)).toBe(10);
  });

  test('are none where the service is on no network', () => {
    expect(backendsOf(facts(), [], undefined, 'n1', LIMITS)).toBeUndefined();
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
