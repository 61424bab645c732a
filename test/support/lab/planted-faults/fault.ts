/** Faults that somebody may plant on a node by hand, each with what takes it away again, and whom a proof has to name. */

export interface PlantedFault {
  readonly name: string;
  /** A line for a shell on the node. */
  readonly plant: string;
  readonly undo: string;
  /** A check that finds it. */
  readonly check: string;
  /** An object that a finding names, or a network that it concerns. */
  readonly concerns: readonly string[];
  /** What the finding is about, where another fault of the group has the same check and object. */
  readonly where?: RegExp;
  readonly what?: RegExp;
}

/** Numbers that follow from the id of a network (reference/node.md §1, reference/topology.md §2). */
interface NetworkNumbers {
  readonly packetMark: number;
  readonly connectionMark: number;
  /** Its own addresses at the gateway router and at the host's port. */
  readonly gateway: string;
  readonly host: string;
  readonly table: number;
  /** Of the switch that nodes share. */
  readonly key: number;
  readonly port: string;
}

export const numbersOf = (id: number): NetworkNumbers => ({
  packetMark: 4096 + id,
  connectionMark: 3 + id,
  gateway: `169.254.0.${9 + 2 * id}`,
  host: `169.254.0.${10 + 2 * id}`,
  table: 10_000 + id,
  key: 16_711_683 + id,
  port: `ovn-k8s-mp${id}`,
});

/** Of the networks that faults are about: networks that come at once get their ids in no order. */
export interface FaultNumbers {
  readonly blue: NetworkNumbers;
  readonly green: NetworkNumbers;
}

export const BLUE = ['UserDefinedNetwork blue/l3', 'blue_l3'] as const;
export const GREEN = ['UserDefinedNetwork green/l3', 'green_l3'] as const;
export const BOTH = [BLUE[1], GREEN[1]] as const;
export const POD = 'blue.l3_blue_a';
export const sb = (column: string, table: string, condition: string): string =>
  `$(ovn-sbctl --bare --columns=${column} find ${table} ${condition})`;
export const portOf = (interfaceName: string): string =>
  `$(ovs-vsctl get Interface ${interfaceName} ofport)`;
export const addFlow = (bridge: string, flow: string): string =>
  `ovs-ofctl -O OpenFlow13 add-flow ${bridge} "${flow}"`;
export const deleteFlow = (bridge: string, flow: string): string =>
  `ovs-ofctl -O OpenFlow13 --strict del-flows ${bridge} "${flow}"`;
export const hex = (mark: number, digits = 0): string =>
  `0x${mark.toString(16).padStart(digits, '0')}`;
