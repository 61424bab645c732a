import { expect, test } from 'vitest';
import type { KubeObject, ResourceKind } from '../../../src/api/objects.ts';
import type { Informers } from '../../../src/store/informers.ts';
import { followedObject } from '../../../src/zone/followed-object.ts';

const owner = (kind: string, name: string, uid: string) => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind,
  name,
  uid,
});
const nad = (namespace: string, name: string, owned: object): KubeObject => ({
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata: { namespace, name, ownerReferences: [owned] } as unknown as KubeObject['metadata'],
});
const objects: Readonly<Record<string, readonly KubeObject[]>> = {
  Node: [{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', uid: 'node-uid' } }],
  NetworkAttachmentDefinition: [
    nad('green', 'blue', owner('UserDefinedNetwork', 'blue', 'another')),
    nad('blue', 'blue', owner('UserDefinedNetwork', 'blue', 'its')),
    nad('green', 'wide', owner('ClusterUserDefinedNetwork', 'wide', 'wide-uid')),
  ],
};
const informers = {
  of: ({ kind }: ResourceKind) => ({
    list: () => objects[kind] ?? [],
    get: (key: string) => objects[kind]?.find(({ metadata }) => metadata.name === key),
  }),
} as unknown as Informers;

test.each([
  ['Node n1', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', uid: 'node-uid' } }],
  ['Node n2', undefined],
  [
    'UserDefinedNetwork blue/blue',
    {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'UserDefinedNetwork',
      metadata: { namespace: 'blue', name: 'blue', uid: 'its' },
    },
  ],
  [
    'ClusterUserDefinedNetwork wide',
    {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'ClusterUserDefinedNetwork',
      metadata: { name: 'wide', uid: 'wide-uid' },
    },
  ],
  ['ClusterUserDefinedNetwork blue', undefined],
  ['cluster', undefined],
])('%s is found among what a node follows anyway', (name, found) => {
  expect(followedObject(informers, name)).toEqual(found);
});
