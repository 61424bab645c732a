/** What `heddle check` shows: whether the network below is as clean as this node can tell. Pure, and plain data. */
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { Network } from '../../model/model.ts';
import { inTunnel, isInTunnels, tooSmall } from './tunnel-mtu.ts';
import { unreachedNodes, type TunnelPort } from './tunnels.ts';
import type { UnderlayDevice } from './underlay-state.ts';
import { GENEVE_PORT } from '../numbers.ts';
import { plainAddress } from '../plain-address.ts';
import type { HostPlan } from '../reconcile/host-plan.ts';
import { mappingsOf, type SwitchState } from '../uplink/state.ts';

/** Where packets of strangers are dropped, and how many were since the rule is there; undefined where that is not known. */
export interface StrangersSeen {
  readonly at: string;
  readonly packets: number | undefined;
}

export interface TunnelEndReport {
  readonly address: string;
  /** Absent where the host does not have the address. */
  readonly device: string | undefined;
  readonly mtu: number | undefined;
  /** Bytes that the largest packets of pods have in a tunnel. */
  readonly neededMtu: number;
  /** Networks of pods that are on the same wire and in the same VLAN. */
  readonly sharedWith: readonly string[];
}

interface PeerReport {
  readonly node: string;
  readonly addresses: readonly string[];
  /** Why there is no tunnel to it; absent when there is one. */
  readonly problem?: string;
}

export interface UnderlayReport {
  readonly node: string;
  readonly tunnels: {
    readonly port: number;
    /** Who may send there besides nodes; `any`: everybody. */
    readonly sources: readonly string[] | 'any';
    /** Whether the rules that drop what others send are in force. */
    readonly isHeld: boolean;
    /** Packets of strangers that were dropped. */
    readonly strangers: number;
    readonly seen: readonly StrangersSeen[];
  };
  readonly ends: readonly TunnelEndReport[];
  readonly peers: readonly PeerReport[];
  readonly problems: readonly string[];
  /** What is worth knowing and not wrong. */
  readonly notes: readonly string[];
}

export interface UnderlayState {
  readonly devices: readonly UnderlayDevice[];
  readonly bridges: SwitchState;
  readonly tunnels: ReadonlyMap<string, TunnelPort>;
  readonly strangers: readonly StrangersSeen[];
  /** What of the rules that hold strangers is not as it should be, in words. */
  readonly missing: readonly string[];
}

export function underlayReport(facts: ZoneFacts, state: UnderlayState): UnderlayReport {
  const { nodeName, settings } = facts;
  const { devices, strangers, missing } = state;
  const sources = settings.tunnelSources;
  const networks = facts.networks.all();
  const mtu = Math.max(settings.mtu, ...networks.filter(isInTunnels).map((one) => one.mtu));
  const problems = [...missing];
  const notes: string[] = [];
  const ends = (facts.self.peek(nodeName)?.encapIps ?? []).map((address): TunnelEndReport => {
    const plain = plainAddress(address) ?? address;
    const device = devices.find(({ addresses }) => addresses.includes(plain));
    const small = device && tooSmall(device, plain, mtu);
    const sharing = device === undefined ? [] : networksAt(device, networks, state.bridges);
    if (device === undefined)
      problems.push(`this host has no address ${plain}, where tunnels to it are to end`);
    else if (small !== undefined) problems.push(small);
    for (const network of sharing) {
      const where = `network ${network.name} is on the wire of ${plain}, where tunnels end, in the same VLAN`;
      if (network.subnets.length > 0) notes.push(where);
      else
        problems.push(
          `${where}, and has no subnets: its pods send with addresses of nodes; give it a VLAN of its own, or subnets`,
        );
    }
    return {
      address: plain,
      device: device?.name,
      mtu: device?.mtu,
      neededMtu: inTunnel(mtu, plain),
      sharedWith: sharing.map(({ name }) => name),
    };
  });
  const others = [...facts.remoteNodes.entries()].map(([node, { encapIps }]) => ({
    node,
    encapIps,
  }));
  const unreached = new Map(
    unreachedNodes(others, state.tunnels).map(({ node, message }) => [node, message]),
  );
  const peers = others
    .toSorted((a, b) => (a.node < b.node ? -1 : 1))
    .map(({ node, encapIps }): PeerReport => {
      const problem = unreached.get(node);
      if (problem !== undefined) problems.push(`Node ${node}: ${problem}`);
      return { node, addresses: encapIps, ...(problem === undefined ? {} : { problem }) };
    });
  const count = strangers.reduce((sum, { packets = 0 }) => sum + packets, 0);
  if (count > 0)
    problems.push(
      `${count} packets to the port of tunnels (UDP ${GENEVE_PORT}) came from addresses that are no node's, and were dropped: somebody else sends there; filter that port on the way to the nodes`,
    );
  if (sources === 'any')
    notes.push(
      '--tunnel-sources is any: who sends with the address of a node is not looked at here',
    );
  return {
    node: nodeName,
    tunnels: {
      port: GENEVE_PORT,
      sources,
      isHeld: sources !== 'any' && missing.length === 0,
      strangers: count,
      seen: strangers,
    },
    ends,
    peers,
    problems,
    notes,
  };
}

/** Rules of features that hold strangers off the port of tunnels. */
const HOLDS = new Set<string | undefined>(['from-nodes', 'from-networks', 'tunnels-alone']);

/** Which of them are not in force, in words. */
export function missingHolds({
  nft,
  flows,
}: {
  readonly nft: HostPlan;
  readonly flows: HostPlan;
}): readonly string[] {
  const missing: string[] = [];
  for (const [what, { changes, problems }] of [
    ['nftables', nft],
    ['flows of the external bridge', flows],
  ] as const) {
    const held = changes.filter(({ rule, action }) => HOLDS.has(rule) && action !== 'remove');
    // Without nft, say, nobody knows what there is.
    const unknown = problems.filter(
      ({ kind, object }) => kind === 'refused' && object === undefined,
    );
    if (held.length > 0)
      missing.push(
        `rules for the port of tunnels that are not in force (${what}): ${held.length}; heddle plan shows them`,
      );
    for (const { message } of unknown) missing.push(message);
  }
  return missing;
}

/** Networks that are the physical one on which a device is, in its VLAN. */
function networksAt(
  device: UnderlayDevice,
  networks: readonly Network[],
  { bridges, mappings }: SwitchState,
): readonly Network[] {
  const wire = device.vlan?.of ?? device.name;
  const [bridge, found] =
    [...bridges].find(
      ([name, { ports, uplink }]) => [name, uplink].includes(wire) || ports.has(wire),
    ) ?? [];
  if (bridge === undefined) return [];
  // A VLAN device on the bridge has its own tag; the bridge's own port that of the host.
  const tag = device.vlan?.id ?? found?.hostVlan ?? 0;
  const physical = new Set(
    mappingsOf(mappings).flatMap(([name, mapped]) => (mapped === bridge ? [name] : [])),
  );
  return networks.filter(
    ({ topology, name, physicalNetworkName = name, vlan = 0 }) =>
      topology === 'localnet' && physical.has(physicalNetworkName) && vlan === tag,
  );
}
