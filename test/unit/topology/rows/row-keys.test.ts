import { describe, expect, test } from 'vitest';
import {
  encapKey,
  identifiedPolicyKey,
  macBindingKey,
  meterBandKey,
  natKey,
  policyKey,
  routeKey,
} from '../../../../src/topology/rows/row-keys.ts';

const route = { prefix: '10.0.0.0/8', policy: undefined, outputPort: undefined, nexthop: 'a' };

describe('a row without a name of its own is known', () => {
  test('as a route by router, prefix, policy and port: its next hop may change', () => {
    expect(routeKey('r', route)).toBe('r 10.0.0.0/8 any -');
    expect(routeKey('r', { ...route, nexthop: 'b' })).toBe(routeKey('r', route));
    expect(routeKey('r', { ...route, policy: 'src-ip' })).not.toBe(routeKey('r', route));
    expect(routeKey('r', { ...route, outputPort: 'p' })).not.toBe(routeKey('r', route));
  });

  test.each(['0.0.0.0/0', '::/0'])('as a default route by its next hop, too: %s', (prefix) => {
    expect(routeKey('r', { ...route, prefix })).not.toBe(
      routeKey('r', { ...route, prefix, nexthop: 'b' }),
    );
  });

  test('as an address translation by what is translated: the external address may change', () => {
    const nat = { type: 'snat', logicalIp: '10.0.0.1', logicalPort: undefined, limited: false };
    expect(natKey('r', nat)).toBe('r snat 10.0.0.1 -');
    expect(natKey('r', { ...nat, limited: true })).toBe('r snat 10.0.0.1 - limited');
  });

  test('as a policy by priority and match, or by id and match', () => {
    expect(policyKey('r', 5, 'ip4')).toBe('r 5 ip4');
    expect(identifiedPolicyKey('i', 'ip4')).toBe('i ip4');
  });

  test('as a neighbour by port and address, a band by action and rate, an endpoint by type and address', () => {
    expect(macBindingKey('p', '10.0.0.1')).toBe('p 10.0.0.1');
    expect(meterBandKey('drop', 25)).toBe('drop 25');
    expect(encapKey('geneve', '172.18.0.4')).toBe('geneve 172.18.0.4');
  });
});
