/** No pod answers DHCP where the network gives pods their addresses (reference/topology.md §22). */

import type { Network } from '../../model/model.ts';
import { controllerOf } from '../../model/rules/names.ts';
import { ACL_CLAIM, addAcl, type Acl } from '../rows/acls.ts';
import { ACL_POD_SERVERS_DROP, ACL_POD_SERVERS_PASS, TIER_ISOLATION } from '../numbers.ts';
import { objectIds } from '../rows/object-ids.ts';
import { holds, type Rows } from '../rows/unit-rows.ts';
import type { NetworkPart } from './part.ts';

/** To a DHCP client, from whatever port: what an offer comes from nobody checks. */
const TO_CLIENTS = 'udp.dst == {68, 546}';

export const podServers: NetworkPart = {
  rules: {
    'pod-servers': {
      text: 'Where a network gives pods their addresses, nothing on its switch sends to DHCP clients but its router and the physical network.',
      source: 'reference/topology.md §22',
    },
  },
  claims: [ACL_CLAIM],
  build(rows, { names, network, podRanges, hasGateway }) {
    // On Layer3 the switch is there with the node's subnet.
    if (network.topology === 'layer3' && podRanges.length === 0) return;
    const hasRouter = network.topology === 'layer3' || hasGateway;
    addPodServerAcls(
      rows.by('pod-servers'),
      network,
      names.nodeSwitch,
      hasRouter ? names.switchToRouter : undefined,
    );
  },
};

/**
 * In the tier before all policies: none of a tenant lets it through. After load balancing, so that a service does not lead to a client's port.
 * `outside` is the port by which others than pods are reached, who may be servers. A network without subnets is its pods' own: they may be.
 */
export function addPodServerAcls(
  rows: Rows,
  network: Pick<Network, 'name' | 'subnets'>,
  logicalSwitch: string,
  outside: string | undefined,
): void {
  if (network.subnets.length === 0) return;
  const add = (type: string, acl: Pick<Acl, 'priority' | 'action' | 'match'>): void =>
    addAcl(
      rows,
      {
        ids: objectIds(controllerOf(network.name), 'PodServers', { name: logicalSwitch, type }),
        direction: 'Egress',
        tier: TIER_ISOLATION,
        afterLoadBalancing: true,
        ...acl,
      },
      holds('Logical_Switch', logicalSwitch, 'acls'),
    );
  if (outside !== undefined)
    add('pass', {
      priority: ACL_POD_SERVERS_PASS,
      action: 'pass',
      match: `inport == "${outside}" && ${TO_CLIENTS}`,
    });
  add('drop', { priority: ACL_POD_SERVERS_DROP, action: 'drop', match: TO_CLIENTS });
}
