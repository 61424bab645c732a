/** Pods as ends of packets: each by its networks, with what rules may know it by. Pure. */
import { withoutPrefix } from '../allocators/addresses.ts';
import { openDefaultPorts, podNetworks } from '../api/annotations/pod-annotations.ts';
import { DEFAULT_NETWORK } from '../api/nad/network-name.ts';
import { objectKey } from '../api/objects.ts';
import type { Pod } from '../api/types.ts';
import type { NamedPort, OpenPort } from '../model/model.ts';
import { readPod } from '../model/read/attachments.ts';
import { planPod, type WantedAttachment } from '../model/rules/pod-plan.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';

/** An interface of a pod. */
export interface Member {
  /** `namespace/pod`. */
  readonly pod: string;
  readonly namespace: string;
  /** What the pod is a copy of, `namespace/name`; the pod itself where nothing made it. */
  readonly workload: string;
  readonly network: string;
  readonly role: WantedAttachment['role'];
  readonly labels: Readonly<Record<string, string>>;
  readonly namespaceLabels: Readonly<Record<string, string>>;
  /** Without prefix length; none while they are not known. */
  readonly addresses: readonly string[];
  readonly namedPorts: readonly NamedPort[];
  /** What it opens at its address on the default network, beside a primary network of its own. */
  readonly openPorts: readonly OpenPort[];
}

/** Pods that are no ends: what is not known of each. */
export interface LeftOut {
  readonly pod: string;
  readonly why: string;
}

export interface Members {
  readonly members: readonly Member[];
  readonly leftOut: readonly LeftOut[];
}

/** Interfaces of all pods that run, or will. Those on their node's network are nobody's of a network. */
export function membersOf(facts: ZoneFacts, pods: readonly Pod[]): Members {
  const members: Member[] = [];
  const leftOut: LeftOut[] = [];
  for (const pod of pods) {
    const key = objectKey(pod.metadata);
    const { namespace = '' } = pod.metadata;
    // One that has no node yet will have one.
    const placed = { ...pod, spec: { ...pod.spec, nodeName: pod.spec.nodeName ?? 'any' } };
    const plan = planPod(placed, facts.podContext(namespace), facts.settings.configNamespace);
    if (plan.kind === 'invalid') leftOut.push({ pod: key, why: plan.message });
    if (plan.kind === 'undecided')
      leftOut.push({
        pod: key,
        why: 'which of several primary networks it gets is not chosen yet',
      });
    if (plan.kind !== 'attachments') continue;
    const carried = podNetworks(pod).value;
    for (const { nadKey, nad, role } of plan.attachments)
      members.push({
        pod: key,
        namespace,
        workload: workloadOf(pod),
        network: nad?.config.name ?? DEFAULT_NETWORK,
        role,
        labels: pod.metadata.labels ?? {},
        namespaceLabels: facts.namespaces.peek(namespace)?.labels ?? {},
        addresses: (carried?.get(nadKey)?.addresses ?? []).map(withoutPrefix),
        namedPorts: readPod(pod)?.namedPorts ?? [],
        openPorts: role === 'infrastructure-locked' ? (openDefaultPorts(pod).value ?? []) : [],
      });
  }
  return { members, leftOut };
}

/** A ReplicaSet is called as its Deployment, with the hash that its pods have as a label. */
function workloadOf({ metadata }: Pod): string {
  const { namespace = '', name, labels, ownerReferences = [] } = metadata;
  const owner = ownerReferences.find(({ controller }) => controller === true);
  const hash = labels?.['pod-template-hash'];
  const found =
    owner === undefined
      ? name
      : owner.kind === 'ReplicaSet' && hash !== undefined && owner.name.endsWith(`-${hash}`)
        ? owner.name.slice(0, -hash.length - 1)
        : owner.name;
  return `${namespace}/${found}`;
}
