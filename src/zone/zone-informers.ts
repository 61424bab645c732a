/** The informers of a process → the facts of its zone. */
import {
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  clusterNetworkConnects,
  multiNetworkPolicies,
  endpointSlices,
  namespaces,
  networkAttachmentDefinitions,
  networkPolicies,
  nodes,
  pods,
  services,
} from '../api/kinds.ts';
import { objectKey, type KubeObject, type ResourceKind } from '../api/objects.ts';
import { ObjectIntake, type ModelChange } from '../model/zone/intake.ts';
import type { ZoneFacts } from '../model/zone/facts.ts';
import type { Informers } from '../store/informers.ts';
import { orGiveUp } from '../process/waiting.ts';

export interface ZoneInformersOptions {
  /** Of the process, which runs them. */
  readonly informers: Informers;
  readonly facts: ZoneFacts;
  /** The informer of pods has those of this node alone. */
  readonly hasOwnPodsOnly: boolean;
  /** Called after each change that the facts took in. */
  readonly onChange: () => void;
}

export class ZoneInformers {
  readonly #options: ZoneInformersOptions;
  readonly #kinds: ResourceKind[] = [];
  #otherPods: Promise<void> | undefined;

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
    this.#follow(networkPolicies, (change) => intake.policy('NetworkPolicy', change));
    this.#follow(multiNetworkPolicies, (change) => intake.policy('MultiNetworkPolicy', change));
    this.#follow(endpointSlices, (change) => intake.endpointSlice(change));
    this.#follow(adminNetworkPolicies, (change) =>
      intake.adminPolicy('AdminNetworkPolicy', change),
    );
    this.#follow(baselineAdminNetworkPolicies, (change) =>
      intake.adminPolicy('BaselineAdminNetworkPolicy', change),
    );
    this.#follow(pods, (change) => intake.pod(change));
    options.facts.onOtherPodsWanted(() => {
      this.#otherPods = this.#followOtherPods(intake);
      // Who waits for it hears of it; otherwise the end of the process ends it.
      this.#otherPods.catch(() => undefined);
    });
  }

  /** Resolves when everything that existed at the start is known. */
  async synced(limit: number): Promise<void> {
    await this.#options.informers.synced(this.#kinds, undefined, limit);
    const late = AbortSignal.timeout(limit);
    if (this.#otherPods !== undefined)
      await orGiveUp(this.#otherPods, late, 'the pods of other nodes');
  }

  /** Where the informer of pods has those of this node alone, another one brings the rest. */
  async #followOtherPods(intake: ObjectIntake): Promise<void> {
    const { facts, informers, hasOwnPodsOnly, onChange } = this.#options;
    const others = hasOwnPodsOnly
      ? informers.also(pods, { otherFields: { 'spec.nodeName': facts.nodeName } })
      : informers.of(pods);
    if (hasOwnPodsOnly)
      others.onChange(({ key, after }) => {
        intake.pod({ key, after });
        onChange();
      });
    else for (const after of others.list()) intake.pod({ key: objectKey(after.metadata), after });
    await others.whenSynced;
    facts.otherPodsKnown();
    onChange();
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
