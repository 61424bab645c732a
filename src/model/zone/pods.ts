/** Pods: this node's, and those of other nodes while something depends on them. */
import { FactTable } from '../../facts/fact-table.ts';
import { NotReadYet } from '../../facts/unreadable.ts';
import type { EndingPod, HostNetworkPod, PodFacts, PodInterface } from '../model.ts';
import type { PodNetworkRequests } from '../rules/pod-plan.ts';
import { OtherPods } from './other-pods.ts';
import type { ZoneBasis } from './zone-basis.ts';

export type PodKey = [namespace: string, pod: string];
export type InterfaceKey = [namespace: string, pod: string, nad: string];

export type PodTables = ReturnType<typeof podTables>;

export function podTables({ recorder }: ZoneBasis) {
  /** Pods of other nodes, which are followed for those that depend on them. */
  const otherPods = new OtherPods(recorder);
  return {
    otherPods,
    /** This node's, and those of other nodes as soon as something asks for them. */
    pods: new FactTable<PodKey, PodFacts>('pods', recorder),
    endingPods: new FactTable<PodKey, EndingPod>('endingPods', recorder),
    /** Pods of this node that share the host's network. */
    hostNetworkPods: new FactTable<PodKey, HostNetworkPod>('hostNetworkPods', recorder),
    /** What pods ask for. */
    networkRequests: new FactTable<PodKey, PodNetworkRequests>('networkRequests', recorder),
    /** What pods of this node say of their interfaces. */
    interfaces: new FactTable<InterfaceKey, PodInterface>('interfaces', recorder),
    /** Those of the pods of other nodes; none while nothing asks for them. */
    remoteInterfaces: new FactTable<InterfaceKey, PodInterface>('remoteInterfaces', recorder),

    /** For who builds something of the pods of all nodes. Throws `NotReadYet` before they are known. */
    requireOtherPods(): void {
      if (otherPods.areKnown !== true)
        throw new NotReadYet('the pods of other nodes are not read yet');
    },
  };
}
