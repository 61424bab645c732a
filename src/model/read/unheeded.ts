/** What objects ask for by annotations that this release does not heed: they are told so (docs/topology.md, "What this release leaves out"). Pure. */
import { annotationOf } from '../../api/annotations/annotations.ts';
import { LAYER2_TOPOLOGY_VERSION } from '../../api/annotations/node-annotations.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { Node } from '../../api/types.ts';

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
