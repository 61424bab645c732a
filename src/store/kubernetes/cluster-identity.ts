/**
 * Whether an API server is still that of the cluster that this process began with. One whose etcd is empty, or another cluster's, answers with lists like any
 * other, and by them every network would be gone at once.
 */
import type { Clock } from '../clock.ts';
import { isJsonObject } from '../json.ts';
import { StoreError } from '../store.ts';
import type { KubernetesClient } from './kubernetes-client.ts';

/** Each cluster makes this namespace for itself, once; its uid is what programs know clusters by. A backup of etcd has it, too. */
const NAMESPACE = 'kube-system';

/** Milliseconds. No API server is given another etcd and its own back within it. */
const RECENT = 1000;

interface Asked {
  /** Milliseconds on the clock that only goes forward. */
  readonly begin: number;
  readonly uid: Promise<string | undefined>;
}

export class ClusterIdentity {
  readonly #client: KubernetesClient;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #known: string | undefined;
  #asked: Asked | undefined;
  /** The credentials may not ask: nothing is known then. */
  #isForbidden = false;

  constructor(client: KubernetesClient, clock: Clock, signal: AbortSignal) {
    this.#client = client;
    this.#clock = clock;
    this.#signal = signal;
  }

  /**
   * What `read` reads, where the cluster is the same before and after: one that comes back in between must not vouch for what another one answered.
   * Rejects as `unavailable` otherwise.
   */
  async around<T>(read: () => Promise<T>): Promise<T> {
    const since = this.#clock.monotonic();
    if (this.#known !== undefined) await this.check(since - RECENT);
    const answer = await read();
    await this.check(since);
    return answer;
  }

  /**
   * Rejects as `unavailable` where another cluster answers, by an answer that was asked for at `since` or later (milliseconds on the clock that only goes
   * forward). Kinds that are read together ask once.
   */
  async check(since: number): Promise<void> {
    if (this.#isForbidden) return;
    if (this.#asked === undefined || this.#asked.begin < since)
      this.#asked = { begin: this.#clock.monotonic(), uid: this.#read() };
    const asked = this.#asked;
    try {
      const uid = await asked.uid;
      this.#known ??= uid;
      if (uid !== this.#known) throw this.#otherCluster(uid);
    } catch (error) {
      if (this.#asked === asked) this.#asked = undefined;
      throw error;
    }
  }

  #otherCluster(uid: string | undefined): StoreError {
    const what =
      uid === undefined
        ? `it has no namespace ${NAMESPACE}, and had one with uid ${this.#known}`
        : `its namespace ${NAMESPACE} has uid ${uid}, and had ${this.#known}`;
    return new StoreError(
      'unavailable',
      `${this.#client.server} answers with another cluster's data, or with none: ${what} when this process began. Nothing is taken from it; give the API server its own etcd back. If the cluster was made anew, start this process anew: then it goes by what is there`,
    );
  }

  async #read(): Promise<string | undefined> {
    try {
      const { items } = await this.#client.send({
        method: 'GET',
        path: '/api/v1/namespaces',
        query: { fieldSelector: `metadata.name=${NAMESPACE}`, limit: '1' },
        signal: this.#signal,
        about: 'namespaces',
      });
      const [found] = Array.isArray(items) ? (items as readonly unknown[]) : [];
      const metadata = isJsonObject(found) ? found['metadata'] : undefined;
      const uid = isJsonObject(metadata) ? metadata['uid'] : undefined;
      return typeof uid === 'string' ? uid : undefined;
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'forbidden') throw error;
      this.#isForbidden = true;
      return this.#known;
    }
  }
}
