import { expect, test } from 'vitest';
import { readNad, type RegisteredNad } from '../../../src/api/nad/registered-nad.ts';
import { NetworkRegistry } from '../../../src/cluster/networks/network-registry.ts';
import { rawNad, testSettings } from '../../support/cluster/cluster.ts';

const config = {
  cniVersion: '1.1.0',
  type: 'ovn-k8s-cni-overlay',
  name: 'n',
  netAttachDefName: 'a/x',
  topology: 'layer3',
  subnets: '10.1.0.0/16',
};
const nad = (uid: string): RegisteredNad => {
  const raw = rawNad('a/x', config);
  const read = readNad({ ...raw, metadata: { ...raw.metadata, uid } }, testSettings.cluster);
  if (read.kind !== 'network') throw new Error('no network');
  return read.nad;
};

test('a NAD that was made and removed before the informer showed it leaves nothing behind', () => {
  const registry = new NetworkRegistry({
    settings: testSettings.cluster,
    limit: 10,
    preallocated: 10,
  });
  registry.reserve(nad(''));
  registry.created(nad('u1'));
  expect(registry.removed('a/x', 'other')).toEqual([]);
  expect(registry.network('n')).toBeDefined();
  expect(registry.removed('a/x', 'u1')).toEqual(['n']);
  expect(registry.network('n')).toBeUndefined();
  // One that the informer has shown is gone when the informer says so.
  registry.created(nad('u2'));
  registry.observe('a/x', 'u2', nad('u2'));
  expect(registry.removed('a/x', 'u2')).toEqual([]);
  expect(registry.observe('a/x', 'u2', undefined)).toEqual(['n']);
});
