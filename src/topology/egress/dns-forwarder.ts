/** The ways from pods to the forwarder of DNS on their host (decisions/firewall-names.md). */

import { asHost } from '../../allocators/addresses.ts';
import { ONE } from '../../facts/keys.ts';
import { feature } from '../../desired/features.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import { forwardsDnsOnPrimary } from '../../model/rules/dns-forwarding.ts';
import { DEFAULT_CONTROLLER, layer3Names } from '../../model/rules/names.ts';
import { clusterFamilies, nodeRanges } from '../../model/rules/network-addresses.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import {
  ADDRESS_SET_CLAIM,
  addAddressSet,
  addOpenAddressSet,
  dnsServiceSet,
} from '../rows/address-sets.ts';
import { objectIds } from '../rows/object-ids.ts';
import { addIdentifiedRoute, ROUTE_CLAIM } from '../rows/router-rows.ts';
import { Rows } from '../rows/unit-rows.ts';

const objectOf = (facts: ZoneFacts): string => `Service ${String(facts.settings.dnsServers)}`;

export const dnsForwarderRoutes = feature({
  name: 'egress/dns-forwarder',
  over: (_facts: ZoneFacts) => ONE,
  objects: (facts) => [objectOf(facts)],
  rules: {
    route: {
      text: "The forwarder of DNS has an address of its own on the host, which pods of the default network reach over the host's port.",
      source: 'reference/topology.md §18.2',
    },
  },
  claims: [ROUTE_CLAIM],
  build(facts, _args, out) {
    const { ways = [] } = facts.forwardedDns() ?? {};
    if (ways.length === 0 || facts.rendered.part(DEFAULT_NETWORK, 'name') === undefined) return;
    const { clusterRouter } = layer3Names(DEFAULT_NETWORK, facts.nodeName);
    const rows = Rows.northbound(out, objectOf(facts)).by('route');
    for (const { family, management } of nodeRanges(
      facts.subnetsOn(DEFAULT_NETWORK, facts.nodeName),
    )) {
      const way = ways.find((one) => one.family === family);
      if (way === undefined) continue;
      const name = { name: 'dns-forwarder', 'ip-family': family };
      addIdentifiedRoute(rows, clusterRouter, {
        prefix: asHost(way.address),
        nexthop: management,
        externalIds: objectIds(DEFAULT_CONTROLLER, 'DnsForwarder', name),
      });
    }
  },
});

export const dnsServiceAddresses = feature({
  name: 'egress/dns-service-addresses',
  over: (_facts: ZoneFacts) => ONE,
  objects: (facts) => [objectOf(facts)],
  rules: {
    service: {
      text: 'Pods of primary networks behind an EgressFirewall with names ask the service of DNS itself, whatever the rules are.',
      source: 'reference/topology.md §18.2',
    },
  },
  claims: [ADDRESS_SET_CLAIM],
  build(facts, _args, out) {
    if (!forwardsDnsOnPrimary(facts.settings) || !facts.hasRuleNames()) return;
    const ways = facts.forwardedDns()?.ways;
    const rows = Rows.northbound(out, objectOf(facts)).by('service');
    for (const family of clusterFamilies(facts.settings)) {
      const set = dnsServiceSet(family);
      const own = ways?.filter((way) => way.family === family).map(({ clusterIp }) => clusterIp);
      // While the service is not known those that were asked stay.
      if (own === undefined) addOpenAddressSet(rows, set);
      else addAddressSet(rows, set, [...new Set(own)]);
    }
  },
});
