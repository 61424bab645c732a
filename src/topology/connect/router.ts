/** The router that joins connected networks (reference/topology.md §19.1). */

import { contains } from '../../allocators/addresses.ts';
import { RowReference } from '../../desired/rows.ts';
import { feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { COPP } from '../database/protection.ts';
import { OWNER_CONTROLLER_ID, OWNER_TYPE_ID, NAME_ID } from '../rows/object-ids.ts';
import { ROUTER_CLAIM } from '../rows/router-rows.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import { podSwitch } from '../../model/rules/names.ts';
import { LOAD_BALANCER_GROUP_CLAIM } from '../parts/load-balancer-groups.ts';
import {
  CONNECT_CONTROLLER,
  CONNECT_TYPE,
  connectObject,
  connectRouter,
  connectServices,
} from './connect-rows.ts';
import { addServicesOnly, SERVICES_ONLY_CLAIMS, SERVICES_ONLY_RULES } from './services-only.ts';

export const connectRouters = feature({
  name: 'connect/router',
  over: (facts: ZoneFacts) => facts.connects,
  subject: (_facts, [name]) => connectObject(name),
  objects: (_facts, [connect]) => [connectObject(connect)],
  rules: {
    'connect-router': {
      text: 'Networks of a connection are joined by a router of their own, where one of them is in use.',
      source: 'reference/topology.md §19.1',
    },
    'shared-services': {
      text: 'Where services are connected, cluster IPs of each network of the connection are balanced on the switches of all.',
      source: 'reference/topology.md §19.2',
    },
    ...SERVICES_ONLY_RULES,
  },
  claims: [ROUTER_CLAIM, LOAD_BALANCER_GROUP_CLAIM, ...SERVICES_ONLY_CLAIMS],
  build(facts, [name], out) {
    const connect = facts.connects.get(name);
    // Networks that have no links need none.
    if (connect === undefined || connect.members.length === 0) return;
    if (!facts.isConnectRendered(name)) return;
    const rows = Rows.northbound(out, connectObject(name));
    rows.by('connect-router').named('Logical_Router', connectRouter(name), {
      copp: new RowReference('Copp', COPP),
      options: { 'requested-tnl-key': String(connect.tunnelKey) },
      external_ids: {
        [OWNER_CONTROLLER_ID]: CONNECT_CONTROLLER,
        [OWNER_TYPE_ID]: CONNECT_TYPE,
        [NAME_ID]: name,
      },
    });
    const connected = facts.membersOf(name);
    const here = facts.membersHere(name);
    if (connect.hasServices)
      rows
        .by('shared-services')
        .named(
          'Load_Balancer_Group',
          connectServices(name),
          {},
          ...here.map((network) =>
            holds('Logical_Switch', podSwitch(network, facts.nodeName), 'load_balancer_group'),
          ),
        );
    if (connect.hasPods) return;
    // In the unit of the router: links refer to it, so that they wait for what keeps pods apart.
    addServicesOnly(
      rows.by('services-only'),
      name,
      {
        connected,
        here,
        reachedFrom: ({ name: network }) =>
          facts
            .reachedFrom(network)
            .map((other) => facts.networks.get(other))
            .filter((other) => other !== undefined)
            .filter((other) => connected.includes(other)),
      },
      {
        subnets: facts.settings.serviceSubnets,
        pooled: connected.flatMap((network) =>
          (facts.poolAddresses.part(network.name, 'addresses') ?? []).filter(
            (address) =>
              network.subnets.some(({ cidr }) => contains(cidr, address)) &&
              facts.isPoolAddressShared(name, network.name, address),
          ),
        ),
      },
      facts.nodeName,
    );
  },
});
