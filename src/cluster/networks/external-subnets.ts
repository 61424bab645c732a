/** Ranges of OVNSecondaryNetworks with external connectivity: pods meet the underlay there (reference/api.md §2). Pure. */
import { formatPrefix, overlaps, parsePrefix } from '../../allocators/addresses.ts';
import { objectKey } from '../../api/objects.ts';
import { nodeOverlap, type NodeAddresses } from '../../api/validation/overlap.ts';
import type { OVNSecondaryNetwork } from '../../api/types.ts';
import { compareAge } from '../../api/order.ts';

export interface ExternalContext {
  readonly nodes: readonly NodeAddresses[];
  readonly others: readonly OVNSecondaryNetwork[];
}

const isExternal = ({ spec }: OVNSecondaryNetwork): boolean =>
  spec.hasExternalConnectivity === true;

/**
 * What of the underlay or of other such networks the subnet of an OVNSecondaryNetwork clashes with; undefined when nothing, or when
 * it stays inside the overlay.
 */
export function externalConflict(
  network: OVNSecondaryNetwork,
  { nodes, others }: ExternalContext,
): string | undefined {
  const text = network.spec.subnet ?? '';
  const subnet = parsePrefix(text);
  if (!isExternal(network) || subnet === undefined) return undefined;
  for (const other of others) {
    const range = parsePrefix(other.spec.subnet ?? '');
    const isOlder = compareAge(other.metadata, network.metadata) < 0;
    if (isOlder && isExternal(other) && range !== undefined && overlaps(range, subnet))
      return `spec.subnet ${text} overlaps ${formatPrefix(range)} of OVNSecondaryNetwork ${objectKey(other.metadata)}: subnets with external connectivity are unique in the cluster`;
  }
  return nodeOverlap([{ cidr: formatPrefix(subnet) }], nodes);
}
