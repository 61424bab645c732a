/** Addresses as nft, Open vSwitch and the kernel print them; nothing else gets into their commands as an address. */
import { formatAddress, parseAddress } from '../allocators/addresses.ts';

/** Undefined for what is no address. */
export function plainAddress(text: string): string | undefined {
  const address = parseAddress(text);
  return address === undefined ? undefined : formatAddress(address);
}
