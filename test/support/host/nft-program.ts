/** `nft` of the lab's root file system, inside of a network namespace. */
import { execFileSync } from 'node:child_process';
import { NftProgram } from '../../../src/node/nftables/nft-program.ts';
import type { NetworkNamespace } from './network-namespace.ts';
import { ovsProgram } from './ovs-programs.ts';

export const nftIn = (namespace: NetworkNamespace): NftProgram => {
  const { command, args } = ovsProgram('nft');
  return new NftProgram({ program: [...namespace.inside, command, ...args] });
};

/** What a command prints. Throws when it fails. */
export const runNft = ({ program }: NftProgram, words: string, input = ''): string => {
  const [command = '', ...args] = program;
  return execFileSync(command, [...args, ...words.split(' ')], {
    encoding: 'utf8',
    input,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
};
