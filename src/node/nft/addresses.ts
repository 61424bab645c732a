/** Addresses as nft prints them; nothing else gets into its commands as an address. */
import { formatAddress, parseAddress } from '../../allocators/addresses.ts';

/** Undefined for what is no address. */
export function nftAddress(text: string): string | undefined {
  const address = parseAddress(text);
  return address === undefined ? undefined : formatAddress(address);
}
