/** Ports of other nodes' pods on the switch of a Layer2 network, which spans all zones (reference/topology.md §9.4, §14). */

import { ovnPrefix } from '../../api/nad/network-name.ts';
import { feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { layer2Switch } from '../../model/rules/names.ts';
import { addPodPort, checkedPort, POD_RANK } from './port-row.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import { SWITCH_PORT_CLAIM } from '../rows/switch-rows.ts';

export const remotePodPorts = feature({
  name: 'layer2/remote-port',
  over: (facts: ZoneFacts) =>
    facts.remoteAttachments.buckets('network', facts.renderedOf('layer2')),
  rank: () => POD_RANK,
  subject: (facts, args) => facts.remoteAttachments.get(...args)?.network,
  objects: (_facts, [namespace, pod]) => [`Pod ${namespace}/${pod}`],
  rules: {
    'remote-pod': {
      text: "Each interface of another node's pod on a Layer2 network is a remote port with the key that it has in its own zone, bound to the pod's chassis.",
      source: 'reference/topology.md §14',
    },
  },
  claims: [SWITCH_PORT_CLAIM],
  build(facts, args, out) {
    const attachment = facts.remoteAttachments.get(...args);
    if (attachment === undefined) return;
    const { namespace, pod, node, network, tunnelId } = attachment;
    const chassisId = facts.remoteNodes.part(node, 'chassisId');
    // The pod's own node reports what is missing.
    if (chassisId === undefined || tunnelId === undefined) return;
    const port = checkedPort(facts, attachment, out);
    addPodPort(
      Rows.northbound(out, `Pod ${namespace}/${pod}`).by('remote-pod'),
      port,
      {
        ...attachment,
        topology: 'layer2',
        isRemote: true,
        isOpen: facts.isOpenWhileMoving(attachment),
      },
      chassisId,
      holds('Logical_Switch', layer2Switch(ovnPrefix(network)), 'ports'),
    );
  },
});
