/** What objects ask for by annotations that this release does not heed: they are told so (docs/topology.md, "What this release leaves out"). Pure. */
import { annotationOf } from '../../api/annotations/annotations.ts';
import { LAYER2_TOPOLOGY_VERSION } from '../../api/annotations/node-annotations.ts';
import { podNetworks } from '../../api/annotations/pod-annotations.ts';
import { DEFAULT_NAD_KEY } from '../../api/nad/nad-key.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { Node, Pod } from '../../api/types.ts';
import { machineOf } from '../rules/virtual-machines.ts';

/** A check of objects of a kind: what is not done, by annotation. */
export const unheeded =
  (annotations: Readonly<Record<string, string>>) =>
  (object: KubeObject): string | undefined => {
    const problems = Object.entries(annotations)
      .filter(([annotation]) => annotationOf(object, annotation) !== undefined)
      .map(
        ([annotation, what]) =>
          `annotation ${annotation}: this release ${what}; remove the annotation`,
      );
    return problems.length === 0 ? undefined : problems.join('. ');
  };

/** The layout that Layer2 networks have here; a node that says nothing has it, too (reference/topology.md §9). */
const LAYOUT = '2.0';

/** What a node is told that wants another layout of Layer2 networks. */
export function otherLayout(node: Node): string | undefined {
  const layout = annotationOf(node, LAYER2_TOPOLOGY_VERSION);
  return layout === undefined || layout === LAYOUT
    ? undefined
    : `annotation ${LAYER2_TOPOLOGY_VERSION}: ${JSON.stringify(layout)}: this release has Layer2 networks with a transit router alone, as "${LAYOUT}" says; pods of that node don't reach others on Layer2 networks until it has it`;
}

/** A virtual machine on a primary Layer2 network asks for its address there (reference/topology.md §14). */
const needsDhcp = (pod: Pod): boolean =>
  machineOf(pod) !== undefined &&
  [...(podNetworks(pod).value ?? [])].some(
    ([nadKey, { role, tunnelId, addresses }]) =>
      nadKey !== DEFAULT_NAD_KEY &&
      role === 'primary' &&
      tunnelId !== undefined &&
      addresses.length > 0,
  );

/** What a pod is told that runs a virtual machine which asks for its address. */
export const withoutDhcp = (pod: Pod): string | undefined =>
  needsDhcp(pod)
    ? 'it runs a virtual machine: this release answers no DHCP on primary networks; give the machine its address otherwise'
    : undefined;
