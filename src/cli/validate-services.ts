/** Services that name a network on which they can't be: an API server takes them, and they lead nowhere. Pure. */
import { annotationOf } from '../api/annotations/annotations.ts';
import { SECONDARY_GATEWAY } from '../api/annotations/network-annotations.ts';
import {
  askedServiceNetwork,
  SERVICE_NETWORK,
  serviceNetwork,
  type ServiceNetwork,
} from '../api/annotations/service-network.ts';
import { parseNad } from '../api/nad/nad.ts';
import { networkSpecOf, type NetworkObject } from '../api/nad/network-spec.ts';
import { isOptedIn } from '../api/nad/secondary-gateway.ts';
import { objectKey, type KubeObject } from '../api/objects.ts';
import { withNameLabel } from '../api/selectors.ts';
import type { Namespace, NetworkAttachmentDefinition } from '../api/types.ts';
import type { ManifestDocument, ManifestError } from '../api/validation/manifest.ts';
import { gatewayProblem } from '../cluster/networks/network-gateways.ts';
import { isNetworkObjectKind, targetNamespaces } from '../cluster/networks/network-objects.ts';
import type { ClusterSettings } from '../model/model.ts';
import { about } from './manifest-findings.ts';

/** Networks by the keys of the NADs that they have, or will have. */
function networksByNad(
  documents: readonly ManifestDocument[],
  settings: ClusterSettings,
): ReadonlyMap<string, ServiceNetwork> {
  const namespaces = documents
    .filter(({ object }) => object.kind === 'Namespace')
    .map(({ object }) => withNameLabel(object as Namespace));
  const found = new Map<string, ServiceNetwork>();
  for (const { object } of documents)
    if (isNetworkObjectKind(object.kind)) {
      const network = object as NetworkObject;
      const spec = networkSpecOf(network);
      if (spec.kind === 'invalid') continue;
      const { network: name, role } = spec.value;
      const asks = annotationOf(object, SECONDARY_GATEWAY) !== undefined;
      const hasOne = asks && gatewayProblem(network, settings) === undefined;
      for (const namespace of targetNamespaces(network, namespaces))
        found.set(`${namespace}/${object.metadata.name}`, { name, role, isOptedIn: hasOne });
    } else if (object.kind === 'NetworkAttachmentDefinition') {
      const network = ofNad(object, settings);
      if (network !== undefined) found.set(objectKey(object.metadata), network);
    }
  return found;
}

function ofNad(object: KubeObject, settings: ClusterSettings): ServiceNetwork | undefined {
  const parsed = parseNad(object as NetworkAttachmentDefinition, settings);
  if (parsed.kind !== 'network') return undefined;
  const { name, role } = parsed.config;
  const text = annotationOf(object, SECONDARY_GATEWAY);
  return { name, role, isOptedIn: isOptedIn([text], parsed.config, settings) };
}

/** What is wrong with the networks that services name. `all`: also what is declared elsewhere; without a network of the namespace there these are not all manifests. */
export function serviceProblems(
  documents: readonly ManifestDocument[],
  all: readonly ManifestDocument[],
  settings: ClusterSettings,
): readonly ManifestError[] {
  const networks = networksByNad(all, settings);
  return documents.flatMap((document) => {
    const { object } = document;
    const asked = object.kind === 'Service' ? askedServiceNetwork(object) : undefined;
    if (asked === undefined) return [];
    const { namespace = 'default' } = object.metadata;
    let isOpen = false;
    const read = serviceNetwork(asked, namespace, {
      secondaryGateways: settings.secondaryGateways,
      networkOf(nad) {
        const network = networks.get(nad);
        isOpen =
          network === undefined &&
          ![...networks.keys()].some((key) => key.startsWith(`${namespace}/`));
        return network;
      },
    });
    if (read.kind === 'value' || isOpen) return [];
    const place = document.positionOf(['metadata', 'annotations', SERVICE_NETWORK]);
    return [about(document, read.error, place)];
  });
}
