/** What pods with a primary network of their own may still do on the default network (topology.md §17.1). */

import type { Attachment, OpenPort } from '../model/model.ts';
import { addAcl, ofGroup, type Acl, type Direction } from './acls.ts';
import { ipOf } from '../allocators/addresses.ts';
import { DEFAULT_CONTROLLER, DEFAULT_NETWORK, podPort } from './names.ts';
import type { NetworkOnNode } from './network-on-node.ts';
import { ACL_DEFAULT_ALLOW, ACL_DEFAULT_DENY, TIER_ISOLATION } from './numbers.ts';
import { objectIds } from './object-ids.ts';
import { SECONDARY_PODS } from './port-groups.ts';
import { holds, type Rows } from './rows.ts';

const CONTAINER = holds('Port_Group', SECONDARY_PODS.name, 'acls');

function addIsolationAcl(
  rows: Rows,
  name: string,
  acl: Pick<Acl, 'direction' | 'priority' | 'action' | 'match'>,
): void {
  const ids = objectIds(DEFAULT_CONTROLLER, 'UDNIsolation', { name, direction: acl.direction });
  addAcl(rows, { ids, tier: TIER_ISOLATION, ...acl }, CONTAINER);
}

/** Everything is dropped, except what the host of this node starts: its probes. */
export function addIsolationRows(rows: Rows, defaultNetwork: NetworkOnNode): void {
  const group = SECONDARY_PODS.name;
  const host = defaultNetwork.podRanges.map((range) => range.management);
  for (const direction of ['Egress', 'Ingress'] as const) {
    addIsolationAcl(rows, 'DenyPrimaryUDN', {
      direction,
      priority: ACL_DEFAULT_DENY,
      action: 'drop',
      match: ofGroup(direction, group),
    });
  }
  if (host.length === 0) return;
  for (const direction of ['Egress', 'Ingress'] as const) {
    addIsolationAcl(rows, 'AllowHostARPPrimaryUDN', {
      direction,
      priority: ACL_DEFAULT_ALLOW,
      action: 'allow',
      match: `${ofGroup(direction, group)} && (${host.map((address) => neighbour(direction, address)).join(' || ')})`,
    });
  }
  addIsolationAcl(rows, 'AllowHostPrimaryUDN', {
    direction: 'Ingress',
    priority: ACL_DEFAULT_ALLOW,
    action: 'allow-related',
    match: `${ofGroup('Ingress', group)} && (${host.map((address) => `${ipOf(address)}.src==${address}`).join(' || ')})`,
  });
}

/** Asking for the host's address, or being asked from it. */
function neighbour(direction: Direction, address: string): string {
  if (ipOf(address) === 'ip6') return `( nd && nd.target == ${address} )`;
  return `( arp && arp.${direction === 'Egress' ? 'tpa' : 'spa'} == ${address} )`;
}

const openPort = (port: OpenPort): string =>
  port.port === undefined ? port.protocol : `${port.protocol}.dst == ${port.port}`;

/** Ports that the pod's owner opened on the default network. */
export function addOpenPortAcls(rows: Rows, attachment: Attachment): void {
  if (attachment.openDefaultPorts.length === 0) return;
  const { namespace, pod } = attachment;
  const name = `OpenPort-${namespace}/${pod}`;
  const port = podPort(DEFAULT_NETWORK, namespace, pod);
  addIsolationAcl(rows, name, {
    direction: 'Egress',
    priority: ACL_DEFAULT_ALLOW,
    action: 'allow',
    match: `inport == "${port}" && (arp || nd)`,
  });
  addIsolationAcl(rows, name, {
    direction: 'Ingress',
    priority: ACL_DEFAULT_ALLOW,
    action: 'allow-related',
    match: `outport == "${port}" && (arp || nd || (${attachment.openDefaultPorts.map(openPort).join(' || ')}))`,
  });
}
