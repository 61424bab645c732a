/** Follows what carries the networks of this host, and says by which nothing leaves it (docs/decisions/egress-health.md). */
import type { ReplicaView } from 'ovsdb-client-ts';
import { contains, familyOf } from '../../allocators/addresses.ts';
import { gatewayConfig } from '../../api/annotations/node-annotations.ts';
import { errorText } from '../../api/error-text.ts';
import type { Node } from '../../api/types.ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import type { ClusterSettings } from '../../model/model.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { Clock } from '../../store/clock.ts';
import type { ObjectView } from '../../store/informer.ts';
import type { Log } from '../../store/log.ts';
import { WorkQueue } from '../../store/work-queue.ts';
import { knownDevices } from '../announcer/node-facts.ts';
import type { FactSource } from '../fact-source.ts';
import { hostDevice, readDevices } from '../linux/host-state.ts';
import type { NetworkMonitor } from '../linux/network-monitor.ts';
import { openRouteSocket } from '../linux/network-socket.ts';
import type { Stale } from '../linux/stale.ts';
import { isManagementDevice } from '../names.ts';
import { changedBridges, PORT_COLUMNS, readUplinks } from '../openflow/bridge-ports.ts';
import { HeldWaysOut, networksDown, waysOut, type WayOut } from './ways-out.ts';

export interface WaysOutSourceOptions {
  readonly node: string;
  readonly nodes: Pick<ObjectView<Node>, 'get'>;
  readonly settings: ClusterSettings;
  /** The local Open_vSwitch database; undefined while it can't be read. */
  readonly openVswitch: () => ReplicaView | undefined;
  /** Path of the network namespace; that of the process, if none is named. */
  readonly namespace: string | undefined;
  /** Of the same namespace. */
  readonly monitor: NetworkMonitor;
  readonly log: Log;
  /** Called when `down`, or problems, are others. */
  readonly onChange: () => void;
}

/** Changes within this time of each other are one. */
const DEBOUNCE = 100;
/** Without any event everything is looked at again after this time. */
const RESYNC = 60_000;
const HOST = 'host';

export class WaysOutSource implements FactSource {
  readonly #options: WaysOutSourceOptions;
  readonly #held = new HeldWaysOut();
  /** Devices that carry networks, or their uplinks. */
  #watched: ReadonlySet<string> = new Set();
  #knownUplinks: readonly string[] = [];
  #unfollow: (() => void) | undefined;
  #followed: ReplicaView | undefined;
  #down: ReadonlyMap<string, string> | undefined;
  #problems: readonly ZoneProblem[] = [];
  #look: () => void = () => undefined;

  constructor(options: WaysOutSourceOptions) {
    this.#options = options;
  }

  /** Networks by which nothing leaves, each with why; undefined while that is not known since the start. */
  get down(): ReadonlyMap<string, string> | undefined {
    return this.#down;
  }

  async start(facts: ZoneFacts, clock: Clock, signal: AbortSignal): Promise<void> {
    const { monitor, log, node } = this.#options;
    const queue = new WorkQueue({
      reconcile: async () => {
        monitor.listen();
        this.#followSwitch();
        const now = clock.monotonic();
        const again = this.#take(facts, now);
        return { after: Math.min(RESYNC, again - now) };
      },
      // Nobody knows better than before: what was found stays.
      onFailure: ({ error }) =>
        log.warn(
          { node, error: errorText(error) },
          'what carries the networks of the host can not be read',
        ),
      clock,
    });
    this.#look = () => queue.addAfter(HOST, DEBOUNCE);
    const unfollow = monitor.follow({
      onStale: (stale) => {
        if (this.#mayConcern(stale)) this.#look();
      },
    });
    queue.add(HOST);
    try {
      await queue.run(signal);
    } finally {
      unfollow();
      this.#unfollow?.();
    }
  }

  problems(): readonly ZoneProblem[] {
    return this.#problems;
  }

  /** The local Open_vSwitch database can be read again, or not any more. */
  openVswitchChanged(): void {
    this.#look();
  }

  /** A link to another namespace is a pod's, mostly. */
  #mayConcern(stale: Stale): boolean {
    if (stale.kind === 'all') return true;
    if (stale.kind !== 'link') return false;
    return (
      this.#watched.has(stale.dev) ||
      (stale.isOutward === undefined && !isManagementDevice(stale.dev))
    );
  }

  #followSwitch(): void {
    const replica = this.#options.openVswitch();
    if (replica === undefined || replica === this.#followed) return;
    this.#unfollow?.();
    this.#followed = replica;
    this.#unfollow = replica.subscribe(
      (changes) => {
        if (changedBridges(replica, changes).size > 0) this.#look();
      },
      { tables: Object.keys(PORT_COLUMNS) },
    );
  }

  /** Gives when to look again. */
  #take(facts: ZoneFacts, now: number): number {
    const ways = this.#read();
    const again = this.#held.take(ways, now);
    if (!this.#held.isKnown(now)) return again;
    const down = networksDown(ways, (device) => this.#held.whyDown(device));
    const before = this.#down;
    const isNew = before === undefined || JSON.stringify([...down]) !== JSON.stringify([...before]);
    const { log, node, onChange } = this.#options;
    if (isNew && down.size + (before?.size ?? 0) > 0)
      log.info({ node, down: Object.fromEntries(down) }, 'networks by which nothing leaves');
    this.#down = down;
    const saysMore = this.#say(facts, ways, down);
    if (isNew || saysMore) onChange();
    return again;
  }

  /** Throws NetlinkError. */
  #read(): readonly WayOut[] {
    const { node, nodes, settings, openVswitch, namespace } = this.#options;
    const object = nodes.get(node);
    const config = object && gatewayConfig(object).value;
    const gateway =
      config === undefined || config.mode === 'disabled'
        ? undefined
        : { bridge: config.bridge, addresses: config.addresses };
    const replica = openVswitch();
    const bridges = replica && readUplinks(replica);
    const uplinks = (bridges?.get(gateway?.bridge ?? '')?.found ?? []).map(({ name }) => name);
    if (uplinks.length > 0) this.#knownUplinks = uplinks;
    using socket = openRouteSocket(namespace);
    const { devices } = readDevices(socket);
    const addressesOf = new Map(
      knownDevices(
        devices.map(({ link, addresses }) => hostDevice(link, addresses)),
        settings,
      ).map(({ name, addresses }) => [name, addresses.map(({ text }) => text)]),
    );
    const seen = devices.map(({ link: { name, isUp, hasCarrier } }) => ({
      name,
      isUp,
      hasCarrier,
      addresses: addressesOf.get(name) ?? [],
    }));
    const ways = waysOut({ devices: seen, gateway, bridges, knownUplinks: this.#knownUplinks });
    this.#watched = new Set([...ways.map(({ device }) => device), ...this.#knownUplinks]);
    return ways;
  }

  /** True if it is another than before. */
  #say(facts: ZoneFacts, ways: readonly WayOut[], down: ReadonlyMap<string, string>): boolean {
    const object = `Node ${this.#options.node}`;
    const asked = facts.requestedEgress.all().flatMap(({ addresses }) => addresses);
    const ofGateway = new Set(ways.flatMap((way) => (way.isGateway ? way.networks : [])));
    const found = [...Map.groupBy(down, ([, why]) => why)].flatMap(([why, all]): ZoneProblem[] => {
      const networks = all
        .map(([network]) => network)
        .filter(
          (network) =>
            ofGateway.has(network) ||
            asked.some(
              (address) => familyOf(address) === familyOf(network) && contains(network, address),
            ),
        );
      return networks.length === 0
        ? []
        : [
            {
              object,
              message: `${why}: nothing leaves this node by ${networks.join(', ')}, and egress addresses there go to other nodes; see "ip link" and "ovs-vsctl show" on the node`,
            },
          ];
    });
    const isNew = JSON.stringify(found) !== JSON.stringify(this.#problems);
    this.#problems = found;
    return isNew;
  }
}
