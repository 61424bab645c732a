import { rm } from 'node:fs/promises';
import { ManifestStore } from '../../../src/store/manifests/manifest-store.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { plainRules } from '../../support/cluster/plain-rules.ts';
import { storeContract } from '../../support/cluster/store-contract.ts';

// One process: what is kept in memory has no second one.
storeContract('manifests without a state directory', async () => {
  const manifests = ownFolder('heddle-store');
  const store = await ManifestStore.open({ manifests, state: undefined, rules: plainRules });
  return {
    stores: [store, store],
    namespace: 'tenant-a',
    async [Symbol.asyncDispose]() {
      await store.close();
      await rm(manifests, { recursive: true });
    },
  };
});
