/** Which addresses an attachment must get, from what the pod asks for and what its IPAMClaim holds (reference/api.md §6.9). Pure. */
import { AllocationError } from '../allocators/allocation-error.ts';
import { hostText } from '../model/rules/pod-ranges.ts';
import type { WantedAttachment } from '../model/rules/pod-plan.ts';

/**
 * The addresses to reserve; empty = any free ones. `description` names attachment and pod. Throws `out-of-range` for a request that the
 * topology can't serve, `conflict` for one that the claim's addresses exclude.
 */
export function requestedAddresses(
  { request, nad }: WantedAttachment,
  claimed: readonly string[],
  description: string,
): readonly string[] {
  const { ips } = request;
  if (ips.length === 0) return claimed;
  const refusal = `cannot allocate a static IP request with IPAM for pod ${description}`;
  if (nad?.config.topology === 'layer3')
    throw new AllocationError(
      'out-of-range',
      `${refusal}: layer2 topology is required, but network has topology "layer3"`,
    );
  if (claimed.length === 0) return ips;
  const held = new Set(claimed.map(hostText));
  const foreign = ips.find((ip) => !held.has(hostText(ip)));
  if (foreign !== undefined)
    throw new AllocationError(
      'conflict',
      `${refusal}: the pod references an ipam claim with IPs not containing the requested IP "${foreign}"`,
    );
  return ips;
}
