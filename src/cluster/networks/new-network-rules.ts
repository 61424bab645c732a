/** Rules for a network that comes to a namespace, or to a further range; what it has is not taken away by them (reference/api.md §4.2, §8). */
import { formatPrefix, overlaps, parsePrefix, type Prefix } from '../../allocators/addresses.ts';
import type { NetworkConfig, SubnetEntry } from '../../api/nad/network-config.ts';
import { nodeOverlap } from '../../api/validation/overlap.ts';
import type { NetworkObject } from '../../api/nad/network-spec.ts';
import { hostNetworksOf } from '../nodes/host-networks.ts';
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

/** Reason of conditions and events. */
export const LIMIT_REACHED = 'NetworkLimitReached';

export interface NetworkRefusalText {
  /** Undefined = the general reason of the object's kind. */
  readonly reason?: string;
  readonly message: string;
}

/** Why the network can't come to the namespace; undefined if it can. */
export function refusalOfNew(
  object: NetworkObject,
  namespace: string,
  config: NetworkConfig,
  context: NewNetworkContext,
): NetworkRefusalText | undefined {
  return (
    (object.kind === 'ClusterUserDefinedNetwork' ? undefined : overLimit(namespace, context)) ??
    externalClash(object, context) ??
    (config.role === 'primary' ? primaryRefusal(object, namespace, config, context) : undefined)
  );
}

const nodesOf = ({
  informers,
}: NewNetworkContext): readonly { name: string; hostAddresses: readonly string[] }[] =>
  informers.nodes
    .list()
    .map((node) => ({ name: node.metadata.name, hostAddresses: hostNetworksOf(node).addresses }));

/** Why a namespace may declare no further network, whether by an object or by a NAD of its own; networks of the cluster don't count. */
export function overLimit(
  namespace: string,
  { registry, limits }: Pick<NewNetworkContext, 'registry' | 'limits'>,
): NetworkRefusalText | undefined {
  const { length } = registry
    .inNamespace(namespace)
    .filter(({ ownerKind }) => ownerKind !== 'ClusterUserDefinedNetwork');
  return length < limits.networksPerNamespace
    ? undefined
    : {
        reason: LIMIT_REACHED,
        message: `namespace "${namespace}" has ${length} networks, and no more than ${limits.networksPerNamespace} are allowed (--max-networks-per-namespace): delete one, or have the limit raised`,
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

const WHOLE_REASONS: readonly (string | undefined)[] = [
  'NamespaceSelectorMismatch',
  'OverlappingNetworkSubnets',
];

/**
 * Why a primary ClusterUserDefinedNetwork that is nowhere yet comes to no namespace at all (reference/api.md §8): it does not match a primary network
 * of one of them. Undefined if that is not so.
 */
export function refusalEverywhere(
  object: NetworkObject,
  namespace: string,
  config: NetworkConfig,
  context: NewNetworkContext,
): NetworkRefusalText | undefined {
  if (object.kind !== 'ClusterUserDefinedNetwork' || config.role !== 'primary') return undefined;
  const refusal = siblingRefusal(object, namespace, config, context);
  return WHOLE_REASONS.includes(refusal?.reason) ? refusal : undefined;
}

/** Why a network can't grow by a range; undefined if it can. `namespaces`: where it is, and where it is to be. */
export function refusalOfRange(
  { cidr }: SubnetEntry,
  { name, role }: Pick<NetworkConfig, 'name' | 'role'>,
  namespaces: readonly string[],
  context: NewNetworkContext,
): NetworkRefusalText | undefined {
  const range = parsePrefix(cidr);
  if (role !== 'primary' || range === undefined) return undefined;
  for (const namespace of namespaces)
    for (const { network, subnets } of primariesOf(namespace, context)) {
      const theirs = network === name ? undefined : subnets.find((one) => overlaps(one, range));
      if (theirs !== undefined)
        return {
          reason: 'OverlappingNetworkSubnets',
          message: `subnet ${cidr} can't be appended to network ${name}: it overlaps subnet ${formatPrefix(theirs)} of network ${network}, which is in namespace "${namespace}", too: take it back, or append another one`,
        };
    }
  return nodeRefusal([{ cidr }], context);
}

function primaryRefusal(
  object: NetworkObject,
  namespace: string,
  config: NetworkConfig,
  context: NewNetworkContext,
): NetworkRefusalText | undefined {
  return siblingRefusal(object, namespace, config, context) ?? nodeRefusal(config.subnets, context);
}

function siblingRefusal(
  object: NetworkObject,
  namespace: string,
  config: NetworkConfig,
  context: NewNetworkContext,
): NetworkRefusalText | undefined {
  const conflict = primaryConflict(namespace, primariesOf(namespace, context), {
    nad: `${namespace}/${object.metadata.name}`,
    network: config.name,
    ownerKind: object.kind === 'OVNSecondaryNetwork' ? undefined : object.kind,
    subnets: prefixesOf(config.subnets),
    ...(object.kind === 'ClusterUserDefinedNetwork'
      ? { namespaceSelector: object.spec.namespaceSelector }
      : {}),
  });
  return conflict?.reason === 'PrimaryNetworkExists' ? { message: conflict.message } : conflict;
}

function nodeRefusal(
  subnets: readonly SubnetEntry[],
  context: NewNetworkContext,
): NetworkRefusalText | undefined {
  const overlap = nodeOverlap(subnets, nodesOf(context));
  return overlap === undefined
    ? undefined
    : {
        message: `invalid subnet configuration: pod or join subnet overlaps with already configured internal subnets: ${overlap}`,
      };
}

/** Primary networks that the namespace has, with what they may grow by. */
const primariesOf = (
  namespace: string,
  { registry, informers }: NewNetworkContext,
): readonly PrimaryNetwork[] =>
  registry.primariesOf(namespace).map((nad) => {
    const owner =
      nad.ownerKind === 'ClusterUserDefinedNetwork'
        ? informers.cudns.list().find(({ metadata }) => metadata.uid === nad.ownerUid)
        : undefined;
    const { name, subnets } = nad.config;
    return {
      nad: nad.key,
      network: name,
      ownerKind:
        nad.ownerKind === 'UserDefinedNetwork' || nad.ownerKind === 'ClusterUserDefinedNetwork'
          ? nad.ownerKind
          : undefined,
      // Another NAD of the network may show the longer list.
      subnets: prefixesOf([
        ...subnets,
        ...(registry.network(name)?.config.subnets ?? []),
        ...registry.grantedTo(name),
      ]),
      ...(owner === undefined ? {} : { namespaceSelector: owner.spec.namespaceSelector }),
    };
  });

const prefixesOf = (subnets: readonly SubnetEntry[]): readonly Prefix[] =>
  subnets.map(({ cidr }) => parsePrefix(cidr)).filter((prefix) => prefix !== undefined);
