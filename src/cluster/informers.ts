/** What the cluster manager sees of the cluster. */
import {
  APPLIED_KINDS,
  clusterNetworkConnects,
  clusterUserDefinedNetworks,
  egressIPs,
  egressServices,
  endpointSlices,
  ipamClaims,
  networkConnects,
  ovnSecondaryNetworks,
  services,
  userDefinedNetworks,
  zoneStatuses,
} from '../api/kinds.ts';
import { PodInformers } from '../addresses/pod-informers.ts';
import type { NetworkObject } from '../api/nad/network-spec.ts';
import { parseNetworkObjectKey } from './networks/network-objects.ts';
import type { EndpointSlice } from './endpoints/endpoint-mirror.ts';

/** All that the cluster manager sees. */
export class ClusterInformers extends PodInformers {
  readonly udns = this.view(userDefinedNetworks);
  readonly cudns = this.view(clusterUserDefinedNetworks);
  readonly secondaries = this.view(ovnSecondaryNetworks);
  readonly connects = this.view(clusterNetworkConnects);
  readonly tenantConnects = this.view(networkConnects);
  readonly claims = this.view(ipamClaims);
  readonly slices = this.view<EndpointSlice>(endpointSlices);
  readonly zones = this.view(zoneStatuses);
  /** Kinds whose statuses hold what nodes say of their objects. */
  readonly egress = APPLIED_KINDS.map((kind) => this.view(kind));
  readonly egressIps = this.view(egressIPs);
  readonly egressServices = this.view(egressServices);
  readonly services = this.view(services);
  /** NADs by the uid of the object that controls them. */
  readonly nadsByOwner = this.nads.index(({ metadata }) =>
    (metadata.ownerReferences ?? [])
      .filter(({ controller }) => controller === true)
      .map(({ uid }) => uid),
  );

  /** Every object that declares a network. */
  networkObjects(): readonly NetworkObject[] {
    return [...this.udns.list(), ...this.cudns.list(), ...this.secondaries.list()];
  }

  /** The object of a `networkObjectKey`; undefined when it is gone. */
  networkObject(key: string): NetworkObject | undefined {
    const { kind, object } = parseNetworkObjectKey(key);
    switch (kind) {
      case 'UserDefinedNetwork':
        return this.udns.get(object);
      case 'ClusterUserDefinedNetwork':
        return this.cudns.get(object);
      case 'OVNSecondaryNetwork':
        return this.secondaries.get(object);
    }
  }
}
