/** Which networks this release can write into OVN. Pure. */
import type { Network } from '../model.ts';

/**
 * Why nothing of a network is written, for people; undefined if it is rendered. A network is never rendered as something else
 * than it asks for: pods of a network without overlay must not be tunnelled.
 */
export function whyNotRendered({
  transport,
  uplink,
}: Pick<Network, 'transport' | 'uplink'>): string | undefined {
  if (transport !== undefined)
    return `networks with transport "${transport}" are allocated, but not rendered in this release`;
  if (uplink !== undefined)
    return `networks with an uplink of their own ("${uplink}") are allocated, but not rendered in this release`;
  return undefined;
}
