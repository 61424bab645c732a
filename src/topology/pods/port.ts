/** Ports of this node's pods (reference/topology.md §14). */

import type { Family } from '../../allocators/addresses.ts';
import { feature } from '../../desired/features.ts';
import type { Containment } from '../../desired/rows.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { isServed } from '../../model/rules/flat-networks.ts';
import type { Attachment, NetworkName } from '../../model/model.ts';
import { controllerOf, isDefault, podSwitch } from '../../model/rules/names.ts';
import { ACL_CLAIM } from '../rows/acls.ts';
import { addOpenPortAcls } from '../isolation/open-ports.ts';
import { classReroutesOf } from '../egress/egress-class.ts';
import { reroutesOf } from '../egress/egress-ip.ts';
import { serviceReroutesOf } from '../egress/egress-service.ts';
import { DHCP_CLAIM, dhcpKeys } from '../parts/dhcp.ts';
import {
  adminPortGroup,
  closedPortGroup,
  inGroup,
  namespacePortGroup,
  policyPortGroup,
  SECONDARY_PODS,
} from '../rows/port-groups.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import { SWITCH_PORT_CLAIM } from '../rows/switch-rows.ts';
import { addMachineDhcp } from './machine-dhcp.ts';
import { addPodPort, checkedPort, POD_RANK } from './port-row.ts';

export const podPorts = feature({
  name: 'pods/port',
  over: (facts: ZoneFacts) => facts.attachments,
  rank: () => POD_RANK,
  subject: (facts, args) => facts.attachments.get(...args)?.network,
  objects: (_facts, [namespace, pod]) => [`Pod ${namespace}/${pod}`],
  rules: {
    port: {
      text: 'Each interface of a pod of this node is a port on the switch of its network, with its addresses only.',
      source: 'reference/topology.md §14',
    },
    moving: {
      text: 'Of a virtual machine that moves from one pod to another only one port is open, and has its addresses.',
      source: 'reference/topology.md §14',
    },
    dhcp: {
      text: 'OVN itself answers a virtual machine on a Layer2 or localnet network that asks for its address by DHCP, whatever policies say.',
      source: 'reference/topology.md §14',
    },
    'open-ports': {
      text: 'Ports that a pod opened on the default network can be reached there, although its primary network is another one.',
      source: 'reference/topology.md §17.1',
    },
  },
  claims: [SWITCH_PORT_CLAIM, ACL_CLAIM, DHCP_CLAIM],
  build(facts, args, out) {
    const attachment = facts.attachments.get(...args);
    if (attachment === undefined) return;
    const { network } = attachment;
    const port = checkedPort(facts, attachment, out);
    const topology = facts.rendered.part(network, 'topology');
    if (topology === undefined) return out.waitFor(`network ${network} on node ${facts.nodeName}`);
    if (topology === 'layer3' && facts.subnetsOn(network, facts.nodeName).length === 0)
      return out.waitFor(`a subnet of network ${network} on node ${facts.nodeName}`);
    if (topology === 'layer2' && attachment.tunnelId === undefined)
      return out.waitFor(
        `a tunnel id of pod ${attachment.namespace}/${attachment.pod} on network ${network}`,
      );
    const rows = Rows.northbound(out, `Pod ${attachment.namespace}/${attachment.pod}`);
    const machineDhcp = addMachineDhcp(rows.by('dhcp'), facts, attachment, port);
    addPodPort(
      rows.by('port'),
      port,
      {
        ...attachment,
        topology,
        isOpen: facts.isOpenWhileMoving(attachment),
        mostConnections: facts.settings.podConnections,
        dhcp: new Map([...dhcpOf(facts, network), ...machineDhcp]),
        needs: [
          ...reroutesOf(facts.egressPorts.get(...args)),
          ...classReroutesOf(facts, facts.egressClassPorts.get(...args)),
          ...serviceReroutesOf(facts, facts.egressServicePorts.get(...args)),
        ],
      },
      facts.own('chassisId'),
      holds('Logical_Switch', podSwitch({ name: network, topology }, facts.nodeName), 'ports'),
      ...groupsOf(facts, attachment),
    );
    if (isIsolated(attachment)) addOpenPortAcls(rows.by('open-ports'), attachment);
  },
});

/** Other networks have no such rows: what they say of their subnets is not read. */
function dhcpOf(facts: ZoneFacts, name: NetworkName): ReadonlyMap<Family, string> {
  return isServed(name)
    ? dhcpKeys({ name, subnets: facts.rendered.part(name, 'subnets') ?? [] })
    : new Map();
}

/** The port on the default network of a pod whose primary network is another one. */
const isIsolated = ({ network, role }: Attachment): boolean =>
  isDefault({ name: network }) && role === 'infrastructure-locked';

function groupsOf(facts: ZoneFacts, attachment: Attachment): readonly Containment[] {
  const { network, namespace, pod, nadKey } = attachment;
  const controller = controllerOf(network);
  const policed = facts.policedPorts.get(namespace, pod, nadKey);
  return [
    ...(facts.isGrouped(nadKey, namespace)
      ? [inGroup(namespacePortGroup(controller, namespace))]
      : []),
    // With the port itself: there is no moment at which it is there and open.
    ...(policed?.directions ?? []).map((direction) =>
      inGroup(closedPortGroup(controller, namespace, direction)),
    ),
    ...(policed?.policies ?? []).map((policy) =>
      inGroup(policyPortGroup(controller, policy.namespace, policy.name)),
    ),
    ...(policed?.admins ?? []).map(({ kind, name }) =>
      inGroup(adminPortGroup(controller, kind, name)),
    ),
    ...(isIsolated(attachment) ? [inGroup(SECONDARY_PODS)] : []),
  ];
}
