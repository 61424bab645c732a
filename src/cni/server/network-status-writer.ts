/** Shows pods' interfaces in their annotation `network-status`, beside the work for the runtime: the pod works without it. */
import { pods as podKind } from '../../api/kinds.ts';
import type { Pod } from '../../api/types.ts';
import type { Logger } from '../../process/logger.ts';
import type { ObjectView } from '../../store/informer.ts';
import { isRetryable, type Store } from '../../store/store.ts';
import { WorkQueue } from '../../store/work-queue.ts';
import { NETWORK_STATUS } from '../../api/annotations/network-status.ts';

export interface NetworkStatusWriterOptions {
  readonly store: Pick<Store, 'patchStatus'>;
  readonly pods: Pick<ObjectView<Pod>, 'get'>;
  readonly log: Logger;
}

const AT_ONCE = 8;

export class NetworkStatusWriter implements AsyncDisposable {
  readonly #options: NetworkStatusWriterOptions;
  /** By pod: what is to be written, and for which pod of that name. */
  readonly #wanted = new Map<string, { readonly uid: string | undefined; readonly text: string }>();
  readonly #queue: WorkQueue;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: NetworkStatusWriterOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({
      reconcile: (pod, signal) => this.#write(pod, signal),
      parallelism: AT_ONCE,
      onFailure: ({ key, error, attempt }) => {
        if (attempt === 1) this.#warn(key, error, 'it is tried again');
      },
    });
    this.#running = this.#queue.run(this.#stop.signal);
  }

  /** `pod`: namespace and name; `text` as `networkStatus` makes it. What was wanted before and is not written is replaced. */
  write(pod: string, uid: string | undefined, text: string): void {
    this.#wanted.set(pod, { uid, text });
    this.#queue.add(pod);
  }

  /** Ends what is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #write(pod: string, signal: AbortSignal): Promise<void> {
    const { store, pods } = this.#options;
    const wanted = this.#wanted.get(pod);
    if (wanted === undefined) return;
    if (pods.get(pod)?.metadata.uid === wanted.uid)
      try {
        const annotations = { [NETWORK_STATUS]: wanted.text };
        await store.patchStatus(
          podKind,
          pod,
          { metadata: { annotations } },
          { fieldManager: 'heddle-cni', signal },
        );
      } catch (error) {
        if (isRetryable(error) || signal.aborted) throw error;
        this.#warn(pod, error, 'it is left');
      }
    if (this.#wanted.get(pod) === wanted) this.#wanted.delete(pod);
  }

  #warn(pod: string, error: unknown, what: string): void {
    this.#options.log.warn(
      { component: 'cni', pod, error },
      `annotation ${NETWORK_STATUS} could not be written; ${what}`,
    );
  }
}
