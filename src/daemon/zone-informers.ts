/** The informers of a process → the facts of its zone. */
import {
  clusterNetworkConnects,
  namespaces,
  networkAttachmentDefinitions,
  nodes,
  pods,
  services,
} from '../api/kinds.ts';
import type { KubeObject, ResourceKind } from '../api/objects.ts';
import { ObjectIntake, type ModelChange } from '../model/intake.ts';
import type { ZoneFacts } from '../model/facts.ts';
import type { Informers } from '../store/informers.ts';

export interface ZoneInformersOptions {
  /** Of the process, which runs them. */
  readonly informers: Informers;
  readonly facts: ZoneFacts;
  /** Called after each change that the facts took in. */
  readonly onChange: () => void;
}

export class ZoneInformers {
  readonly #options: ZoneInformersOptions;
  readonly #kinds: ResourceKind[] = [];

  constructor(options: ZoneInformersOptions) {
    this.#options = options;
    const intake = new ObjectIntake(options.facts);
    this.#follow(namespaces, (change) => intake.namespace(change));
    this.#follow(nodes, (change) => intake.node(change));
    this.#follow(networkAttachmentDefinitions, (change) =>
      intake.networkAttachmentDefinition(change),
    );
    this.#follow(clusterNetworkConnects, (change) => intake.clusterNetworkConnect(change));
    this.#follow(services, (change) => intake.service(change));
    this.#follow(pods, (change) => intake.pod(change));
  }

  /** Resolves when everything that existed at the start is known. */
  async synced(limit: number): Promise<void> {
    await this.#options.informers.synced(this.#kinds, undefined, limit);
  }

  #follow<T extends KubeObject>(
    kind: ResourceKind<T>,
    take: (change: ModelChange<T>) => void,
  ): void {
    this.#kinds.push(kind);
    this.#options.informers.of(kind).onChange(({ key, after }) => {
      take({ key, after });
      this.#options.onChange();
    });
  }
}
