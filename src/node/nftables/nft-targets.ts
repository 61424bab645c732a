/** Where connections are led to, one after the other at random, in the syntax of nft(8). */
import type { Family } from '../../allocators/addresses.ts';
import type { SocketAddress } from '../../model/rules/backends.ts';
import { concatenated, ipWord } from './nft-rows.ts';

export function targetsText(family: Family, targets: readonly SocketAddress[]): string {
  const [only] = targets;
  const ip = ipWord(family);
  if (targets.length === 1 && only !== undefined)
    return `dnat ${ip} to ${family === 'v6' ? `[${only.address}]` : only.address}:${only.port}`;
  const entries = targets.map(
    ({ address, port }, index) => `${index} : ${concatenated(address, port)}`,
  );
  return `dnat ${ip} to numgen random mod ${targets.length} map { ${entries.join(', ')} }`;
}
