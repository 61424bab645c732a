import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ManifestStore } from '../../../src/store/manifests/manifest-store.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { plainRules } from '../../support/cluster/plain-rules.ts';
import { storeContract } from '../../support/cluster/store-contract.ts';

storeContract('manifests and a state directory', async () => {
  const folder = ownFolder('heddle-store');
  const options = { manifests: folder, state: join(folder, '.state'), rules: plainRules };
  const stores = [await ManifestStore.open(options), await ManifestStore.open(options)] as const;
  return {
    stores,
    namespace: 'tenant-a',
    async [Symbol.asyncDispose]() {
      await Promise.all(stores.map((store) => store.close()));
      await rm(folder, { recursive: true });
    },
  };
});
