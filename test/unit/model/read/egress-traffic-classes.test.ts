/** What is read of EgressTrafficClasses. */
import { expect, test } from 'vitest';
import type { EgressTrafficClass } from '../../../../src/api/types.ts';
import { egressTrafficClassKind } from '../../../../src/model/read/egress-traffic-classes.ts';

const trafficClass = (
  ...destinations: EgressTrafficClass['spec']['destinations']
): EgressTrafficClass => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressTrafficClass',
  metadata: { name: 'mgmt', labels: { group: 'mgmt' } },
  spec: { destinations },
});

test('its labels, and its destinations in canonical form, each once', () => {
  expect(
    egressTrafficClassKind.read(
      trafficClass(
        { cidr: '198.51.100.0/24' },
        { cidr: '2001:DB8:0::/32' },
        { cidr: '198.51.100.0/24', protocols: [] },
      ),
    ),
  ).toEqual({
    kind: 'value',
    value: {
      name: 'mgmt',
      labels: { group: 'mgmt' },
      cidrs: ['198.51.100.0/24', '2001:db8::/32'],
    },
  });
});

test('one with protocols, or what is no network, is not read: it would be another class', () => {
  for (const [destination, text] of [
    [
      { cidr: '198.51.100.0/24', protocols: [{ tcp: {} }] },
      'spec.destinations[1].protocols: Forbidden: protocols and ports (OKEP-6227) are not supported; take protocols out',
    ],
    [{ cidr: 'nowhere' }, 'spec.destinations[1].cidr: Invalid value: "nowhere": must be an IPv4'],
  ] as const) {
    const reading = egressTrafficClassKind.read(
      trafficClass({ cidr: '192.0.2.0/24' }, destination),
    );
    expect(reading.kind === 'problem' ? reading.message : undefined).toContain(text);
    expect(reading.kind === 'problem' ? reading.message : undefined).toContain(
      'until then its destinations are those that were read last',
    );
  }
});
