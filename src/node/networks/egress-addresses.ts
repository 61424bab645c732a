/** Addresses of EgressIPs on the external bridge and on other network cards, where the kernel answers for them (reference/egress.md §1.10, §1.11). */
import { asHost, familyOf } from '../../allocators/addresses.ts';
import { feature } from '../../desired/features.ts';
import { hasEgressFence } from '../../model/rules/egress-health.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { HostRows } from '../host-rows.ts';

export const egressAddressesOnHost = feature({
  name: 'host/egress-addresses',
  over: (facts: ZoneFacts) => facts.egressIps.bucket('here'),
  objects: (_facts, [egressIp]) => [`EgressIP ${egressIp}`],
  rules: {
    'egress-address': {
      text: 'The external bridge, or the network card in whose network they are, has the addresses of EgressIPs on this node, as soon as everybody can know that they are none of the host; the card for as long as a daemon says so.',
      source: 'reference/egress.md §1.10, §1.11',
    },
  },
  claims: [],
  build(facts, [egressIp], out) {
    const bridge = facts.own('gateway')?.bridge;
    if (bridge === undefined) return;
    const rows = new HostRows(out, `EgressIP ${egressIp}`, 'egress-address');
    const told = facts.own('egressAddresses');
    const isFenced = hasEgressFence(facts.settings);
    for (const { address, role, card } of facts.egressAddressesHere(egressIp)) {
      if (role !== 'holder') continue;
      if (!told.includes(address)) {
        out.waitFor(
          `the annotation of node ${facts.nodeName} that names egress address ${address}`,
        );
        continue;
      }
      rows.address({
        dev: card ?? bridge,
        address: asHost(address),
        ...(familyOf(address) === 'v6' ? { deprecated: true } : {}),
        ...(card !== undefined && isFenced ? { isLeased: true } : {}),
      });
    }
  },
});
