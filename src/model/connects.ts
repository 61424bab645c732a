/** ClusterNetworkConnects → how far each is on one node. Pure. */
import { parsePrefix } from '../allocators/addresses.ts';
import { layer3ConnectLink, sufficientConnectPrefix } from '../allocators/connect-subnets.ts';
import { AllocationError } from '../allocators/allocation-error.ts';
import { conditionOf } from '../api/conditions.ts';
import { connectSubnets } from '../api/annotations/network-annotations.ts';
import { familyCidrs } from '../api/nad/network-config.ts';
import type { ClusterNetworkConnect } from '../api/types.ts';
import type { ZoneConnectStatus } from '../api/zone-status.ts';
import type { Network, NodeFacts } from './model.ts';

/** What stands between an allocated connection and packets in this release. */
const CONNECTS_NOT_RENDERED = 'connected networks are allocated, but not rendered in this release';

const LAYER3_OWNER = /^layer3_([0-9]+)$/;

/**
 * How far the accepted ones among `connects` are on `node`, by name. `Failed`: a link of a Layer3 network can't be made
 * because the node's id is too large for the network's block, or what is stored can't be read.
 */
export function zoneConnects(
  connects: Iterable<ClusterNetworkConnect>,
  node: Pick<NodeFacts, 'name' | 'id'>,
  networks: readonly Pick<Network, 'name' | 'id'>[],
): readonly ZoneConnectStatus[] {
  return [...connects]
    .filter(({ status }) => conditionOf(status?.conditions, 'Accepted')?.status === 'True')
    .map((connect): ZoneConnectStatus => {
      const { name } = connect.metadata;
      const failure = failureOf(connect, node, networks);
      return failure === undefined
        ? { name, state: 'Pending', message: CONNECTS_NOT_RENDERED }
        : { name, state: 'Failed', message: failure };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Why the links can't be made on the node, with what to do; undefined if they can. */
function failureOf(
  connect: ClusterNetworkConnect,
  node: Pick<NodeFacts, 'name' | 'id'>,
  networks: readonly Pick<Network, 'name' | 'id'>[],
): string | undefined {
  const { value, errors } = connectSubnets(connect);
  const [error] = errors;
  if (error !== undefined) return `annotation ${error.key}: ${error.problem}; ${error.remedy}`;
  for (const [owner, cidrs] of value ?? []) {
    const id = Number(LAYER3_OWNER.exec(owner)?.[1] ?? Number.NaN);
    if (Number.isNaN(id)) continue;
    const title = networks.find((network) => network.id === id)?.name ?? owner;
    for (const block of familyCidrs(cidrs).map(parsePrefix)) {
      if (block === undefined) continue;
      try {
        layer3ConnectLink(block, node.id);
      } catch (problem) {
        if (!(problem instanceof AllocationError)) throw problem;
        const enough = sufficientConnectPrefix(block.family, node.id);
        return `network ${title}, node ${node.name}: ${problem.message}; connectSubnets with networkPrefix ${enough} would be enough (they can’t change: make the ClusterNetworkConnect again)`;
      }
    }
  }
  return undefined;
}
