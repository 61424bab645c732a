/** Ports of pods (topology.md §14). */

import { withoutPrefix } from '../../allocators/addresses.ts';
import { ovnPrefix } from '../../api/nad/network-name.ts';
import type { Feature } from '../../desired/features.ts';
import type { Containment } from '../../desired/rows.ts';
import { nameProblem } from '../../model/admission.ts';
import type { ZoneFacts } from '../../model/facts.ts';
import type { Attachment } from '../../model/model.ts';
import { controllerOf, isDefault, podPort } from '../../model/names.ts';
import { ACL_CLAIM } from '../acls.ts';
import { addOpenPortAcls } from '../isolation/open-ports.ts';
import { NAD_ID, networkIds } from '../object-ids.ts';
import {
  closedPortGroup,
  inGroup,
  namespacePortGroup,
  policyPortGroup,
  SECONDARY_PODS,
} from '../port-groups.ts';
import { holds, Rows } from '../rows.ts';
import { SWITCH_PORT_CLAIM } from '../switch-rows.ts';

/** Behind every network: no pod takes a name from infrastructure. */
const RANK = Number.MAX_SAFE_INTEGER;

export const podPorts: Feature<ZoneFacts> = {
  name: 'pods/port',
  over: (facts) => facts.attachments,
  rank: () => RANK,
  subject: (facts, args) => facts.attachments.get(...args)?.network,
  rules: {
    port: {
      text: 'Each interface of a pod of this node is a port on the switch of its network, with its addresses only.',
      source: 'topology.md §14',
    },
    'open-ports': {
      text: 'Ports that a pod opened on the default network can be reached there, although its primary network is another one.',
      source: 'topology.md §17.1',
    },
  },
  claims: [SWITCH_PORT_CLAIM, ACL_CLAIM],
  build(facts, args, out) {
    const attachment = facts.attachments.get(...args);
    if (attachment === undefined) return;
    const { namespace, pod, nadKey, network } = attachment;
    const object = `Pod ${namespace}/${pod}`;
    const problem = nameProblem(namespace, pod, nadKey);
    if (problem !== undefined)
      out.reject(object, `pod ${JSON.stringify(`${namespace}/${pod}`)}: ${problem}`);
    const port = podPort(nadKey, namespace, pod);
    if (facts.isInfrastructurePort(port, pod))
      out.reject(
        object,
        `pod "${namespace}/${pod}": its port on "${nadKey}" would be "${port}", a name that another port has; rename the pod or its namespace`,
      );
    const topology = facts.rendered.part(network, 'topology');
    if (topology === undefined) return out.waitFor(`network ${network} on node ${facts.nodeName}`);
    if (facts.subnetsOn(network, facts.nodeName).length === 0)
      return out.waitFor(`a subnet of network ${network} on node ${facts.nodeName}`);
    const rows = Rows.northbound(out, object);
    const address = [attachment.macAddress, ...attachment.addresses.map(withoutPrefix)].join(' ');
    rows.by('port').named(
      'Logical_Switch_Port',
      port,
      {
        addresses: [address],
        port_security: [address],
        options: {
          'iface-id-ver': attachment.podUid,
          'requested-chassis': facts.own('chassisId'),
        },
        external_ids: {
          namespace,
          pod: 'true',
          ...networkIds({ name: network, topology }),
          ...(isDefault({ name: network }) ? {} : { [NAD_ID]: nadKey }),
        },
      },
      holds('Logical_Switch', `${ovnPrefix(network)}${facts.nodeName}`, 'ports'),
      ...groupsOf(facts, attachment),
    );
    if (isIsolated(attachment)) addOpenPortAcls(rows.by('open-ports'), attachment);
  },
};

/** The port on the default network of a pod whose primary network is another one. */
const isIsolated = ({ network, role }: Attachment): boolean =>
  isDefault({ name: network }) && role === 'infrastructure-locked';

function groupsOf(facts: ZoneFacts, attachment: Attachment): readonly Containment[] {
  const { network, namespace, pod, nadKey } = attachment;
  const controller = controllerOf(network);
  const policed = facts.policing.ports.get(namespace, pod, nadKey);
  return [
    ...(facts.isGrouped(network, namespace)
      ? [inGroup(namespacePortGroup(controller, namespace))]
      : []),
    // With the port itself: there is no moment at which it is there and open.
    ...(policed?.directions ?? []).map((direction) =>
      inGroup(closedPortGroup(controller, namespace, direction)),
    ),
    ...(policed?.policies ?? []).map((policy) =>
      inGroup(policyPortGroup(controller, policy.namespace, policy.name)),
    ),
    ...(isIsolated(attachment) ? [inGroup(SECONDARY_PODS)] : []),
  ];
}
