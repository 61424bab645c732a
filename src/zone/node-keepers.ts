/** What is kept of a node besides its databases and its host: what ovn-controller is set to, the uplink of the external bridge, and what the node says of itself. */
import { nodes, pods } from '../api/kinds.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import { RowLookup } from '../databases/row-lookup.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import { AddressAnnouncements } from '../node/announcer/address-announcements.ts';
import {
  NodeAnnouncer,
  type AnnouncedFence,
  type AnnouncedNetworksDown,
} from '../node/announcer/node-announcer.ts';
import {
  ChassisKeeper,
  chassisSteps,
  type ChassisContext,
} from '../node/chassis/chassis-keeper.ts';
import { ChassisWatch, type ChassisReach } from '../node/chassis/chassis-watch.ts';
import { TunnelMtuWatch } from '../node/chassis/tunnel-mtu.ts';
import { readUnderlayDevices } from '../node/chassis/underlay-state.ts';
import { UplinkGuard } from '../node/uplink/uplink-guard.ts';
import { readUplinks } from '../node/openflow/bridge-ports.ts';
import { UplinkKeeper, uplinkSteps } from '../node/uplink/uplink-keeper.ts';
import type { Logger } from '../process/logger.ts';
import { orGiveUp } from '../process/waiting.ts';
import type { Configuration } from '../settings/configuration.ts';
import type { OpenDatabase, ReadyOptions } from '../databases/open-database.ts';
import type { Informers } from '../store/informers.ts';
import { systemClock } from '../store/clock.ts';
import { INTEGRATION_BRIDGE } from '../node/names.ts';
import { portNumberOf } from './bridge-ports.ts';
import type { OpenHost } from './host.ts';
import { announceArrivals } from './machine-arrivals.ts';

export interface NodeKeepersOptions {
  readonly configuration: Configuration & Readonly<Record<'node', string>>;
  readonly host: OpenHost;
  readonly southbound: OpenDatabase | undefined;
  readonly facts: ZoneFacts;
  readonly informers: Informers;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** False where all of it is only looked at. */
  readonly mayWrite: boolean;
  /** Egress addresses of other nodes that this one is ready to have. */
  readonly preparedEgressAddresses: () => readonly string[];
  /** How the data plane lets go of egress addresses without the daemon. */
  readonly egressFence: () => AnnouncedFence;
  /** Networks by which nothing leaves the node. */
  readonly networksDown: () => AnnouncedNetworksDown;
  /** True while nobody else can have the egress addresses of this node. */
  readonly hasEgressLease: () => boolean;
  /** Called when something is wrong that was not, or no longer. */
  readonly onChange: () => void;
}

export class NodeKeepers {
  readonly #options: NodeKeepersOptions;
  readonly #context: ChassisContext;
  readonly #chassis: ChassisKeeper | undefined;
  /** Present when what ovn-controller did can be seen. */
  readonly #watch: ChassisWatch | undefined;
  readonly #tunnelMtu: TunnelMtuWatch;
  /** Present when the external bridge is ours to set up. */
  readonly #uplink: UplinkKeeper | undefined;
  readonly #guard: UplinkGuard | undefined;
  readonly #announcer: NodeAnnouncer | undefined;

  constructor(options: NodeKeepersOptions) {
    const { configuration, host, southbound, facts, informers, mayWrite } = options;
    const { node, settings, gateway, gatewayInterface } = configuration;
    this.#options = options;
    this.#context = {
      node,
      settings,
      chassis: configuration.chassis,
      takesOver: configuration.takeOver,
      database: host.chassis,
      nodes: informers.of(nodes),
      namespace: host.namespace,
    };
    this.#tunnelMtu = new TunnelMtuWatch({
      facts,
      devices: () => readUnderlayDevices(host.namespace),
    });
    if (southbound !== undefined)
      this.#watch = new ChassisWatch({
        facts,
        openVswitch: () => host.openVswitch.replica,
        southbound: () => southbound.replica,
      });
    if (!mayWrite) return;
    const { log, onChange, signal } = options;
    this.#chassis = new ChassisKeeper({ ...this.#context, log, onChange, signal });
    if (gatewayInterface !== undefined)
      this.#uplink = new UplinkKeeper({
        name: gatewayInterface,
        vlan: gateway.vlan,
        node,
        openVswitch: host.uplink,
        ofctl: host.ofctl,
        namespace: host.namespace,
        monitor: host.monitor,
        sysctls: host.sysctls,
        log,
        onChange,
        signal,
      });
    this.#guard = new UplinkGuard({
      node,
      ranges: settings.masqueradeSubnets,
      openVswitch: host.uplink,
      uplinks: () => readUplinks(host.openVswitch.replica),
      nft: host.nft,
      namespace: host.namespace,
      monitor: host.monitor,
      log,
      onChange,
      signal,
    });
    announceArrivals({
      facts,
      pods: informers.of(pods).until(signal),
      send: async (logicalPort, frame) => {
        const port = await portNumberOf(new RowLookup(host.openVswitch, signal), logicalPort);
        if (port !== undefined) await host.ofctl.sendFrameFrom(INTEGRATION_BRIDGE, port, frame);
      },
      clock: systemClock,
      log,
      signal,
    });
    const announcements = new AddressAnnouncements({
      mayAnnounce: options.hasEgressLease,
      send: (place, frame) => host.sendFrame(place, frame),
      vlan: gateway.vlan,
      clock: systemClock,
      log,
      signal,
    });
    this.#announcer = new NodeAnnouncer({
      informers,
      log,
      signal,
      node,
      settings,
      gateway,
      openVswitch: () => host.externalIds(),
      namespace: host.namespace,
      monitor: host.monitor,
      onChange,
      preparedEgressAddresses: options.preparedEgressAddresses,
      egressFence: options.egressFence,
      networksDown: options.networksDown,
      onEgressAddresses: (addresses) => announcements.update(addresses),
      onHostChange: () => this.#chassis?.hostChanged(),
    });
  }

  /** What goes on until the signal aborts; each rejects with what ended it before. */
  run(): readonly Promise<void>[] {
    return [this.#chassis, this.#uplink, this.#guard, this.#announcer].flatMap(
      (keeper) => keeper?.run() ?? [],
    );
  }

  /** Waits until the node says of itself what is known now. */
  async caughtUp(signal: AbortSignal, how?: ReadyOptions): Promise<void> {
    if (this.#announcer === undefined) return;
    await this.#options.host.openVswitch.ready(signal, how);
    // What the node says of itself follows from them.
    await this.#chassis?.caughtUp(signal);
    await this.#uplink?.caughtUp(signal);
    await orGiveUp(
      this.#announcer.caughtUp(signal),
      signal,
      `the facts of node ${this.#context.node}`,
    );
  }

  /** ovs-vswitchd may have ended. */
  switchLost(): void {
    this.#chassis?.switchLost();
  }

  /** `external_ids` of the local Open_vSwitch database may be others. */
  externalIdsChanged(): void {
    this.#chassis?.hostChanged();
    this.#uplink?.openVswitchChanged();
    this.#guard?.openVswitchChanged();
    this.#announcer?.openVswitchChanged();
  }

  /** The node is ready for other egress addresses than before, fences them otherwise, or nothing leaves by other networks. */
  egressChanged(): void {
    this.#announcer?.egressChanged();
  }

  /** The data plane has confirmed something: a setting of ovn-controller waits for that. */
  confirmed(): void {
    this.#chassis?.confirmed();
  }

  /** Resolves when ovn-controller has the settings that are known now. */
  async chassisSet(signal: AbortSignal): Promise<void> {
    await this.#chassis?.caughtUp(signal);
  }

  /** What is still to be done until ovn-controller has its settings, in words. `hasConfirmed`: it has programmed this node before. */
  chassisSteps(hasConfirmed: boolean): Promise<readonly string[]> {
    return chassisSteps(this.#context, this.#chassis?.flows ?? (hasConfirmed ? 'kept' : 'none'));
  }

  /** What is still to be done until the external bridge is in the place of its uplink, in words. */
  uplinkSteps(): readonly string[] {
    const { host, configuration } = this.#options;
    const { gatewayInterface: name, gateway } = configuration;
    return name === undefined
      ? []
      : uplinkSteps(
          { name, vlan: gateway.vlan },
          { openVswitch: host.uplink, namespace: host.namespace },
        );
  }

  /** Whether packets can leave for other nodes; undefined where that can't be seen. */
  reach(): ChassisReach | undefined {
    return this.#options.southbound?.isLoaded?.() === false ? undefined : this.#watch?.look();
  }

  /** What somebody set that stays, and is worth knowing: on this node, or of a network that does not fit into its tunnels; what this kernel can't do. */
  notes(): readonly ZoneProblem[] {
    return [this.#chassis, this.#guard, this.#tunnelMtu].flatMap((keeper) => keeper?.notes() ?? []);
  }

  problems(): readonly ZoneProblem[] {
    return [this.#chassis, this.#uplink, this.#announcer, this.#tunnelMtu].flatMap(
      (keeper) => keeper?.problems() ?? [],
    );
  }
}
