import { MemoryStore } from '../../support/cluster/memory-store.ts';
import { plainRules } from '../../support/cluster/plain-rules.ts';
import { storeContract } from '../../support/cluster/store-contract.ts';

storeContract('the store in memory that tests use', async () => {
  const store = new MemoryStore(plainRules);
  return {
    stores: [store, store],
    namespace: 'tenant-a',
    async [Symbol.asyncDispose]() {
      await store.close();
    },
  };
});
