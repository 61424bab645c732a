/** What the cluster manager sees of the cluster. */
import {
  clusterNetworkConnects,
  clusterUserDefinedNetworks,
  endpointSlices,
  ipamClaims,
  ovnSecondaryNetworks,
  userDefinedNetworks,
  zoneStatuses,
} from '../api/kinds.ts';
import { unprogrammedKinds } from '../api/unprogrammed.ts';
import { PodInformers } from '../addresses/pod-informers.ts';
import { parseDeclarationKey, type Declaration } from './networks/declarations.ts';
import type { EndpointSlice } from './endpoints/endpoint-mirror.ts';

/** All that the cluster manager sees. */
export class ClusterInformers extends PodInformers {
  readonly udns = this.view(userDefinedNetworks);
  readonly cudns = this.view(clusterUserDefinedNetworks);
  readonly secondaries = this.view(ovnSecondaryNetworks);
  readonly connects = this.view(clusterNetworkConnects);
  readonly claims = this.view(ipamClaims);
  readonly slices = this.view<EndpointSlice>(endpointSlices);
  readonly zones = this.view(zoneStatuses);
  readonly unprogrammed = unprogrammedKinds.map((kind) => this.view(kind));
  /** NADs by the uid of the object that controls them. */
  readonly nadsByOwner = this.nads.index(({ metadata }) =>
    (metadata.ownerReferences ?? [])
      .filter(({ controller }) => controller === true)
      .map(({ uid }) => uid),
  );

  /** Every object that declares a network. */
  declarations(): readonly Declaration[] {
    return [...this.udns.list(), ...this.cudns.list(), ...this.secondaries.list()];
  }

  /** The object of a `declarationKey`; undefined when it is gone. */
  declaration(key: string): Declaration | undefined {
    const { kind, object } = parseDeclarationKey(key);
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
