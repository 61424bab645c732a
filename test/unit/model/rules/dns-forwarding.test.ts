import { expect, test } from 'vitest';
import {
  dnsForwarderAddress,
  forwardsDnsOn,
  isWildcard,
  rulesAbout,
} from '../../../../src/model/rules/dns-forwarding.ts';
import { DEFAULT_SETTINGS } from '../../../../src/model/settings.ts';

test('a name is meant by itself, by a wildcard in the place of its first label, and by one in the place of one or more', () => {
  expect(rulesAbout('a.b.example.org')).toEqual([
    'a.b.example.org',
    '*.b.example.org',
    '**.b.example.org',
    '**.example.org',
    '**.org',
  ]);
  expect(isWildcard('**.example.org')).toBe(true);
  expect(rulesAbout('localhost')).toEqual(['localhost']);
  expect(isWildcard('*.b.example.org')).toBe(true);
  expect(isWildcard('b.example.org')).toBe(false);
});

test('nodes forward to a service, unless that is off; on primary networks where their pods reach it by hosts with VRFs', () => {
  expect(forwardsDnsOn('default', DEFAULT_SETTINGS)).toBe(true);
  expect(forwardsDnsOn('blue_blue', DEFAULT_SETTINGS)).toBe(true);
  expect(forwardsDnsOn('blue_blue', { ...DEFAULT_SETTINGS, hasVrfs: false })).toBe(false);
  expect(forwardsDnsOn('default', { ...DEFAULT_SETTINGS, hasVrfs: false })).toBe(true);
  const closed = { ...DEFAULT_SETTINGS, allowedDefaultServices: ['default/kubernetes'] };
  expect(forwardsDnsOn('blue_blue', closed)).toBe(false);
  expect(forwardsDnsOn('default', { ...DEFAULT_SETTINGS, forwardsDns: false })).toBe(false);
  expect(forwardsDnsOn('default', { ...DEFAULT_SETTINGS, dnsServers: ['192.0.2.53'] })).toBe(false);
  const features = { ...DEFAULT_SETTINGS.features, egressFirewall: false };
  expect(forwardsDnsOn('default', { ...DEFAULT_SETTINGS, features })).toBe(false);
});

test('the forwarder is at the sixth address of the masquerade subnet', () => {
  expect(dnsForwarderAddress(DEFAULT_SETTINGS, 'v4')).toBe('169.254.0.6');
  expect(dnsForwarderAddress(DEFAULT_SETTINGS, 'v6')).toBe('fd69::6');
  expect(dnsForwarderAddress({ masqueradeSubnets: {} }, 'v6')).toBe(undefined);
});
