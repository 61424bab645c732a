/** Files of users beside what the cluster manager makes, on manifests and a state directory. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  clusterUserDefinedNetworks,
  networkAttachmentDefinitions,
  userDefinedNetworks,
} from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import { formatProblem } from '../../../src/store/manifests/manifest-rules.ts';
import { ManifestStore } from '../../../src/store/manifests/manifest-store.ts';
import { objectRules } from '../../../src/store/object-rules.ts';
import {
  clusterLayer3,
  inNamespaces,
  layer3,
  nadLines,
  namespace,
  rawNad,
  startManager,
} from '../../support/cluster/cluster.ts';
import { ownFolder } from '../../support/run/left-behind.ts';

const WAIT = { timeout: 20_000, interval: 50 };

let folder: string;
let manifests: string;
let store: ManifestStore;

const write = (file: string, object: KubeObject): Promise<void> =>
  writeFile(join(manifests, file), JSON.stringify(object));

beforeEach(async () => {
  folder = ownFolder('heddle-names');
  manifests = join(folder, 'manifests');
  await mkdir(manifests);
  const timing = { debounce: 5, removalGrace: 60, poll: 60_000 };
  const state = join(folder, 'state');
  store = await ManifestStore.open({ manifests, state, rules: objectRules, timing });
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

const bridge = (uid?: string): KubeObject => {
  const nad = rawNad('blue/net', { cniVersion: '1.1.0', type: 'bridge', name: 'mine' });
  return {
    ...nad,
    metadata: {
      name: 'net',
      namespace: 'blue',
      labels: { mine: 'yes' },
      ...(uid === undefined ? {} : { uid }),
    },
  };
};

test.each([
  [
    'UserDefinedNetwork blue/net',
    layer3('blue/net', '10.20.0.0/16/24'),
    (): Promise<readonly KubeObject[]> => store.list(userDefinedNetworks),
    {},
  ],
  [
    'ClusterUserDefinedNetwork net',
    clusterLayer3('net', inNamespaces('blue'), '10.20.0.0/16/24'),
    (): Promise<readonly KubeObject[]> => store.list(clusterUserDefinedNetworks),
    { uid: 'another' },
  ],
])(
  'a NAD file with the name of the NAD of a network is refused, and the network can be deleted: %s',
  async (owner, network, listed, { uid }: { uid?: string }) => {
    await write('namespace.yaml', namespace('blue'));
    await write('network.yaml', network);
    await using manager = startManager(store);
    await expect.poll(() => nadLines(store), WAIT).toHaveLength(1);
    await manager.settled();
    const before = await store.get(networkAttachmentDefinitions, 'blue/net');
    await write('nad.yaml', bridge(uid));
    await expect
      .poll(() => store.problems.map(formatProblem), WAIT)
      .toEqual([
        `${join(manifests, 'nad.yaml')}:1: NetworkAttachmentDefinition blue/net: is the name of an object that was made for ${owner}: choose another name for this one; the object stays as it was`,
      ]);
    await manager.settled();
    expect(await store.get(networkAttachmentDefinitions, 'blue/net')).toEqual(before);
    await rm(join(manifests, 'network.yaml'));
    await expect.poll(listed, WAIT).toEqual([]);
    // The name is free now.
    await expect.poll(() => store.problems, WAIT).toEqual([]);
    const own = await store.get(networkAttachmentDefinitions, 'blue/net');
    expect(own?.metadata.labels).toEqual({ mine: 'yes' });
  },
);
