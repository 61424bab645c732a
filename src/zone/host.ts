/** The host of a node as the configuration names it: the local Open_vSwitch database, and the kernel. */
import { claimsOf } from '../desired/engine.ts';
import { claimedSelection } from '../desired/ovsdb/selection.ts';
import { kernelCgroups } from '../node/nftables/cgroups.ts';
import { ConnectionDriver } from '../node/conntrack/connection-driver.ts';
import { Conntrack } from '../node/conntrack/conntrack.ts';
import { HopNeighbours } from '../node/conntrack/hop-neighbours.ts';
import { openConntrackSocket, openRouteSocket, sendFrameBy } from '../node/linux/network-socket.ts';
import { DatapathConntrack, revalidated } from '../node/conntrack/datapath-conntrack.ts';
import { CardLeases, type EgressCardLeases } from '../node/egress-lease/card-leases.ts';
import { bridgeFence, type BridgeFence } from '../node/openflow/egress-fence.ts';
import { FlowDriver } from '../node/openflow/flow-driver.ts';
import { HealthCheckServers } from '../node/health-checks/health-check-servers.ts';
import { renderHostPlan } from '../node/reconcile/host-plan-text.ts';
import { LinuxDriver } from '../node/linux/linux-driver.ts';
import { NetworkMonitor } from '../node/linux/network-monitor.ts';
import { NftDriver } from '../node/nftables/nft-driver.ts';
import { NftProgram } from '../node/nftables/nft-program.ts';
import { OfctlProgram } from '../node/openflow/ofctl-program.ts';
import { Unixctl } from '../node/programs/unixctl.ts';
import { sysctlsBelow, type Sysctls } from '../node/linux/kernel-sysctls.ts';
import { bridgeRemovals, removalsText, removeBridges } from '../node/uplink/uplink-keeper.ts';
import { guardRemovalText, removeGuard } from '../node/uplink/uplink-guard.ts';
import { hostFeatures } from '../node/features.ts';
import { OPENFLOW } from '../node/openflow/flow-rows.ts';
import type { HostSettings } from '../node/networks/host-network.ts';
import { OPEN_VSWITCH } from '../node/host-rows.ts';
import type { OpenVswitchIds } from '../node/announcer/node-announcer.ts';
import { LINUX } from '../node/linux/linux-rows.ts';
import { INTEGRATION_BRIDGE } from '../node/names.ts';
import { NFTABLES } from '../node/nftables/nft-rows.ts';
import type { SelectTables } from 'ovsdb-client-ts';
import { chassisRemovals, removeChassisSettings } from '../node/chassis/chassis-keeper.ts';
import { bridgePorts, isUserspace, PORT_COLUMNS } from '../node/openflow/bridge-ports.ts';
import {
  chassisDatabase,
  TUNNEL_COLUMNS,
  type ChassisDatabase,
} from '../node/chassis/chassis-database.ts';
import type { Configuration } from '../settings/configuration.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { openDatabase, type OpenDatabase } from '../databases/open-database.ts';
import {
  HostController,
  type HostChange,
  type HostPlans,
  type PortsChange,
} from '../node/node-agent.ts';
import type { Logger } from '../process/logger.ts';
import { renderPlan } from '../views/plan-text.ts';
import { uplinkSwitch, type UplinkSwitch } from '../node/uplink/uplink-switch.ts';
import { errorText } from '../api/error-text.ts';

/** Lock of the local Open_vSwitch server that makes one process the writer of the host. */
const HOST_LOCK = 'heddle_host';

export interface HostOptions {
  readonly configuration: Pick<Configuration, 'tls' | 'host' | 'sysctlFolder'> &
    Partial<Pick<Configuration, 'takeOver'>>;
  /** Remote of the local Open_vSwitch database. */
  readonly openVswitch: string;
  /** Whether it is to be changed. */
  readonly mayWrite: boolean;
  readonly log: Logger;
  /** Path of the network namespace that is the host's; that of the process, if none is named. */
  readonly namespace?: string;
  /** Called when the host may be another than it should be. */
  readonly onWork: () => void;
  /** Called when the local Open_vSwitch database can be written, or can't any more. */
  readonly onAvailable?: () => void;
  /** Called after each change, for metrics. */
  readonly onChange?: (change: HostChange) => void;
  readonly onPortsChange?: (change: PortsChange) => void;
  /** Called when `external_ids` may be others, or known for the first time. */
  readonly onExternalIds?: () => void;
  /** Called when ovs-vswitchd may have ended. */
  readonly onSwitchLost?: () => void;
  /** True while that it has ended is told of the node. */
  readonly isSwitchDown?: () => boolean;
  /** True while the fence of egress addresses may be opened. */
  readonly mayOpenFence?: (isNew: boolean) => boolean;
}

export interface OpenHost extends AsyncDisposable {
  readonly controller: HostController;
  readonly openVswitch: OpenDatabase;
  readonly vswitchd: Unixctl;
  readonly ofctl: OfctlProgram;
  readonly namespace: string | undefined;
  /** The one of this process. */
  readonly monitor: NetworkMonitor;
  readonly sysctls: Sysctls;
  readonly nft: NftProgram;
  /** Of the kernel. */
  readonly conntrack: Conntrack;
  readonly fence: BridgeFence;
  readonly cardLeases: EgressCardLeases;
  readonly uplink: UplinkSwitch;
  readonly chassis: ChassisDatabase;
  /** How external bridges that Heddle made go, and their uplinks have everything back; in words. */
  removalsText(): string;
  removeBridges(): Promise<void>;
  /** What of the uplink would go, in words. */
  uplinkGuardText(): Promise<string>;
  /** Returns why nftables refused, or undefined. */
  removeUplinkGuard(): Promise<string | undefined>;
  /** What Heddle set for ovn-controller and would take back, in words. */
  chassisRemovals(): readonly string[];
  removeChassisSettings(): Promise<void>;
  /** Sends a frame, in hexadecimal, by a device; has the external bridge switch it. */
  sendFrame(
    place: { readonly device: string; readonly isBridge: boolean },
    frame: string,
  ): Promise<void>;
  /** Settings of Open vSwitch and OVN on this node. */
  externalIds(): OpenVswitchIds;
  /** Whether an ovs-vswitchd ought to answer where `vswitchd` asks. */
  hasSwitch(): boolean;
  /** Of ovs-vswitchd, once it is known. */
  release(): string | undefined;
  /** Subscribes to changes. Throws when the kernel can't be reached. */
  start(): Promise<void>;
}

/** What is followed of the local Open_vSwitch database. */
export const hostTables =
  (settings: HostSettings): SelectTables =>
  (schema) =>
    claimedSelection(claimsOf(hostFeatures(settings), OPEN_VSWITCH), schema, {
      ...PORT_COLUMNS,
      Interface: [...PORT_COLUMNS.Interface, ...TUNNEL_COLUMNS],
      [OPEN_VSWITCH]: ['external_ids', 'ovs_version'],
    });

function externalIdsOf(database: OpenDatabase): OpenVswitchIds {
  const reason = database.unavailable();
  if (reason !== undefined) return { unavailable: reason };
  const [row] = database.replica.rows(OPEN_VSWITCH);
  return row === undefined
    ? { unavailable: 'the local Open_vSwitch database has no row yet: Open vSwitch is not started' }
    : { externalIds: row.column('external_ids') as ReadonlyMap<string, string> };
}

/** Plans for people. */
export const hostPlansText = ({ linux, nft, openVswitch, flows }: HostPlans): string =>
  [
    `${LINUX}\n${renderHostPlan(linux)}`,
    `${NFTABLES}\n${renderHostPlan(nft)}`,
    `${OPEN_VSWITCH}\n${renderPlan(openVswitch)}`,
    `${OPENFLOW}\n${renderHostPlan(flows)}`,
  ].join('\n');

const SOCKET = /^unix:(\/[^,]+)\/[^/,]+$/;

/** Seconds after which what opens the fence of egress addresses gives up, also where the daemon is gone meanwhile. */
const FENCE_TIMEOUT = 2;

/** Where Open vSwitch has its sockets by default. */
const RUN_FOLDER = '/var/run/openvswitch';

/** The folder of a database's socket: programs of Open vSwitch and OVN have theirs beside it. */
export const folderOf = (remote: string): string | undefined => SOCKET.exec(remote)?.[1];

/** Throws ConfigurationError. */
function sysctlsOf({ sysctlFolder }: Pick<Configuration, 'sysctlFolder'>): Sysctls {
  try {
    return sysctlsBelow(sysctlFolder);
  } catch (error) {
    throw new ConfigurationError('--sysctl-folder', errorText(error));
  }
}

/** Begins to connect. Throws ConfigurationError for a remote, or a folder of sysctls, that can't be used. */
export function openHost({
  configuration,
  openVswitch: remotes,
  mayWrite,
  log,
  namespace,
  onWork,
  onAvailable = () => undefined,
  onExternalIds = () => undefined,
  onSwitchLost = () => undefined,
  isSwitchDown = () => false,
  mayOpenFence = () => false,
  onChange = () => undefined,
  onPortsChange = () => undefined,
}: HostOptions): OpenHost {
  const settings = configuration.host;
  const sysctls = sysctlsOf(configuration);
  let isFollowed = false;
  const openVswitch = openDatabase({
    name: OPEN_VSWITCH,
    flag: '--ovs',
    remotes,
    tls: configuration.tls,
    tables: hostTables(settings),
    ...(mayWrite ? { lock: HOST_LOCK } : {}),
    log,
    onLost() {
      onAvailable();
      onWork();
    },
    onAvailable() {
      onAvailable();
      onWork();
      if (openVswitch.unavailable() !== undefined) return;
      if (!isFollowed) openVswitch.replica.subscribe(onExternalIds, { tables: [OPEN_VSWITCH] });
      isFollowed = true;
      onExternalIds();
    },
  });
  const events = {
    onDrift: onWork,
    onTrouble: (text: string): void => log.warn({ component: 'host' }, text),
  };
  const monitor = new NetworkMonitor({ namespace, onTrouble: events.onTrouble });
  const linux = new LinuxDriver({
    namespace,
    monitor,
    sysctls,
    onDrift: onWork,
    mayLease: () => mayOpenFence(false),
  });
  const nftProgram = new NftProgram();
  const nft = new NftDriver({ nft: nftProgram, cgroups: kernelCgroups, ...events });
  const folder = folderOf(remotes);
  const vswitchd = new Unixctl({ folder: folder ?? RUN_FOLDER, daemon: 'ovs-vswitchd' });
  const ofctl = new OfctlProgram(folder === undefined ? {} : { folder });
  const flows = new FlowDriver({
    ofctl,
    takesOver: configuration.takeOver === true,
    ports: bridgePorts(() => openVswitch.replica),
    onDrift: onWork,
    onSwitchLost,
    isSwitchDown,
    mayOpenFence,
  });
  const fence = bridgeFence(
    new OfctlProgram({
      program: ['ovs-ofctl', `--timeout=${FENCE_TIMEOUT}`],
      timeout: 1000 * (FENCE_TIMEOUT + 1),
      ...(folder === undefined ? {} : { folder }),
    }),
  );
  const conntrack = new Conntrack(openConntrackSocket);
  const uplink = uplinkSwitch(openVswitch);
  const chassis = chassisDatabase(openVswitch, () => externalIdsOf(openVswitch));
  const controller = new HostController({
    settings,
    openVswitch,
    linux,
    nft,
    flows,
    ofctl,
    healthChecks: new HealthCheckServers(events),
    connections: new ConnectionDriver(
      [
        conntrack,
        new DatapathConntrack(vswitchd, () => isUserspace(openVswitch.replica, INTEGRATION_BRIDGE)),
      ],
      onWork,
      (signal) => revalidated(vswitchd, signal),
      new HopNeighbours(() => openRouteSocket(namespace)),
    ),
    log,
    onChange,
    onPortsChange,
  });
  const release = (): string | undefined => {
    if (openVswitch.isLoaded?.() === false) return undefined;
    const [row] = openVswitch.replica.rows(OPEN_VSWITCH);
    return row?.column('ovs_version') as string | undefined;
  };
  return {
    controller,
    openVswitch,
    vswitchd,
    ofctl,
    namespace,
    monitor,
    sysctls,
    nft: nftProgram,
    conntrack,
    fence,
    cardLeases: new CardLeases(namespace),
    uplink,
    chassis,
    removalsText: () => removalsText(bridgeRemovals({ openVswitch: uplink, namespace })),
    removeBridges: () => removeBridges({ openVswitch: uplink, ofctl, namespace, sysctls }),
    uplinkGuardText: () => guardRemovalText(nftProgram),
    removeUplinkGuard: () => removeGuard(nftProgram),
    chassisRemovals: () => chassisRemovals(chassis),
    removeChassisSettings: () => removeChassisSettings(chassis),
    async sendFrame({ device, isBridge }, frame) {
      if (isBridge) await ofctl.sendFrame(device, frame);
      else sendFrameBy(namespace, device, frame);
    },
    externalIds: () => externalIdsOf(openVswitch),
    // Who starts Open vSwitch writes its release; a database without one was made for something else.
    hasSwitch: () => folder !== undefined && release() !== undefined,
    release,
    start: async () => {
      if (!mayWrite) return;
      flows.start();
      linux.start();
      await nft.start();
    },
    async [Symbol.asyncDispose]() {
      await controller[Symbol.asyncDispose]();
      monitor[Symbol.dispose]();
      await conntrack[Symbol.asyncDispose]();
      await openVswitch[Symbol.asyncDispose]();
    },
  };
}
