/** What is said of networks: in the status of zones, and in the condition that users look at. */
import { userDefinedNetworks, zoneStatuses } from '../../../src/api/kinds.ts';
import { objectKey, type KubeObject, type ResourceKind } from '../../../src/api/objects.ts';
import type { Store } from '../../../src/store/store.ts';

/** Every version of it that a reader of `store` sees, as text, until it is disposed. */
export class SaidOfNetworks implements AsyncDisposable {
  /** Each text once, in the order in which they came. */
  readonly lines = new Set<string>();
  readonly #stop = new AbortController();
  readonly #watching: Promise<unknown>;

  constructor(store: Store) {
    const follow = <T extends KubeObject>(
      kind: ResourceKind<T>,
      text: (object: T) => string,
    ): Promise<void> =>
      store.watch(
        kind,
        (event) => {
          if (event.type === 'added' || event.type === 'modified')
            this.lines.add(text(event.object));
        },
        this.#stop.signal,
      );
    this.#watching = Promise.all([
      follow(zoneStatuses, ({ metadata, status }) => {
        const networks = status?.networks.map(({ name, state }) => `${name}=${state}`) ?? [];
        return `${metadata.name}: ${networks.toSorted().join(' ')}`;
      }),
      follow(userDefinedNetworks, ({ metadata, status }) => {
        const ready = status?.conditions?.find(({ type }) => type === 'NetworkReady');
        return `${objectKey(metadata)}: ${ready?.status} since ${ready?.lastTransitionTime}`;
      }),
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }
}
