/** What objects ask for by annotations that this release does not heed: they are told so (docs/topology.md, "What this release leaves out"). Pure. */
import { annotationOf } from '../../api/annotations/annotations.ts';
import { LAYER2_TOPOLOGY_VERSION } from '../../api/annotations/node-annotations.ts';
import { podNetworks } from '../../api/annotations/pod-annotations.ts';
import { DEFAULT_NAD_KEY } from '../../api/nad/nad-key.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { Pod } from '../../api/types.ts';
import type { ObjectReading } from './reading.ts';
import { machineOf } from '../rules/virtual-machines.ts';

/** What is not done, by kind and annotation. */
const UNHEEDED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Namespace: {
    'k8s.ovn.org/routing-external-gws':
      'has no external gateways: pods of the namespace leave through the gateway of their node',
  },
  Node: {
    'k8s.ovn.org/hybrid-overlay-node-subnet':
      'has no hybrid overlay: pods do not reach addresses of that subnet',
  },
  NetworkAttachmentDefinition: {
    'k8s.ovn.org/route-advertisements':
      'advertises no networks: nobody outside is told the way to pods of this one',
  },
  Pod: {
    'k8s.ovn.org/routing-namespaces':
      'has no external gateways: no namespace leaves through this pod',
  },
  Service: {
    'k8s.ovn.org/idled-at':
      'wakes no service: connections to it are rejected while it has no endpoints, so scale its pods up',
  },
};

/** The layout that Layer2 networks have here; a node that says nothing has it, too (reference/topology.md §9). */
const LAYOUT = '2.0';

function* sentences(object: KubeObject): Iterable<string> {
  for (const [annotation, what] of Object.entries(UNHEEDED[object.kind] ?? {}))
    if (annotationOf(object, annotation) !== undefined)
      yield `annotation ${annotation}: this release ${what}; remove the annotation`;
  const layout = annotationOf(object, LAYER2_TOPOLOGY_VERSION);
  if (object.kind === 'Node' && layout !== undefined && layout !== LAYOUT)
    yield `annotation ${LAYER2_TOPOLOGY_VERSION}: ${JSON.stringify(layout)}: this release has Layer2 networks with a transit router alone, as "${LAYOUT}" says; pods of that node don't reach others on Layer2 networks until it has it`;
  if (object.kind === 'Pod' && needsDhcp(object as Pod))
    yield 'it runs a virtual machine: this release answers no DHCP on primary networks; give the machine its address otherwise';
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

/** What the object is told, if anything. */
export function unheeded(object: KubeObject): ObjectReading<never> | undefined {
  const said = [...sentences(object)];
  return said.length === 0 ? undefined : { kind: 'problem', message: said.join('. ') };
}
