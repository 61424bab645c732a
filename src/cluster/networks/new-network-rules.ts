/** Rules for a network that has no NAD in a namespace yet; one that has is not taken away by them (api.md §4.2, §8). */
import { parsePrefix } from '../../allocators/addresses.ts';
import type { NetworkConfig } from '../../api/nad/network-config.ts';
import { hostCidrs } from '../../api/annotations/node-annotations.ts';
import { nodeOverlap } from '../../api/validation/overlap.ts';
import type { Node } from '../../api/types.ts';
import type { NetworkObject } from '../../api/nad/network-spec.ts';
import { externalConflict } from './external-subnets.ts';
import type { ClusterInformers } from '../informers.ts';
import type { NetworkRegistry } from './network-registry.ts';
import { primaryConflict, type PrimaryNetwork } from '../../api/nad/primary-networks.ts';
import type { NetworkLimits } from '../settings.ts';

export interface NewNetworkContext {
  readonly informers: Pick<ClusterInformers, 'nodes' | 'secondaries' | 'cudns'>;
  readonly registry: NetworkRegistry;
  readonly limits: NetworkLimits;
}

export interface NetworkRefusalText {
  /** Undefined = the general reason of the object's kind. */
  readonly reason?: string;
  readonly message: string;
}

/** A node's own addresses; one that says nothing readable of them has none. */
export const hostAddressesOf = (node: Node | undefined): readonly string[] =>
  node === undefined ? [] : (hostCidrs(node).value ?? []);

/** Why the network can't come to the namespace; undefined if it can. */
export function refusalOfNew(
  object: NetworkObject,
  namespace: string,
  config: NetworkConfig,
  context: NewNetworkContext,
): NetworkRefusalText | undefined {
  return (
    overLimit(object, namespace, context) ??
    externalClash(object, context) ??
    (config.role === 'primary' ? primaryRefusal(object, namespace, config, context) : undefined)
  );
}

const nodesOf = ({
  informers,
}: NewNetworkContext): readonly { name: string; hostAddresses: readonly string[] }[] =>
  informers.nodes
    .list()
    .map((node) => ({ name: node.metadata.name, hostAddresses: hostAddressesOf(node) }));

function overLimit(
  { kind }: NetworkObject,
  namespace: string,
  { registry, limits }: NewNetworkContext,
): NetworkRefusalText | undefined {
  if (kind === 'ClusterUserDefinedNetwork') return undefined;
  const { length } = registry
    .inNamespace(namespace)
    .filter(
      ({ ownerKind }) => ownerKind === 'UserDefinedNetwork' || ownerKind === 'OVNSecondaryNetwork',
    );
  return length < limits.networksPerNamespace
    ? undefined
    : {
        reason: 'NetworkLimitReached',
        message: `namespace "${namespace}" has ${length} networks, and no more than ${limits.networksPerNamespace} are allowed: delete one, or have the limit raised`,
      };
}

function externalClash(
  object: NetworkObject,
  context: NewNetworkContext,
): NetworkRefusalText | undefined {
  if (object.kind !== 'OVNSecondaryNetwork') return undefined;
  const message = externalConflict(object, {
    nodes: nodesOf(context),
    others: context.informers.secondaries.list(),
  });
  return message === undefined ? undefined : { message };
}

function primaryRefusal(
  object: NetworkObject,
  namespace: string,
  config: NetworkConfig,
  context: NewNetworkContext,
): NetworkRefusalText | undefined {
  const conflict = primaryConflict(namespace, primariesOf(namespace, context), {
    nad: `${namespace}/${object.metadata.name}`,
    network: config.name,
    ownerKind: object.kind === 'OVNSecondaryNetwork' ? undefined : object.kind,
    subnets: prefixesOf(config),
    ...(object.kind === 'ClusterUserDefinedNetwork'
      ? { namespaceSelector: object.spec.namespaceSelector }
      : {}),
  });
  if (conflict !== undefined)
    return conflict.reason === 'PrimaryNetworkExists' ? { message: conflict.message } : conflict;
  const overlap = nodeOverlap(config.subnets, nodesOf(context));
  return overlap === undefined
    ? undefined
    : {
        message: `invalid subnet configuration: pod or join subnet overlaps with already configured internal subnets: ${overlap}`,
      };
}

/** Primary networks that the namespace has. */
const primariesOf = (
  namespace: string,
  { registry, informers }: NewNetworkContext,
): readonly PrimaryNetwork[] =>
  registry.primariesOf(namespace).map((nad) => {
    const owner =
      nad.ownerKind === 'ClusterUserDefinedNetwork'
        ? informers.cudns.list().find(({ metadata }) => metadata.uid === nad.ownerUid)
        : undefined;
    return {
      nad: nad.key,
      network: nad.config.name,
      ownerKind:
        nad.ownerKind === 'UserDefinedNetwork' || nad.ownerKind === 'ClusterUserDefinedNetwork'
          ? nad.ownerKind
          : undefined,
      subnets: prefixesOf(nad.config),
      ...(owner === undefined ? {} : { namespaceSelector: owner.spec.namespaceSelector }),
    };
  });

const prefixesOf = (config: NetworkConfig): PrimaryNetwork['subnets'] =>
  config.subnets.map(({ cidr }) => parsePrefix(cidr)).filter((prefix) => prefix !== undefined);
