/** Ports of pods (topology.md §14). */

import { ovnPrefix } from '../api/nad/network-name.ts';
import type { Attachment, ClusterSettings, LocalNode, Network } from '../model/model.ts';
import type { Containment } from '../ovsdb/plan/desired.ts';
import { withoutPrefix } from '../allocators/addresses.ts';
import { addOpenPortAcls } from './isolation.ts';
import { controllerOf, isDefault, podPort } from './names.ts';
import { NAD_ID, networkIds } from './object-ids.ts';
import { inGroup, namespacePortGroup, SECONDARY_PODS } from './port-groups.ts';
import { holds, type Rows } from './rows.ts';

/** The port of a pod on this node; pods of Layer3 networks have none in other zones. */
export function addPodRows(
  rows: Rows,
  zone: { readonly settings: ClusterSettings; readonly node: LocalNode },
  network: Network,
  attachment: Attachment,
  /** Whether the network keeps a group of the pod's namespace. */
  inNamespaceGroup: boolean,
): void {
  const { namespace, pod, nadKey } = attachment;
  if (attachment.node !== zone.node.name || !network.nodeSubnets.has(zone.node.name)) return;
  const name = podPort(nadKey, namespace, pod);
  const address = [attachment.macAddress, ...attachment.addresses.map(withoutPrefix)].join(' ');
  const groups: Containment[] = [];
  if (inNamespaceGroup) {
    groups.push(inGroup(namespacePortGroup(controllerOf(network.name), namespace)));
  }
  const isLocked = isDefault(network) && attachment.role === 'infrastructure-locked';
  if (isLocked) groups.push(inGroup(SECONDARY_PODS));
  rows.named(
    'Logical_Switch_Port',
    name,
    {
      addresses: [address],
      port_security: [address],
      options: {
        'iface-id-ver': attachment.podUid,
        'requested-chassis': zone.node.chassisId,
      },
      external_ids: {
        namespace,
        pod: 'true',
        ...networkIds(network),
        ...(isDefault(network) ? {} : { [NAD_ID]: nadKey }),
      },
    },
    holds('Logical_Switch', `${ovnPrefix(network.name)}${zone.node.name}`, 'ports'),
    ...groups,
  );
  if (isLocked) addOpenPortAcls(rows, attachment);
}
