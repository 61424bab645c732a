/** The store's objects → the zone builder, kept current. */
import {
  clusterNetworkConnects,
  isOptionalKind,
  namespaces,
  networkAttachmentDefinitions,
  nodes,
  pods,
  services,
} from '../api/kinds.ts';
import { objectKey, type KubeObject, type ResourceKind } from '../api/objects.ts';
import type { ClusterSettings } from '../model/model.ts';
import { ZoneBuilder, type ModelChange } from '../model/zone-builder.ts';
import { Informer } from '../store/informer.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from './logger.ts';

export interface ObjectFeedOptions {
  readonly store: Store;
  readonly node: string;
  readonly settings: ClusterSettings;
  readonly log: Logger;
  /** Called after each change that the builder was told of. */
  readonly onChange: () => void;
}

export class ObjectFeed {
  readonly builder: ZoneBuilder;
  readonly #options: ObjectFeedOptions;
  readonly #informers: Informer<KubeObject>[] = [];

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

  /** Follows the store until `signal` aborts; rejects when that becomes impossible. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.run(this.#options.store, signal)));
  }

  /** Resolves when everything that existed at the start is known. */
  async synced(limit: number): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.synced(limit)));
  }

  /** True when everything that the store holds now has been taken over. */
  async isCurrent(signal: AbortSignal): Promise<boolean> {
    for (const informer of this.#informers) {
      if (!informer.isInstalled) continue;
      const objects = await this.#options.store.list(informer.kind, signal);
      const isShown = objects.every(
        ({ metadata }) =>
          informer.get(objectKey(metadata))?.metadata.resourceVersion === metadata.resourceVersion,
      );
      if (!isShown || objects.length !== informer.list().length) return false;
    }
    return true;
  }

  #feed<T extends KubeObject>(kind: ResourceKind<T>, tell: (change: ModelChange<T>) => void): void {
    const informer = new Informer(kind, {
      onHandlerError: (error, { key }) => {
        this.#options.log.error(
          { component: 'model', object: `${kind.kind} ${key}`, error },
          'a change could not be taken over',
        );
      },
      ...(isOptionalKind(kind)
        ? {
            onNotInstalled: ({ message }) =>
              this.#options.log.warn(
                { component: 'model', kind: kind.kind, error: message },
                'not installed: nothing of it is done',
              ),
          }
        : {}),
    });
    informer.onChange(({ key, after }) => {
      tell({ key, after });
      this.#options.onChange();
    });
    this.#informers.push(informer as unknown as Informer<KubeObject>);
  }
}
