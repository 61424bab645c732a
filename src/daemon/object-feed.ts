/** The store's objects → the zone builder, kept current. */
import {
  clusterNetworkConnects,
  namespaces,
  networkAttachmentDefinitions,
  nodes,
  pods,
  services,
} from '../api/kinds.ts';
import type { KubeObject, ResourceKind } from '../api/objects.ts';
import type { ClusterSettings } from '../model/model.ts';
import { ZoneBuilder, type ModelChange } from '../model/zone-builder.ts';
import type { Informers } from '../store/informers.ts';

export interface ObjectFeedOptions {
  /** Of the process, which runs them. */
  readonly informers: Informers;
  readonly node: string;
  readonly settings: ClusterSettings;
  /** Called after each change that the builder was told of. */
  readonly onChange: () => void;
}

export class ObjectFeed {
  readonly builder: ZoneBuilder;
  readonly #options: ObjectFeedOptions;
  readonly #kinds: ResourceKind[] = [];

  constructor(options: ObjectFeedOptions) {
    this.#options = options;
    const builder = new ZoneBuilder(options.node, options.settings);
    this.builder = builder;
    this.#feed(namespaces, (change) => builder.namespace(change));
    this.#feed(nodes, (change) => builder.node(change));
    this.#feed(networkAttachmentDefinitions, (change) =>
      builder.networkAttachmentDefinition(change),
    );
    this.#feed(clusterNetworkConnects, (change) => builder.clusterNetworkConnect(change));
    this.#feed(services, (change) => builder.service(change));
    this.#feed(pods, (change) => builder.pod(change));
  }

  /** Resolves when everything that existed at the start is known. */
  async synced(limit: number): Promise<void> {
    await this.#options.informers.synced(this.#kinds, undefined, limit);
  }

  #feed<T extends KubeObject>(kind: ResourceKind<T>, tell: (change: ModelChange<T>) => void): void {
    this.#kinds.push(kind);
    this.#options.informers.of(kind).onChange(({ key, after }) => {
      tell({ key, after });
      this.#options.onChange();
    });
  }
}
