/** The annotations of a Node that the cluster manager writes (api.md §7.1). */
import { familyCidrsJson } from '../../api/annotations/annotations.ts';
import type { FamilyCidrs } from '../../api/nad/network-config.ts';
import {
  formatNodeSubnets,
  NODE_ID,
  NODE_SUBNETS,
  NODE_TRANSIT_ADDRESSES,
} from '../../api/annotations/node-annotations.ts';

export interface NodeAllocation {
  /** Absent when no id is left. */
  readonly id?: number;
  /** Addresses on the transit switch with prefix length. */
  readonly transit?: FamilyCidrs;
  /** Subnets by network. */
  readonly subnets: ReadonlyMap<string, readonly string[]>;
}

/** Values of the annotations; null takes one away. */
export const nodeAnnotations = ({
  id,
  transit,
  subnets,
}: NodeAllocation): Readonly<Record<string, string | null>> => ({
  [NODE_ID]: id === undefined ? null : String(id),
  [NODE_TRANSIT_ADDRESSES]: transit === undefined ? null : JSON.stringify(familyCidrsJson(transit)),
  [NODE_SUBNETS]: formatNodeSubnets(subnets) ?? null,
});
