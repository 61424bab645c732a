/** Where ports of the node that pods have lead on the host, and for which network they are marked (reference/node.md §3.3, §3.4). */
import { feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { exposedHostPorts } from '../exposed-host-ports.ts';
import { markChain } from './network-mark.ts';
import { concatenated, NftRows } from './nft-rows.ts';
import { ofFamily } from './ruleset.ts';

export const hostPortElements = feature({
  name: 'nft/host-port',
  over: (facts: ZoneFacts) => facts.hostPorts,
  objects: (_facts, [namespace, pod]) => [`Pod ${namespace}/${pod}`],
  rules: {
    outside: {
      text: 'In local gateway mode what comes from outside to a port of the node that a pod on a primary network has enters the network by its router, with the address of the client.',
      source: 'reference/node.md §3.3',
    },
    host: {
      text: "Whatever else gets there leads to the pod; on a primary network by the network's gateway router.",
      source: 'reference/node.md §3.3',
    },
    mark: {
      text: 'What is sent to a port of a pod on a primary network is marked for the network.',
      source: 'reference/node.md §3.4',
    },
  },
  claims: [],
  build(facts, [namespace, pod], out) {
    const exposed = exposedHostPorts(facts, namespace, pod);
    if (exposed === undefined) return;
    const by = (rule: string): NftRows => new NftRows(out, `Pod ${namespace}/${pod}`, rule);
    for (const { protocol, at, fromOutside, fromHost } of exposed.ports) {
      const { family } = at;
      const element = concatenated(at.address, protocol, at.port);
      if (fromOutside !== undefined)
        by('outside').element({
          set: ofFamily('external-ips-etp-local', family),
          element,
          value: concatenated(fromOutside.address, fromOutside.port),
        });
      if (fromHost !== undefined)
        by('host').element({
          set: ofFamily('external-ips', family),
          element,
          value: concatenated(fromHost.address, fromHost.port),
        });
      if (!exposed.isDefaultNetwork)
        by('mark').element({
          set: ofFamily('udn-mark-external-ips', family),
          element,
          value: `jump ${markChain(exposed.networkId)}`,
        });
    }
  },
});
