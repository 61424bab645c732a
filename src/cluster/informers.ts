/** What the cluster manager sees of the cluster. */
import {
  clusterNetworkConnects,
  clusterUserDefinedNetworks,
  endpointSlices,
  ipamClaims,
  isOptionalKind,
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
import { Informer } from '../store/informer.ts';
import type { Store } from '../store/store.ts';
import { parseDeclarationKey, type Declaration } from './networks/declarations.ts';
import type { EndpointSlice } from './endpoints/endpoint-mirror.ts';
import type { Log } from './settings.ts';

/** Informers that are started and compared with the store together. */
class Informers {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #all: Informer<KubeObject>[] = [];

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  protected informer<T extends KubeObject>(kind: ResourceKind<T>): Informer<T> {
    const log = this.#log;
    const informer = new Informer(kind, {
      clock: this.#clock,
      onHandlerError: (error, { key }) => {
        log.error({ kind: kind.kind, object: key, error }, 'a change could not be handled');
      },
      ...(isOptionalKind(kind)
        ? {
            onNotInstalled: ({ message }) =>
              log.warn({ kind: kind.kind, error: message }, 'not installed: nothing of it is done'),
          }
        : {}),
    });
    this.#all.push(informer as unknown as Informer<KubeObject>);
    return informer;
  }

  /** Follows the store until `signal` aborts. */
  async run(store: Pick<Store, 'watch'>, signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all.map((informer) => informer.run(store, signal)));
  }

  /** Resolves when everything that existed at the start is here. */
  async synced(): Promise<void> {
    await Promise.all(this.#all.map((informer) => informer.synced()));
  }

  /** Kinds that could not be read yet, with the reason where there is one. */
  unread(): readonly string[] {
    return this.#all
      .filter(({ isSynced }) => !isSynced)
      .map(({ kind, stalled }) => stalled?.message ?? `${kind.plural} are not read yet`);
  }

  /** True when the informers show what the store holds now. */
  async areCurrent(store: Pick<Store, 'list'>, signal: AbortSignal): Promise<boolean> {
    for (const informer of this.#all) {
      if (!informer.isInstalled) continue;
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

/** What is needed to give addresses to pods. */
export class PodInformers extends Informers {
  readonly nads = this.informer(networkAttachmentDefinitions);
  readonly namespaces = this.informer(namespaces);
  readonly nodes = this.informer(nodes);
  readonly pods = this.informer(pods);
}

/** All that the cluster manager sees. */
export class ClusterInformers extends PodInformers {
  readonly udns = this.informer(userDefinedNetworks);
  readonly cudns = this.informer(clusterUserDefinedNetworks);
  readonly secondaries = this.informer(ovnSecondaryNetworks);
  readonly connects = this.informer(clusterNetworkConnects);
  readonly claims = this.informer(ipamClaims);
  readonly slices = this.informer<EndpointSlice>(endpointSlices);
  readonly zones = this.informer(zoneStatuses);
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
