/** What pods with a primary network of their own may still do on the default network (reference/topology.md §17.1). */

import { ipOf } from '../../allocators/addresses.ts';
import { ONE } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { nodeRanges } from '../../model/rules/network-addresses.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import { ACL_CLAIM, ofGroup, type Direction } from '../rows/acls.ts';
import { ACL_DEFAULT_ALLOW, ACL_DEFAULT_DENY } from '../numbers.ts';
import { addPortGroup, PORT_GROUP_CLAIM, SECONDARY_PODS } from '../rows/port-groups.ts';
import { Rows } from '../rows/unit-rows.ts';
import { addIsolationAcl } from './isolation-acl.ts';
import { SETTINGS } from '../../desired/rows.ts';

/** The group and its ACLs in one unit: a pod's port that joins the group finds it closed. */
export const secondaryPods: Feature<ZoneFacts> = {
  name: 'isolation/secondary-pods',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    'isolated-pods': {
      text: 'Ports on the default network of pods with a primary network of their own are in one group.',
      source: 'reference/topology.md §17.1',
    },
    deny: {
      text: 'Nothing gets in or out of the default network port of a pod with a primary network of its own.',
      source: 'reference/topology.md §17.1',
    },
    probes: {
      text: 'Except what the host of this node starts: its probes.',
      source: 'reference/topology.md §17.1',
    },
  },
  claims: [PORT_GROUP_CLAIM, ACL_CLAIM],
  build(facts, _args, out) {
    const rows = Rows.northbound(out, SETTINGS);
    addPortGroup(rows.by('isolated-pods'), SECONDARY_PODS);
    const group = SECONDARY_PODS.name;
    for (const direction of ['Egress', 'Ingress'] as const) {
      addIsolationAcl(rows.by('deny'), 'DenyPrimaryUDN', {
        direction,
        priority: ACL_DEFAULT_DENY,
        action: 'drop',
        match: ofGroup(direction, group),
      });
    }
    const host = nodeRanges(facts.subnetsOn(DEFAULT_NETWORK, facts.nodeName)).map(
      (range) => range.management,
    );
    if (host.length === 0) return;
    for (const direction of ['Egress', 'Ingress'] as const) {
      addIsolationAcl(rows.by('probes'), 'AllowHostARPPrimaryUDN', {
        direction,
        priority: ACL_DEFAULT_ALLOW,
        action: 'allow',
        match: `${ofGroup(direction, group)} && (${host.map((address) => neighbour(direction, address)).join(' || ')})`,
      });
    }
    addIsolationAcl(rows.by('probes'), 'AllowHostPrimaryUDN', {
      direction: 'Ingress',
      priority: ACL_DEFAULT_ALLOW,
      action: 'allow-related',
      match: `${ofGroup('Ingress', group)} && (${host.map((address) => `${ipOf(address)}.src==${address}`).join(' || ')})`,
    });
  },
};

/** Asking for the host's address, or being asked from it. */
function neighbour(direction: Direction, address: string): string {
  if (ipOf(address) === 'ip6') return `( nd && nd.target == ${address} )`;
  return `( arp && arp.${direction === 'Egress' ? 'tpa' : 'spa'} == ${address} )`;
}
