/** Endpoints of services on rendered networks. */
import { withinAny } from '../../allocators/addresses.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import { slicesWithin } from '../read/endpoint-slices.ts';
import { backendsOf, type Backends } from '../rules/backends.ts';
import type { NetworkTables } from './networks.ts';
import type { NodeTables } from './nodes.ts';
import type { ReachTables } from './reach.ts';
import type { RenderedTables } from './rendered-networks.ts';
import type { PlaceKey, ServiceTables } from './services.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** Label of a node that says where it is. */
const ZONE = 'topology.kubernetes.io/zone';

export function backendTables(
  known: ZoneBasis & NodeTables & NetworkTables & ReachTables & ServiceTables & RenderedTables,
) {
  const { networks, services, serviceNetworks, endpointSlices } = known;

  /** Of a service on several networks each has the endpoints of all that it reaches (reference/api.md §8). */
  function backendsOn(network: string, key: string): Backends | undefined {
    const service = services.get(key);
    if (known.rendered.part(network, 'name') === undefined || service === undefined)
      return undefined;
    const siblings = known.siblingsOf(network);
    const places = serviceNetworks.part(key, 'networks') ?? [];
    const { serviceLimits } = known.settings;
    const parts = [network, ...places.filter((name) => siblings.includes(name))].map((name) => {
      const slices = endpointSlices.by('service', name, key);
      const { taken, left } = slicesWithin(slices, serviceLimits);
      const subnets = (networks.part(name, 'subnets') ?? []).map(({ cidr }) => cidr);
      return { network: name, subnets, slices: taken, left };
    });
    const here = { node: known.nodeName, zone };
    let around: ((address: string) => boolean) | undefined;
    // Asked for only where an endpoint is outside of the networks: others need not be looked at again when connections change.
    const isForeign = (address: string): boolean => {
      if (network === DEFAULT_NETWORK) return false;
      around ??= withinAny([...known.rangesAround(key)].map(({ cidr }) => cidr));
      return around(address);
    };
    return backendsOf(service, parts, entryOf(places, key), here, serviceLimits, isForeign);
  }

  const zone = (): string | undefined => known.nodeLabels.part(known.nodeName, 'labels')?.[ZONE];

  /** The network by whose gateway router traffic from outside gets to a service: the oldest one that has endpoints of it. */
  function entryOf(places: readonly string[], service: string): string | undefined {
    if (places.length < 2) return places[0];
    const byAge = places.toSorted(
      (a, b) => (networks.part(a, 'id') ?? 0) - (networks.part(b, 'id') ?? 0),
    );
    const hasEndpoints = (name: string): boolean =>
      endpointSlices
        .by('service', name, service)
        .some(({ endpoints }) => endpoints.some(({ state }) => state !== 'unready'));
    return byAge.find(hasEndpoints) ?? byAge[0];
  }

  return {
    backends: new DerivedFacts<PlaceKey, Backends, { hosts: [network: string] }>(
      'backends',
      known.graph,
      serviceNetworks.distinct('place'),
      backendsOn,
      {
        object: (_network, service) => `Service ${service}`,
        indexes: {
          hosts: ({ network, ports }) =>
            ports.some(({ hasHostEndpoints }) => hasHostEndpoints) ? [network] : [],
        },
      },
    ),
  };
}
