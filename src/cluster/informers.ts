/** What the cluster manager sees of the cluster. */
import {
  clusterNetworkConnects,
  clusterUserDefinedNetworks,
  endpointSlices,
  ipamClaims,
  namespaces,
  networkAttachmentDefinitions,
  nodes,
  ovnSecondaryNetworks,
  pods,
  userDefinedNetworks,
  zoneStatuses,
} from '../api/kinds.ts';
import type { KubeObject, ResourceKind } from '../api/objects.ts';
import type { Clock } from '../store/clock.ts';
import { Informer, type Index } from '../store/informer.ts';
import type { Store } from '../store/store.ts';
import type {
  ClusterNetworkConnect,
  ClusterUserDefinedNetwork,
  IPAMClaim,
  Namespace,
  NetworkAttachmentDefinition,
  Node,
  OVNSecondaryNetwork,
  Pod,
  UserDefinedNetwork,
} from '../api/types.ts';
import type { ZoneStatus } from '../api/zone-status.ts';
import type { Log } from './settings.ts';

export class ClusterInformers {
  readonly udns: Informer<UserDefinedNetwork>;
  readonly cudns: Informer<ClusterUserDefinedNetwork>;
  readonly secondaries: Informer<OVNSecondaryNetwork>;
  readonly connects: Informer<ClusterNetworkConnect>;
  readonly nads: Informer<NetworkAttachmentDefinition>;
  readonly claims: Informer<IPAMClaim>;
  readonly namespaces: Informer<Namespace>;
  readonly nodes: Informer<Node>;
  readonly pods: Informer<Pod>;
  readonly slices: Informer<KubeObject>;
  readonly zones: Informer<ZoneStatus>;
  /** NADs by the uid of the object that controls them. */
  readonly nadsByOwner: Index<NetworkAttachmentDefinition>;
  readonly #all: readonly Informer<KubeObject>[];

  constructor(clock: Clock, log: Log) {
    const informer = <T extends KubeObject>(kind: ResourceKind<T>): Informer<T> =>
      new Informer(kind, {
        clock,
        onHandlerError: (error, { key }) => {
          log.error({ kind: kind.kind, object: key, error }, 'a change could not be handled');
        },
      });
    this.udns = informer(userDefinedNetworks);
    this.cudns = informer(clusterUserDefinedNetworks);
    this.secondaries = informer(ovnSecondaryNetworks);
    this.connects = informer(clusterNetworkConnects);
    this.nads = informer(networkAttachmentDefinitions);
    this.claims = informer(ipamClaims);
    this.namespaces = informer(namespaces);
    this.nodes = informer(nodes);
    this.pods = informer(pods);
    this.slices = informer(endpointSlices);
    this.zones = informer(zoneStatuses);
    this.nadsByOwner = this.nads.index(({ metadata }) =>
      (metadata.ownerReferences ?? [])
        .filter(({ controller }) => controller === true)
        .map(({ uid }) => uid),
    );
    this.#all = [
      this.udns,
      this.cudns,
      this.secondaries,
      this.connects,
      this.nads,
      this.claims,
      this.namespaces,
      this.nodes,
      this.pods,
      this.slices,
      this.zones,
    ] as unknown as readonly Informer<KubeObject>[];
  }

  /** Follows the store until `signal` aborts. */
  async run(store: Pick<Store, 'watch'>, signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all.map((informer) => informer.run(store, signal)));
  }

  /** Resolves when everything that existed at the start is here. */
  async synced(): Promise<void> {
    await Promise.all(this.#all.map((informer) => informer.synced()));
  }

  /** True when the informers show what the store holds now. */
  async areCurrent(store: Pick<Store, 'list'>, signal: AbortSignal): Promise<boolean> {
    for (const informer of this.#all) {
      const objects = await store.list(informer.kind, signal);
      const shown = new Map(
        informer.list().map(({ metadata }) => [metadata.uid, metadata.resourceVersion]),
      );
      if (
        shown.size !== objects.length ||
        objects.some(({ metadata }) => shown.get(metadata.uid) !== metadata.resourceVersion)
      )
        return false;
    }
    return true;
  }
}
