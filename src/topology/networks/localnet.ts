/** A localnet network in this node's zone: a switch whose pods are on a physical network of the node (reference/topology.md §11). */

import { RowReference } from '../../desired/rows.ts';
import { SWITCH_COPP } from '../database/protection.ts';
import { ovnPrefix } from '../../api/nad/network-name.ts';
import { feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { localnetPort, localnetSwitch } from '../../model/rules/names.ts';
import { addDhcpOptions, dhcpOptions } from '../parts/dhcp.ts';
import { addPodServerAcls, podServers } from '../parts/pod-servers.ts';
import { networkOf, networkRank, networkObjects } from './network-feature.ts';
import { networkRoleIds } from '../rows/object-ids.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import { subnetConfig, SWITCH_CLAIM, SWITCH_PORT_CLAIM } from '../rows/switch-rows.ts';

export const localnetNetwork = feature({
  name: 'localnet/network',
  over: (facts: ZoneFacts) => facts.renderedOf('localnet'),
  rank: networkRank,
  subject: networkOf,
  objects: networkObjects,
  rules: {
    ...dhcpOptions.rules,
    ...podServers.rules,
    'localnet-switch': {
      text: 'The pods of a localnet network on this node are on one switch; nothing of it is tunnelled.',
      source: 'reference/topology.md §11',
    },
    'localnet-port': {
      text: 'That switch leads to the physical network which the bridge mappings of the node have under its name, in its VLAN.',
      source: 'reference/topology.md §11',
    },
  },
  claims: [SWITCH_CLAIM, SWITCH_PORT_CLAIM, ...dhcpOptions.claims, ...podServers.claims],
  build(facts, [name], out) {
    const network = facts.rendered.get(name);
    if (network === undefined) return;
    const prefix = ovnPrefix(name);
    const rows = Rows.northbound(out, network.object);
    rows.by('localnet-switch').named('Logical_Switch', localnetSwitch(prefix), {
      copp: new RowReference('Copp', SWITCH_COPP),
      other_config: subnetConfig(network.subnets.map(({ cidr }) => cidr)),
      external_ids: networkRoleIds(network),
    });
    rows.by('localnet-port').named(
      'Logical_Switch_Port',
      localnetPort(prefix),
      {
        type: 'localnet',
        up: false,
        addresses: ['unknown'],
        options: { network_name: network.physicalNetworkName ?? name },
        tag_request: network.vlan,
      },
      holds('Logical_Switch', localnetSwitch(prefix), 'ports'),
    );
    addDhcpOptions(rows.by('dhcp'), network, localnetSwitch(prefix));
    addPodServerAcls(rows.by('pod-servers'), network, localnetSwitch(prefix), localnetPort(prefix));
  },
});
