/** Where pods of this node get to that ask the cluster's DNS service: the forwarder on their host, while it listens. */
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import { socketAddress } from '../../model/rules/backends.ts';

/** Targets by address of the service, of one protocol; none for every other service. */
export function dnsWays(
  facts: ZoneFacts,
  network: string,
  service: string,
  protocol: string,
): ReadonlyMap<string, string> {
  const [forwarding] =
    network === DEFAULT_NETWORK ? facts.dnsForwarding.by('service', service) : [];
  const ways = forwarding?.isOpen === true ? forwarding.ways : [];
  return new Map(
    ways
      .filter((way) => way.protocol === protocol)
      .map(({ vip, address, port }) => [vip, socketAddress(address, port)]),
  );
}
