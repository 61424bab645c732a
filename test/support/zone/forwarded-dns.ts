/** A zone whose nodes forward what pods ask DNS. */
import type { Firewall } from '../../../src/model/read/egress-firewalls.ts';
import type { ZoneFacts } from '../../../src/model/zone/zone.ts';
import { clusterDns, withServices } from './services.ts';
import { dualZone, factsOf, type Zone } from './zones.ts';

export const firewallWithNames = (namespace: string, ...names: readonly string[]): Firewall => ({
  namespace,
  name: 'default',
  rules: names.map((name) => ({
    isAllowed: true,
    destination: { kind: 'name', name },
    ports: [],
  })),
});

export const forwardingZone = (zone: Zone = dualZone): Zone => ({
  ...withServices(zone, ...clusterDns),
  firewalls: [firewallWithNames('default', 'www.example.org')],
});

/** `isOpen`: the forwarder listens. */
export function forwardingFacts(isOpen: boolean, zone: Zone = forwardingZone()): ZoneFacts {
  const facts = factsOf(zone);
  if (isOpen) facts.dnsForwarders.put('host', { isOpen });
  facts.refresh(0);
  return facts;
}
