/** Gateway and host address of a primary Layer2 network, the same on every node (reference/api.md §6.9). */
import { containsAddress, lastOf, type Address, type Prefix } from './addresses.ts';
import { gatewayAddress, managementAddress } from './node-addresses.ts';

export interface Layer2Ends {
  readonly gateway: Address;
  readonly management: Address;
}

/**
 * The ends in one subnet. The gateway is the one that is set, else the first of the infrastructure's addresses, else the first
 * of the subnet; the host has the next of the infrastructure's, else the second of the subnet, or the first if that is the gateway.
 */
export function layer2Ends(
  subnet: Prefix,
  infrastructure: readonly Prefix[],
  gateways: readonly Address[],
): Layer2Ends {
  const configured = gateways.find((address) => containsAddress(subnet, address));
  const spare = infrastructure
    .filter((range) => containsAddress(subnet, { family: range.family, value: range.base }))
    .flatMap((range) => firstHosts(range, subnet))
    .filter(({ value }) => value !== configured?.value);
  const [first, second] = [gatewayAddress(subnet), managementAddress(subnet)];
  const gateway = configured ?? spare.shift() ?? first;
  const fallback = gateway.value === second.value ? first : second;
  return { gateway, management: spare.shift() ?? fallback };
}

/** The first addresses of a range that are hosts of the subnet; three are enough for a gateway and a management port. */
const firstHosts = (range: Prefix, subnet: Prefix): Address[] =>
  [0n, 1n, 2n, 3n]
    .map((offset) => ({ family: range.family, value: range.base + offset }))
    .filter(
      (address) =>
        containsAddress(range, address) &&
        address.value !== subnet.base &&
        (subnet.family === 'v6' || address.value !== lastOf(subnet)),
    );
