/** What `heddle show node` shows: what each network has on the host of this node, as plain data. */
import type { WantedUnit } from '../desired/engine.ts';
import type { DesiredRow } from '../desired/rows.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import { hasGateway } from '../model/rules/network-addresses.ts';
import type { GatewayMode, Network } from '../model/model.ts';
import { hostAddress, hostNetwork, type HostSettings } from './networks/host-network.ts';
import { HEALTH_CHECKS, type HealthCheckRow } from './health-checks/health-checks.ts';
import { OPENFLOW } from './openflow/flow-rows.ts';
import { LINUX, ruleArguments, type LinuxRow } from './linux/linux-rows.ts';
import { NFTABLES } from './nftables/nft-rows.ts';
import { conntrackMark, ZONES } from './openflow/pipeline.ts';
import type { SwitchBridge } from './uplink/state.ts';
import type { HostPlans } from './node-agent.ts';

/** Objects of the host, by what keeps them. */
export interface HostCounts {
  readonly routes: number;
  readonly neighbours: number;
  readonly settings: number;
  /** Chains, sets, rules and elements. */
  readonly nftables: number;
  readonly flows: number;
}

export interface NetworkOnHost {
  readonly network: string;
  readonly object: string;
  readonly id: number;
  /** Absent for the default network, which is in the host's own routing table, and where the host is not to have VRFs. */
  readonly vrf: string | undefined;
  readonly table: number;
  /** Packets that are marked so are routed by the table. */
  readonly mark: string;
  /** Of the network's connections in the zone `uplink`. */
  readonly conntrackMark: string;
  readonly port: string;
  readonly mac: string;
  readonly addresses: readonly string[];
  /** Its gateway router's and management port's addresses on the host. */
  readonly masquerade: readonly string[];
  /** In the syntax of ip(8), without its family. */
  readonly rules: readonly string[];
  readonly counts: HostCounts;
  /** Objects of the host that are not as they should be. */
  readonly differs: number;
  readonly problems: readonly string[];
}

export interface HostUplink {
  readonly name: string;
  /** True when ovs-vswitchd has it. */
  readonly isConnected: boolean;
  /** True where Heddle made the bridge of it (`--gateway-interface`), and `heddle cleanup` gives it back what it had. */
  readonly isMoved: boolean;
}

export interface HostReport {
  readonly node: string;
  /** Absent while the node has no external bridge. */
  readonly gateway:
    | {
        readonly bridge: string;
        readonly mac: string;
        readonly mode: GatewayMode;
        readonly addresses: readonly string[];
        /** With whose tag networks and the host leave the node; 0 for none. */
        readonly vlan: number;
        /** Network card of the bridge; absent where the bridge names none. */
        readonly uplink: HostUplink | undefined;
      }
    | undefined;
  /** Conntrack zones of the external bridge, which all networks share. */
  readonly conntrackZones: Readonly<Record<string, number>>;
  readonly networks: readonly NetworkOnHost[];
  /** Ports by which load balancers learn whether the node has endpoints of a service. */
  readonly healthChecks: readonly {
    readonly port: number;
    /** `<namespace>/<name>`. */
    readonly service: string;
    readonly localEndpoints: number;
  }[];
  /** What is there once for all networks. */
  readonly common: {
    readonly counts: HostCounts;
    readonly differs: number;
    readonly problems: readonly string[];
  };
}

/** Units by the network that they are there for; undefined: for all. */
type ByNetwork<T> = ReadonlyMap<string | undefined, readonly T[]>;

interface Difference {
  readonly unit: string;
  readonly message?: string;
}

function countsOf(rows: readonly DesiredRow[]): HostCounts {
  const count = (database: string, table?: string): number =>
    rows.filter((row) => row.database === database && (table ?? row.table) === row.table).length;
  return {
    routes: count(LINUX, 'route'),
    neighbours: count(LINUX, 'neighbour'),
    settings: count(LINUX, 'sysctl'),
    nftables: count(NFTABLES),
    flows: count(OPENFLOW, 'flow'),
  };
}

const healthChecksIn = (rows: readonly DesiredRow[]): HostReport['healthChecks'] =>
  rows
    .filter((row): row is HealthCheckRow => row.database === HEALTH_CHECKS)
    .map(({ key, columns: { namespace, name, localEndpoints } }) => ({
      port: Number(key),
      service: `${namespace}/${name}`,
      localEndpoints,
    }))
    .toSorted((a, b) => a.port - b.port);

const linuxRows = (rows: readonly DesiredRow[]): readonly LinuxRow[] =>
  rows.filter((row): row is LinuxRow => row.database === LINUX);

const rulesIn = (rows: readonly DesiredRow[]): readonly string[] => [
  ...new Set(
    linuxRows(rows).flatMap((row) =>
      row.table === 'rule' ? ruleArguments(row.columns).join(' ') : [],
    ),
  ),
];

const vrfIn = (rows: readonly DesiredRow[]): string | undefined =>
  rows.find(
    ({ database, table, columns }) =>
      database === LINUX && table === 'link' && columns['kind'] === 'vrf',
  )?.key;

const uplinkOf = (bridge: SwitchBridge | undefined): HostUplink | undefined =>
  bridge?.uplink === undefined
    ? undefined
    : { name: bridge.uplink, isConnected: bridge.hasUplink, isMoved: bridge.isOurs };

/** What the host has by the units of its features, and where it differs by `plans`; `bridges` are those of Open vSwitch. */
export function hostReport(
  facts: ZoneFacts,
  settings: HostSettings,
  wanted: Iterable<WantedUnit>,
  plans: HostPlans,
  bridges: ReadonlyMap<string, SwitchBridge>,
): HostReport {
  const units = [...wanted];
  const networkOf = ({ subject, args }: WantedUnit): string | undefined =>
    [subject, args[0]].find((name) => name !== undefined && facts.rendered.peek(name));
  const byId = new Map(units.map((unit) => [unit.id, networkOf(unit)]));
  const byNetwork: ByNetwork<WantedUnit> = Map.groupBy(units, networkOf);
  const all = Object.values(plans) as readonly {
    readonly changes: Iterable<Difference>;
    readonly problems: readonly Difference[];
  }[];
  const grouped = (differences: readonly Difference[]): ByNetwork<Difference> =>
    Map.groupBy(differences, ({ unit }) => byId.get(unit));
  const changes = grouped(all.flatMap((plan) => [...plan.changes]));
  const problems = grouped(all.flatMap((plan) => plan.problems));
  const state = (network: string | undefined) => ({
    rows: (byNetwork.get(network) ?? []).flatMap(({ rows }) => rows),
    differs: changes.get(network)?.length ?? 0,
    problems: (problems.get(network) ?? []).flatMap(({ message }) => message ?? []),
  });
  const gateway = facts.own('gateway');
  const { rows, ...common } = state(undefined);
  const uplink = gateway && uplinkOf(bridges.get(gateway.bridge));
  const lost =
    gateway === undefined || uplink === undefined || uplink.isConnected
      ? []
      : [
          `uplink ${uplink.name} is no port of ${gateway.bridge} that works: nothing leaves the node; see ovs-vsctl show and ip link show ${uplink.name}`,
        ];
  return {
    node: facts.nodeName,
    gateway: gateway && {
      bridge: gateway.bridge,
      mac: gateway.macAddress,
      mode: gateway.mode,
      addresses: gateway.addresses,
      vlan: gateway.vlan,
      uplink,
    },
    conntrackZones: ZONES,
    networks: facts.rendered
      .all()
      .filter((network) => hasGateway(network) && network.topology !== 'localnet')
      .toSorted((a, b) => a.id - b.id)
      .flatMap((network) => {
        const on = hostNetwork(facts, network, settings);
        if (on === undefined) return [];
        const { rows: own, ...rest } = state(network.name);
        return {
          network: network.name,
          object: network.object,
          id: network.id,
          vrf: vrfIn(own),
          table: on.table,
          mark: on.mark,
          conntrackMark: conntrackMark(network.id),
          port: on.device,
          mac: on.mac,
          addresses: on.ranges.map(hostAddress),
          masquerade: masqueradeOf(network),
          rules: rulesIn(own),
          counts: countsOf(own),
          ...rest,
        };
      }),
    healthChecks: healthChecksIn(units.flatMap((unit) => unit.rows)),
    common: { counts: countsOf(rows), ...common, problems: [...common.problems, ...lost] },
  };
}

const masqueradeOf = ({ masquerade }: Network): readonly string[] =>
  [masquerade.v4, masquerade.v6].flatMap((pair) =>
    pair === undefined ? [] : [pair.gatewayRouter, pair.managementPort],
  );
