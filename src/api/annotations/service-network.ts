/** On which network a Service says that its endpoints are, as people of Multus write it (decisions/secondary-services.md). Pure. */
import type { KubeObject } from '../objects.ts';
import { fail, succeed, type Result } from '../result.ts';
import { formatValue } from '../validation/field-errors.ts';
import { isDnsSubdomain } from '../validation/metadata.ts';
import { annotationOf } from './annotations.ts';
import { SECONDARY_GATEWAY } from './network-annotations.ts';

/** A NetworkAttachmentDefinition of the service's namespace: `<name>` or `<namespace>/<name>`. */
export const SERVICE_NETWORK = 'k8s.v1.cni.cncf.io/service-network';

const FIELD = `metadata.annotations[${SERVICE_NETWORK}]`;
const OTHERWISE =
  'or remove the annotation: until then the service has no endpoints on any network';

/** A network as an annotation finds it by one of its NADs. */
export interface ServiceNetwork {
  readonly name: string;
  readonly role: string;
  /** It has a gateway, as a secondary network has it by an administrator's leave. */
  readonly isOptedIn: boolean;
}

/** What the answer depends on. */
export interface ServiceNetworkContext {
  readonly secondaryGateways: boolean;
  /** The network of a NAD (`<namespace>/<name>`) that counts for it. */
  readonly networkOf: (nad: string) => ServiceNetwork | undefined;
}

/** What a Service's annotation holds; undefined for one without it. */
export const askedServiceNetwork = (service: KubeObject): string | undefined =>
  annotationOf(service, SERVICE_NETWORK);

/** Name of the secondary network that the annotation names, or why a service of the namespace can't be there, with field, value and remedy. */
export function serviceNetwork(
  text: string,
  namespace: string,
  { secondaryGateways, networkOf }: ServiceNetworkContext,
): Result<string> {
  const wrong = (why: string): Result<string> =>
    fail(`${FIELD}: ${formatValue(text)} ${why}, ${OTHERWISE}`);
  const parts = text.trim().split('/');
  const [place = '', name = ''] = parts.length === 1 ? [namespace, ...parts] : parts;
  if (parts.length > 2 || !isDnsSubdomain(place) || !isDnsSubdomain(name))
    return wrong(
      'is no name of a NetworkAttachmentDefinition; write one of the namespace of the service',
    );
  if (place !== namespace)
    return wrong(
      `is of namespace ${place}, and pods of a service are those of its own; name a NetworkAttachmentDefinition of namespace ${namespace}`,
    );
  const network = networkOf(`${place}/${name}`);
  if (network === undefined)
    return wrong(
      `is no NetworkAttachmentDefinition that stands for a network here; name one of namespace ${namespace}`,
    );
  if (network.role !== 'secondary')
    return wrong(
      `is of a ${network.role} network, where services of the namespace are anyway; name one of a secondary network`,
    );
  if (network.isOptedIn) return succeed(network.name);
  return wrong(
    secondaryGateways
      ? `is of network ${network.name}, which has no gateway, and so no services; give it annotation ${SECONDARY_GATEWAY}`
      : `is of network ${network.name}, and secondary networks of this cluster have no gateways, and so no services; an administrator sets secondary-gateways to true`,
  );
}
