/** Ports of pods that somebody else removed, alone or with all of br-int, are made again: the links on the host say whose they are. */
import { isWithoutNetworks } from '../../api/annotations/pod-annotations.ts';
import { objectKey } from '../../api/objects.ts';
import type { NetworkAttachmentDefinition, Pod } from '../../api/types.ts';
import { networkNamesOf, podInterfaces, type LinkFactsOf } from '../links/pod-interfaces.ts';
import type { PodLink, PodLinks } from '../links/pod-links.ts';
import type { ObjectView } from '../../store/informer.ts';
import type { OpenDatabase } from '../../databases/open-database.ts';
import type { ContainerTurns } from './container-turns.ts';
import type { Logger } from '../../process/logger.ts';
import type { PodPorts } from './pod-ports.ts';

export interface PodPortKeeperOptions {
  readonly node: string;
  readonly pods: ObjectView<Pod>;
  readonly nads: ObjectView<NetworkAttachmentDefinition>;
  readonly ports: PodPorts;
  readonly links: Pick<PodLinks, 'list'>;
  /** Of the plugin: what a runtime is having made or removed is not missed. */
  readonly turns: ContainerTurns;
  readonly linkFactsOf: LinkFactsOf;
  readonly log: Logger;
}

/** Keeps ports from the moment on in which the database is loaded, until it is disposed of. */
export function keepPodPorts(
  options: PodPortKeeperOptions,
  database: Pick<OpenDatabase, 'ready'>,
): AsyncDisposable {
  const stopping = new AbortController();
  let keeper: PodPortKeeper | undefined;
  const begin = async (): Promise<void> => {
    try {
      await database.ready(stopping.signal);
    } catch (error) {
      if (stopping.signal.aborted) return;
      throw error;
    }
    if (!stopping.signal.aborted) keeper = new PodPortKeeper(options);
  };
  begin().catch((error: unknown) =>
    options.log.error({ component: 'cni', error }, 'ports of pods are not kept'),
  );
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await keeper?.[Symbol.asyncDispose]();
    },
  };
}

/** Milliseconds: what goes with a bridge is looked for once. */
const DEBOUNCE = 50;
/** Milliseconds until what failed is tried again, if no event comes before that. */
const RETRY = 5000;

class PodPortKeeper implements AsyncDisposable {
  readonly #options: PodPortKeeperOptions;
  readonly #stops: readonly (() => void)[];
  /** Uids of pods whose links lack ports, and that have to come, or to change, before they can have them. */
  readonly #awaited = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  /** The database must be loaded. */
  constructor(options: PodPortKeeperOptions) {
    this.#options = options;
    this.#stops = [
      options.ports.onLost((containers) => {
        // What a DEL removes is not missed.
        if (
          !containers.every((container) => options.turns.has(container)) ||
          containers.length === 0
        )
          this.#soon();
      }),
      options.pods.onChange(({ after }) => {
        if (this.#awaited.has(after?.metadata.uid ?? '')) this.#soon();
      }),
    ];
    this.#soon();
  }

  /** Nothing is written after it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const stop of this.#stops) stop();
    await this.#running;
  }

  #soon(delay = DEBOUNCE): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#running = this.#running.then(() => this.#restore());
    }, delay);
    this.#timer.unref();
  }

  async #restore(): Promise<void> {
    const { links, turns } = this.#options;
    this.#awaited.clear();
    try {
      const lost = links.list().filter((link) => this.#isLost(link) && !turns.has(link.container));
      // Of two containers of a pod the later one, whose links the kernel lists last, took over from the other.
      for (const container of new Set(lost.map((link) => link.container).toReversed()))
        await turns.run(container, () => this.#restoreFor(container));
    } catch (error) {
      this.#failed(error);
    }
  }

  /** A pod that can't have its ports harms itself alone. */
  #failed(error: unknown, container?: string): void {
    this.#options.log.warn(
      { component: 'cni', container, error },
      'ports of pods that are missing could not be made',
    );
    if (this.#timer === undefined) this.#soon(RETRY);
  }

  async #restoreFor(container: string): Promise<void> {
    const { node, pods, links } = this.#options;
    const lost = links.list(container).filter((link) => this.#isLost(link));
    const [{ uid } = { uid: undefined }] = lost;
    // A pod of the same name may be another one.
    const pod = pods.list().find(({ metadata }) => metadata.uid === uid);
    if (uid !== undefined && pod === undefined) this.#awaited.add(uid);
    if (uid === undefined || pod?.spec.nodeName !== node || isWithoutNetworks(pod)) return;
    try {
      await this.#add(pod, container, lost);
    } catch (error) {
      // What is wrong may be the pod's own.
      this.#awaited.add(uid);
      this.#failed(error, container);
    }
  }

  async #add(pod: Pod, container: string, lost: readonly PodLink[]): Promise<void> {
    const { nads, ports, linkFactsOf, log } = this.#options;
    const taken = new Set(ports.list().map(({ logicalPort }) => logicalPort));
    const names = networkNamesOf(nads);
    const wanted = podInterfaces(pod, container, names, linkFactsOf).flatMap((one) => {
      const link = lost.find(({ name }) => name === one.hostDevice);
      if (link === undefined || taken.has(one.externalIds['iface-id'] ?? '')) return [];
      const { device } = link;
      return [{ ...one, device, externalIds: { ...one.externalIds, 'pod-if-name': device } }];
    });
    if (wanted.length === 0 || this.#isStopped) return;
    await ports.add(wanted);
    log.warn(
      { component: 'cni', container, pod: objectKey(pod.metadata), ports: wanted.length },
      'ports of a pod that somebody removed were made again',
    );
  }

  /** Without the bridge every port is: they come back with it. */
  #isLost({ name, uid }: PodLink): boolean {
    const { ports } = this.#options;
    return (
      uid !== undefined &&
      ports.unavailable() === undefined &&
      ports.hasBridge &&
      ports.get(name) === undefined
    );
  }
}
