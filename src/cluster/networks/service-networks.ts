/** On which networks services are: the secondary one that they name, else the primary ones of their namespace (reference/api.md §9). */
import { PRIMARY_NETWORK_LABEL } from '../../api/annotations/network-annotations.ts';
import {
  askedServiceNetwork,
  serviceNetwork,
  type ServiceNetwork,
} from '../../api/annotations/service-network.ts';
import type { RegisteredNad } from '../../api/nad/registered-nad.ts';
import { isOptedIn } from '../../api/nad/secondary-gateway.ts';
import type { Service } from '../../api/types.ts';
import type { ClusterSettings } from '../../model/model.ts';
import type { ClusterInformers } from '../informers.ts';
import type { NetworkRegistry } from './network-registry.ts';

export interface ServiceNetworksContext {
  readonly informers: Pick<ClusterInformers, 'namespaces'>;
  readonly registry: NetworkRegistry;
  readonly settings: { readonly cluster: ClusterSettings };
}

/** NADs of its namespace that stand for the networks of a service, with an id each; none of one that is on the default network, or nowhere. */
export function nadsOfService(
  service: Service | undefined,
  namespace: string,
  context: ServiceNetworksContext,
): readonly RegisteredNad[] {
  const { informers, registry } = context;
  const asked = service && askedServiceNetwork(service);
  const labels = informers.namespaces.get(namespace)?.metadata.labels ?? {};
  const found =
    asked !== undefined
      ? nadsNamed(asked, namespace, context)
      : Object.hasOwn(labels, PRIMARY_NETWORK_LABEL)
        ? registry.primariesOf(namespace)
        : [];
  return found.filter(({ config }) => registry.identityOf(config.name) !== undefined);
}

/** Those of the secondary network that a service names. */
function nadsNamed(
  asked: string,
  namespace: string,
  { registry, settings: { cluster } }: ServiceNetworksContext,
): readonly RegisteredNad[] {
  const networkOf = (key: string): ServiceNetwork | undefined => {
    const nad = registry.nad(key);
    if (nad === undefined || !registry.counts(nad)) return undefined;
    const { name, role } = nad.config;
    const { config = nad.config, nads = [] } = registry.network(name) ?? {};
    const texts = nads.map(({ secondaryGateway }) => secondaryGateway);
    return { name, role, isOptedIn: isOptedIn(texts, config, cluster) };
  };
  const { secondaryGateways } = cluster;
  const found = serviceNetwork(asked, namespace, { secondaryGateways, networkOf });
  return found.kind === 'value'
    ? registry
        .ofNetwork(found.value)
        .filter((nad) => nad.namespace === namespace && registry.counts(nad))
    : [];
}
