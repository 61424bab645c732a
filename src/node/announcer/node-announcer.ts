/** Keeps the annotations of the node's own Node as the host is: what other nodes, and this one's zone, know of it. */
import { canonicalCidr, contains, familyOf, withoutPrefix } from '../../allocators/addresses.ts';
import { annotationOf, v4First } from '../../api/annotations/annotations.ts';
import {
  BRIDGE_EGRESS_ADDRESSES,
  CARD_EGRESS_ADDRESSES,
  CHASSIS_ID,
  EGRESS_NETWORKS_DOWN,
  formatEgressFence,
  formatEgressNetworksDown,
  gatewayConfig,
  NODE_EGRESS_FENCE,
  PREPARED_EGRESS_ADDRESSES,
  primaryAddresses,
  type EgressFence,
  type EgressNetworksDown,
} from '../../api/annotations/node-annotations.ts';
import { familyCidrs } from '../../api/nad/network-config.ts';
import { egressIPs, nodes as nodeKind } from '../../api/kinds.ts';
import type { EgressIP, Node } from '../../api/types.ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { readEgressIp } from '../../model/read/egress-ips.ts';
import { valueOf } from '../../model/read/reading.ts';
import { orAborted } from '../../store/abort.ts';
import { caughtUp } from '../../store/caught-up.ts';
import { systemClock, type Clock } from '../../store/clock.ts';
import type { ObjectView } from '../../store/informer.ts';
import type { Informers } from '../../store/informers.ts';
import type { Log } from '../../store/log.ts';
import { WorkQueue, type Again } from '../../store/work-queue.ts';
import { readHostState } from '../linux/host-state.ts';
import type { NetworkMonitor } from '../linux/network-monitor.ts';
import { isDefaultRoute } from '../linux/stale.ts';
import { isManagementDevice } from '../names.ts';
import {
  egressAddressesOn,
  nodeAnnotations,
  type EgressAddressOnHost,
  type GatewaySettings,
  type HostFacts,
} from './node-facts.ts';
import { errorText } from '../../api/error-text.ts';

/** `external_ids` of the local Open_vSwitch database, or why they are not known. */
export type OpenVswitchIds = Pick<HostFacts, 'externalIds'> | { readonly unavailable: string };

/** Undefined where it keeps them; `as before` while that is not known. */
export type AnnouncedFence = EgressFence | 'as before' | undefined;

/** Undefined where there are none; `as before` while that is not known. */
export type AnnouncedNetworksDown = EgressNetworksDown | 'as before' | undefined;

export interface NodeAnnouncerOptions {
  /** Of the daemon, which runs them. */
  readonly informers: Informers;
  readonly node: string;
  readonly settings: ClusterSettings;
  readonly gateway: GatewaySettings;
  readonly openVswitch: () => OpenVswitchIds;
  /** Path of the network namespace that is looked at; that of the process, if none is named. */
  readonly namespace: string | undefined;
  /** Of the same namespace. */
  readonly monitor: NetworkMonitor;
  readonly log: Log;
  readonly clock?: Clock;
  /** Called when there may be something new in `problems`. */
  readonly onChange?: () => void;
  /** Egress addresses of other nodes that this one is ready to have. */
  readonly preparedEgressAddresses?: () => readonly string[];
  /** How the data plane lets go of egress addresses without the daemon. */
  readonly egressFence?: () => AnnouncedFence;
  /** Networks by which nothing leaves the node. */
  readonly networksDown?: () => AnnouncedNetworksDown;
  /** Called with those that the host has now. */
  readonly onEgressAddresses?: (addresses: readonly EgressAddressOnHost[]) => void;
  /** Called when addresses or ways out of the host may be others. */
  readonly onHostChange?: () => void;
  /** Stops it. */
  readonly signal: AbortSignal;
}

/** An address that moves is away for a moment: changes within this time of each other are one. */
const DEBOUNCE = 250;
/** An address that the node is to let go, and has yet, is looked for again after this time. */
const LETTING_GO = 50;
/** Without any event everything is looked at again after this time, as the network stack is. */
const RESYNC = 60_000;
/** Each is written by itself, in this order, once the others are there: admission policies of older releases refuse what names it. */
const LATE_KEYS = [NODE_EGRESS_FENCE, EGRESS_NETWORKS_DOWN];
const FIELD_MANAGER = 'heddle-node-facts';

/** Addresses by which the kubelet, and the node itself, have called it. */
export const knownAddresses = (node: Node): readonly string[] => [
  ...(node.status?.addresses ?? [])
    .filter(({ type }) => type === 'InternalIP')
    .map(({ address }) => address),
  ...Object.values(primaryAddresses(node).value ?? {}).map(withoutPrefix),
];

/** In an order that does not follow from when which came. */
const sortedAddresses = (addresses: readonly string[]): readonly string[] =>
  v4First([...new Set(addresses)].toSorted());

export class NodeAnnouncer {
  readonly #options: NodeAnnouncerOptions;
  readonly #queue: WorkQueue;
  readonly #started = Promise.withResolvers<void>();
  readonly #unfollow: () => void;
  #problem: string | undefined;

  constructor(options: NodeAnnouncerOptions) {
    this.#options = options;
    const { log, node, monitor, clock = systemClock } = options;
    this.#queue = new WorkQueue({
      reconcile: (_node, signal) => this.#reconcile(signal),
      onFailure: ({ error, attempt }) => {
        log.warn({ node, error, attempt }, 'what the node is is not written yet');
        this.#say(errorText(error));
      },
      clock,
    });
    const look = (): void => {
      this.#queue.addAfter(node, DEBOUNCE);
      options.onHostChange?.();
    };
    this.#unfollow = monitor.follow({
      onStale: (stale) => {
        // Addresses are announced by themselves; a link to another namespace is a pod's, mostly.
        const mayConcern =
          stale.kind === 'link' && stale.isOutward === undefined && !isManagementDevice(stale.dev);
        if (stale.kind === 'all' || mayConcern) look();
      },
      onRoute: (route) => {
        if (isDefaultRoute(route)) look();
      },
    });
    this.#started.promise.catch(() => undefined);
    // Views are asked for before the informers run.
    this.#nodes.onChange(({ key }) => {
      if (key === node) this.#queue.add(node);
    });
    this.#egressIps.onChange(({ before, after }) => {
      const isHere = (one: EgressIP | undefined): boolean =>
        (one?.status?.items ?? []).some((item) => item.node === node);
      if (isHere(before) || isHere(after)) this.#queue.add(node);
    });
  }

  get #nodes(): ObjectView<Node> {
    return this.#options.informers.of(nodeKind);
  }

  get #egressIps(): ObjectView<EgressIP> {
    return this.#options.informers.of(egressIPs);
  }

  /** Works until the signal aborts; resolves when everything under way has ended. */
  async run(): Promise<void> {
    const { informers, signal, node } = this.#options;
    try {
      await informers.synced([nodeKind, egressIPs], signal);
      this.#queue.add(node);
      const working = this.#queue.run(signal);
      this.#started.resolve();
      await working;
    } catch (error) {
      this.#started.reject(error);
      if (!signal.aborted) throw error;
    } finally {
      this.#unfollow();
    }
  }

  /** The node is ready for other egress addresses than before, fences them otherwise, or nothing leaves by other networks. */
  egressChanged(): void {
    this.#queue.add(this.#options.node);
  }

  /** Something in the local Open_vSwitch database may be another than before. */
  openVswitchChanged(): void {
    this.#queue.add(this.#options.node);
  }

  /** Resolves when what is known of the host is written, and the informers show it. */
  async caughtUp(signal: AbortSignal = this.#options.signal): Promise<void> {
    await orAborted(this.#started.promise, signal);
    await caughtUp({ informers: this.#options.informers, queues: [this.#queue], signal });
  }

  problems(): readonly ZoneProblem[] {
    const object = `Node ${this.#options.node}`;
    return this.#problem === undefined ? [] : [{ object, message: this.#problem }];
  }

  /** Returns when to look again. */
  async #reconcile(signal: AbortSignal): Promise<Again> {
    const { node, openVswitch, namespace, monitor, log, informers } = this.#options;
    const object = this.#nodes.get(node);
    const local = openVswitch();
    if (object === undefined) return this.#wait('there is no Node of this name');
    if ('unavailable' in local) return this.#wait(local.unavailable);
    // What happens while the kernel's state is read is not missed.
    monitor.listen();
    const host = { ...local, ...readHostState(namespace) };
    const found = nodeAnnotations(host, { ...this.#options, knownBy: knownAddresses(object) });
    const chassis = annotationOf(object, CHASSIS_ID);
    const systemId = local.externalIds.get('system-id');
    if (chassis !== undefined && systemId !== undefined && chassis !== systemId) {
      this.#say(
        `annotation ${CHASSIS_ID} is "${chassis}", and the system-id of the local Open vSwitch is "${systemId}": Heddle writes nothing about a node that is another machine; set external_ids:system-id back, or delete the Node and let the machine join anew`,
      );
      return { after: RESYNC };
    }
    // Also a node that has lost its bridge says what became of its egress addresses: by what it wrote of itself before.
    if (
      found.kind === 'awaited' &&
      (chassis === undefined || gatewayConfig(object).value === undefined)
    )
      return this.#wait(found.message);
    const facts = found.kind === 'value' ? found.annotations : {};
    const own =
      found.kind === 'value'
        ? { kind: 'Node', metadata: { name: node, annotations: facts } }
        : object;
    const gateway = gatewayConfig(own).value;
    const onHost = egressAddressesOn(
      host.devices,
      gateway?.mode === 'disabled' ? undefined : gateway?.bridge,
      this.#options.settings,
    );
    this.#options.onEgressAddresses?.(onHost);
    const networks = familyCidrs(primaryAddresses(own).value ?? {}).map(canonicalCidr);
    const egress = this.#egressAddresses(onHost, (address) =>
      networks.some((cidr) => familyOf(cidr) === familyOf(address) && contains(cidr, address)),
    );
    const annotations: Readonly<Record<string, string | undefined>> = {
      ...facts,
      ...this.#lateAnnotations(object),
      ...Object.fromEntries(
        Object.entries({
          ...egress,
          [PREPARED_EGRESS_ADDRESSES]: sortedAddresses(
            this.#options.preparedEgressAddresses?.() ?? [],
          ),
        }).map(([key, addresses]) => [
          key,
          addresses.length === 0 ? undefined : JSON.stringify(addresses),
        ]),
      ),
    };
    const differ = Object.entries(annotations).filter(
      ([key, value]) => annotationOf(object, key) !== value,
    );
    const others = differ.filter(([key]) => !LATE_KEYS.includes(key));
    const late = LATE_KEYS.find((key) => differ.some(([one]) => one === key));
    const changed = others.length > 0 ? others : differ.filter(([key]) => key === late);
    if (changed.length > 0) {
      const { resourceVersion } = object.metadata;
      await informers.store.patchStatus(
        nodeKind,
        node,
        {
          metadata: {
            annotations: Object.fromEntries(changed.map(([key, value]) => [key, value ?? null])),
          },
        },
        {
          fieldManager: FIELD_MANAGER,
          signal,
          // The first to report which machine this is has done so.
          ...(chassis === undefined && resourceVersion !== undefined ? { resourceVersion } : {}),
        },
      );
      log.info({ node, annotations: changed.map(([key]) => key) }, 'facts of the node written');
    }
    if (found.kind === 'awaited') this.#wait(found.message);
    else this.#say(undefined);
    const known = new Set(Object.values(egress).flat());
    return { after: known.size > this.#assigned().length ? LETTING_GO : RESYNC };
  }

  #lateAnnotations(object: Node): Readonly<Record<string, string | undefined>> {
    const fence = this.#options.egressFence?.();
    const down = this.#options.networksDown?.();
    return {
      [NODE_EGRESS_FENCE]:
        fence === 'as before'
          ? annotationOf(object, NODE_EGRESS_FENCE)
          : fence && formatEgressFence(fence),
      [EGRESS_NETWORKS_DOWN]:
        down === 'as before'
          ? annotationOf(object, EGRESS_NETWORKS_DOWN)
          : down && formatEgressNetworksDown(down),
    };
  }

  /** Those that EgressIPs give to this node. */
  #assigned(): readonly string[] {
    const { node, settings } = this.#options;
    if (!settings.features.egressIp) return [];
    const found = this.#egressIps.list().flatMap((egressIp) => {
      const items = valueOf(readEgressIp(egressIp, node))?.items ?? [];
      return items.flatMap((item) => (item.node === node ? [item.address] : []));
    });
    return [...new Set(found)];
  }

  /** Those, before the host has them; and others until it has them no more. */
  #egressAddresses(
    onHost: readonly EgressAddressOnHost[],
    isOfGateway: (address: string) => boolean,
  ): Readonly<Record<string, readonly string[]>> {
    const assigned = this.#assigned();
    const here = (ofBridge: boolean): readonly string[] => [
      ...assigned.filter((address) => isOfGateway(address) === ofBridge),
      ...onHost.filter(({ isBridge }) => isBridge === ofBridge).map(({ address }) => address),
    ];
    return {
      [BRIDGE_EGRESS_ADDRESSES]: sortedAddresses(here(true)),
      [CARD_EGRESS_ADDRESSES]: sortedAddresses(here(false)),
    };
  }

  #wait(message: string): Again {
    this.#say(`its facts can't be written yet: ${message}`);
    return { after: RESYNC };
  }

  #say(problem: string | undefined): void {
    if (this.#problem === problem) return;
    this.#problem = problem;
    this.#options.onChange?.();
  }
}
