/** Keeps a mirror of every service's EndpointSlices for the primary networks of its namespace, or for the secondary one that it names (reference/api.md §9). */
import { SERVICE_NAME, SLICE_NETWORK } from '../../api/annotations/endpoint-slice-annotations.ts';
import { NETWORKS } from '../../api/annotations/network-selection.ts';
import { askedServiceNetwork, SERVICE_NETWORK } from '../../api/annotations/service-network.ts';
import { endpointSlices } from '../../api/kinds.ts';
import { compareAge } from '../../api/order.ts';
import type { Pod } from '../../api/types.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { closedRanges, type NamedRange } from '../../api/validation/closed-ranges.ts';
import { objectKey, type ResourceKind } from '../../api/objects.ts';
import { POD_NETWORKS } from '../../api/annotations/pod-annotations.ts';
import type { Clock } from '../../store/clock.ts';
import type { Index } from '../../store/informer.ts';
import { StoreError, type Store } from '../../store/store.ts';
import { WorkQueue, type Failure } from '../../store/work-queue.ts';
import {
  correctMirror,
  isMirror,
  isSource,
  mirrorOf,
  sourceKeyOf,
  type EndpointSlice,
} from './endpoint-mirror.ts';
import type { ClusterInformers } from '../informers.ts';
import type { NetworkRegistry } from '../networks/network-registry.ts';
import { nadsOfService } from '../networks/service-networks.ts';
import type { RegisteredNad } from '../../api/nad/registered-nad.ts';

export interface EndpointMirrorOptions {
  readonly store: Pick<Store, 'create' | 'patch' | 'delete' | 'event'>;
  readonly informers: ClusterInformers;
  readonly registry: NetworkRegistry;
  readonly settings: { readonly cluster: ClusterSettings };
  readonly clock: Clock;
  readonly onFailure: (failure: Failure) => void;
}

const FIELD_MANAGER = 'clustermanager-endpointslice-mirror-controller';
const SLICES = endpointSlices as ResourceKind<EndpointSlice>;

export class EndpointMirrorController {
  readonly queue: WorkQueue;
  readonly #options: EndpointMirrorOptions;
  readonly #mirrors: Index<EndpointSlice>;
  /** Sources by service. */
  readonly #sources: Index<EndpointSlice>;
  /** Sources that are not mirrored as their service has too many, by service. */
  readonly #beyondLimit = new Map<string, Set<string>>();
  /** Mirrors that were created and that the informer has not shown yet, by source and network. */
  readonly #created = new Map<string, string>();
  /** Endpoints that can't be mirrored, by source. */
  readonly #problems = new Map<string, string>();
  readonly #closed: readonly NamedRange[];

  constructor(options: EndpointMirrorOptions) {
    this.#options = options;
    this.#closed = closedRanges(options.settings.cluster);
    this.#mirrors = options.informers.slices.index((slice) =>
      isMirror(slice) ? [sourceKeyOf(slice)] : [],
    );
    this.#sources = options.informers.slices.index((slice) =>
      isSource(slice) ? [serviceKeyOf(slice)] : [],
    );
    this.queue = new WorkQueue({
      reconcile: (key, signal) => this.#reconcile(key, signal),
      onFailure: options.onFailure,
      parallelism: 5,
      clock: options.clock,
    });
  }

  /** Sources of which endpoints are left out, with the reason. */
  problems(): ReadonlyMap<string, string> {
    return this.#problems;
  }

  /** Follows slices, services, pods and networks from now on. */
  follow(): void {
    const { informers, registry } = this.#options;
    const { slices, pods, namespaces, nads, services } = informers;
    slices.onChange(({ key, before, after }) => {
      for (const slice of [before, after] as readonly (EndpointSlice | undefined)[])
        if (slice !== undefined) this.queue.add(isMirror(slice) ? sourceKeyOf(slice) : key);
      if (before !== undefined && after === undefined) this.#sourceGone(key, before);
    });
    pods.onChange(({ before, after }) => {
      const addressed = (pod: typeof after): string =>
        JSON.stringify([pod?.metadata.annotations?.[POD_NETWORKS], pod?.status?.podIPs]);
      const namespace = (after ?? before)?.metadata.namespace ?? '';
      if (addressed(before) !== addressed(after)) this.networksChanged([namespace]);
    });
    namespaces.onChange(({ key }) => this.networksChanged([key]));
    nads.onChange(({ key }) => this.networksChanged([namespaceOf(key)]));
    services.onChange(({ key, before, after }) => {
      const asked = (service: typeof after): string | undefined =>
        service && askedServiceNetwork(service);
      if (asked(before) === asked(after)) return;
      for (const { metadata } of this.#sources.get(key)) this.queue.add(objectKey(metadata));
    });
    // Whether a network has a gateway all of its NADs say, also those of other namespaces.
    registry.onChange((_nad, networks) => {
      for (const name of networks)
        this.networksChanged(registry.ofNetwork(name).map(({ namespace }) => namespace));
    });
  }

  /** One slice less: another one may be mirrored. */
  #sourceGone(key: string, source: EndpointSlice): void {
    const service = serviceKeyOf(source);
    const waiting = this.#beyondLimit.get(service);
    waiting?.delete(key);
    if (waiting?.size === 0) this.#beyondLimit.delete(service);
    for (const other of waiting ?? []) this.queue.add(other);
  }

  /** Why the slice is not mirrored, if its service has more of them than one may: the oldest are. */
  #excessOf(key: string, source: EndpointSlice): string | undefined {
    const { slices: most } = this.#options.settings.cluster.serviceLimits;
    const service = serviceKeyOf(source);
    const all = this.#sources.get(service);
    const waiting = this.#beyondLimit.get(service) ?? new Set();
    const older =
      all.length <= most
        ? 0
        : all.filter(({ metadata }) => compareAge(metadata, source.metadata) < 0).length;
    if (older < most) {
      waiting.delete(key);
      if (waiting.size === 0) this.#beyondLimit.delete(service);
      return undefined;
    }
    this.#beyondLimit.set(service, waiting.add(key));
    return `service ${service} has more than ${most} EndpointSlices (--max-service-slices), and this is none of the oldest: its endpoints are not mirrored; take back what is not needed, or spread the pods over several services`;
  }

  /** The networks of these namespaces have changed. */
  networksChanged(namespaces: Iterable<string>): void {
    for (const namespace of new Set(namespaces))
      for (const slice of this.#options.informers.slices.inNamespace(namespace))
        if (isSource(slice)) this.queue.add(objectKey(slice.metadata));
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const source: EndpointSlice | undefined = this.#options.informers.slices.get(key);
    const nads = source === undefined ? [] : this.#nadsFor(source);
    const isWanted =
      source !== undefined && isSource(source) && source.metadata.deletionTimestamp === undefined;
    const excess = isWanted && nads.length > 0 ? this.#excessOf(key, source) : undefined;
    const networks =
      isWanted && excess === undefined
        ? new Set(nads.map(({ config }) => config.name))
        : new Set<string>();
    for (const mirror of this.#mirrors.get(key))
      if (!networks.has(networkOf(mirror))) await this.#delete(mirror, signal);
    const leftOut = new Set<string>();
    const refused = new Set<string>();
    if (source !== undefined)
      for (const network of networks) {
        const podOf = (pod: string): Pod | undefined => this.#options.informers.pods.get(pod);
        const mirror = mirrorOf(source, network, nads, podOf, this.#closed);
        for (const pod of mirror.withoutAddress) leftOut.add(pod);
        for (const address of mirror.refused) refused.add(address);
        await this.#mirror(key, network, mirror.slice, signal);
      }
    await this.#report(key, source, [
      ...(excess === undefined ? [] : [excess]),
      ...[...leftOut].map((pod) => withoutAddressText(source, nads, pod)),
      ...(refused.size === 0 ? [] : [refusedText([...refused])]),
    ]);
  }

  /** Says what is left out, and when it is not any more. */
  async #report(
    key: string,
    source: EndpointSlice | undefined,
    texts: readonly string[],
  ): Promise<void> {
    const message = texts.join('\n');
    const known = this.#problems.get(key);
    if (source === undefined || message === '') {
      this.#problems.delete(key);
      return;
    }
    this.#problems.set(key, message);
    if (known !== message)
      await this.#options.store.event({
        regarding: source,
        type: 'Warning',
        reason: 'EndpointNotMirrored',
        message,
      });
  }

  /** NADs of the networks that a slice's service is on. */
  #nadsFor(source: EndpointSlice): readonly RegisteredNad[] {
    const service = this.#options.informers.services.get(serviceKeyOf(source));
    return nadsOfService(service, source.metadata.namespace ?? '', this.#options);
  }

  /** Brings the mirror of a source for one network to `wanted`. */
  async #mirror(
    key: string,
    network: string,
    wanted: EndpointSlice,
    signal: AbortSignal,
  ): Promise<void> {
    const { store } = this.#options;
    const place = `${key} ${network}`;
    const existing = this.#mirrors.get(key).filter((mirror) => networkOf(mirror) === network);
    const created = this.#created.get(place);
    if (created !== undefined) {
      // Created a moment ago: the informer will show it, and then we are woken again.
      if (existing.length === 0) return;
      this.#created.delete(place);
    }
    const [mirror, ...surplus] = existing;
    if (surplus.length > 0) {
      for (const one of existing) await this.#delete(one, signal);
      return;
    }
    if (mirror === undefined) {
      if (wanted.endpoints?.length === 0) return;
      const { metadata } = await store.create(SLICES, wanted, {
        fieldManager: FIELD_MANAGER,
        signal,
      });
      this.#created.set(place, metadata.name);
      return;
    }
    const patch = correctMirror(mirror, wanted);
    if (patch === undefined) return;
    try {
      await store.patch(SLICES, objectKey(mirror.metadata), patch, {
        fieldManager: FIELD_MANAGER,
        signal,
      });
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'not-found') throw error;
    }
  }

  async #delete({ metadata }: EndpointSlice, signal: AbortSignal): Promise<void> {
    const { uid } = metadata;
    try {
      await this.#options.store.delete(SLICES, objectKey(metadata), {
        signal,
        ...(uid === undefined ? {} : { uid }),
      });
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'not-found') throw error;
    }
  }
}

const withoutAddressText = (
  source: EndpointSlice | undefined,
  nads: readonly RegisteredNad[],
  pod: string,
): string => {
  const what = `failed to determine the Pod IP of: ${pod}: it has no ${String(source?.addressType)} address on`;
  // A service on a secondary network is on that one alone.
  const secondary = nads.find(({ config }) => config.role === 'secondary');
  return secondary === undefined
    ? `${what} its primary network yet; other endpoints are mirrored`
    : `${what} network ${secondary.config.name}, which its service names (${SERVICE_NETWORK}): other endpoints are mirrored; name ${secondary.key} in its annotation ${NETWORKS}, or leave it out by the selector`;
};

/** So many addresses are named of those that are refused: the rest is counted. */
const NAMED = 5;

const refusedText = (refused: readonly string[]): string =>
  `addresses of endpoints that name no pod (targetRef) are left out, as networks of pods don't get there: ${refused.slice(0, NAMED).join(', ')}${refused.length > NAMED ? `, and ${refused.length - NAMED} more` : ''}; give addresses on the network or outside of the cluster`;

/** `<namespace>/<name>` of the service that a slice is of. */
const serviceKeyOf = ({ metadata }: EndpointSlice): string =>
  `${metadata.namespace ?? ''}/${metadata.labels?.[SERVICE_NAME] ?? ''}`;

const namespaceOf = (key: string): string => key.slice(0, key.indexOf('/'));

const networkOf = ({ metadata }: EndpointSlice): string =>
  metadata.annotations?.[SLICE_NETWORK] ?? '';
