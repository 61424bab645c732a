/** What pods hold in the pools of their networks: taken over from what pods carry, given anew, given back. In memory. */
import { nadOfKey } from '../api/nad/nad-key.ts';
import { randomBytes as systemRandomBytes } from 'node:crypto';
import { DEFAULT_NETWORK } from '../api/nad/network-name.ts';
import { NODE_SUBNETS, nodeSubnets } from '../api/annotations/node-annotations.ts';
import { objectKey } from '../api/objects.ts';
import {
  isWithoutNetworks,
  POD_NETWORKS,
  type PodNetwork,
} from '../api/annotations/pod-annotations.ts';
import type { Node, Pod } from '../api/types.ts';
import type { Index } from '../store/informer.ts';
import type { PodInformers } from './pod-informers.ts';
import type { ServedNads } from './served-nads.ts';
import { nodePool, sharedPool, type NetworkPool, type PoolPosition } from './network-pool.ts';
import type { NetworkConfig } from '../api/nad/network-config.ts';
import { oldestFirst } from '../api/order.ts';
import type { PersistentAddresses } from './persistent-addresses.ts';
import { PodConflicts } from './pod-conflicts.ts';
import {
  allocatedBy,
  annotatedNetworks,
  namedClaims,
  namesSameClaims,
  SHARED_NAMESPACE,
  type WantedAttachment,
} from '../model/rules/pod-plan.ts';
import { isInScope, type PodScope } from './pod-scope.ts';
import { requestedAddresses } from './requested-addresses.ts';

export interface PodPoolsOptions {
  readonly informers: Pick<PodInformers, 'pods' | 'nodes'>;
  readonly nads: ServedNads;
  readonly scope: PodScope;
  /** Addresses that outlive pods; only where networks are shared. */
  readonly claims?: PersistentAddresses;
  readonly randomBytes?: (count: number) => Uint8Array;
  /** What a key of the pod's annotation stands for; undefined for one that the pod may not have. */
  readonly permitted: (pod: Pod, nadKey: string) => WantedAttachment | undefined;
  /** A pod carries what is not free for it, or what no pod may have. */
  readonly onConflict: (pod: Pod, nadKey: string, problem: string) => void;
}

interface PoolRef {
  readonly id: string;
  readonly pool: NetworkPool;
}

interface MadePool {
  readonly network: string;
  /** Of a pool of one node. */
  readonly node: string | undefined;
  /** What it was made from. */
  readonly made: string;
  readonly pool: NetworkPool;
}

/** Pools that are gone of which it is known where they were: a network or a node that comes back goes on there. */
const MOST_POSITIONS = 1000;

interface Holding {
  readonly uid: string;
  /** Pools in which the pod holds something, with its owner name there. */
  readonly pools: Map<string, string>;
}

export class PodPools {
  readonly #options: PodPoolsOptions;
  /** Pods by the NADs that they carry. */
  readonly #podsByNad: Index<Pod>;
  /** Pods by the IPAMClaims that they name. */
  readonly #podsByClaim: Index<Pod> | undefined;
  readonly #pools = new Map<string, MadePool>();
  readonly #idsOfNetwork = new Map<string, Set<string>>();
  readonly #idsOfNode = new Map<string, Set<string>>();
  /** Where pools were that are gone, the latest ones last. */
  readonly #positions = new Map<string, PoolPosition>();
  readonly #holdings = new Map<string, Holding>();
  readonly #nodeSubnets = new Map<
    string,
    { readonly text: string; readonly subnets: ReadonlyMap<string, readonly string[]> }
  >();
  readonly #conflicts = new PodConflicts();

  constructor(options: PodPoolsOptions) {
    this.#options = options;
    this.#podsByNad = options.informers.pods.index(
      (pod) => [...new Set([...annotatedNetworks(pod).keys()].map(nadOfKey))],
      (before, after) => annotationText(before) === annotationText(after),
    );
    this.#podsByClaim =
      options.claims && options.informers.pods.index(namedClaims, namesSameClaims);
  }

  /** Pods that name an IPAMClaim and hold something of a pool. */
  usersOf(claim: string, { id }: PoolRef): readonly Pod[] {
    const pods = this.#podsByClaim?.get(claim) ?? [];
    return pods.filter((pod) =>
      [...(this.#holdings.get(objectKey(pod.metadata))?.pools.keys() ?? [])].some((place) =>
        place.startsWith(`${id}\n`),
      ),
    );
  }

  /** Pods that carry what is not free for them, with the reason. */
  conflicts(): ReadonlyMap<string, string> {
    return this.#conflicts.problems();
  }

  /** The pool that serves a pod's attachment; made, with all that pods carry of it, when it is first needed. */
  poolOf(pod: Pod, attachment: WantedAttachment): PoolRef | undefined {
    const { nad } = attachment;
    const node = isShared(nad) ? undefined : (pod.spec.nodeName ?? '');
    return this.#poolFor(poolId(pod, attachment), nad?.config, node);
  }

  /** `config` undefined for the cluster default network, `node` for a pool of all nodes. */
  #poolFor(
    id: string,
    config: NetworkConfig | undefined,
    node: string | undefined,
  ): PoolRef | undefined {
    if (config !== undefined && config.topology !== 'layer3')
      return this.#pool(id, config.name, node, JSON.stringify(config), () => sharedPool(config));
    const network = config?.name ?? DEFAULT_NETWORK;
    const found = this.#options.informers.nodes.get(node ?? '');
    const subnets = found === undefined ? undefined : this.#subnetsOf(found).get(network);
    if (subnets === undefined || subnets.length === 0) return undefined;
    return this.#pool(id, network, node, JSON.stringify(subnets), () => nodePool(network, subnets));
  }

  /** A network is another one, or gone: so are its pools. */
  networkChanged(network: string): void {
    this.#refresh(this.#idsOfNetwork.get(network));
  }

  /** A node has other subnets, or is gone. */
  nodeChanged(node: string): void {
    if (this.#options.informers.nodes.get(node) === undefined) this.#nodeSubnets.delete(node);
    this.#refresh(this.#idsOfNode.get(node));
  }

  #refresh(ids: ReadonlySet<string> | undefined): void {
    for (const id of ids ?? []) {
      const known = this.#pools.get(id);
      if (known === undefined) continue;
      const { network, node } = known;
      const [nad] = this.#options.nads.ofNetwork(network);
      const isGone =
        (network !== DEFAULT_NETWORK && nad === undefined) ||
        (node !== undefined && this.#options.informers.nodes.get(node) === undefined);
      const found = isGone ? undefined : this.#poolFor(id, nad?.config, node);
      if (found === undefined) this.#drop(id, known);
    }
  }

  #drop(id: string, { network, node, pool }: MadePool): void {
    this.#pools.delete(id);
    this.#options.claims?.forget(id);
    forgetId(this.#idsOfNetwork, network, id);
    if (node !== undefined) forgetId(this.#idsOfNode, node, id);
    this.#positions.delete(id);
    this.#positions.set(id, pool.position);
    const [oldest] = this.#positions.keys();
    if (this.#positions.size > MOST_POSITIONS && oldest !== undefined)
      this.#positions.delete(oldest);
    this.#conflicts.forgetPool(id);
  }

  /** Subnets of a node by network; its annotation is read once, however many pods come. */
  #subnetsOf(node: Node): ReadonlyMap<string, readonly string[]> {
    const { name, annotations } = node.metadata;
    const text = annotations?.[NODE_SUBNETS] ?? '';
    const known = this.#nodeSubnets.get(name);
    if (known?.text === text) return known.subnets;
    const subnets = nodeSubnets(node).value ?? new Map<string, readonly string[]>();
    this.#nodeSubnets.set(name, { text, subnets });
    return subnets;
  }

  /** Addresses and MAC address for an attachment, from the pool that serves it. Throws AllocationError with what to do. */
  allocate(
    pod: Pod,
    attachment: WantedAttachment,
    { id, pool }: PoolRef,
  ): ReturnType<NetworkPool['allocate']> {
    const key = objectKey(pod.metadata);
    const { claims, randomBytes = systemRandomBytes } = this.#options;
    const claimed = claims?.addressesFor(pod, attachment) ?? [];
    const own = ownerOf(pod, attachment.nadKey);
    const owner = claims?.ownerFor(pod, attachment) ?? own;
    const { mac } = attachment.request;
    const description = `${attachment.nadKey}/${key}`;
    const held = pool.allocate(
      owner,
      {
        ips: requestedAddresses(attachment, claimed, description),
        ...(mac === undefined ? {} : { mac }),
      },
      claims?.describe(pod, attachment) ?? description,
      randomBytes,
      own,
    );
    this.#hold(pod, id, own);
    return held;
  }

  /** Takes over what the pod carries of the networks that are ours to give, before anything else. */
  adopt(pod: Pod): void {
    if (isWithoutNetworks(pod)) return;
    for (const [nadKey, entry] of annotatedNetworks(pod)) {
      const attachment = this.#attachmentOf(pod, nadKey);
      if (attachment === undefined) continue;
      // Pools that don't exist yet adopt all pods when they are made.
      const found = this.poolOf(pod, attachment);
      if (found !== undefined) this.#adoptEntry(pod, attachment, entry, found);
    }
  }

  /** Releases what a pod of this key held when it is gone, without networks or another one now. Returns the ids of the pools with room now. */
  release(key: string, pod: Pod | undefined): readonly string[] {
    const holding = this.#holdings.get(key);
    if (holding === undefined) return [];
    if (pod !== undefined && !isWithoutNetworks(pod) && holding.uid === (pod.metadata.uid ?? ''))
      return [];
    const ids = new Set<string>();
    for (const [place, owner] of holding.pools) {
      const id = place.slice(0, place.indexOf('\n'));
      this.#pools.get(id)?.pool.release(owner);
      ids.add(id);
    }
    this.#holdings.delete(key);
    this.#conflicts.forget(key);
    this.settleConflicts();
    return [...ids];
  }

  /** What was released belongs to the pods that carry it, before anybody else gets it. */
  settleConflicts(): void {
    for (const key of this.#conflicts.pods()) {
      const pod = this.#options.informers.pods.get(key);
      if (pod !== undefined) this.adopt(pod);
    }
  }

  #adoptEntry(
    pod: Pod,
    attachment: WantedAttachment,
    entry: PodNetwork,
    { id, pool }: PoolRef,
  ): void {
    const claimOwner = this.#options.claims?.ownerFor(pod, attachment);
    const own = ownerOf(pod, attachment.nadKey);
    const owner = claimOwner ?? own;
    const key = objectKey(pod.metadata);
    if (allocatedBy(attachment) !== this.#options.scope.kind) {
      pool.count(owner, entry);
      this.#hold(pod, id, owner);
      return;
    }
    if (claimOwner !== undefined) pool.release(own);
    const problem = pool.adopt(owner, entry, attachment.request.ips, own);
    this.#hold(pod, id, own);
    const message = problem === undefined ? undefined : `${attachment.nadKey}/${key}: ${problem}`;
    if (!this.#conflicts.set(key, attachment.nadKey, id, message) || problem === undefined) return;
    this.#options.onConflict(pod, attachment.nadKey, problem);
  }

  /** The attachment that an entry of the annotation stands for; undefined if it is none that we give addresses for. */
  #attachmentOf(pod: Pod, nadKey: string): WantedAttachment | undefined {
    const attachment = this.#options.permitted(pod, nadKey);
    if (attachment === undefined) return undefined;
    const { nad } = attachment;
    // The cluster manager chooses among several primary networks, so it counts those with node subnets too.
    const counts =
      allocatedBy(attachment) === this.#options.scope.kind ||
      (this.#options.scope.kind === 'cluster' &&
        nad !== undefined &&
        nad.config.role === 'primary' &&
        this.#options.nads.primariesOf(nad.namespace).length > 1);
    return counts ? attachment : undefined;
  }

  #pool(
    id: string,
    network: string,
    node: string | undefined,
    made: string,
    make: () => NetworkPool,
  ): PoolRef {
    const known = this.#pools.get(id);
    if (known?.made === made) return { id, pool: known.pool };
    const pool = make();
    this.#conflicts.forgetPool(id);
    this.#pools.set(id, { network, node, made, pool });
    addId(this.#idsOfNetwork, network, id);
    if (node !== undefined) addId(this.#idsOfNode, node, id);
    const nads =
      network === DEFAULT_NETWORK
        ? [DEFAULT_NETWORK]
        : this.#options.nads.ofNetwork(network).map(({ key }) => key);
    const pods = new Set(nads.flatMap((nad) => this.#podsByNad.get(nad)));
    for (const pod of oldestFirst(pods)) {
      if (isWithoutNetworks(pod) || !isInScope(this.#options.scope, pod)) continue;
      for (const [nadKey, entry] of annotatedNetworks(pod)) {
        const attachment = this.#attachmentOf(pod, nadKey);
        if (attachment === undefined || poolId(pod, attachment) !== id) continue;
        this.#adoptEntry(pod, attachment, entry, { id, pool });
        // What older pods had may have been released a moment ago.
        pool.resumeAfter(entry);
      }
    }
    // What a pod carries is on the wire; a claim only says so.
    this.#options.claims?.adopt(id, pool, (namespace) =>
      this.#options.nads
        .ofNetwork(network)
        .some(
          (nad) =>
            nad.config.allowPersistentIPs &&
            (nad.namespace === namespace || nad.namespace === SHARED_NAMESPACE),
        ),
    );
    const position = this.#positions.get(id);
    if (position !== undefined) pool.resumeAt(position);
    this.#positions.delete(id);
    if (known !== undefined) pool.takeOver(known.pool);
    return { id, pool };
  }

  #hold(pod: Pod, pool: string, owner: string): void {
    const key = objectKey(pod.metadata);
    const holding = this.#holdings.get(key) ?? {
      uid: pod.metadata.uid ?? '',
      pools: new Map<string, string>(),
    };
    holding.pools.set(`${pool}\n${owner}`, owner);
    this.#holdings.set(key, holding);
  }
}

/** Name of the pool that serves an attachment: one of the network, or one of the network on the pod's node. */
function poolId(pod: Pod, { nad }: WantedAttachment): string {
  const network = nad?.config.name ?? DEFAULT_NETWORK;
  return isShared(nad) ? network : `${network} ${pod.spec.nodeName ?? ''}`;
}

/** True where all nodes have one pool. */
const isShared = (nad: WantedAttachment['nad']): boolean =>
  nad !== undefined &&
  nad.config.topology !== 'layer3' &&
  (nad.config.topology === 'layer2' || nad.config.subnets.length > 0);

function addId(index: Map<string, Set<string>>, value: string, id: string): void {
  const ids = index.get(value) ?? new Set();
  index.set(value, ids.add(id));
}

function forgetId(index: Map<string, Set<string>>, value: string, id: string): void {
  const ids = index.get(value);
  ids?.delete(id);
  if (ids?.size === 0) index.delete(value);
}

/** Owner of what a pod holds: a pod of the same name that comes later is somebody else. */
const ownerOf = ({ metadata }: Pod, nadKey: string): string =>
  `${objectKey(metadata)} (${metadata.uid ?? ''}) ${nadKey}`;

const annotationText = ({ metadata }: Pod): string | undefined =>
  metadata.annotations?.[POD_NETWORKS];
