import { expect, test } from 'vitest';
import { NftChangers } from '../../../../src/node/nftables/nft-changers.ts';

test('transactions of ours are told from those of others by their order', async () => {
  const changers = new NftChangers();
  changers.heard(['nft (process 1)'], false);
  changers.sending();
  changers.heard(['nft (process 2)', 'firewalld (process 3)'], false);
  expect(await changers.all()).toEqual(['nft (process 1)', 'firewalld (process 3)']);
  // A refused one is not announced.
  changers.settled();
  changers.sending()();
  changers.heard(['firewalld (process 3)'], false);
  expect(await changers.all()).toEqual(['firewalld (process 3)']);
  changers.settled();
  expect(await changers.all()).toEqual([]);
});

test('of what is announced in part the program is waited for, also when ours comes right after it', async () => {
  const changers = new NftChangers();
  changers.heard([], true);
  changers.sending();
  const all = changers.all();
  changers.heard(['nft (process 1)', 'nft (process 2)'], false);
  expect(await all).toEqual(['nft (process 1)']);
});
